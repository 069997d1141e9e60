"""A fault as a row of docs/reliability.md."""

from collections import Counter

from tests.faults.traffic import Traffic

SECTION = "What was seen"
HEAD = ("fault", "before", "during", "after", "records", "last failure", "leases left")


def row(traffic: Traffic, kept: "Counter[str]", leases: int) -> list[str]:
    """What came of the requests, and of their records."""
    answers = [_counted(traffic.seen(when)) for when in ("before", "during", "after")]
    return [*answers, _counted(kept), last_failure(traffic.last_failure(), traffic.mended), str(leases)]


def last_failure(sent: float | None, mended: float) -> str:
    """When the last request that failed was sent, as against the end of the fault."""
    if sent is None:
        return "none"
    return f"{sent - mended:.1f} s after" if sent > mended else "during"


def _counted(counts: "Counter[str]") -> str:
    return ", ".join(f"{name} × {number}" for name, number in sorted(counts.items()) if number)

"""A fault as a row of docs/reliability.md."""

from collections import Counter

from tests.faults.traffic import Traffic

SECTION = "What was seen"
HEAD = ("fault", "before", "during", "after", "records", "last failure", "leases left")


def row(traffic: Traffic, kept: "Counter[str]", leases: int) -> list[str]:
    """What came of the requests, and of their records."""
    answers = [_counted(traffic.seen(when)) for when in ("before", "during", "after")]
    late = traffic.last_failure() - traffic.mended
    return [*answers, _counted(kept), f"{late:.1f} s after" if late > 0 else "during", str(leases)]


def _counted(counts: "Counter[str]") -> str:
    return ", ".join(f"{name} × {number}" for name, number in sorted(counts.items()) if number)

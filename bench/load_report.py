"""The section of the document that says what load did."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.arrivals import Sent, percentile
from bench.machine import described
from bench.memory import FLAT_MB_PER_HOUR, Series, Watch
from bench.mix import CONVERSATIONS, SHARES
from bench.report import paragraph, table

TITLE = "Load"
HERE = (
    "Sender, stack and DynamoDB Local share this machine; the limits are lifted; counters have their fast engine from "
    "the start, as a snapshot has."
)
THERE = "The sender runs on this machine, the service elsewhere."
GATEWAY = "gateway"
# They hold what they are given: every record, for one.
STAND_INS = ("DynamoDB Local", "moto")
PERCENTS = (50, 90, 99, 100)
LATENCIES = ["p50, ms", "p90", "p99", "max"]
RATES = ["due, a second", "sent", "200s a second", *LATENCIES, "others", "sent late, p99 ms", "processes", "MB"]
KINDS = ["request", "share", "kB", "tokens, median", *LATENCIES, "others"]
# Of the soak, what caches need to fill is left out.
SETTLING = 1 / 3
MOMENTS = 6
KEPT_UP_SECONDS = 1.0
HIGHEST = "highest rate of which 99 in a hundred were answered within a second"
LOWEST = "lowest rate, for of none all were answered with 200 and 99 in a hundred within a second"


@dataclass(frozen=True, slots=True)
class Step:
    """Requests at one rate; when it began and ended by the watch, in seconds."""

    rate: float
    seconds: float
    sent: list[Sent]
    start: float
    end: float

    @property
    def kept_up(self) -> bool:
        """All were answered, and 99 of a hundred within a second."""
        answered = all(each.outcome == "200" for each in self.sent)
        return answered and percentile([each.latency for each in self.sent], 99) <= KEPT_UP_SECONDS


def section(steps: Sequence[Step], watch: Watch, soaked: bool) -> str:
    """The tables of the document."""
    rates = steps[:-1] if soaked else steps
    shares = ", ".join(f"{kind} {share} %" for kind, share in SHARES.items())
    where = HERE if watch.kinds else THERE
    parts = [
        described("httpx2", "uvicorn", "botocore", "fastapi", "tokenizers", "fastokens"),
        paragraph(
            f"""
            `make load`: an open loop. Requests come at random moments that were drawn before (Poisson), whether or not
            those before them were answered; latency counts from the moment at which a request was due to the end of its
            answer, whatever that was. A mix for all served models: {shares}; agents and long ones send one of
            {CONVERSATIONS} conversations with the model again, with another turn, all others are new. {where}
            {rates[0].seconds:g} seconds of each rate, after as many of the highest:
            """
        ),
        table(RATES, [rate_row(step, watch) for step in rates]),
    ]
    return "\n\n".join(parts + (list(soak(steps[-1], rates, watch)) if soaked else [])) + "\n"


def soak(step: Step, rates: Sequence[Step], watch: Watch) -> Iterator[str]:
    """What is said of the long step, which came after those of the rates."""
    kept_up = any(each.kept_up for each in rates)
    yield paragraph(
        f"""
        Then {step.seconds / 60:g} minutes at {step.rate:g} requests a second, half of the
        {HIGHEST if kept_up else LOWEST}; {len(step.sent)} requests, {per_second(step):.1f} a second answered with 200:
        """
    )
    by_kind = {kind: [each for each in step.sent if each.kind == kind] for kind in SHARES}
    rows = [kind_row(kind, sent, len(step.sent)) for kind, sent in by_kind.items() if sent]
    yield table(KINDS, [*rows, kind_row("all", step.sent, len(step.sent))])
    yield "Minute by minute; where the sender itself is late, the machine had something else to do:"
    yield table(["minute", "sent", *LATENCIES, "others", "sent late, p99 ms"], minute_rows(step.sent))
    if not watch.kinds:
        return
    yield paragraph(
        f"""
        Resident memory meanwhile, of all processes of a kind together, in MB. A kind is flat where none of its
        processes gains more than {FLAT_MB_PER_HOUR:g} MB an hour, by least squares over all but the first third of
        the time. {" and ".join(STAND_INS)} stand in for AWS and keep all that they are given:
        """
    )
    moments = [step.start + part * step.seconds / (MOMENTS - 1) for part in range(MOMENTS)]
    head = [f"{(moment - step.start) / 60:.1f} min" for moment in moments]
    memory = [memory_row(kind, series, step, moments) for kind, series in watch.kinds.items()]
    yield table(["kind", "processes", *head, "steepest, MB an hour", "flat"], memory)


def minute_rows(sent: Sequence[Sent]) -> list[list[str]]:
    """The figures of the requests that were due in each minute."""
    minutes: dict[int, list[Sent]] = {}
    for each in sent:
        minutes.setdefault(int(each.due // 60), []).append(each)
    return [
        [str(minute + 1), str(len(own)), *latencies(own), others(own), lateness(own)] for minute, own in minutes.items()
    ]


def rate_row(step: Step, watch: Watch) -> list[str]:
    """One rate's figures."""
    held = [mb for series in watch.kinds.values() for each in series if (mb := each.at(step.end)) is not None]
    return [
        f"{step.rate:g}",
        str(len(step.sent)),
        f"{per_second(step):.1f}",
        *latencies(step.sent),
        others(step.sent),
        lateness(step.sent),
        str(len(held)),
        f"{sum(held):.0f}",
    ]


def kind_row(kind: str, sent: Sequence[Sent], of: int) -> list[str]:
    """The figures of one kind of request."""
    size = sum(each.bytes for each in sent) / len(sent) / 1000
    tokens = [each.tokens for each in sent if each.tokens is not None]
    median = f"{percentile(tokens, 50):,.0f}" if tokens else "-"
    return [kind, f"{len(sent) / of:.0%}", f"{size:.1f}", median, *latencies(sent), others(sent)]


def memory_row(kind: str, series: Sequence[Series], step: Step, moments: Sequence[float]) -> list[str]:
    """The memory of one kind of process during the soak."""
    end = step.start + step.seconds
    slopes = [slope for each in series if (slope := each.slope(end - (1 - SETTLING) * step.seconds, end)) is not None]
    held = [[mb for each in series if (mb := each.at(moment)) is not None] for moment in moments]
    steepest = max(slopes, default=0.0)
    verdict = "-" if kind in STAND_INS or not slopes else "yes" if steepest <= FLAT_MB_PER_HOUR else "no"
    return [kind, str(len(held[-1])), *(f"{sum(each):.0f}" for each in held), f"{steepest:+.1f}", verdict]


def per_second(step: Step) -> float:
    """Answers of 200, over the time until the last came."""
    end = max(each.due + each.latency for each in step.sent)
    return sum(each.outcome == "200" for each in step.sent) / max(step.seconds, end)


def latencies(sent: Sequence[Sent]) -> list[str]:
    """Percentiles, in milliseconds."""
    return [f"{1000 * percentile([each.latency for each in sent], percent):.0f}" for percent in PERCENTS]


def lateness(sent: Sequence[Sent]) -> str:
    """How late 99 of a hundred were sent at most, in milliseconds."""
    return f"{1000 * percentile([each.late for each in sent], 99):.0f}"


def others(sent: Sequence[Sent]) -> str:
    """How many answers were not 200, by status and code."""
    counted = Counter(each.outcome for each in sent if each.outcome != "200")
    return ", ".join(f"{number} × {outcome}" for outcome, number in counted.most_common()) or "none"

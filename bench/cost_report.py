"""The section of the operators' page that says what requests cost."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.machine import described
from bench.prices import (
    AS_OF,
    DYNAMODB_MS,
    FULL_MB,
    HOURS,
    INVOKE_MS,
    PRICES,
    TRACED,
    Memory,
    Taken,
    bill,
    billed,
    standing,
)
from bench.report import paragraph, table

TITLE = "Cost"
# What the endpoint may take for some images.
WAIT_MS = 100


@dataclass(frozen=True, slots=True)
class Measured:
    """What was seen.

    Args:
        taken: by kind of request; that of images is the last.
        peaks: the most memory that the edge and the counter took, MB.
        functions: MB of every function.
        alarms: of the template.
        metrics: of the service's own.
    """

    taken: Mapping[str, Taken]
    memory: Memory
    peaks: Mapping[str, float]
    functions: Mapping[str, int]
    alarms: int
    metrics: int


def section(measured: Measured) -> str:
    """All of it."""
    bills = {kind: bill(taken, measured.memory) for kind, taken in measured.taken.items()}
    parts = [
        f"Made by `make cost`; figures of {described('botocore', 'fastapi', 'tokenizers', 'fastokens')}",
        paragraph(
            f"""
            Dollars a million requests, by the list prices of us-east-1 in {AS_OF} as they are written in
            bench/prices.py and at the end of this section, without free tiers and discounts. They are assumptions, not
            read from AWS's price list: check them before they are relied on.
            """
        ),
        table(["for a million requests, $", *bills], bill_rows(bills)),
        how(measured),
        table(["a request takes", *measured.taken], taken_rows(measured)),
        larger_edge(measured),
        standing_costs(measured),
        endpoint(measured),
        table([f"price in us-east-1, {AS_OF}", "$"], [[name, f"{price:.10g}"] for name, price in PRICES.items()]),
    ]
    return "\n\n".join(parts) + "\n"


def bill_rows(bills: Mapping[str, Mapping[str, float]]) -> list[list[str]]:
    """A row for each part of the bill, then their sum."""
    parts = next(iter(bills.values()))
    rows = [[part, *(f"{each[part]:.2f}" for each in bills.values())] for part in parts]
    return [*rows, ["together", *(f"{sum(each.values()):.2f}" for each in bills.values())]]


def how(measured: Measured) -> str:
    """The formula."""
    return paragraph(
        f"""
        A function costs requests x ({PRICES["Lambda, a million requests"]} / 1,000,000 + billed seconds x GB x
        {PRICES["Lambda, arm64, a GB-second"]}). Billed of a counter is its processor time (at
        {measured.memory.counter} MB it has a core); of the edge its processor time x {FULL_MB} /
        {measured.memory.edge} (its share of a core), what it waits for the counter, and as assumptions
        {DYNAMODB_MS:g} ms for each call of DynamoDB and {INVOKE_MS:g} ms for the invocation. Processor times were
        taken on the machine above and stand for Lambda's; a deployment's REPORT lines say what they are there.
        DynamoDB's units are those that its own engine told for each call; the row of an organization's leases, which
        is written twice, holds some 25 requests in flight a unit. A record is kept in the table, in its index, and
        for point-in-time recovery, for a month. X-Ray sees {TRACED:.0%}, the default's share (below a request a
        second it sees all, ${PRICES["X-Ray, a million traces"]:g} a million). Where the requests table refuses a
        record, a send and a receive of SQS and the recorder are added, some
        ${2 * PRICES["SQS, a million requests"]:.2f} a million. Not in it are what images by url are fetched with, the
        keys of the tables' encryption, which are asked for every few minutes, and whatever is off by default.
        """
    )


def taken_rows(measured: Measured) -> list[list[str]]:
    """What the bills are made of."""
    taken = list(measured.taken.values())
    bills = [billed(each, measured.memory) for each in taken]
    return [
        ["edge, processor ms", *(f"{each.edge_ms:.1f}" for each in taken)],
        ["edge, billed ms", *(str(edge) for edge, _ in bills)],
        ["counter, processor ms", *(f"{each.counter_ms:.1f}" for each in taken)],
        ["counter, billed ms", *(str(counter) for _, counter in bills)],
        ["DynamoDB, calls", *(f"{each.calls:.1f}" for each in taken)],
        ["DynamoDB, write units", *(f"{each.writes:.1f}" for each in taken)],
        ["DynamoDB, read units at most", *(f"{each.reads:.1f}" for each in taken)],
        ["record, bytes", *(f"{each.record:.0f}" for each in taken)],
        ["log, bytes", *(f"{each.log:.0f}" for each in taken)],
        ["answer, bytes", *(f"{each.out:.0f}" for each in taken)],
    ]


def larger_edge(measured: Measured) -> str:
    """What more memory would do for the edge, which has no more of a core than of memory."""
    [kind, *_] = measured.taken
    sizes = [measured.memory.edge, 2 * measured.memory.edge]
    own, double = (Memory(size, measured.memory.counter) for size in sizes)
    times = [billed(measured.taken[kind], memory)[0] for memory in (own, double)]
    costs = [bill(measured.taken[kind], memory)["edge"] for memory in (own, double)]
    return paragraph(
        f"""
        By the same formula an edge of {sizes[1]} MB would take {times[1]} ms for a {kind} request in the place of
        {times[0]}, for ${costs[1]:.2f} a million in the place of ${costs[0]:.2f}.
        """
    )


def standing_costs(measured: Measured) -> str:
    """What is paid by the month, however many requests come."""
    costs = standing(measured.functions, measured.alarms, measured.metrics)
    shown = ", ".join(f"{name} ${dollars:.2f}" for name, dollars in costs.items())
    restored = (measured.memory.edge + measured.memory.counter) / 1024 * PRICES["SnapStart, a GB restored"]
    peaks = " and ".join(
        f"{peak:.0f} MB of {measured.functions[name]} in {name}" for name, peak in measured.peaks.items()
    )
    return paragraph(
        f"""
        By the month, whatever comes, it is ${sum(costs.values()):.2f}: {shown}. SnapStart's share is that of
        {len(measured.functions)} published versions, {sum(measured.functions.values()) / 1024:.1f} GB, kept around
        the clock, and a metric is one that requests to one model make which are all counted: errors and further
        models have their own. A new environment of the edge and of a counter is ${1000 * restored:.2f} a thousand. At
        most {peaks} were resident: a counter's memory is there for its core, and less of it would make a count
        longer, not cheaper.
        """
    )


def endpoint(measured: Measured) -> str:
    """Where the endpoint pays."""
    [*_, (kind, taken)] = measured.taken.items()
    month = PRICES["SageMaker, ml.g6.xlarge, an hour"] * HOURS
    counter = bill(taken, measured.memory)["counter"]
    requests = month / counter
    gigabytes = (measured.memory.edge + measured.memory.counter) / 1024
    wait = 1000 * WAIT_MS * gigabytes * PRICES["Lambda, arm64, a GB-second"]
    return paragraph(
        f"""
        Where the endpoint pays: an ml.g6.xlarge is ${month:.0f} a month. A request with {kind} costs ${counter:.2f} a
        million in the counter, so that the instance costs as much as counting {requests:,.0f} million of them a month,
        {requests * 1e6 / (3600 * HOURS):,.0f} a second without a pause: no instance of that size decodes as many images
        (docs/benchmarks.md, Images, has what two processors do). And a delegated request is paid for in the functions,
        too, which wait for the endpoint: each {WAIT_MS} ms are ${wait:.2f} a million. So at no number of requests does
        it count cheaper. What it buys is that every image was decoded, so that one whose header is sound and whose data
        is not is refused, and that the number is the processor's own. At a million such requests a month that adds
        ${month:.0f} to their bill, and at ten million ${month / 10:.0f} a million.
        """
    )

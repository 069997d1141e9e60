"""AWS's list prices, and what a request costs by what it takes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

# Dollars in us-east-1, without free tiers and discounts by volume. To be checked against the services' pricing pages.
AS_OF = "November 2026"
PRICES = {
    "API Gateway, REST, a million requests": 3.50,
    "Lambda, a million requests": 0.20,
    "Lambda, arm64, a GB-second": 0.0000133334,
    "SnapStart, a GB-second of a published version kept": 0.0000015046,
    "SnapStart, a GB restored": 0.0001397998,
    "DynamoDB on demand, a million write units": 0.625,
    "DynamoDB on demand, a million read units": 0.125,
    "DynamoDB, a GB-month": 0.25,
    "DynamoDB, point-in-time recovery, a GB-month": 0.20,
    "SQS, a million requests": 0.40,
    "CloudWatch logs, a GB taken in": 0.50,
    "CloudWatch logs, a GB-month": 0.03,
    "CloudWatch, a metric of its own, a month": 0.30,
    "CloudWatch, an alarm, a month": 0.10,
    "X-Ray, a million traces": 5.00,
    "Secrets Manager, a secret, a month": 0.40,
    "Data out, a GB": 0.09,
    "SageMaker, ml.g6.xlarge, an hour": 1.127,
}
HOURS = 730
# API Gateway's default sampling: the first request of each second, and of the others this share.
TRACED = 0.05
RECORD_MONTHS = 1.0
# With its detailed metrics on, API Gateway has these of each method that is called: count, latencies, 4xx and 5xx.
METHOD_METRICS = 5
# A full vCPU is at 1,769 MB, and a function has its share of one.
FULL_MB = 1769
# What is waited for beside processors, in ms, to be checked against a deployment's Server-Timing.
DYNAMODB_MS = 5.0
INVOKE_MS = 10.0


@dataclass(frozen=True, slots=True)
class Taken:
    """What a request takes, on average.

    Args:
        edge_ms, counter_ms: processor time on a full core.
        calls: of DynamoDB, one after the other.
        reads, writes: DynamoDB's units; the reads at most, for they are remembered for a minute.
        record: bytes of its record.
        log: bytes of log, of all functions and of API Gateway.
        out: bytes of the answer.
    """

    edge_ms: float
    counter_ms: float
    calls: float
    reads: float
    writes: float
    record: float
    log: float
    out: float


@dataclass(frozen=True, slots=True)
class Memory:
    """MB of the functions."""

    edge: int
    counter: int


def billed(taken: Taken, memory: Memory) -> tuple[int, int]:
    """Milliseconds of the edge and of the counter, of which the edge waits for the counter's."""
    counter = taken.counter_ms * max(1.0, FULL_MB / memory.counter)
    waits = taken.calls * DYNAMODB_MS + INVOKE_MS + counter
    return math.ceil(taken.edge_ms * max(1.0, FULL_MB / memory.edge) + waits), math.ceil(counter)


def bill(taken: Taken, memory: Memory) -> dict[str, float]:
    """Dollars for a million requests, by what they are for."""
    edge, counter = billed(taken, memory)
    gigabytes = 1e6 / 1e9
    kept = PRICES["DynamoDB, a GB-month"] * 2 + PRICES["DynamoDB, point-in-time recovery, a GB-month"]
    log = PRICES["CloudWatch logs, a GB taken in"] + PRICES["CloudWatch logs, a GB-month"]
    return {
        "API Gateway": PRICES["API Gateway, REST, a million requests"],
        "edge": _function(edge, memory.edge),
        "counter": _function(counter, memory.counter),
        "DynamoDB, writes": taken.writes * PRICES["DynamoDB on demand, a million write units"],
        "DynamoDB, reads at most": taken.reads * PRICES["DynamoDB on demand, a million read units"],
        "records kept": taken.record * gigabytes * RECORD_MONTHS * kept,
        "logs": taken.log * gigabytes * log,
        "X-Ray": TRACED * PRICES["X-Ray, a million traces"],
        "data out": taken.out * gigabytes * PRICES["Data out, a GB"],
    }


def _function(milliseconds: int, megabytes: int) -> float:
    seconds = 1e6 * milliseconds / 1000 * megabytes / 1024
    return PRICES["Lambda, a million requests"] + seconds * PRICES["Lambda, arm64, a GB-second"]


def standing(functions: Mapping[str, int], alarms: int, metrics: int) -> dict[str, float]:
    """Dollars a month before the first request.

    Args:
        functions: MB of each function whose published version is kept as a snapshot.
        metrics: of the service's own.
    """
    kept = sum(functions.values()) / 1024 * 3600 * HOURS
    # Five pollers of the queue ask every 20 seconds.
    polls = 5 * 3 * 60 * HOURS / 1e6
    return {
        "SnapStart": kept * PRICES["SnapStart, a GB-second of a published version kept"],
        "metrics of its own": metrics * PRICES["CloudWatch, a metric of its own, a month"],
        "API Gateway's of one route": METHOD_METRICS * PRICES["CloudWatch, a metric of its own, a month"],
        "alarms": alarms * PRICES["CloudWatch, an alarm, a month"],
        "secret": PRICES["Secrets Manager, a secret, a month"],
        "polls of the queue": polls * PRICES["SQS, a million requests"],
    }

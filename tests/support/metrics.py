"""Metrics of a function under test, and what CloudWatch would make of the lines that it writes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger

from tokencount.adapters.metrics import Metrics
from tokencount.adapters.settings import MetricsSettings

NAMESPACE = "Tokencount/test"


def metrics_of(service: str, logger: Logger, *, version: str = "7", restored: bool = False) -> Metrics:
    """The metrics of a service."""
    return Metrics(MetricsSettings(NAMESPACE, service, version, restored), logger)


@dataclass(frozen=True, slots=True)
class Measured:
    """The values of one metric in one line."""

    name: str
    unit: str
    dimensions: tuple[tuple[str, str], ...]
    values: tuple[float, ...]


def lines(output: str) -> list[dict[str, Any]]:
    """The lines of metrics among those of a log."""
    parsed = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [line for line in parsed if "_aws" in line]


def measured(line: dict[str, Any]) -> list[Measured]:
    """What a line holds by CloudWatch's specification of the format."""
    return list(_measured(line))


def _measured(line: dict[str, Any]) -> Iterator[Measured]:
    for directive in line["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = tuple(sorted((name, line[name]) for name in names))
            for metric in directive["Metrics"]:
                yield Measured(metric["Name"], metric["Unit"], dimensions, tuple(line[metric["Name"]]))

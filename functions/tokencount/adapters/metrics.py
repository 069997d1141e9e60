"""Metrics in CloudWatch's embedded metric format: one line of JSON in a function's log for each request or batch."""

import json
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from tokencount.adapters.faults import describe
from tokencount.adapters.settings import MetricsSettings
from tokencount.domain.limits import LimitsUnavailable
from tokencount.domain.ports import Caller

# Names and values besides `service`.
_Dimensions = tuple[tuple[str, str], ...]
_Value = tuple[str, MetricUnit, float]


class Metrics:
    """What is measured while a request is answered, written once it is.

    Nothing here raises: an answer leaves whether or not it was measured. Every metric has the dimension `service`; each
    value of a further one is one more metric to pay for. A thread may add while another writes: a record that was given
    up on goes to its queue later.
    """

    def __init__(self, settings: MetricsSettings, logger: Logger) -> None:
        self._settings = settings
        self._logger = logger
        self._first = True
        self._lock = threading.Lock()
        self._measured: dict[_Dimensions, list[_Value]] = {}
        self._properties: dict[str, str] = {}

    def add(self, name: str, value: float = 1, unit: MetricUnit = MetricUnit.Count, **dimensions: str) -> None:
        """One value of the metric of that name and these dimensions."""
        with self._lock:
            self._measured.setdefault(tuple(dimensions.items()), []).append((name, unit, value))

    def answered(self, status: int) -> None:
        """Counts an answer; the average of Faults is the share of those that are our fault."""
        self.add("Answers")
        self.fault(status >= 500)

    def fault(self, failed: bool) -> None:
        """Whether something failed for a fault of ours; by the version too, so that a new one's can be told apart."""
        self.add("Faults", int(failed))
        self.add("Faults", int(failed), version=self._settings.version)

    def took(self, durations: Mapping[str, float]) -> None:
        """Milliseconds by phase."""
        for phase, milliseconds in durations.items():
            self.add(phase, milliseconds, MetricUnit.Milliseconds)

    def limiter_unavailable(self, _caller: Caller, error: LimitsUnavailable) -> None:
        """Counts a request whose limits could not be reached; the line also says where that failed."""
        self.add("LimiterUnavailable")
        self._properties["limiter_fault"] = describe(error)

    def event_not_recorded(self, _request_id: str, error: Exception) -> None:
        """Counts a request whose event could not be recorded; the line also says where that failed."""
        self.add("EventNotRecorded")
        self._properties["recording_fault"] = describe(error)

    def write(self, **properties: str) -> None:
        """Writes what was measured since the last time in one line, with these properties, which are no metrics."""
        if self._first:
            # A snapshot is taken before: each environment that is restored from it has a first request.
            self.add("Restores" if self._settings.restored else "ColdStarts")
            self._first = False
        with self._lock:
            measured, self._measured = self._measured, {}
            told, self._properties = self._properties | properties, {}
        try:
            # In one piece: print writes the line's end apart where output is not buffered, as in Lambda, and what
            # another thread logs would come between.
            sys.stdout.write(json.dumps(_line(self._settings, measured) | told, separators=(",", ":")) + "\n")
            sys.stdout.flush()
        except Exception as error:
            self._logger.error("the metrics were not written", extra={"fault": describe(error)})


def _line(settings: MetricsSettings, measured: Mapping[_Dimensions, Sequence[_Value]]) -> dict[str, Any]:
    """A document for all dimensions, which the format allows; Powertools makes one for each."""
    line: dict[str, Any] = {}
    directives: list[Any] = []
    for dimensions, values in measured.items():
        metrics = EphemeralMetrics(namespace=settings.namespace, service=settings.service)
        for dimension in dimensions:
            metrics.add_dimension(*dimension)
        for value in values:
            metrics.add_metric(*value)
        document: Any = metrics.serialize_metric_set()
        directives += document["_aws"]["CloudWatchMetrics"]
        line |= document
    line["_aws"]["CloudWatchMetrics"] = directives
    return line

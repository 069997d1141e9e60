"""From a batch of queued messages to the requests table, each message by itself."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import MetricUnit

from tokencount.adapters.faults import describe
from tokencount.adapters.metrics import Metrics
from tokencount.adapters.record_queue import read_message
from tokencount.domain.moments import read_moment
from tokencount.domain.records import RequestRecord


class Table(Protocol):
    """Takes records."""

    def put(self, record: RequestRecord) -> None:
        """Keeps `record`; a second time changes nothing."""


class Recorder:
    """The recorder function.

    Args:
        now: the clock, UTC.
    """

    def __init__(self, table: Table, logger: Logger, metrics: Metrics, now: Callable[[], datetime]) -> None:
        self._table = table
        self._logger = logger
        self._metrics = metrics
        self._now = now

    def __call__(self, event: Mapping[str, Any], _context: object) -> dict[str, Any]:
        """The messages to send again, of an SQS event: one that is no record must not hold back the others."""
        failed = [message["messageId"] for message in event["Records"] if not self._keep(message)]
        self._metrics.write()
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}

    def _keep(self, message: Mapping[str, Any]) -> bool:
        try:
            record = read_message(message["body"])
            created = read_moment(record.created_at)
            self._table.put(record)
        except Exception as error:
            extra = {"message_id": message["messageId"], "fault": describe(error)}
            self._logger.error("the record was not written", extra=extra)
            self._metrics.fault(failed=True)
            return False
        self._metrics.fault(failed=False)
        self._metrics.add("RecordAge", (self._now() - created).total_seconds(), MetricUnit.Seconds)
        self._logger.info("the record was written", extra={"request_id": record.id})
        return True

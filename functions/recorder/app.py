"""From a batch of queued messages to the requests table, each message by itself."""

from collections.abc import Mapping
from typing import Any, Protocol

from aws_lambda_powertools import Logger

from tokencount.adapters.faults import describe
from tokencount.adapters.record_queue import read_message
from tokencount.domain.records import RequestRecord


class Table(Protocol):
    """Takes records."""

    def put(self, record: RequestRecord) -> None:
        """Keeps `record`; a second time changes nothing."""


class Recorder:
    """The recorder function."""

    def __init__(self, table: Table, logger: Logger) -> None:
        self._table = table
        self._logger = logger

    def __call__(self, event: Mapping[str, Any], _context: object) -> dict[str, Any]:
        """The messages to send again, of an SQS event: one that is no record must not hold back the others."""
        failed = [message["messageId"] for message in event["Records"] if not self._keep(message)]
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}

    def _keep(self, message: Mapping[str, Any]) -> bool:
        try:
            record = read_message(message["body"])
            self._table.put(record)
        except Exception as error:
            extra = {"message_id": message["messageId"], "fault": describe(error)}
            self._logger.error("the record was not written", extra=extra)
            return False
        self._logger.info("the record was written", extra={"request_id": record.id})
        return True

"""Where records wait while the table does not take them: an SQS queue, from which the recorder writes them later."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger
from botocore.exceptions import BotoCoreError, ClientError

from tokencount.adapters.faults import describe
from tokencount.adapters.metrics import Metrics
from tokencount.adapters.request_log import RecordNotKept
from tokencount.domain.ports import RequestLog
from tokencount.domain.records import RecordPage, RecordQuery, RequestRecord

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class RecordQueue:
    """The queue.

    Args:
        client: gives the SQS client, asked only when a record has to be queued: a cold start need not wait for it.
        url: the queue's.
    """

    def __init__(self, client: Callable[[], "SQSClient"], url: str) -> None:
        self._client = client
        self._url = url

    def put(self, record: RequestRecord) -> None:
        """Sends `record` to be written later.

        Raises:
            RecordNotKept: the queue does not take it.
        """
        try:
            self._client().send_message(QueueUrl=self._url, MessageBody=json.dumps(record.to_dict()))
        except (BotoCoreError, ClientError) as error:
            raise RecordNotKept(record.id) from error


def read_message(body: str) -> RequestRecord:
    """The record in a message's body.

    Raises:
        ValueError, KeyError, TypeError: there is none in it.
    """
    return RequestRecord.from_dict(json.loads(body))


class QueuedRequestLog:
    """A table, and the queue for the records that it does not take."""

    def __init__(self, table: RequestLog, queue: RecordQueue, logger: Logger, metrics: Metrics) -> None:
        self._table = table
        self._queue = queue
        self._logger = logger
        self._metrics = metrics

    def put(self, record: RequestRecord) -> None:
        """Keeps `record`, or sends it to the queue.

        Raises:
            RecordNotKept: neither takes it.
        """
        try:
            self._table.put(record)
        except RecordNotKept as error:
            # By its own id: the edge may meanwhile be busy with another request.
            extra = {"request_id": record.id, "fault": describe(error)}
            self._logger.warning("the record goes to the queue", extra=extra)
            self._queue.put(record)
            self._metrics.add("RecordsQueued")

    def get(self, request_id: str) -> dict[str, Any] | None:
        """The table's; a record in the queue is not found yet."""
        return self._table.get(request_id)

    def find(self, query: RecordQuery) -> RecordPage:
        """The table's."""
        return self._table.find(query)

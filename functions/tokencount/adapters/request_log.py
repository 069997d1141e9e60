"""Request records in DynamoDB, readable by their id the moment they are written."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from tokencount.adapters.dynamodb import from_item, to_item
from tokencount.adapters.record_search import Search
from tokencount.domain.errors import NodeUnavailable
from tokencount.domain.records import FIELDS, RecordPage, RecordQuery, RequestRecord

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class RecordNotKept(Exception):
    """The table, or the queue, did not take a record."""


class DynamoRequestLog:
    """The requests table.

    Args:
        now: the clock: DynamoDB may hold a record for days after its time is over.
    """

    def __init__(self, client: "DynamoDBClient", table: str, now: Callable[[], datetime]) -> None:
        self._client = client
        self._table = table
        self._now = now

    def put(self, record: RequestRecord) -> None:
        """Keeps `record`; a second time changes nothing.

        Raises:
            RecordNotKept: the table does not answer, or refuses it.
        """
        try:
            self._client.put_item(TableName=self._table, Item=to_item(record.to_dict()))
        except (BotoCoreError, ClientError) as error:
            raise RecordNotKept(record.id) from error

    def get(self, request_id: str) -> dict[str, Any] | None:
        """The record of that id with every field of the contract, or None.

        Raises:
            NodeUnavailable: the table does not answer.
        """
        key = to_item({"id": request_id})
        try:
            item = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True).get("Item")
        except (BotoCoreError, ClientError) as error:
            raise _unavailable() from error
        found = _record(item) if item else None
        return found if found and found["expires_at"] > self._now().timestamp() else None

    def find(self, query: RecordQuery) -> RecordPage:
        """The newest records that a query asks for, found within seconds after they were written.

        It looks at a bounded number of records: where few of them are wanted a page may be short, or empty, and not be
        the last.

        Raises:
            NodeUnavailable: the table does not answer.
        """
        try:
            items, last = Search(query, self._now()).run(self._client, self._table)
        except (BotoCoreError, ClientError) as error:
            raise _unavailable() from error
        return RecordPage([_record(item) for item in items], last)


def _record(item: dict[str, Any]) -> dict[str, Any]:
    found = from_item(item)
    return {name: found.get(name) for name in FIELDS}


def _unavailable() -> NodeUnavailable:
    return NodeUnavailable("Request records cannot be read right now; retry in a few seconds", retry_after=5)

"""Request records in DynamoDB, readable by their id the moment they are written."""

from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from tokencount.adapters.dynamodb import from_item, to_item
from tokencount.domain.errors import NodeUnavailable
from tokencount.domain.records import FIELDS, RequestRecord

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class RecordNotKept(Exception):
    """The table did not take a record."""


class DynamoRequestLog:
    """The requests table."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def put(self, record: RequestRecord) -> None:
        """Keeps `record`.

        Raises:
            RecordNotKept: the table does not answer.
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
            raise NodeUnavailable(
                "Request records cannot be read right now; retry in a few seconds", retry_after=5
            ) from error
        if item is None:
            return None
        found = from_item(item)
        return {name: found.get(name) for name in FIELDS}

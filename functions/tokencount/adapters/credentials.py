"""Credentials in DynamoDB."""

import hmac
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from tokencount.adapters.credential_rows import from_row, secret_id, to_rows
from tokencount.adapters.dynamodb import from_item, to_item
from tokencount.domain.credentials import Credential, Secret
from tokencount.domain.errors import NodeUnavailable
from tokencount.domain.ports import KeyPage

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class CredentialStore:
    """The credentials table.

    Every method raises NodeUnavailable where the table does not answer.
    """

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def add(self, secret: Secret, credential: Credential) -> None:
        """Keeps who holds `secret`, and not the secret."""
        puts = [{"Put": {"TableName": self._table, "Item": to_item(row)}} for row in to_rows(secret, credential)]
        with answering():
            self._client.transact_write_items(TransactItems=puts)  # type: ignore[arg-type]

    def find(self, secret: Secret) -> Credential | None:
        """Who holds `secret`, or None."""
        key = secret_id(secret)
        row = self._get(key)
        return from_row(row) if row and hmac.compare_digest(row["id"], key) else None

    def page(self, project: str, limit: int, after: str | None = None) -> KeyPage:
        """API keys of a project, the newest first, seconds after they were made or revoked.

        Args:
            after: the id of the last key of the page before.
        """
        start = self._start(project, after) if after else {}
        if after and not start:
            return KeyPage([], None)
        with answering():
            items = self._client.query(
                TableName=self._table,
                IndexName="by-project",
                KeyConditionExpression="#project = :project",
                ExpressionAttributeNames={"#project": "project"},
                ExpressionAttributeValues=to_item({":project": project}),
                ScanIndexForward=False,
                Limit=limit + 1,
                **start,
            )["Items"]
        keys = [from_row(from_item(item)) for item in items[:limit]]
        return KeyPage(keys, keys[-1].id if len(items) > limit else None)

    def revoke(self, key_id: str, project: str, at: datetime) -> Credential | None:
        """The API key of that id once it is revoked, since `at` or earlier; None where the project has none."""
        pointer = self._get(key_id)
        if pointer is None:
            return None
        with answering():
            try:
                reply = self._client.update_item(
                    TableName=self._table,
                    Key=to_item({"id": pointer["secret"]}),
                    UpdateExpression="SET holder.revoked_at = if_not_exists(holder.revoked_at, :at)",
                    ConditionExpression="#project = :project",
                    ExpressionAttributeNames={"#project": "project"},
                    ExpressionAttributeValues=to_item({":at": at.isoformat(), ":project": project}),
                    ReturnValues="ALL_NEW",
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                return None
        return from_row(from_item(reply["Attributes"]))

    def _start(self, project: str, after: str) -> Mapping[str, Any]:
        """Where a query goes on; nothing where the project has no such key."""
        pointer = self._get(after)
        row = pointer and self._get(pointer["secret"])
        if not row or row.get("project") != project:
            return {}
        return {"ExclusiveStartKey": to_item({name: row[name] for name in ("id", "project", "created_at")})}

    def _get(self, key: str) -> dict[str, Any] | None:
        with answering():
            reply = self._client.get_item(TableName=self._table, Key=to_item({"id": key}), ConsistentRead=True)
        return from_item(reply["Item"]) if "Item" in reply else None


@contextmanager
def answering() -> Iterator[None]:
    """Raises NodeUnavailable where the table does not answer."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        message = "Credentials cannot be read or written right now; retry in a few seconds"
        raise NodeUnavailable(message, retry_after=5) from error

"""Organizations, projects and users: rows of the credentials table."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tokencount.adapters.credential_rows import Row, to_rows
from tokencount.adapters.credentials import answering
from tokencount.adapters.dynamodb import from_item, to_item
from tokencount.domain.issuing import Account, Issued

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# Names the account that a table was started with.
_FIRST = "account#first"


class Accounts:
    """The accounts of a credentials table.

    Every method raises NodeUnavailable where the table does not answer.
    """

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def first(self) -> Account | None:
        """The account that the table was started with; None of one that is new."""
        with answering():
            reply = self._client.get_item(TableName=self._table, Key=to_item({"id": _FIRST}), ConsistentRead=True)
        row = from_item(reply.get("Item", {}))
        return Account(row["organization"], row["project"], row["user"]) if row else None

    def open_first(self, account: Account, name: str, issued: Sequence[Issued], now: datetime) -> bool:
        """Whether it wrote the account and its credentials: all of it at once, and only into a new table."""
        rows = _account_rows(account, name, now) + [row for each in issued for row in to_rows(*each)]
        puts: list[Any] = [{"Put": {"TableName": self._table, "Item": to_item(row)}} for row in rows]
        puts[0]["Put"]["ConditionExpression"] = "attribute_not_exists(id)"
        with answering():
            try:
                self._client.transact_write_items(TransactItems=puts)
            except self._client.exceptions.TransactionCanceledException as error:
                if error.response["CancellationReasons"][0]["Code"] != "ConditionalCheckFailed":
                    raise
                return False
        return True


def _account_rows(account: Account, name: str, now: datetime) -> list[Row]:
    """The row that marks the table as started, then the account's own."""
    known = {"name": name, "created_at": now.isoformat()}
    organization = {"organization": account.organization}
    return [
        {"id": _FIRST, "project": account.project, "user": account.user} | organization,
        {"id": account.organization, "kind": "organization"} | known,
        {"id": account.project, "kind": "project"} | organization | known,
        {"id": account.user, "kind": "user"} | organization | known,
    ]

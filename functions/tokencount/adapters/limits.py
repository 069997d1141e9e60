"""Windows in the limits table: one conditional update a decision, exact whoever else asks at the same time.

Conditions know no arithmetic, so what is compared is worked out before. Time to live only clears away: whether a window
has ended is read from its key, whether a lease has is compared in the condition.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tokencount.adapters.aws import client
from tokencount.adapters.dynamodb import from_item, to_item
from tokencount.domain.limits import LimitsUnavailable, Usage, Window

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# How long a row outlives what it holds: more than the clocks of the functions that share it can disagree.
KEPT_SECONDS = 3600
# One attempt: after a lost answer a second one would count twice.
_CONFIG = Config(read_timeout=1, connect_timeout=0.5, retries={"total_max_attempts": 1})


@dataclass(frozen=True, slots=True)
class Update:
    """An update of one row and its condition, as DynamoDB writes them."""

    expression: str
    condition: str
    values: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


class LimitsTable:
    """The limits table.

    Args:
        client: a DynamoDB client that makes one attempt.
    """

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    @classmethod
    def named(cls, table: str) -> Self:
        """The table of that name in the function's own account and region."""
        return cls(client("dynamodb", _CONFIG), table)

    def get(self, key: str) -> dict[str, Any]:
        """A row, empty where there is none. Raises LimitsUnavailable."""
        try:
            reply = self._client.get_item(TableName=self._table, Key={"id": {"S": key}}, ConsistentRead=True)
        except (BotoCoreError, ClientError) as error:
            raise LimitsUnavailable(key) from error
        return from_item(reply.get("Item", {}))

    def update(self, key: str, update: Update) -> tuple[bool, dict[str, Any]]:
        """Whether the condition held, and the row as it then stands. Raises LimitsUnavailable."""
        # DynamoDB takes no empty ones.
        values = {"ExpressionAttributeValues": to_item(update.values)} if update.values else {}
        names = {"ExpressionAttributeNames": update.names} if update.names else {}
        placeholders: dict[str, Any] = values | names
        try:
            reply = self._client.update_item(
                TableName=self._table,
                Key={"id": {"S": key}},
                UpdateExpression=update.expression,
                ConditionExpression=update.condition,
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **placeholders,
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise LimitsUnavailable(key) from error
            row: Any = error.response.get("Item", {})
            return False, from_item(row)
        except BotoCoreError as error:
            raise LimitsUnavailable(key) from error
        return True, from_item(reply["Attributes"])


class DynamoWindows:
    """Units used, in a row for each key and window."""

    def __init__(self, table: LimitsTable) -> None:
        self._table = table

    def reserve(self, key: str, window: Window, units: int, limit: int) -> Usage:
        """Takes `units` of the window's `limit`, or none of them. Raises LimitsUnavailable."""
        first = "attribute_not_exists(used) OR " if units <= limit else ""
        update = Update(
            "SET #ttl = :ttl ADD used :units",
            f"{first}used <= :room",
            {":units": units, ":room": limit - units, ":ttl": window.end + KEPT_SECONDS},
            {"#ttl": "ttl"},
        )
        granted, row = self._table.update(_row(key, window), update)
        return Usage(granted, row.get("used", 0))

    def settle(self, key: str, window: Window, unused: int) -> None:
        """Gives back units that were reserved and not needed. Raises LimitsUnavailable."""
        update = Update("ADD used :back", "attribute_exists(used)", {":back": -unused})
        self._table.update(_row(key, window), update)


def _row(key: str, window: Window) -> str:
    return f"{key}#{window.start}"

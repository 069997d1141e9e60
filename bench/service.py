"""The stack that is loaded: tables in DynamoDB's own engine, counters as a snapshot holds them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from local import aws
from local.stack import Stack
from tokencount.adapters.accounts import Accounts
from tokencount.adapters.dynamodb import to_item
from tokencount.adapters.limit_settings import MAX_LIMIT

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

RESTORED = {"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}


@contextmanager
def restored(dynamodb: str, state: Path) -> Iterator[Stack]:
    """A stack whose counters load their fast engine as they start, as they do before a snapshot is taken of them.

    Args:
        dynamodb: URL of an empty engine.
        state: folder for the functions' logs.
    """
    stack = Stack(dynamodb=dynamodb, state=state)
    for name, own in stack.template.functions.items():
        stack.template.functions[name] = replace(own, environment={**own.environment, **RESTORED})
    with stack:
        _lift_limits(aws.session().client("dynamodb", endpoint_url=dynamodb, config=aws.DIRECT))
        yield stack


def _lift_limits(dynamodb: "DynamoDBClient") -> None:
    """Rows of the limits table for the stack's own account, before it sends its first request."""
    account = Accounts(dynamodb, "CredentialsTable").first()
    assert account
    for owner, limit in (
        (f"project#{account.project}", "requests_per_minute"),
        (f"organization#{account.organization}", "requests_in_flight"),
    ):
        dynamodb.put_item(TableName="LimitsTable", Item=to_item({"id": f"settings#{owner}", limit: MAX_LIMIT}))

"""The template's limits table in DynamoDB's own engine, as several functions see it."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from botocore.config import Config

from local import aws
from local.stack import ROOT
from local.template import Template
from tokencount.adapters.dynamodb import from_item, to_item
from tokencount.adapters.limits import LimitsTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TABLE = "LimitsTable"
# Later than the engine's own clock, by which it deletes what is past its time to live.
NOON = datetime(2090, 7, 26, 12, tzinfo=UTC)
T = TypeVar("T")


class Database:
    """A database of its own with the template's limits table; every function that asks has a client of its own."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._account = uuid4().hex
        self._session = aws.session()
        self.client = self.new_client()
        template = Template(ROOT / "template.yaml")
        properties = dict(template.resources("AWS::DynamoDB::Table"))[TABLE]
        aws.create_table(self.client, TABLE, template.resolve(properties))

    def new_client(self) -> "DynamoDBClient":
        return self._session.client(
            "dynamodb",
            endpoint_url=self._engine,
            aws_access_key_id=self._account,
            aws_secret_access_key="local",
            config=Config(proxies={}, read_timeout=60, retries={"total_max_attempts": 1}),
        )

    def table(self) -> LimitsTable:
        return LimitsTable(self.new_client(), TABLE)

    def put(self, **row: Any) -> None:
        self.client.put_item(TableName=TABLE, Item=to_item(row))

    def rows(self) -> dict[str, dict[str, Any]]:
        items = self.client.scan(TableName=TABLE, ConsistentRead=True)["Items"]
        return {row["id"]: row for row in map(from_item, items)}


def at_once(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """What the tasks give, all started at the same moment."""
    ready = threading.Barrier(len(tasks))

    def run(task: Callable[[], T]) -> T:
        ready.wait()
        return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(run, tasks))

"""A customer of a running stack, with limits of its own."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import urllib3

from local.stack import Stack
from tests.support.requests import QWEN
from tokencount.adapters.credentials import CredentialStore
from tokencount.adapters.dynamodb import from_item, to_item
from tokencount.domain.credentials import INFER_RUN
from tokencount.domain.ids import new_id
from tokencount.domain.issuing import issue_key
from tokencount.domain.limits import Window

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

COUNT = "/v1/infer/v1/messages/count_tokens"
HELLO = {"model": QWEN, "messages": [{"role": "user", "content": "hi"}]}
Answer = tuple[int, urllib3.HTTPHeaderDict, Any]
T = TypeVar("T")


class Customer:
    """A new organization with one project, its limits and a key.

    Args:
        dynamodb: where the stack has its tables.
        limits: as the rows of the limits table name them.
    """

    def __init__(self, stack: Stack, dynamodb: "DynamoDBClient", **limits: int) -> None:
        now = datetime.now(UTC)
        self.organization, self.project = new_id("org", now), new_id("prj", now)
        issued = issue_key(self.organization, self.project, name="test", scopes=[INFER_RUN], now=now)
        CredentialStore(dynamodb, "CredentialsTable").add(*issued)
        headers = {"authorization": f"Bearer {issued.secret.reveal()}", "content-type": "application/json"}
        self._http = urllib3.PoolManager(maxsize=50, headers=headers, retries=False, timeout=60)
        self._url = stack.url
        self._dynamodb = dynamodb
        for owner in (f"project#{self.project}", f"organization#{self.organization}"):
            self.put(id=f"settings#{owner}", **limits)

    def count(self, body: object = HELLO) -> Answer:
        """Status, headers and body of an answer."""
        answer = self._http.request("POST", self._url + COUNT, body=json.dumps(body))
        return answer.status, answer.headers, answer.json()

    def count_at_once(self, requests: int) -> list[Answer]:
        """The answers to as many requests at the same time."""
        with ThreadPoolExecutor(requests) as pool:
            return list(pool.map(lambda _: self.count(), range(requests)))

    def record(self, request_id: str) -> Any:
        """The record of a request."""
        return self._http.request("GET", f"{self._url}/v1/requests/{request_id}").json()

    def put(self, **row: Any) -> None:
        """Writes a row of the limits table."""
        self._dynamodb.put_item(TableName="LimitsTable", Item=to_item(row))

    def rows(self, start: str) -> list[dict[str, Any]]:
        """Rows of the limits table whose ids begin so."""
        items = self._dynamodb.scan(TableName="LimitsTable", ConsistentRead=True)["Items"]
        return [row for row in map(from_item, items) if row["id"].startswith(start)]


def in_one_window(attempt: Callable[[], T]) -> T:
    """What an attempt gives during which no minute ended."""
    while True:
        window, given = Window.at(datetime.now(UTC)), attempt()
        if Window.at(datetime.now(UTC)) == window:
            return given


def unlimited(log: Path) -> list[str]:
    """The requests of an edge's log that were counted without their limits, by the metric."""
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return [line["request_id"] for line in lines if "LimiterUnavailable" in line]

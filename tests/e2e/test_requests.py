"""The request log of the running stack: listed and filtered, and whole though its table, or the queue too, is away."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import urllib3

from local import aws
from local.stack import ROOT, Stack
from local.template import Template
from tests.support.requests import EXAMPLE
from tests.support.server import Server
from tokencount.adapters.credentials import CredentialStore
from tokencount.domain.credentials import INFER_RUN
from tokencount.domain.issuing import issue_key

COUNT = "/v1/infer/v1/messages/count_tokens"
TABLE = "RequestsTable"


class Client:
    """Asks a service; what was answered last is in `status` and `body`."""

    def __init__(self, server: Server, key: str | None = None) -> None:
        self.server = server
        self._key = key or server.api_key

    def ask(self, method: str, path: str, body: object = None, **query: str) -> str:
        """The id of the request."""
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        content = None if body is None else json.dumps(body)
        url = self.server.url + path + ("?" + urlencode(query) if query else "")
        answer = urllib3.request(method, url, body=content, headers=headers, retries=False, timeout=30)
        self.status, self.body = answer.status, answer.json()
        return str(answer.headers["request-id"])

    def count(self, **changes: Any) -> str:
        return self.ask("POST", COUNT, EXAMPLE | changes)

    def list(self, **query: str) -> list[str]:
        """The ids of the page."""
        self.ask("GET", "/v1/requests", **query)
        assert self.status == 200, self.body
        return [record["id"] for record in self.body["data"]]

    def record(self, request_id: str) -> dict[str, Any] | None:
        self.ask("GET", f"/v1/requests/{request_id}")
        assert self.status in {200, 404}
        return self.body if self.status == 200 else None


@pytest.fixture
def client(server: Server) -> Client:
    return Client(server)


def test_the_newest_requests_are_listed_first_errors_among_them(client: Client) -> None:
    counted, refused, unserved = client.count(), client.count(messages=[]), client.count(model="b3os/none")
    assert client.list(limit="3") == [unserved, refused, counted]
    statuses = {record["id"]: record["status"] for record in client.body["data"]}
    assert statuses == {counted: 200, refused: 400, unserved: 404}
    assert client.body["data"][0] == client.record(unserved)


def test_filters_and_cursor_go_through_the_list(client: Client) -> None:
    first = client.count()
    since = (client.record(first) or {})["created_at"]
    refused = [client.count(messages=[]) for _ in range(3)]
    client.count()
    assert client.list(status="400", since=since) == refused[::-1]
    assert client.list(status="4xx", since=since, limit="2") == refused[:0:-1]
    assert client.list(status="4xx", since=since, limit="2", cursor=client.body["next_cursor"]) == refused[:1]
    assert client.body["next_cursor"] is None
    assert first in client.list(status="200", since=since, model=EXAMPLE["model"])
    assert client.list(model="b3os/none", since=since) == []


def test_another_project_sees_nothing_of_it(client: Client) -> None:
    request_id = client.count()
    client.list(limit="1")
    cursor = client.body["next_cursor"]
    assert cursor
    secret, key = issue_key("org_other", "prj_other", name="x", scopes=[INFER_RUN], now=datetime.now(UTC))
    database = aws.session().client("dynamodb", endpoint_url=client.server.aws_url, config=aws.DIRECT)
    CredentialStore(database, "CredentialsTable").add(secret, key)
    other = Client(client.server, secret.reveal())
    assert other.list(limit="100") == []
    assert other.record(request_id) is None
    other.ask("GET", "/v1/requests", cursor=cursor)
    assert (other.status, other.body["error"]["param"]) == (400, "cursor")


@pytest.mark.parametrize("query", [{"limit": "0"}, {"status": "4x"}, {"since": "soon"}, {"cursor": "x"}, {"model": ""}])
def test_a_wrong_value_is_a_400_that_names_its_parameter(query: dict[str, str], client: Client) -> None:
    request_id = client.ask("GET", "/v1/requests", **query)
    [name] = query
    assert (client.status, client.body["error"]["param"]) == (400, name)
    assert (client.record(request_id) or {})["error"]["param"] == name


class Outage:
    """What of AWS a stack must do without for a while."""

    def __init__(self, stack: Stack, template: Template) -> None:
        session = aws.session()
        self.database = session.client("dynamodb", endpoint_url=stack.aws_url, config=aws.DIRECT)
        self.sqs = session.client("sqs", endpoint_url=stack.aws_url, config=aws.DIRECT)
        self._properties = template.resolve(dict(template.resources("AWS::DynamoDB::Table"))[TABLE])

    def begin(self) -> None:
        self.database.delete_table(TableName=TABLE)

    def end(self) -> None:
        aws.create_table(self.database, TABLE, self._properties)


@pytest.fixture
def outage(tmp_path: Path) -> Iterator[tuple[Client, Outage, Path]]:
    """A client of a stack of its own, whose queue gives a message again after a second instead of three minutes."""
    for name in ("functions", "layers", ".build"):
        (tmp_path / name).symlink_to(ROOT / name)
    text = (ROOT / "template.yaml").read_text()
    (tmp_path / "template.yaml").write_text(text.replace("VisibilityTimeout: 180", "VisibilityTimeout: 1"))
    with Stack(root=tmp_path, state=tmp_path / "state", warm=False) as stack:
        yield Client(stack), Outage(stack, stack.template), tmp_path / "state" / "logs"


def test_while_the_table_is_away_answers_leave_and_once_it_is_back_their_records_are_found(
    outage: tuple[Client, Outage, Path],
) -> None:
    client, table, _ = outage
    before = client.count()
    table.begin()
    counted = client.count()
    assert (client.status, client.body) == (200, {"input_tokens": 27})
    refused = client.count(messages=[])
    assert client.status == 400
    unserved = client.count(model="b3os/none")
    assert client.status == 404
    unread = client.ask("GET", f"/v1/requests/{before}")
    assert (client.status, client.body["error"]["code"]) == (503, "node_unavailable")
    table.end()
    found = {each: wait_for(client, each) for each in (counted, refused, unserved, unread)}
    assert [record["status"] for record in found.values()] == [200, 400, 404, 503]
    assert found[counted]["input_tokens"] == 27
    assert found[refused]["error"]["param"] == "messages"
    assert found[unserved]["model"] is None
    assert client.list(limit="100", status="503") == [unread]


def test_while_the_queue_is_away_as_well_the_log_holds_the_record_whole(outage: tuple[Client, Outage, Path]) -> None:
    client, table, logs = outage
    client.count()
    known = client.record(client.count())
    assert known is not None
    table.begin()
    table.sqs.delete_queue(QueueUrl="RecordQueue")
    request_id = client.count()
    assert (client.status, client.body) == (200, {"input_tokens": 27})
    lines = [json.loads(line) for line in (logs / "EdgeFunction.log").read_text().splitlines()]
    [line] = [line for line in lines if "record" in line]
    assert line["request_id"] == line["record"]["id"] == request_id
    assert list(line["record"]) == list(known)
    assert (line["record"]["status"], line["record"]["input_tokens"]) == (200, 27)


def wait_for(client: Client, request_id: str) -> dict[str, Any]:
    """The record once it is written; the test's own timeout ends what never happens."""
    while (record := client.record(request_id)) is None:
        time.sleep(0.1)
    return record

"""A limits table that is not there, does not answer or refuses: counting goes on, and a metric says so."""

import socket
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from botocore.stub import Stubber

from tests.support.edge import NOW, EdgeUnderTest
from tests.support.http_server import http_server
from tests.support.internet import HOST, internet, plain
from tests.support.logs import ReadableLogger
from tests.support.metrics import lines, measured, metrics_of
from tokencount.adapters.leases import DynamoLeases
from tokencount.adapters.limit_settings import TableImageLimits, TableLimitSettings
from tokencount.adapters.limits import DynamoWindows, LimitsTable
from tokencount.adapters.remote_images import RemoteImages
from tokencount.domain.chat import Image
from tokencount.domain.image_budget import ImageBudget
from tokencount.domain.limiter import Limiter
from tokencount.domain.limits import LimitsUnavailable, Window
from tokencount.domain.ports import Caller

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

COUNT = "/v1/infer/v1/messages/count_tokens"
BODY = {"model": "b3os/tiny", "messages": []}
RATE_LIMIT = {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
NO_SETTINGS: dict[str, Any] = {}
TAKEN = {"Attributes": {"used": {"N": "1"}}}


def client(port: int = 9) -> "DynamoDBClient":
    once = Config(connect_timeout=0.3, read_timeout=0.3, retries={"total_max_attempts": 1}, proxies={})
    return boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=once,
    )


def ignored(row: str, attribute: str) -> None:
    raise AssertionError(row, attribute)


def edge(dynamodb: "DynamoDBClient") -> EdgeUnderTest:
    table = LimitsTable(dynamodb, "limits")
    read = TableLimitSettings(table, requests_per_minute=9, requests_in_flight=9, clock=time.time, ignored=ignored)
    windows, leases = DynamoWindows(table), DynamoLeases(table)
    metrics = metrics_of("edge", ReadableLogger())
    limiter = Limiter(windows, leases, read, now=lambda: NOW, unavailable=metrics.limiter_unavailable)
    return EdgeUnderTest(limiter, metrics=metrics)


def count(edge: EdgeUnderTest) -> dict[str, str]:
    """The headers of a count, which succeeds."""
    answer = edge.send("POST", COUNT, BODY)
    assert (answer["statusCode"], answer["body"]) == (200, {"input_tokens": 27})
    headers: dict[str, str] = answer["headers"]
    return headers


def told(output: str) -> dict[str, Any]:
    """The one line of metrics of a request whose limits were out of reach once."""
    [line] = lines(output)
    [found] = [each for each in measured(line) if each.name == "LimiterUnavailable"]
    assert (found.unit, found.dimensions, found.values) == ("Count", (("service", "edge"),), (1.0,))
    return line


def test_a_table_that_cannot_be_connected_to_stops_nothing_and_is_asked_once_a_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        headers = count(edge(client(closed.getsockname()[1])))
    assert not RATE_LIMIT & headers.keys()
    line = told(capsys.readouterr().out)
    assert line["request_id"] == headers["request-id"]
    assert "EndpointConnectionError" in line["limiter_fault"]


def test_a_table_that_does_not_answer_stops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        headers = count(edge(client(silent.getsockname()[1])))
    assert not RATE_LIMIT & headers.keys()
    assert "ReadTimeoutError" in told(capsys.readouterr().out)["limiter_fault"]


@pytest.mark.parametrize(
    "code", ["ResourceNotFoundException", "ProvisionedThroughputExceededException", "AccessDeniedException"]
)
def test_a_table_that_refuses_stops_nothing(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    dynamodb = client()
    with Stubber(dynamodb) as table:
        table.add_response("get_item", NO_SETTINGS)
        table.add_client_error("update_item", code)
        headers = count(edge(dynamodb))
        table.assert_no_pending_responses()
    assert not RATE_LIMIT & headers.keys()
    assert told(capsys.readouterr().out)


def test_a_table_that_begins_to_refuse_in_the_middle_stops_nothing_and_what_was_counted_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    dynamodb = client()
    with Stubber(dynamodb) as table:
        table.add_response("get_item", NO_SETTINGS)
        table.add_response("update_item", TAKEN)
        table.add_response("get_item", NO_SETTINGS)
        table.add_client_error("update_item", "InternalServerError")
        headers = count(edge(dynamodb))
        table.assert_no_pending_responses()
    assert headers["RateLimit-Remaining"] == "8"
    assert told(capsys.readouterr().out)


def test_a_function_s_own_table_is_asked_once_whatever_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Broken(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.headers["x-amz-target"].partition(".")[2])
            self.send_response(500)
            self.send_header("Content-Length", "0")
            self.end_headers()

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with http_server(Broken) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", url)
        windows = DynamoWindows(LimitsTable.named("limits"))
        with pytest.raises(LimitsUnavailable):
            windows.reserve("p", Window.at(NOW), 1, 10)
    assert asked == ["UpdateItem"]


def test_images_by_url_are_fetched_though_their_budget_is_out_of_reach(capsys: pytest.CaptureFixture[str]) -> None:
    caller = Caller("org_1", "proj_1", ("infer:run",), "req_1")
    with socket.socket() as closed, internet() as net:
        closed.bind(("127.0.0.1", 0))
        table = LimitsTable(client(closed.getsockname()[1]), "limits")
        limits = TableImageLimits(table, remote_image_bytes_per_minute=1, clock=time.time, ignored=ignored)
        metrics = metrics_of("edge", ReadableLogger())
        budget = ImageBudget(DynamoWindows(table), limits, now=lambda: NOW, unavailable=metrics.limiter_unavailable)
        net.serve(plain(b"image"))
        image = Image("messages.0.content.0", {"type": "url", "url": f"https://{HOST}/"})
        assert RemoteImages(net.guard(), budget.hold).fetch([image], caller) == [b"image"]
    metrics.write(request_id="req_1")
    assert "EndpointConnectionError" in told(capsys.readouterr().out)["limiter_fault"]

"""The HTTP front over a small project: events in, answers out, and API Gateway's own limits between."""

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from local.pool import MAX_PAYLOAD
from local.stack import Stack
from tests.support.local import ask, connect, write_project


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(root=write_project(tmp_path_factory.mktemp("project"))) as stack:
        yield stack


@pytest.fixture
def client(stack: Stack) -> Iterator[http.client.HTTPConnection]:
    with closing(connect(stack.url)) as connection:
        yield connection


def test_a_request_reaches_the_function_as_the_event_api_gateway_makes_of_it(
    client: http.client.HTTPConnection,
) -> None:
    client.request("POST", "/items?a=1&a=2&b=&c=%C3%A9", b"\xff text", {"X-Thing": "yes", "Content-Type": "text/plain"})
    event = json.loads(client.getresponse().read())
    context = event.pop("requestContext")
    assert event["resource"] == event["path"] == "/items"
    assert event["httpMethod"] == "POST"
    assert event["headers"]["x-thing"] == "yes"
    assert event["multiValueHeaders"]["x-thing"] == ["yes"]
    assert not {"content-length", "connection"} & event["headers"].keys()
    assert event["queryStringParameters"] == {"a": "2", "b": "", "c": "é"}
    assert event["multiValueQueryStringParameters"] == {"a": ["1", "2"], "b": [""], "c": ["é"]}
    assert (event["pathParameters"], event["stageVariables"]) == (None, None)
    assert (event["body"], event["isBase64Encoded"]) == ("\ufffd text", False)
    assert (context["stage"], context["path"], context["resourcePath"]) == ("live", "/live/items", "/items")
    assert context["identity"]["sourceIp"] == "127.0.0.1"
    assert len(context["requestId"]) == 36


def test_a_body_that_is_empty_is_null_and_paths_stay_encoded(client: http.client.HTTPConnection) -> None:
    event = ask(client, path="/items/a%2Fb/c%20d", method="GET")
    assert event["body"] is None
    assert (event["queryStringParameters"], event["multiValueQueryStringParameters"]) == (None, None)
    assert (event["path"], event["resource"]) == ("/items/a%2Fb/c%20d", "/items/{rest+}")
    assert event["pathParameters"] == {"rest": "a%2Fb/c%20d"}


def test_an_answer_comes_back_with_both_kinds_of_headers_and_json_is_assumed(
    client: http.client.HTTPConnection,
) -> None:
    client.request("GET", "/items")
    answer = client.getresponse()
    answer.read()
    assert answer.headers["x-a"] == "b"
    assert answer.headers.get_all("x-c") == ["d", "e"]
    assert answer.headers["content-type"] == "application/json"


def test_head_has_no_body_and_the_connection_serves_the_next_request(client: http.client.HTTPConnection) -> None:
    client.request("HEAD", "/items")
    answer = client.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    connected = client.sock
    assert ask(client, method="GET")["httpMethod"] == "GET"
    assert client.sock is connected


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "text",
        {},
        {"statusCode": "nine"},
        {"statusCode": 42},
        {"statusCode": 200, "body": {"not": "text"}},
        {"statusCode": 200, "headers": {"x": "a\r\nx-injected: b"}},
        {"statusCode": 200, "headers": {"a b": "c"}},
        {"statusCode": 200, "headers": ["x"]},
        {"statusCode": 200, "multiValueHeaders": {"x": "text"}},
    ],
)
def test_a_malformed_answer_is_the_gateways_own_error(client: http.client.HTTPConnection, answer: object) -> None:
    client.request("POST", "/items", json.dumps({"answer": answer}))
    response = client.getresponse()
    assert (response.status, json.loads(response.read())) == (500, {"code": "internal"})


def test_a_path_without_a_route_and_a_method_without_one_are_refused(client: http.client.HTTPConnection) -> None:
    for method, path in (("GET", "/"), ("GET", "/other"), ("DELETE", "/items/1")):
        client.request(method, path)
        response = client.getresponse()
        response.read()
        assert response.status == 403


def test_a_body_over_ten_mebibytes_gets_the_templates_own_answer(client: http.client.HTTPConnection) -> None:
    client.request("POST", "/items", b" " * (10 * 1024 * 1024 + 1))
    response = client.getresponse()
    body = json.loads(response.read())
    assert (response.status, body["code"]) == (413, "payload_too_large")
    assert response.headers["x-request-id"] == body["id"]
    assert response.headers["retry-after"] == "7"


def test_escaping_counts_towards_the_six_mebibytes_of_an_event(client: http.client.HTTPConnection) -> None:
    for body, status in ((b"\n" * (MAX_PAYLOAD // 2), 413), (b"[" + b" " * (MAX_PAYLOAD - 4000), 200)):
        client.request("POST", "/items", body)
        response = client.getresponse()
        response.read()
        assert response.status == status


def test_a_client_that_goes_away_in_the_middle_harms_nobody(client: http.client.HTTPConnection) -> None:
    for _ in range(3):
        client.putrequest("POST", "/items")
        client.putheader("Content-Length", "1000")
        client.endheaders(b"only this")
        client.close()
    assert ask(client, method="GET")["path"] == "/items"


def test_many_requests_at_once_are_all_answered(stack: Stack) -> None:
    def one(number: int) -> str:
        with closing(connect(stack.url)) as connection:
            return str(ask(connection, path=f"/items/{number}", method="GET")["pathParameters"]["id"])

    with ThreadPoolExecutor(30) as threads:
        assert list(threads.map(one, range(60))) == [str(number) for number in range(60)]

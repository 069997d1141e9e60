"""The Anthropic SDKs, two majors each of Python and TypeScript, as clients of the running stack."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from local.stack import ROOT, Stack
from tests.support.clients import SDKS, Client, Outcome, running
from tests.support.first_answers import Front, edge_answer, front_of
from tests.support.requests import EXAMPLE, Json, assistant, image, picture, request, text, tool, user
from tokencount.adapters.answers import STATUS
from tokencount.domain.errors import CountError, Internal, MethodNotAllowed, NodeUnavailable

pytestmark = pytest.mark.xdist_group("clients")

WEATHER = tool("get_weather", description="The weather in a city, now.")
CALL = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris", "n": 2}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("18 °C"), image(picture(64, 64))]}
REQUESTS = {
    "system": EXAMPLE,
    "system of blocks": request(user("hi"), system=[text("Be brief."), text("Be kind.")]),
    "tools": request(user("hi"), tools=[WEATHER], tool_choice={"type": "any"}),
    "a chosen tool": request(user("hi"), tools=[WEATHER], tool_choice={"type": "tool", "name": "get_weather"}),
    "thinking": request(user("hi"), thinking={"type": "enabled", "budget_tokens": 1024}),
    "an image": request(user(text("What is this?"), image(picture(256, 256)))),
    "a tool's result": request(user("Paris?"), assistant(text("I look."), CALL), user(RESULT), tools=[WEATHER]),
    "a started answer": request(user("Größe? 你好 🙂"), assistant("It is")),
}
QUERY = {"Python 1.x": "?beta=true", "TypeScript 0.x": "?beta=true"}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
SAID = "This was sent, and that is accepted"
RETRY_AFTER = 1


def an_error(kind: type[CountError]) -> CountError:
    if kind is MethodNotAllowed:
        return MethodNotAllowed(SAID, ["GET"])
    return kind(SAID, retry_after=RETRY_AFTER)


def documented(row: str) -> dict[str, str]:
    """What the table of docs/clients.md says for each SDK."""
    lines = (ROOT / "docs" / "clients.md").read_text().replace("`", "").splitlines()
    head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|"))
    [cells] = [cells for first, *cells in rows if row in first.split(", ")]
    return dict(zip(head[1:], cells, strict=True))


@pytest.fixture(scope="module", params=SDKS)
def client(request: pytest.FixtureRequest, stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    # A home without settings: the SDKs look for profiles there, and for credentials in the environment.
    environment = {"HOME": str(tmp_path_factory.mktemp("home")), "PATH": os.environ["PATH"]}
    with running(request.param, stack.url, {"auth_token": stack.api_key}, environment) as client:
        yield client


@pytest.fixture
def front(stack: Stack) -> Iterator[Front]:
    with front_of(stack.url) as front:
        yield front


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    """What `python -m tokencount` counts for the requests."""
    lines = "\n".join(json.dumps(body) for body in REQUESTS.values())
    command = [sys.executable, "-m", "tokencount"]
    done = subprocess.run(command, cwd=ROOT, input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line)["input_tokens"] for line in done.stdout.splitlines()]
    return dict(zip(REQUESTS, answers, strict=True))


@pytest.mark.parametrize("method", ["count", "beta count"])
def test_a_count_and_a_beta_count_are_the_number_of_the_command_line(
    client: Client, counts: dict[str, int], method: str
) -> None:
    assert counts["system"] == 27
    assert {name: client.call(body, method).input_tokens for name, body in REQUESTS.items()} == counts


def test_a_count_has_the_request_id_of_its_header_under_the_sdk_s_name(client: Client) -> None:
    counted = client.call(EXAMPLE)
    assert re.fullmatch("req_[0-9a-hjkmnp-tv-z]{26}", counted.request_id)
    assert counted.headers["request-id"] == counted.headers["x-request-id"] == counted.request_id


def test_an_api_key_counts_as_a_bearer_token_does_in_the_header_that_the_sdk_sends_it_in(
    client: Client, front: Front, stack: Stack
) -> None:
    by_key = client.call(EXAMPLE, url=front.url, credential={"api_key": stack.api_key})
    by_token = client.call(EXAMPLE, url=front.url, credential={"auth_token": stack.api_key})
    assert (by_key.input_tokens, by_token.input_tokens) == (27, 27)
    sent = [{"x-api-key", "authorization"} & arrival.headers.keys() for arrival in front.arrivals]
    assert sent == [{documented("header of api_key")[client.sdk].lower()}, {"authorization"}]


def test_a_beta_count_comes_with_a_beta_header_and_from_the_older_majors_with_a_query_string(
    client: Client, front: Front
) -> None:
    assert client.call(EXAMPLE, "beta count", url=front.url).input_tokens == 27
    [arrival] = front.arrivals
    assert arrival.path == "/v1/infer/v1/messages/count_tokens" + QUERY.get(client.sdk, "")
    assert "token-counting" in arrival.headers["anthropic-beta"]


def assert_clear(outcome: Outcome, client: Client, status: int) -> None:
    """The exception tells an application all that the service told."""
    assert outcome.status == status
    assert outcome.error == documented(str(status))[client.sdk]
    assert outcome.body["error"]["message"] in outcome.message
    assert outcome.request_id == outcome.headers["request-id"] == outcome.headers["x-request-id"]
    if outcome.body.get("type") == "error":
        assert outcome.body["request_id"] == outcome.request_id


@pytest.mark.parametrize("kind", STATUS, ids=lambda kind: kind.__name__)
def test_every_error_of_the_table_is_clear_and_of_the_class_of_its_status(
    client: Client, front: Front, kind: type[CountError]
) -> None:
    front.answers.append(edge_answer(an_error(kind)))
    outcome = client.call(EXAMPLE, url=front.url, max_retries=0)
    assert_clear(outcome, client, STATUS[kind].status)
    assert SAID in outcome.message


@pytest.mark.parametrize(
    ("status", "message", "body", "call"),
    [
        (400, "messages", request(), {}),
        (400, "web_search_20250305", request(user("hi"), tools=[SEARCH]), {}),
        (401, "whole key", EXAMPLE, {"credential": {"auth_token": "b3os_sk_x"}}),
        (401, "whole key", EXAMPLE, {"credential": {"api_key": "b3os_sk_x"}}),
        (404, "claude-sonnet-4-5", EXAMPLE | {"model": "claude-sonnet-4-5"}, {}),
        (404, "/v1/infer/v1/messages", EXAMPLE | {"max_tokens": 1}, {"method": "create"}),
        (413, "accepts at most", request(user("a " * 2_500_000)), {}),
        (415, "application/json", EXAMPLE, {"headers": {"Content-Type": "text/plain"}}),
    ],
)
def test_an_error_of_the_stack_is_clear_and_of_the_class_of_its_status(
    client: Client, status: int, message: str, body: Json, call: Json
) -> None:
    outcome = client.call(body, **call)
    assert_clear(outcome, client, status)
    assert message in outcome.message


def test_a_request_that_cannot_succeed_is_sent_once(client: Client, front: Front) -> None:
    for status, body in ((400, request()), (404, EXAMPLE | {"model": "b3os/other"})):
        assert client.call(body, url=front.url).status == status
    assert len(front.arrivals) == 2


def attempts(front: Front) -> list[str]:
    """By the SDK's own count, the attempts that arrived."""
    return [arrival.headers["x-stainless-retry-count"] for arrival in front.arrivals]


@pytest.mark.parametrize("status", [429, 503])
def test_a_429_and_a_503_are_retried_after_the_time_that_the_service_asks_for(
    client: Client, front: Front, status: int
) -> None:
    kind = next(kind for kind, answer in STATUS.items() if answer.status == status)
    front.answers.append(edge_answer(an_error(kind)))
    counted = client.call(EXAMPLE, url=front.url)
    assert (counted.input_tokens, attempts(front)) == (27, ["0", "1"])
    assert counted.pauses == [RETRY_AFTER]


def test_a_500_is_retried_at_the_sdk_s_own_pace(client: Client, front: Front) -> None:
    front.answers.append(edge_answer(Internal(SAID)))
    counted = client.call(EXAMPLE, url=front.url)
    assert (counted.input_tokens, attempts(front)) == (27, ["0", "1"])
    assert len(counted.pauses) == 1


def test_retries_that_are_used_up_end_in_the_last_answer(client: Client, front: Front) -> None:
    first, last = (edge_answer(an_error(NodeUnavailable)) for _ in range(2))
    front.answers += [first, last]
    outcome = client.call(EXAMPLE, url=front.url, max_retries=1)
    assert_clear(outcome, client, 503)
    assert (outcome.request_id, attempts(front)) == (last["headers"]["request-id"], ["0", "1"])


def test_typescript_0_sends_a_key_of_its_environment_beside_the_token_and_is_told_so(stack: Stack) -> None:
    environment = {"ANTHROPIC_API_KEY": "sk-ant-other", "PATH": os.environ["PATH"]}
    with running("TypeScript 0.x", stack.url, {"auth_token": stack.api_key}, environment) as client:
        assert "Two credentials that differ were sent" in client.call(EXAMPLE).message
        alone = {"auth_token": stack.api_key, "api_key": None}
        assert client.call(EXAMPLE, credential=alone).input_tokens == 27

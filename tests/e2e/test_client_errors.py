"""What an application that uses an Anthropic SDK sees of the service's errors, and when the SDK tries again."""

from datetime import UTC, datetime

import pytest
import urllib3

from local import aws
from tests.support.clients import Client, Outcome, documented
from tests.support.first_answers import Front, edge_answer
from tests.support.requests import EXAMPLE, Json, request, user
from tests.support.server import Server
from tokencount.adapters.answers import STATUS
from tokencount.adapters.credentials import CredentialStore
from tokencount.adapters.dynamodb import to_item
from tokencount.domain.credentials import INFER_RUN, KEYS_MANAGE
from tokencount.domain.errors import CountError, Internal, MethodNotAllowed, NodeUnavailable
from tokencount.domain.ids import new_id
from tokencount.domain.issuing import issue_key

pytestmark = pytest.mark.xdist_group("clients")

SEARCH = {"type": "web_search_20250305", "name": "web_search"}
SAID = "This was sent, and that is accepted"
RETRY_AFTER = 1


def an_error(kind: type[CountError]) -> CountError:
    if kind is MethodNotAllowed:
        return MethodNotAllowed(SAID, ["GET"])
    return kind(SAID, retry_after=RETRY_AFTER)


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


def test_a_key_without_the_scope_is_permission_denied(client: Client, server: Server) -> None:
    created = urllib3.request(
        "POST",
        f"{server.url}/v1/keys",
        json={"name": "manager", "scopes": [KEYS_MANAGE]},
        headers={"Authorization": f"Bearer {server.pat}"},
    ).json()
    outcome = client.call(EXAMPLE, credential={"auth_token": created["secret"]})
    assert_clear(outcome, client, 403)
    assert INFER_RUN in outcome.message


@pytest.fixture
def limited_key(server: Server) -> str:
    """A key of a new project that may count once a minute."""
    now = datetime.now(UTC)
    project = new_id("prj", now)
    issued = issue_key(new_id("org", now), project, name="limited", scopes=[INFER_RUN], now=now)
    dynamodb = aws.session().client("dynamodb", endpoint_url=server.aws_url, config=aws.DIRECT)
    CredentialStore(dynamodb, "CredentialsTable").add(*issued)
    settings = {"id": f"settings#project#{project}", "requests_per_minute": 1}
    dynamodb.put_item(TableName="LimitsTable", Item=to_item(settings))
    return issued.secret.reveal()


def test_a_limit_of_the_service_says_what_is_allowed_and_when_to_come_back(client: Client, limited_key: str) -> None:
    outcome = None
    while outcome is None or outcome.input_tokens:  # a minute may end between two requests
        outcome = client.call(EXAMPLE, credential={"auth_token": limited_key}, max_retries=0)
    assert_clear(outcome, client, 429)
    assert "1 request per minute allowed" in outcome.message
    assert 1 <= int(outcome.headers["retry-after"]) <= 60


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

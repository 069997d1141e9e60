"""Limits through the running stack, its tables in DynamoDB's own engine: exact whichever function answers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import urllib3

from local import aws
from local.stack import Stack
from tests.support.customers import HELLO, Answer, Customer, in_one_window, unlimited

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = [pytest.mark.dynamodb_local, pytest.mark.xdist_group("dynamodb-local")]

TOLD = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stack")


@pytest.fixture(scope="module")
def stack(engine: str, state: Path) -> Iterator[Stack]:
    with Stack(dynamodb=engine, state=state) as stack:
        yield stack


@pytest.fixture(scope="module")
def dynamodb(engine: str) -> "DynamoDBClient":
    return aws.session().client("dynamodb", endpoint_url=engine, config=aws.DIRECT)


@pytest.fixture
def customer(stack: Stack, dynamodb: "DynamoDBClient") -> Callable[..., Customer]:
    """Makes a customer with these limits."""
    return lambda **limits: Customer(stack, dynamodb, **limits)


def limit_headers(headers: urllib3.HTTPHeaderDict) -> dict[str, int]:
    """The headers of the limits, which hold one whole number each."""
    return {name: int(headers[name]) for name in TOLD if name in headers}


def test_of_50_requests_at_once_a_limit_of_10_answers_exactly_10_and_tells_the_other_40_when_to_come_back(
    customer: Callable[..., Customer],
) -> None:
    def attempt() -> tuple[Customer, list[Answer]]:
        limited = customer(requests_per_minute=10)
        return limited, limited.count_at_once(50)

    limited, answers = in_one_window(attempt)
    assert sorted(status for status, _, _ in answers) == [200] * 10 + [429] * 40
    told = [limit_headers(headers) for status, headers, _ in answers if status == 200]
    assert sorted(each["RateLimit-Remaining"] for each in told) == list(range(10))
    assert all(each["RateLimit-Limit"] == 10 and 1 <= each["RateLimit-Reset"] <= 60 for each in told)
    for headers, body in [(headers, body) for status, headers, body in answers if status == 429]:
        seconds = int(headers["Retry-After"])
        assert 1 <= seconds <= 60
        assert limit_headers(headers) == {
            "RateLimit-Limit": 10,
            "RateLimit-Remaining": 0,
            "RateLimit-Reset": seconds,
            "Retry-After": seconds,
        }
        unit = "second" if seconds == 1 else "seconds"
        message = f"10 requests per minute allowed for this project; retry in {seconds} {unit}"
        assert body["error"] == {"type": "rate_limit_error", "message": message}
        assert (body["b3os"], body["request_id"]) == ({"code": "rate_limited"}, headers["request-id"])
    [row] = limited.rows(f"requests#{limited.project}#")
    assert row["used"] == 10


def test_a_count_that_fails_uses_the_minute_too_and_its_answer_says_what_is_left(
    customer: Callable[..., Customer],
) -> None:
    status, headers, _ = customer(requests_per_minute=10).count(HELLO | {"messages": []})
    assert status == 400
    told = limit_headers(headers)
    assert (told.pop("RateLimit-Limit"), told.pop("RateLimit-Remaining")) == (10, 9)
    assert told.keys() == {"RateLimit-Reset"}


def test_an_organization_whose_places_are_taken_is_429_until_they_have_ended(customer: Callable[..., Customer]) -> None:
    limited = customer(requests_in_flight=2)
    now = int(datetime.now(UTC).timestamp())
    limited.put(
        id=f"leases#{limited.organization}", leases={"req_a": now - 1, "req_b": now + 3600, "req_c": now + 3600}
    )
    status, headers, body = limited.count()
    assert (status, body["b3os"]) == (429, {"code": "concurrency_limited"})
    message = "2 requests in flight allowed for this organization; retry in 1 second"
    assert body["error"] == {"type": "rate_limit_error", "message": message}
    assert set(limit_headers(headers)) == set(TOLD)
    assert headers["Retry-After"] == "1"
    record = limited.record(headers["request-id"])
    assert (record["status"], record["error"]["code"]) == (429, "concurrency_limited")
    limited.put(id=f"leases#{limited.organization}", leases={"req_a": now - 1, "req_b": now + 3600})
    assert limited.count()[0] == 200
    [row] = limited.rows(f"leases#{limited.organization}")
    assert row["leases"].keys() == {"req_b"}


def test_every_place_is_given_back_once_all_are_answered(customer: Callable[..., Customer]) -> None:
    limited = customer(requests_in_flight=2)
    assert {status for status, _, _ in limited.count_at_once(20)} <= {200, 429}
    assert limited.count(HELLO | {"messages": []})[0] == 400
    [row] = limited.rows(f"leases#{limited.organization}")
    assert row["leases"] == {}


@contextmanager
def without_limits_table(stack: Stack, dynamodb: "DynamoDBClient") -> Iterator[None]:
    properties = dict(stack.template.resources("AWS::DynamoDB::Table"))["LimitsTable"]
    dynamodb.delete_table(TableName="LimitsTable")
    try:
        yield
    finally:
        aws.create_table(dynamodb, "LimitsTable", stack.template.resolve(properties))


def test_counting_goes_on_without_the_limits_table_and_a_metric_says_so(
    customer: Callable[..., Customer], stack: Stack, dynamodb: "DynamoDBClient", state: Path
) -> None:
    limited = customer(requests_per_minute=1)
    with without_limits_table(stack, dynamodb):
        answers = [limited.count() for _ in range(3)]
    assert [(status, limit_headers(headers)) for status, headers, _ in answers] == [(200, {})] * 3
    assert unlimited(state / "logs" / "EdgeFunction.log") == [headers["request-id"] for _, headers, _ in answers]

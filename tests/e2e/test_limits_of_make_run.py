"""Limits through the stack as `make run` has it, its tables in moto, which is right for one request at a time."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from local import aws
from local.stack import Stack
from tests.support.customers import HELLO, Customer, in_one_window, unlimited

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@pytest.fixture
def dynamodb(stack: Stack) -> "DynamoDBClient":
    return aws.session().client("dynamodb", endpoint_url=stack.aws_url, config=aws.DIRECT)


@pytest.fixture
def log(stack: Stack, stack_state: Path) -> Path:
    return stack_state / "logs" / "EdgeFunction.log"


def test_no_count_goes_without_its_limits_and_each_gives_its_place_back(
    stack: Stack, dynamodb: "DynamoDBClient", log: Path
) -> None:
    customer = Customer(stack, dynamodb, requests_in_flight=1)
    answers = [customer.count(body) for body in (HELLO, HELLO | {"messages": []}, HELLO)]
    assert [status for status, _, _ in answers] == [200, 400, 200]
    assert not {headers["request-id"] for _, headers, _ in answers} & set(unlimited(log))
    [row] = customer.rows(f"leases#{customer.organization}")
    assert row["leases"] == {}


def test_an_organization_has_the_places_that_it_may_and_those_that_have_ended_are_taken_again(
    stack: Stack, dynamodb: "DynamoDBClient", log: Path
) -> None:
    customer, now = Customer(stack, dynamodb, requests_in_flight=2), int(datetime.now(UTC).timestamp())
    for ends, expected in (([3600, 3600], 429), ([3600], 200), ([3600, -1], 200), ([3600, -1, 3600], 429)):
        leases = {f"req_{index}": now + end for index, end in enumerate(ends)}
        customer.put(id=f"leases#{customer.organization}", leases=leases)
        status, headers, body = customer.count()
        assert (status, body.get("b3os")) == (expected, {"code": "concurrency_limited"} if expected == 429 else None)
        assert headers["request-id"] not in unlimited(log)


def test_a_project_has_the_requests_of_a_minute_that_it_may(stack: Stack, dynamodb: "DynamoDBClient") -> None:
    def attempt() -> list[tuple[int, str]]:
        customer = Customer(stack, dynamodb, requests_per_minute=2)
        return [(status, headers["RateLimit-Remaining"]) for status, headers, _ in (customer.count() for _ in range(3))]

    assert in_one_window(attempt) == [(200, "1"), (200, "0"), (429, "0")]

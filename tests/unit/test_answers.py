"""The status table is complete, and both shapes are those of the reference."""

import pytest

from tokencount.adapters.answers import STATUS, error_body, error_headers
from tokencount.domain.errors import (
    CountError,
    InvalidRequest,
    MethodNotAllowed,
    NodeUnavailable,
    NotFound,
    Unauthorized,
)

ANTHROPIC_TYPES = {
    "invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error",
    "request_too_large", "rate_limit_error", "api_error", "timeout_error", "overloaded_error",
}  # fmt: skip
OPENAI_TYPES = {
    "invalid_request_error", "authentication_error", "permission_error", "rate_limit_error", "server_error",
}  # fmt: skip


def leaves(kind: type[CountError]) -> set[type[CountError]]:
    below = kind.__subclasses__()
    return set().union(*(leaves(child) for child in below)) if below else {kind}


def made(kind: type[CountError]) -> CountError:
    return MethodNotAllowed("m", ["GET"]) if kind is MethodNotAllowed else kind("m")


def test_every_error_of_the_tree_has_an_answer() -> None:
    assert set(STATUS) == leaves(CountError)


@pytest.mark.parametrize("kind", STATUS)
def test_every_error_has_both_shapes_with_types_of_the_reference(kind: type[CountError]) -> None:
    outside = error_body(made(kind), "req_1", infer=False)
    assert set(outside) == {"error"}
    assert set(outside["error"]) == {"message", "type", "param", "code"}
    assert outside["error"]["type"] in OPENAI_TYPES
    inside = error_body(made(kind), "req_1", infer=True)
    if STATUS[kind].always_openai:
        assert inside == outside
    else:
        assert inside["error"]["type"] in ANTHROPIC_TYPES
        assert inside["request_id"] == "req_1"
        assert inside["b3os"] == {"code": STATUS[kind].code}


def test_an_anthropic_body_names_its_parameter() -> None:
    body = error_body(InvalidRequest("m", param="messages.0"), "req_1", infer=True)
    assert body == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "m"},
        "request_id": "req_1",
        "b3os": {"code": "invalid_request", "param": "messages.0"},
    }


def test_an_openai_body_is_that_of_the_reference() -> None:
    error = {"message": "m", "type": "authentication_error", "param": None, "code": "unauthorized"}
    assert error_body(Unauthorized("m"), "req_1", infer=True) == {"error": error}


@pytest.mark.parametrize("kind", STATUS)
def test_every_429_and_503_says_when_to_come_back_whoever_raises_it(kind: type[CountError]) -> None:
    expected = "1" if STATUS[kind].status in {429, 503} else None
    assert error_headers(made(kind)).get("Retry-After") == expected


def test_headers_say_when_to_come_back_and_with_which_method() -> None:
    assert error_headers(NotFound("m")) == {}
    assert error_headers(NodeUnavailable("m", retry_after=0)) == {"Retry-After": "1"}
    assert error_headers(MethodNotAllowed("m", ["GET", "POST"])) == {"Allow": "GET, POST"}

"""What API Gateway answers by itself has the contract's shapes, so that the SDKs can read it (case 32)."""

import json
from typing import Any

import pytest

from local.gateway import MAX_BODY
from local.template import Template
from tokencount.adapters.nodes import MAX_EVENT_BYTES

ANTHROPIC = {
    "REQUEST_TOO_LARGE": (413, "request_too_large", "payload_too_large"),
    "THROTTLED": (429, "rate_limit_error", "rate_limited"),
    "DEFAULT_5XX": (500, "api_error", "internal"),
    "INTEGRATION_FAILURE": (503, "overloaded_error", "infer_backend_unavailable"),
    "INTEGRATION_TIMEOUT": (503, "overloaded_error", "infer_backend_unavailable"),
}
OPENAI = {
    "DEFAULT_4XX": (None, "invalid_request_error", "invalid_request"),
    "MISSING_AUTHENTICATION_TOKEN": (404, "invalid_request_error", "not_found"),
    "ACCESS_DENIED": (403, "permission_error", "forbidden"),
    "WAF_FILTERED": (403, "permission_error", "forbidden"),
}
REQUEST_ID = "5b0a4d6e-3f0e-4b3a-9d0c-1d2f6d1f7a55"


@pytest.fixture
def responses(template: Template) -> dict[str, Any]:
    found: dict[str, Any] = template.api["GatewayResponses"]
    return found


def body(response: dict[str, Any]) -> Any:
    [(content_type, text)] = response["ResponseTemplates"].items()
    assert content_type == "application/json"
    return json.loads(text.replace("$context.requestId", REQUEST_ID))


def test_each_kind_is_one_of_the_two_shapes(responses: dict[str, Any]) -> None:
    assert responses.keys() == ANTHROPIC.keys() | OPENAI.keys()


@pytest.mark.parametrize("kind", ANTHROPIC)
def test_a_failure_of_an_infer_route_has_the_anthropic_shape(responses: dict[str, Any], kind: str) -> None:
    status, type_, code = ANTHROPIC[kind]
    answer = body(responses[kind])
    assert responses[kind]["StatusCode"] == status
    assert answer.pop("error").keys() == {"type", "message"}
    assert answer == {"type": "error", "request_id": REQUEST_ID, "b3os": {"code": code}}
    assert body(responses[kind])["error"]["type"] == type_


def test_a_body_that_is_too_large_is_told_both_bounds_that_it_may_have_passed(responses: dict[str, Any]) -> None:
    message = body(responses["REQUEST_TOO_LARGE"])["error"]["message"]
    bounds = f"{MAX_BODY} bytes, or {MAX_EVENT_BYTES} once escaped within an event"
    assert message == f"Request body is larger than the gateway accepts: {bounds}"


@pytest.mark.parametrize("kind", OPENAI)
def test_a_refusal_has_the_openai_shape(responses: dict[str, Any], kind: str) -> None:
    status, type_, code = OPENAI[kind]
    error = body(responses[kind])["error"]
    assert responses[kind].get("StatusCode") == status
    assert error.pop("message")
    assert error == {"type": type_, "param": None, "code": code}


def test_each_carries_the_gateway_s_request_id_under_both_names_and_no_timing(responses: dict[str, Any]) -> None:
    for response in responses.values():
        headers = response["ResponseParameters"]["Headers"]
        assert headers["request-id"] == headers["x-request-id"] == "context.requestId"
        assert headers.keys() <= {"request-id", "x-request-id", "Retry-After"}


def test_those_worth_another_try_say_when(responses: dict[str, Any]) -> None:
    for response in responses.values():
        waits = response["ResponseParameters"]["Headers"].get("Retry-After")
        if response.get("StatusCode") in (429, 503):
            assert int(waits.strip("'")) >= 1
        else:
            assert waits is None


def test_no_text_of_api_gateway_is_passed_on_because_some_repeat_the_credential(responses: dict[str, Any]) -> None:
    assert "$context.error" not in json.dumps(responses)

"""What the HTTP front answers by itself, in the form that template.yaml gives it."""

import asyncio
import json
from typing import Any

import pytest

from local.gateway import MAX_BODY, Gateway
from local.process import Answer
from local.stack import ROOT
from local.template import Template


class Runs:
    """A function that answers after a while."""

    def __init__(self, payload: bytes, seconds: float = 0) -> None:
        self._answer = Answer(payload)
        self._seconds = seconds

    async def invoke(self, event: bytes) -> Answer:
        await asyncio.sleep(self._seconds)
        return self._answer


def answer(function: Runs, body: bytes = b"{}") -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON of the answer to a count request."""
    gateway = Gateway(Template(ROOT / "template.yaml"), {"EdgeFunction": function}, seconds=0.05)
    path = "/v1/infer/v1/messages/count_tokens"
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:1")],
        "server": ("127.0.0.1", 1),
        "client": ("127.0.0.1", 2),
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(gateway(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, json.loads(sent[1]["body"])


def test_a_function_that_takes_longer_than_the_gateway_waits_is_the_templates_timeout() -> None:
    status, headers, body = answer(Runs(b"{}", seconds=60))
    assert (status, body["b3os"]["code"]) == (503, "infer_backend_unavailable")
    assert int(headers["retry-after"]) >= 1
    assert headers["x-request-id"] == headers["request-id"] == body["request_id"]


@pytest.mark.parametrize("payload", [b'{"errorType": "Runtime.ExitError", "errorMessage": "gone"}', b"null", b"7"])
def test_a_function_that_failed_is_the_templates_internal_error(payload: bytes) -> None:
    status, headers, body = answer(Runs(payload))
    assert (status, body["b3os"]["code"]) == (500, "internal")
    assert headers["content-type"] == "application/json"
    assert headers["x-request-id"] == body["request_id"]


def test_a_body_that_is_too_large_is_the_templates_413() -> None:
    status, _, body = answer(Runs(b"{}"), b" " * (MAX_BODY + 1))
    assert (status, body["b3os"]["code"]) == (413, "payload_too_large")
    assert f"{MAX_BODY} bytes" in body["error"]["message"]

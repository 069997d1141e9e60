"""The HTTP front: what API Gateway does between a client and a function, its limits and its own answers included."""

import asyncio
import json
import uuid
from collections.abc import Mapping
from typing import Any, Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from local.pool import PayloadTooLarge
from local.process import Answer
from local.proxy import http_response, proxy_event, raw_path
from local.routes import Router
from local.template import Template

MAX_BODY = 10 * 1024 * 1024
SECONDS = 29.0
STATUS = {"MISSING_AUTHENTICATION_TOKEN": 403, "REQUEST_TOO_LARGE": 413, "DEFAULT_5XX": 502, "INTEGRATION_TIMEOUT": 504}


class Runs(Protocol):
    """A function that can be invoked."""

    async def invoke(self, event: bytes) -> Answer:
        """The answer to an event (JSON text)."""


class Gateway:
    """An ASGI application that serves the template's REST API. `seconds` is how long it waits for a function."""

    def __init__(self, template: Template, functions: Mapping[str, Runs], seconds: float = SECONDS) -> None:
        self._router = Router(template.routes)
        self._stage = str(template.api["StageName"])
        self._own_answers: dict[str, Any] = template.api.get("GatewayResponses", {})
        self._functions = functions
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; a client that goes away before its body is there gets no answer."""
        try:
            response = await self._answer(Request(scope, receive))
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        body = await _body(request)
        match = self._router.match(request.method, raw_path(request))
        if match is None:
            return self._own("MISSING_AUTHENTICATION_TOKEN")
        if body is None:
            return self._own("REQUEST_TOO_LARGE")
        route, parameters = match
        event = proxy_event(request, body, route, parameters, self._stage)
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._functions[route.function].invoke(_compact(event))
            return http_response(answer.payload)
        except PayloadTooLarge:
            return self._own("REQUEST_TOO_LARGE")
        except TimeoutError:
            return self._own("INTEGRATION_TIMEOUT")
        except ValueError:  # malformed, as is what a failed function leaves
            return self._own("DEFAULT_5XX")

    def _own(self, kind: str) -> Response:
        """The template's gateway response of that kind, else of its family, else a stock one."""
        status = STATUS[kind]
        rule = self._own_answers.get(kind) or self._own_answers.get(f"DEFAULT_{status // 100}XX", {})
        text = rule.get("ResponseTemplates", {}).get("application/json", '{"message":null}')
        headers = rule.get("ResponseParameters", {}).get("Headers", {})
        request_id = str(uuid.uuid4())
        return Response(
            text.replace("$context.requestId", request_id),
            rule.get("StatusCode", status),
            {name: value.strip("'").replace("context.requestId", request_id) for name, value in headers.items()},
            "application/json",
        )


async def _body(request: Request) -> bytes | None:
    """The body, read to its end; None if it is more than API Gateway takes."""
    body = bytearray()
    async for chunk in request.stream():
        if len(body) <= MAX_BODY:
            body += chunk
    return None if len(body) > MAX_BODY else bytes(body)


def _compact(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()

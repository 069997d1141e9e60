"""The counter's real application behind the real adapter, and a loop for it."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mangum import Mangum

from counter.app import create_app
from tests.support.edge import CONTEXT
from tests.support.logs import ReadableLogger
from tests.support.metrics import metrics_of
from tokencount.adapters.node_protocol import COUNT_PATH, NODE_TOKEN_HEADER
from tokencount.adapters.node_tokens import NodeKeys, NodeTokens
from tokencount.domain.counting import Counter
from tokencount.domain.delegation import DelegatingCounter, Endpoint
from tokencount.domain.ports import Caller

KEYS = NodeKeys("a", {"a": "k" * 64})
CALLER = Caller("org", "proj", ("infer:run",), "req_1")


def counter_event(body: str, token: str, request_id: str = "req_1") -> dict[str, Any]:
    """What the edge sends to a counter."""
    return {
        "resource": COUNT_PATH,
        "path": COUNT_PATH,
        "httpMethod": "POST",
        "headers": {"content-type": "application/json", "x-request-id": request_id, NODE_TOKEN_HEADER: token},
        "requestContext": {},
        "body": body,
        "isBase64Encoded": False,
    }


def no_refresh() -> NodeKeys:
    """The keys did not change."""
    return KEYS


class CounterUnderTest:
    """The real application behind the real adapter, sent events as the edge sends them."""

    def __init__(self, counter: Counter, endpoint: Endpoint | None = None) -> None:
        self.logger = ReadableLogger()
        self.counter = DelegatingCounter(counter, endpoint)
        metrics = metrics_of("counter-tiny", self.logger)
        self._app = create_app(self.counter, NodeTokens(KEYS, no_refresh), self.logger, metrics)

    def handler(self, event: Any, context: Any) -> dict[str, Any]:
        """The adapter, in a loop that ends with the answer; it would make one itself, and leave it."""
        with _event_loop():
            return Mangum(self._app, lifespan="off")(event, context)

    def send(self, body: Any, token: str | None = None, request_id: str = "req_1") -> dict[str, Any]:
        signed = NodeTokens(KEYS, no_refresh).sign(CALLER) if token is None else token
        event = counter_event(body if isinstance(body, str) else json.dumps(body), signed, request_id)
        answer = self.handler(event, CONTEXT)
        details = json.loads(answer["headers"]["x-b3os-details"])
        return {"status": answer["statusCode"], "body": json.loads(answer["body"]), "details": details} | answer


@contextmanager
def _event_loop() -> Iterator[None]:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()

"""Three ways from a request's JSON text to its number: the function, the endpoint, and transformers called naively."""

import asyncio
import base64
import json
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Protocol

import urllib3
from aws_lambda_powertools import Logger
from mangum import Mangum
from PIL import Image as Pillow

from counter.app import create_app
from endpoint.processor import load_processor
from tokencount.adapters.images import Images
from tokencount.adapters.metrics import Metrics
from tokencount.adapters.model_files import load_counter, load_spec
from tokencount.adapters.node_protocol import COUNT_PATH, NODE_TOKEN_HEADER
from tokencount.adapters.node_tokens import NodeKeys, NodeTokens
from tokencount.adapters.settings import MetricsSettings
from tokencount.domain.chat import Image, images_of, to_chat
from tokencount.domain.delegation import DelegatingCounter
from tokencount.domain.ports import Caller

CALLER = Caller("org", "prj", ("infer:run",), "req_1")


def _no_fetch(_images: Sequence[Image], _caller: Caller) -> Sequence[bytes]:
    raise AssertionError("no image is elsewhere")


class Way(Protocol):
    """One of them."""

    def count(self, body: bytes) -> int:
        """The input tokens of a Messages request."""


class Function:
    """The counter function: from the edge's event to its answer."""

    def __init__(self, model: Path) -> None:
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        keys = NodeKeys("k", {"k": "k" * 64})
        self._tokens = NodeTokens(keys, lambda: keys)
        counter = DelegatingCounter(load_counter(model, Images(_no_fetch)), None)
        logger = Logger(stream=StringIO())
        metrics = Metrics(MetricsSettings("Tokencount", "bench", "1", restored=True), logger)
        self._handler: Any = Mangum(create_app(counter, self._tokens, logger, metrics), lifespan="off")

    def count(self, body: bytes) -> int:
        """See Way."""
        headers = {"x-request-id": CALLER.request_id, NODE_TOKEN_HEADER: self._tokens.sign(CALLER)}
        event = {"resource": COUNT_PATH, "path": COUNT_PATH, "httpMethod": "POST", "requestContext": {}}
        sent = event | {"headers": headers, "body": body.decode(), "isBase64Encoded": False}
        with redirect_stdout(StringIO()):
            answer = self._handler(sent, None)
        return int(json.loads(answer["body"])["input_tokens"])

    def close(self) -> None:
        """Ends the loop that Mangum ran in, this thread's until now."""
        asyncio.set_event_loop(None)
        self._loop.close()


class Container:
    """The endpoint's container, over HTTP."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/invocations"
        self._http = urllib3.PoolManager()

    def count(self, body: bytes) -> int:
        """See Way."""
        answer = self._http.request("POST", self._url, body=body, headers={"content-type": "application/json"})
        return int(answer.json()["input_tokens"])


class Naive:
    """transformers' processor as its documentation calls it: pictures and prompt in, pixel values and ids out."""

    def __init__(self, model: Path) -> None:
        self._rules = load_spec(model).template
        self._processor: Any = load_processor(model, self._rules).pretrained

    def count(self, body: bytes) -> int:
        """See Way."""
        request = json.loads(body)
        files = [BytesIO(base64.b64decode(image.source["data"])) for image in images_of(request)]
        pictures = [Pillow.open(file).convert("RGB") for file in files]
        chat = to_chat(request, self._rules)
        prompt = self._processor.apply_chat_template(chat.messages, add_generation_prompt=True)
        inputs = self._processor(text=[prompt], images=pictures, add_special_tokens=False)
        assert inputs["pixel_values"] is not None
        return len(inputs["input_ids"][0])

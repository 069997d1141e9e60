"""Invokes a model's counter function and reads its answer."""

import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError, ConnectionClosedError

from tokencount.adapters.node_protocol import COUNT_PATH, NODE_TOKEN_HEADER
from tokencount.adapters.node_tokens import NodeTokens
from tokencount.domain.errors import NodeUnavailable, PayloadTooLarge
from tokencount.domain.ports import Caller, NodeAnswer

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

# Lambda's own bound on the payload of a synchronous invocation.
MAX_EVENT_BYTES = 6_291_456
RETRY_SECONDS = 5


class LambdaNodes:
    """Counters as Lambda functions.

    Args:
        client: a Lambda client that makes one attempt: its own second one would not know how much time is left.
        counters: the alias of the function that counts for a model, by the model's id.
    """

    def __init__(self, client: "LambdaClient", counters: Mapping[str, str], tokens: NodeTokens) -> None:
        self._client = client
        self._counters = counters
        self._tokens = tokens
        # A client's timeouts are set once and for all: the time that a request has left is waited for in its thread.
        self._threads = ThreadPoolExecutor(thread_name_prefix="invoke")

    def count(self, model: str, body: str, caller: Caller, seconds: float) -> NodeAnswer:
        """The counter's answer to a count request's body.

        Args:
            seconds: how long the answer is waited for.

        Raises:
            PayloadTooLarge: the escaped event is larger than Lambda takes.
            NodeUnavailable: no counter, or it crashed, ran out of time or refused the node token.
        """
        ends = time.monotonic() + seconds
        answer = self._invoke(model, body, caller, ends)
        if _refused(answer) and self._tokens.renew():
            # The keys were changed under way; nothing was counted yet.
            answer = self._invoke(model, body, caller, ends)
        return _read(model, answer)

    def _invoke(self, model: str, body: str, caller: Caller, ends: float) -> Any:
        payload = json.dumps(self._event(body, caller), ensure_ascii=False, separators=(",", ":")).encode()
        if len(payload) > MAX_EVENT_BYTES:
            message = (
                f"Request body is {len(payload)} bytes once escaped; this service accepts at most {MAX_EVENT_BYTES}"
            )
            raise PayloadTooLarge(message)
        try:
            asked = self._threads.submit(self._ask, self._counters[model], payload)
            return asked.result(max(0.0, ends - time.monotonic()))
        except (BotoCoreError, ClientError, KeyError, ValueError, TimeoutError) as error:
            raise _unavailable(model) from error

    def _ask(self, function: str, payload: bytes) -> Any:
        try:
            reply = self._client.invoke(FunctionName=function, Payload=payload)
        except ConnectionClosedError:
            # A connection that idled while the function was frozen; what it carried, if anything, was only a count.
            reply = self._client.invoke(FunctionName=function, Payload=payload)
        return json.loads(reply["Payload"].read())

    def _event(self, body: str, caller: Caller) -> dict[str, Any]:
        """An API Gateway event of the parts a counter reads, so that it is never larger than the one received."""
        headers = {
            "content-type": "application/json",
            "x-request-id": caller.request_id,
            NODE_TOKEN_HEADER: self._tokens.sign(caller),
        }
        return {
            "resource": COUNT_PATH,
            "path": COUNT_PATH,
            "httpMethod": "POST",
            "headers": headers,
            "requestContext": {"resourcePath": COUNT_PATH, "httpMethod": "POST"},
            "body": body,
            "isBase64Encoded": False,
        }


def _refused(answer: Any) -> bool:
    """Whether a counter did not take the edge's token; the caller's own credential was good."""
    return isinstance(answer, dict) and answer.get("statusCode") == 401


def _read(model: str, answer: Any) -> NodeAnswer:
    """The answer of a function that ran; a crash or a timeout comes as an object without a status."""
    if not isinstance(answer, dict) or not isinstance(answer.get("statusCode"), int) or _refused(answer):
        raise _unavailable(model)
    headers = {name.lower(): value for name, value in (answer.get("headers") or {}).items()}
    return NodeAnswer(answer["statusCode"], answer.get("body") or "", headers)


def _unavailable(model: str) -> NodeUnavailable:
    message = f"The node that serves {model} is unavailable; retry in {RETRY_SECONDS} seconds"
    return NodeUnavailable(message, retry_after=RETRY_SECONDS)

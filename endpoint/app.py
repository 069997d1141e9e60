"""The two routes that SageMaker asks a container for; `tokencount.adapters.endpoint_protocol` says what they answer."""

import asyncio
import json
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from endpoint.decoding import TooLarge, TooLate
from tokencount.adapters.endpoint_protocol import MAX_BODY_BYTES, REQUEST_ID_HEADER, refusal, success
from tokencount.adapters.faults import describe
from tokencount.adapters.validation import validate
from tokencount.domain.errors import CountError
from tokencount.domain.strict_json import loads
from tokencount.domain.timing import Phases

if TYPE_CHECKING:
    from endpoint.counting import EndpointCounter  # with transformers, which takes seconds to import

# Held in memory at a time, each with up to 25 MB; the next one is better counted elsewhere.
MAX_REQUESTS = 16
# The counter waits no longer for an answer.
PATIENCE = 20.0


class Unserved(Exception):
    """The endpoint cannot do its work on a request; the status says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def create_app(loading: "Future[EndpointCounter]", logger: Logger) -> Starlette:
    """The application of a counter that may still be loading."""
    invocations = Invocations(loading, logger)

    async def ping(_request: Request) -> Response:
        return Response(status_code=200 if invocations.ready else 503)

    return Starlette(routes=[Route("/ping", ping), Route("/invocations", invocations.answer, methods=["POST"])])


class Invocations:
    """Answers requests, several at a time, each on a thread."""

    def __init__(self, loading: "Future[EndpointCounter]", logger: Logger) -> None:
        self._loading = loading
        self._logger = logger
        self._threads = ThreadPoolExecutor(MAX_REQUESTS, thread_name_prefix="request")
        self._under_way = 0

    @property
    def ready(self) -> bool:
        """Whether the model's processor is loaded."""
        return self._loading.done() and self._loading.exception() is None

    async def answer(self, request: Request) -> Response:
        """The answer, its request id and one line in the log, without a word of the request."""
        request_id = request.headers.get(REQUEST_ID_HEADER, "")
        phases = Phases()
        fault = None
        try:
            status, body = 200, await self._admitted(request, phases)
        except Unserved as error:
            status, body = error.status, {"message": str(error)}
        except Exception as error:
            fault = describe(error)
            status, body = 500, {"message": "internal error"}
        refused = body.get("error", {}).get("code")
        log = self._logger.error if fault else self._logger.info
        log("answered", request_id=request_id, status=status, refused=refused, fault=fault, timing=phases.durations)
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        headers = {"content-type": "application/json", REQUEST_ID_HEADER: request_id}
        return Response(content, status, headers)

    async def _admitted(self, request: Request, phases: Phases) -> dict[str, Any]:
        if not self.ready:
            raise Unserved(503, "the model's processor is not loaded yet")
        if self._under_way >= MAX_REQUESTS:
            raise Unserved(503, f"{MAX_REQUESTS} requests are under way")
        self._under_way += 1
        try:
            deadline = time.monotonic() + PATIENCE
            body = await _read(request)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._count, body, phases, deadline)
        finally:
            self._under_way -= 1

    def _count(self, body: bytes, phases: Phases, deadline: float) -> dict[str, Any]:
        counter = self._loading.result()
        with phases.phase("parse"):
            messages = _parse(body, counter.model.id)
        try:
            return success(counter.count(messages, phases.phase, deadline))
        except CountError as error:
            return refusal(error)
        except TooLarge as error:
            raise Unserved(413, str(error)) from error
        except TooLate as error:
            raise Unserved(503, f"not counted within {PATIENCE:.0f} s") from error


async def _read(request: Request) -> bytes:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise Unserved(413, f"a body of more than {MAX_BODY_BYTES} bytes")
    except ClientDisconnect as error:
        raise Unserved(400, "the body broke off") from error
    return bytes(body)


def _parse(body: bytes, model: str) -> dict[str, Any]:
    """The request that the counter let pass; what is none here is not the client's doing."""
    try:
        request = validate(loads(body))
    except CountError as error:
        raise Unserved(400, f"not a request to this version of the endpoint ({type(error).__name__})") from error
    if request["model"] != model:
        raise Unserved(400, f"this is the endpoint of {model}")
    return request

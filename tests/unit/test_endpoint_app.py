"""What the endpoint answers over HTTP, with a counter that a test holds in its hand."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pytest

from endpoint.app import MAX_REQUESTS, create_app
from endpoint.decoding import TooLarge, TooLate
from tests.support.logs import ReadableLogger
from tests.support.requests import EXAMPLE, image, picture, request, text, user
from tokencount.adapters.endpoint_protocol import MAX_BODY_BYTES, REQUEST_ID_HEADER
from tokencount.domain.counting import Counter
from tokencount.domain.errors import InvalidRequest, UnsupportedImage


@dataclass
class Answer:
    status: int
    body: Any
    headers: dict[str, str]


@dataclass
class EndpointUnderTest:
    """The real application, called as a server calls it."""

    loading: "Future[Any]" = field(default_factory=Future)
    logger: ReadableLogger = field(default_factory=ReadableLogger)

    def __post_init__(self) -> None:
        self._app = create_app(self.loading, self.logger)

    def get(self, path: str) -> Answer:
        return asyncio.run(self.call("GET", path, b""))

    def invoke(self, body: Any) -> Answer:
        return asyncio.run(self.call("POST", "/invocations", encoded(body)))

    async def call(self, method: str, path: str, body: bytes | AsyncIterator[bytes]) -> Answer:
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": b"",
            "headers": [(REQUEST_ID_HEADER.encode(), b"req_7")],
        }
        messages: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if isinstance(body, bytes):
                return {"type": "http.request", "body": body, "more_body": False}
            return {"type": "http.request", "body": await anext(body), "more_body": True}

        async def send(message: Any) -> None:
            messages.append(message)

        await self._app(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
        content = b"".join(message.get("body", b"") for message in messages)
        kind = headers.get("content-type")
        return Answer(messages[0]["status"], json.loads(content) if kind == "application/json" else content, headers)


def encoded(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


@dataclass
class StubCounter:
    """Counts as a test says."""

    model: Any
    count: Callable[..., int]


@pytest.fixture
def serve(qwen: Counter) -> Callable[[Callable[..., int]], EndpointUnderTest]:
    def loaded(count: Callable[..., int]) -> EndpointUnderTest:
        endpoint = EndpointUnderTest()
        endpoint.loading.set_result(StubCounter(qwen.model, count))
        return endpoint

    return loaded


Serve = Callable[[Callable[..., int]], EndpointUnderTest]


def raising(error: Exception) -> Callable[..., int]:
    def count(*_: Any) -> int:
        raise error

    return count


def test_the_health_check_passes_only_once_the_processor_is_loaded(qwen: Counter) -> None:
    endpoint = EndpointUnderTest()
    assert endpoint.get("/ping").status == 503
    endpoint.loading.set_result(StubCounter(qwen.model, lambda *_: 1))
    assert endpoint.get("/ping").status == 200


def test_a_model_that_cannot_be_loaded_is_never_healthy() -> None:
    endpoint = EndpointUnderTest()
    endpoint.loading.set_exception(OSError("no such file"))
    assert endpoint.get("/ping").status == 503
    assert endpoint.invoke(EXAMPLE).status == 503


def test_a_request_before_the_processor_is_loaded_is_answered_503_at_once() -> None:
    assert EndpointUnderTest().invoke(EXAMPLE).status == 503


def test_the_count_comes_back_with_the_request_id_it_was_asked_with(serve: Serve) -> None:
    asked = []

    def count(body: Any, *_: Any) -> int:
        asked.append(body)
        return 1027

    answer = serve(count).invoke(EXAMPLE)
    assert (answer.status, answer.body) == (200, {"input_tokens": 1027})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers[REQUEST_ID_HEADER] == "req_7"
    assert asked == [EXAMPLE]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidRequest("it is torn", param="messages.0.content.2.source.data"), "invalid_request"),
        (UnsupportedImage("it is torn", param="messages.0.content.2.source.data"), "unsupported_media_type"),
    ],
)
def test_what_the_processor_refuses_is_a_200_that_names_the_block(error: Exception, code: str, serve: Serve) -> None:
    answer = serve(raising(error)).invoke(EXAMPLE)
    place = "messages.0.content.2.source.data"
    assert (answer.status, answer.body) == (
        200,
        {"error": {"code": code, "message": "it is torn", "param": place}},
    )


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b"[]", {}, EXAMPLE | {"model": "b3os/another"}, EXAMPLE | {"new_parameter": 1}],
)
def test_a_request_that_no_counter_of_this_model_sends_is_a_400(body: Any, serve: Serve) -> None:
    assert serve(lambda *_: 1).invoke(body).status == 400


@pytest.mark.parametrize(("error", "status"), [(TooLarge("180 million pixels"), 413), (TooLate(), 503)])
def test_what_could_be_counted_elsewhere_is_no_200(error: Exception, status: int, serve: Serve) -> None:
    assert serve(raising(error)).invoke(EXAMPLE).status == status


def test_a_body_is_read_up_to_25_mb_and_no_further(serve: Serve) -> None:
    endpoint, sent = serve(lambda *_: 1), 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1 << 20
            yield bytes(1 << 20)

    answer = asyncio.run(endpoint.call("POST", "/invocations", endless()))
    assert answer.status == 413
    assert MAX_BODY_BYTES < sent <= MAX_BODY_BYTES + (1 << 20)


def test_a_body_of_25_mb_is_counted(serve: Serve) -> None:
    filler = text("a" * (MAX_BODY_BYTES - len(encoded(request(user(text("")))))))
    body = encoded(request(user(filler)))
    assert len(body) == MAX_BODY_BYTES
    assert serve(lambda *_: 1).invoke(body).status == 200


def test_requests_are_counted_side_by_side_and_one_too_many_is_answered_503_at_once(serve: Serve) -> None:
    go = Event()
    endpoint = serve(lambda *_: int(go.wait()))

    async def scene() -> None:
        under_way = [asyncio.create_task(endpoint.call("POST", "/invocations", encoded(EXAMPLE)))]
        under_way += [
            asyncio.create_task(endpoint.call("POST", "/invocations", encoded(EXAMPLE)))
            for _ in range(MAX_REQUESTS - 1)
        ]
        await asyncio.sleep(0)
        while sum(not task.done() for task in under_way) < MAX_REQUESTS:
            await asyncio.sleep(0)
        assert (await endpoint.call("POST", "/invocations", encoded(EXAMPLE))).status == 503
        assert (await endpoint.call("GET", "/ping", b"")).status == 200
        go.set()
        assert {answer.status for answer in await asyncio.gather(*under_way)} == {200}
        assert (await endpoint.call("POST", "/invocations", encoded(EXAMPLE))).status == 200

    asyncio.run(scene())


def test_a_fault_is_a_500_and_a_line_in_the_log_without_a_word_of_the_request(serve: Serve) -> None:
    marker = "Zebrastreifen"
    body = request(user(text(marker), image(picture(4, 4))))
    endpoint = serve(raising(RuntimeError(f"while counting {marker}")))
    answer = endpoint.invoke(body)
    assert (answer.status, answer.body) == (500, {"message": "internal error"})
    [line] = endpoint.logger.lines
    assert (line["level"], line["status"], line["request_id"]) == ("ERROR", 500, "req_7")
    assert line["fault"].startswith("RuntimeError at ")
    assert marker not in endpoint.logger.text.getvalue()


def test_an_answer_is_one_line_in_the_log_with_its_id_its_status_and_its_timing(serve: Serve) -> None:
    endpoint = serve(raising(InvalidRequest("Zebrastreifen", param="messages.0.content.0")))
    endpoint.invoke(EXAMPLE)
    [line] = endpoint.logger.lines
    assert (line["level"], line["status"], line["refused"]) == ("INFO", 200, "invalid_request")
    assert list(line["timing"]) == ["parse"]
    assert "Zebrastreifen" not in endpoint.logger.text.getvalue()


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/", 404), ("GET", "/invocations", 405)])
def test_there_are_two_routes(method: str, path: str, status: int) -> None:
    assert asyncio.run(EndpointUnderTest().call(method, path, b"")).status == status

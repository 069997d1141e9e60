"""InvokeEndpoint as boto3 speaks it, against a server that answers as SageMaker does, or as nothing should."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.support.http_server import running
from tokencount.adapters import endpoint as adapter
from tokencount.adapters.endpoint import SageMakerEndpoint
from tokencount.domain.delegation import EndpointUnavailable
from tokencount.domain.errors import InvalidRequest, UnsupportedImage

NAME = "Qwen35Endpoint-Ab1"
REQUEST_ID = "req_01k0z7q8v9w0x1y2z3a4b5c6d7"
BODY = '{"messages":[{"role":"user","content":"ä"}]}'.encode()


class Answer:
    """Status, headers and body; `error` is what SageMaker puts into the header of that name."""

    def __init__(self, status: int, body: bytes | str, error: str | None = None) -> None:
        self.status = status
        self.body = body.encode() if isinstance(body, str) else body
        named = {"x-amzn-ErrorType": error} if error else {}
        self.headers = {"x-amzn-RequestId": "5b6b2bd2", "Content-Type": "application/json"} | named


Behaviour = Callable[["Runtime", BaseHTTPRequestHandler], None]


class Runtime(ThreadingHTTPServer):
    """SageMaker's runtime on loopback; `next` is its answer, or what it does instead of giving one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.next: Answer | Behaviour = Answer(200, '{"input_tokens":539}')
        self.asked: list[tuple[str, Mapping[str, str], bytes]] = []
        self.over = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is what some of these tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: Runtime
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        match self.server.next:
            case Answer() as answer:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)
            case behaviour:
                behaviour(self.server, self)

    def log_message(self, *_: Any) -> None:
        """Silence."""


def silent(runtime: Runtime, handler: BaseHTTPRequestHandler) -> None:
    runtime.over.wait()


def hung_up(runtime: Runtime, handler: BaseHTTPRequestHandler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def cut_off(runtime: Runtime, handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n{"input_tokens":539}')
    hung_up(runtime, handler)


def dripping(runtime: Runtime, handler: BaseHTTPRequestHandler) -> None:
    """A byte at a time, each of them well within any timeout of a socket."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while not runtime.over.wait(0.1):
        handler.wfile.write(b" ")


def dripping_headers(runtime: Runtime, handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not runtime.over.wait(0.1):
        handler.wfile.write(b"a")


def endless(runtime: Runtime, handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not runtime.over.is_set():
        handler.wfile.write(b"10000\r\n" + bytes(65536) + b"\r\n")


def gibberish(runtime: Runtime, handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
    hung_up(runtime, handler)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    runtime = Runtime()
    with running(runtime) as url:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", url)
        yield runtime
        runtime.over.set()


def count(seconds_left: float = 26) -> int:
    return SageMakerEndpoint.named(NAME).count(BODY, REQUEST_ID, seconds_left)


def unavailable(seconds_left: float = 26) -> str:
    with pytest.raises(EndpointUnavailable) as failure:
        count(seconds_left)
    return str(failure.value)


def test_the_request_goes_out_whole_with_its_id_as_custom_attributes(runtime: Runtime) -> None:
    assert count() == 539
    [(path, headers, body)] = runtime.asked
    assert (path, body) == (f"/endpoints/{NAME}/invocations", BODY)
    assert headers["x-amzn-sagemaker-custom-attributes"] == REQUEST_ID
    assert headers["content-type"] == headers["accept"] == "application/json"
    assert "Credential=test/" in headers["authorization"]


@pytest.mark.parametrize(
    ("code", "kind"), [("invalid_request", InvalidRequest), ("unsupported_media_type", UnsupportedImage)]
)
def test_what_the_processor_refuses_is_the_client_s_error_in_its_words(
    runtime: Runtime, code: str, kind: type[Exception]
) -> None:
    error = {"code": code, "message": "The image/png image cannot be decoded", "param": "messages.0.content.1"}
    runtime.next = Answer(200, json.dumps({"error": error}))
    with pytest.raises(kind, match="cannot be decoded") as refusal:
        count()
    assert refusal.value.param == "messages.0.content.1"  # type: ignore[attr-defined]


def model_error(status: int, message: str) -> Answer:
    """As SageMaker words it of a container that answers with a 4xx or 5xx, or not at all (0)."""
    group = f"/aws/sagemaker/Endpoints/{NAME}"
    console = "https://us-east-1.console.aws.amazon.com/cloudwatch/home?region=us-east-1#logEventViewer:group="
    side = "client" if 400 <= status < 500 else "server"
    body = {
        "ErrorCode": "CLIENT_ERROR_FROM_MODEL" if side == "client" else "INTERNAL_FAILURE_FROM_MODEL",
        "LogStreamArn": f"arn:aws:logs:us-east-1:123456789012:log-group:{group}",
        "Message": f'Received {side} error ({status}) from primary with message "{message}". See {console}{group} in '
        "account 123456789012 for more information.",
        "OriginalMessage": message,
        "OriginalStatusCode": status,
    }
    return Answer(424, json.dumps(body), "ModelError:http://internal.amazon.com/coral/com.amazonaws.sagemaker.runtime/")


NO_CAPACITY = (
    '{"Message":"Inference Component has no capacity to process this request. ApplicationAutoScaling may be in-'
    'progress (if configured) or try to increase the capacity by invoking UpdateInferenceComponentRuntimeConfig API."}'
)
TIMED_OUT = "Your invocation timed out while waiting for a response from container primary."
HTML = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
FAILURES = {
    "throttled": (Answer(400, '{"message":"Rate exceeded"}', "ThrottlingException"), "ThrottlingException"),
    "throttled as 429": (Answer(429, '{"message":null}', "ThrottlingException"), "ThrottlingException"),
    "scaled to zero": (Answer(400, NO_CAPACITY, "ValidationError:http://internal.amazon.com/"), "ValidationError"),
    "not there": (
        Answer(400, '{"ErrorCode":"NO_SUCH_ENDPOINT","Message":"Endpoint x not found."}', "ValidationError"),
        "ValidationError",
    ),
    "still loading": (Answer(429, '{"Message":"wait"}', "ModelNotReadyException"), "ModelNotReadyException"),
    "unavailable": (Answer(503, '{"Message":"Try again"}', "ServiceUnavailable"), "ServiceUnavailable"),
    "internal": (Answer(500, '{"Message":"oops"}', "InternalFailure"), "InternalFailure"),
    "a dependency of SageMaker's": (Answer(530, "{}", "InternalDependencyException"), "InternalDependencyException"),
    "not allowed": (Answer(403, '{"Message":"not authorized"}', "AccessDeniedException"), "AccessDeniedException"),
    "busy container": (model_error(503, '{"message":"16 requests are under way"}'), "ModelError 503"),
    "broken container": (model_error(500, ""), "ModelError 500"),
    "silent container": (model_error(0, TIMED_OUT), "ModelError 0"),
    "container of another version": (model_error(400, '{"message":"not a request"}'), "ModelError 400"),
    "a wrong container": (model_error(404, "<html>Not Found</html>"), "ModelError 404"),
    "a model error without its parts": (Answer(424, "{}", "ModelError"), "ModelError"),
    "a gateway between": (Answer(502, HTML), "502"),
    "an error of another kind of JSON": (Answer(500, "[]"), "AttributeError"),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "reason"), FAILURES.values(), ids=FAILURES)
def test_every_failure_is_one_attempt_and_a_reason_without_the_peer_s_words(
    runtime: Runtime, answer: Answer, reason: str
) -> None:
    runtime.next = answer
    assert unavailable() == reason
    assert len(runtime.asked) == 1


NO_ANSWERS = {
    "nothing": b"",
    "HTML": HTML.encode(),
    "a number alone": b"539",
    "a list": b"[539]",
    "another object": b'{"tokens":539}',
    "no tokens": b'{"input_tokens":0}',
    "negative tokens": b'{"input_tokens":-5}',
    "huge tokens": b'{"input_tokens":1000000000000000000000}',
    "more digits than Python reads": b'{"input_tokens":' + b"9" * 5000 + b"}",
    "infinitely many tokens": b'{"input_tokens":1e999}',
    "a fraction": b'{"input_tokens":539.0}',
    "a string": b'{"input_tokens":"539"}',
    "true": b'{"input_tokens":true}',
    "null": b'{"input_tokens":null}',
    "an unknown refusal": b'{"error":{"code":"internal","message":"m","param":null}}',
    "a refusal of numbers": b'{"error":{"code":"invalid_request","message":5,"param":null}}',
    "a refusal without a place": b'{"error":{"code":"invalid_request","message":"m"}}',
    "nested too deep": b"[" * 60_000,
    "no UTF-8": b'{"input_tokens":\xff}',
    "12 MB": bytes(12_000_000),
    "12 MB around the count": b'{"input_tokens":539}' + b" " * 12_000_000,
}


@pytest.mark.parametrize("body", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_an_answer_that_is_not_of_the_protocol_is_none(runtime: Runtime, body: bytes) -> None:
    runtime.next = Answer(200, body)
    assert unavailable() in {"ValueError", "JSONDecodeError", "UnicodeDecodeError"}


@pytest.mark.parametrize("behaviour", [hung_up, cut_off, gibberish, endless], ids=lambda each: each.__name__)
def test_a_connection_that_breaks_or_brings_no_end_is_no_answer(runtime: Runtime, behaviour: Behaviour) -> None:
    runtime.next = behaviour
    unavailable()
    assert len(runtime.asked) == 1


@pytest.mark.parametrize("behaviour", [silent, dripping, dripping_headers], ids=lambda each: each.__name__)
def test_whoever_is_too_slow_is_not_waited_for(runtime: Runtime, behaviour: Behaviour) -> None:
    runtime.next = behaviour
    assert unavailable(seconds_left=5) == "TimeoutError"


def test_much_time_left_is_not_waited_out(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "CALL_SECONDS", 1)
    runtime.next = silent
    assert unavailable(seconds_left=1_000_000) == "TimeoutError"


def test_with_less_than_5_seconds_left_nothing_is_asked(runtime: Runtime) -> None:
    assert unavailable(seconds_left=4.9) == "only 4.9 s left"
    assert runtime.asked == []
    assert count(seconds_left=5) == 539


def test_an_endpoint_that_cannot_be_reached_is_no_answer(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", f"http://127.0.0.1:{port}")
    assert unavailable() == "EndpointConnectionError"


def test_a_failed_call_leaves_the_endpoint_usable(runtime: Runtime) -> None:
    endpoint = SageMakerEndpoint.named(NAME)
    for trouble in (silent, endless, Answer(503, "{}", "ServiceUnavailable")):
        runtime.next = trouble
        with pytest.raises(EndpointUnavailable):
            endpoint.count(BODY, REQUEST_ID, 5)
        runtime.next = Answer(200, '{"input_tokens":539}')
        assert endpoint.count(BODY, REQUEST_ID, 5) == 539

"""Requests with images by url, from the edge's event to the record: the real edge and counter, on our own internet."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.counter import KEYS, CounterUnderTest, no_refresh
from tests.support.edge import EdgeUnderTest
from tests.support.internet import HOST, Internet, internet, plain
from tests.support.requests import image, job, picture, request, text, user
from tokencount.adapters.images import Images
from tokencount.adapters.node_protocol import COUNT_PATH
from tokencount.adapters.node_tokens import NodeTokens
from tokencount.adapters.nodes import LambdaNodes
from tokencount.adapters.remote_images import Hold, RemoteImages, without_budget
from tokencount.domain.counting import Counter
from tokencount.domain.errors import RateLimited
from tokencount.domain.image_budget import Spending
from tokencount.domain.ports import Caller

URL = f"https://{HOST}/secret-path.png"
PATH = "messages.0.content.0.source.url"


@pytest.fixture
def net() -> Iterator[Internet]:
    with internet() as net:
        yield net


def elsewhere(url: str = URL) -> dict[str, Any]:
    """An image block by url."""
    return {"type": "image", "source": {"type": "url", "url": url}}


def counter_in(net: Internet, qwen: Counter, hold: Hold = without_budget) -> Counter:
    return Counter(qwen.model, qwen.template, qwen.tokenizer, Images(RemoteImages(net.guard(), hold).fetch))


class Service:
    """The real edge before the real counter, with Lambda's invoke in between left out."""

    def __init__(self, counter: Counter) -> None:
        self.counter = CounterUnderTest(counter)
        self.edge = EdgeUnderTest()
        nodes = LambdaNodes(self, {"b3os/tiny": "counter:live"}, NodeTokens(KEYS, no_refresh))  # type: ignore[arg-type]
        self.edge.node.count = nodes.count  # type: ignore[method-assign]

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's own names
        answer = self.counter.handler(json.loads(Payload), None)
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    def count(self, *blocks: Any) -> tuple[int, dict[str, Any], dict[str, str], dict[str, Any]]:
        """Status, body, headers and record of a request of one message."""
        answer = self.edge.send("POST", COUNT_PATH, request(user(*blocks)) | {"model": "b3os/tiny"})
        record = self.edge.log.get(answer["headers"]["request-id"])
        assert record
        return answer["statusCode"], answer["body"], answer["headers"], record


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_an_image_counts_the_same_by_its_url_as_in_the_request(form: str, net: Internet, qwen: Counter) -> None:
    data = picture(300, 200, form)
    net.serve(plain(data, "Content-Type: text/html"))
    inline = image(data, f"image/{form.lower()}")
    there, here = (counter_in(net, qwen).count(job(request(user(block)))) for block in (elsewhere(), inline))
    assert there.input_tokens == here.input_tokens
    [file] = there.images
    assert file.fetched
    assert (file.fetched.media_type, file.fetched.data) == (f"image/{form.lower()}", data)


def test_the_record_tells_fetched_bytes_and_server_timing_their_phases(net: Internet, qwen: Counter) -> None:
    far, near = picture(64, 32), picture(10, 10)
    net.serve(plain(far))
    status, body, headers, record = Service(counter_in(net, qwen)).count(elsewhere(), image(near), elsewhere())
    assert (status, list(body)) == (200, ["input_tokens"])
    assert record["images"] == {
        "count": 3,
        "bytes": 2 * len(far) + len(near),
        "remote_bytes": 2 * len(far),
        "pixels": 2 * 64 * 32 + 100,
    }
    phases = [entry.split(";")[0] for entry in headers["Server-Timing"].split(", ")]
    assert phases == ["edge_auth", "edge_upstream", "parse", "fetch", "image", "render", "encode", "total"]
    assert record["timing"].keys() == set(phases)


def test_images_in_a_tool_result_are_fetched_and_named_as_well(net: Internet, qwen: Counter) -> None:
    net.serve(plain(b"no image"))
    call = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [elsewhere()]}
    asked = request(user("a"), {"role": "assistant", "content": [call]}, user(result)) | {"model": "b3os/tiny"}
    service = Service(counter_in(net, qwen))
    answer = service.edge.send("POST", COUNT_PATH, asked)
    assert answer["body"]["b3os"] == {
        "code": "unsupported_media_type",
        "param": "messages.2.content.0.content.0.source.url",
    }


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"<html>not found</html>", "unsupported_media_type", "What is at the image's url is no image/png"),
        (picture(3, 3, "BMP"), "unsupported_media_type", "What is at the image's url is no image/png"),
        (b"", "invalid_request", "The image is empty"),
        (picture(3, 3)[:20], "invalid_request", "The header of the image/png image is broken"),
        (picture(2001, 10), "invalid_request", "The image is 2001x10 pixels"),
    ],
)
def test_what_is_found_at_a_url_is_judged_like_what_is_sent(
    data: bytes, code: str, words: str, net: Internet, qwen: Counter
) -> None:
    net.serve(plain(data))
    status, body, _, record = Service(counter_in(net, qwen)).count(elsewhere())
    param = "messages.0.content.0" if "pixels" in words else PATH
    assert (status, body["b3os"]) == (400, {"code": code, "param": param})
    assert body["error"]["type"] == "invalid_request_error"
    assert body["error"]["message"].startswith(words)
    assert record["error"] == {"type": "invalid_request_error", "code": code, "param": param}


def test_what_the_guard_forbids_is_403_in_the_anthropic_shape_and_names_the_rule(net: Internet, qwen: Counter) -> None:
    net.names[HOST] = [["169.254.169.254"]]
    service = Service(counter_in(net, qwen))
    status, body, headers, record = service.count(text("a"), elsewhere())
    message = "The image is not fetched: its host has an address that is not public"
    assert (status, body) == (
        403,
        {
            "type": "error",
            "error": {"type": "permission_error", "message": message},
            "request_id": headers["request-id"],
            "b3os": {"code": "egress_denied", "param": "messages.0.content.1.source.url"},
        },
    )
    assert record["error"]["code"] == "egress_denied"
    assert (net.dialled, net.is_untouched) == ([], True)


def test_what_fails_is_400_with_the_reason(net: Internet, qwen: Counter) -> None:
    status, body, _, _ = Service(counter_in(net, qwen)).count(elsewhere())
    assert (status, body["b3os"]) == (400, {"code": "invalid_request", "param": PATH})
    assert body["error"]["message"] == "The image is not fetched: its host has no address"


def test_a_minute_without_room_is_429_in_the_anthropic_shape_with_retry_after(net: Internet, qwen: Counter) -> None:
    @contextmanager
    def full(_caller: Caller, _size: int) -> Iterator[Spending]:
        raise RateLimited("full", retry_after=9)
        yield

    net.serve(plain(picture(3, 3)))
    status, body, headers, record = Service(counter_in(net, qwen, full)).count(elsewhere())
    assert (status, body["error"], body["b3os"]) == (
        429,
        {"type": "rate_limit_error", "message": "full"},
        {"code": "rate_limited"},
    )
    assert {name.lower(): value for name, value in headers.items()}["retry-after"] == "9"
    assert record["status"] == 429


def test_a_fault_in_what_is_sent_is_told_before_anything_is_fetched(net: Internet, qwen: Counter) -> None:
    broken = image(b"") | {"cache_control": None}
    status, body, _, _ = Service(counter_in(net, qwen)).count(elsewhere(), broken)
    assert (status, body["b3os"]["param"]) == (400, "messages.0.content.1.source.data")
    assert net.lookups == []


def test_no_url_is_in_any_record_or_log(net: Internet, qwen: Counter) -> None:
    service = Service(counter_in(net, qwen))
    net.serve(plain(picture(3, 3)))
    records = [service.count(elsewhere(url))[3] for url in (URL, "https://secret-host.example/", "https://secret@x/")]
    kept = json.dumps([records, service.counter.logger.lines, service.edge.logger.lines])
    assert [record["status"] for record in records] == [200, 400, 403]
    assert "secret" not in kept
    assert HOST not in kept

"""Which requests go to the endpoint and why, what is sent there, and what becomes of its answers."""

import json
from typing import Any

import pytest

from tests.support.requests import image, job, picture, request, text, user
from tokencount.domain.chat import Chat, Image
from tokencount.domain.counting import Count, Counter, Fetched, ImageFile, Job, Measured
from tokencount.domain.delegation import (
    MAX_SENT_BYTES,
    DelegatingCounter,
    EndpointUnavailable,
    Route,
    as_sent,
    route_of,
)
from tokencount.domain.errors import BackendUnavailable, ContextLengthExceeded, CountError, InvalidRequest
from tokencount.domain.images import MAX_DECODED_PIXELS, ImageRule, ImageSize
from tokencount.domain.model import EndpointPolicy, ModelSpec, TemplateRules
from tokencount.domain.timing import Phases

POLICY = EndpointPolicy(images=8, bytes=2_097_152, pixels=16_000_000, fallback=True)
RULE = ImageRule("fixed", "<image>", "<soft>", tokens=10)
TEMPLATE = TemplateRules("parts", "reasoning_content", {}, None)
# What the function makes of a request with one image: the soft tokens and the prompt's two words.
BY_FUNCTION = 11


def file(width: int = 100, height: int = 100, size: int = 1000, fetched: Fetched | None = None) -> ImageFile:
    return ImageFile(ImageSize(width, height), size, fetched)


@pytest.mark.parametrize(
    ("files", "route"),
    [
        ([], Route("function", "no images")),
        ([file()] * 7, Route("function", "light in images")),
        ([file()] * 8, Route("endpoint", "8 images")),
        ([file()] * 40, Route("endpoint", "40 images")),
        ([file(size=2_097_151)], Route("function", "light in images")),
        ([file(size=2_097_152)], Route("endpoint", "2.1 MB of images")),
        ([file(size=1_048_576)] * 2, Route("endpoint", "2.1 MB of images")),
        ([file(3999, 4001)], Route("function", "light in images")),
        ([file(4000, 4000)], Route("endpoint", "16 megapixels")),
        ([file(4300, 2000)] * 2, Route("endpoint", "17.2 megapixels")),
        ([file(1, MAX_DECODED_PIXELS)], Route("endpoint", "179 megapixels")),
        ([file(1, MAX_DECODED_PIXELS + 1)], Route("function", "an image of 179 megapixels")),
        ([file()] * 8 + [file(30_000, 30_000)], Route("function", "an image of 900 megapixels")),
        ([file(10_000, 10_000)] * 300, Route("endpoint", "300 images")),
    ],
    ids=lambda value: value.reason if isinstance(value, Route) else len(value),
)
def test_a_request_goes_to_the_endpoint_from_any_threshold_on_and_the_route_says_why(
    files: list[ImageFile], route: Route
) -> None:
    assert route_of(files, POLICY, deployed=True) == route


def test_without_an_endpoint_every_request_stays() -> None:
    assert route_of([file()] * 8, POLICY, deployed=False) == Route("function", "no endpoint is deployed")
    assert route_of([file()], POLICY, deployed=False) == Route("function", "light in images")


def test_a_model_that_asks_for_no_endpoint_has_all_its_requests_counted_in_the_function() -> None:
    assert route_of([file(4000, 4000)] * 40, None, deployed=True).target == "function"


def test_a_threshold_of_one_image_speaks_of_one_image() -> None:
    assert route_of([file()], EndpointPolicy(images=1), deployed=True) == Route("endpoint", "1 image")


def test_what_a_manifest_leaves_out_is_8_images_2_mib_16_megapixels_and_a_fallback() -> None:
    assert EndpointPolicy() == POLICY


class Answering:
    """An endpoint that answers the same to all, or raises it."""

    def __init__(self, answer: int | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[bytes, str, float]] = []

    def count(self, body: bytes, request_id: str, seconds_left: float) -> int:
        self.asked.append((body, request_id, seconds_left))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Prompt:
    def render(self, chat: Chat) -> str:
        return "hi <image>"


class Words:
    def count(self, text: str) -> int:
        return len(text.split())


def counter(files: list[ImageFile], policy: EndpointPolicy | None, context_length: int = 1000) -> Counter:
    def read_images(images: list[Image], job: Job) -> list[ImageFile]:
        return files

    spec = ModelSpec("b3os/m", context_length, 1000, "0", {}, TEMPLATE, RULE, policy)
    return Counter(spec, Prompt(), Words(), read_images)


HEAVY = EndpointPolicy(images=1)
STRICT = EndpointPolicy(images=1, fallback=False)
BODY = request(user(text("hi"), image(picture(2, 2))))


def ask(endpoint: Answering | None, policy: EndpointPolicy | None = HEAVY, **model: Any) -> Count:
    return DelegatingCounter(counter([file()], policy, **model), endpoint).count(job(BODY))


def test_the_endpoint_s_number_is_the_answer_and_the_function_renders_nothing() -> None:
    phases = Phases()
    timed = Job(BODY, job(BODY).caller, phases.phase, lambda: 26)
    count = DelegatingCounter(counter([file()], HEAVY), Answering(7)).count(timed)
    assert count == Count(7, [file()], "endpoint", "1 image")
    assert list(phases.durations) == ["endpoint"]


def test_the_endpoint_is_sent_the_request_its_id_and_the_time_that_is_left() -> None:
    endpoint = Answering(7)
    ask(endpoint)
    [(body, request_id, seconds_left)] = endpoint.asked
    assert json.loads(body) == BODY
    assert (request_id, seconds_left) == ("req_1", 26)


@pytest.mark.parametrize("policy", [None, EndpointPolicy(images=2)])
def test_the_endpoint_is_not_asked_where_the_manifest_does_not_want_it(policy: EndpointPolicy | None) -> None:
    endpoint = Answering(7)
    count = ask(endpoint, policy)
    assert (count.input_tokens, count.route, endpoint.asked) == (BY_FUNCTION, "function", [])


def test_an_endpoint_that_gives_no_answer_is_made_up_for_by_the_function_and_the_reason_says_both() -> None:
    count = ask(Answering(EndpointUnavailable("ThrottlingException")))
    assert (count.input_tokens, count.route) == (BY_FUNCTION, "fallback")
    assert count.reason == "1 image; ThrottlingException"


def test_where_the_manifest_allows_no_fallback_it_is_unavailable_and_says_when_to_come_back() -> None:
    with pytest.raises(BackendUnavailable, match="b3os/m is unavailable; retry in 5 seconds") as refusal:
        ask(Answering(EndpointUnavailable("ThrottlingException")), STRICT)
    assert (refusal.value.retry_after, refusal.value.endpoint_failure) == (5, "1 image; ThrottlingException")


def test_a_request_that_the_function_refuses_in_the_endpoints_place_tells_why_the_endpoint_did_not_count() -> None:
    with pytest.raises(ContextLengthExceeded) as refusal:
        ask(Answering(EndpointUnavailable("ThrottlingException")), context_length=1)
    assert refusal.value.endpoint_failure == "1 image; ThrottlingException"


@pytest.mark.parametrize("policy", [HEAVY, STRICT])
def test_what_the_endpoint_refuses_is_refused_and_not_counted_elsewhere(policy: EndpointPolicy) -> None:
    refused = InvalidRequest("cannot be decoded", param="messages.0.content.1")
    with pytest.raises(InvalidRequest) as refusal:
        ask(Answering(refused), policy)
    assert refusal.value is refused


@pytest.mark.parametrize("answer", [BY_FUNCTION, EndpointUnavailable("TimeoutError")])
def test_the_context_length_is_judged_whoever_counted(answer: int | Exception) -> None:
    assert ask(Answering(answer), context_length=BY_FUNCTION).input_tokens == BY_FUNCTION
    with pytest.raises(ContextLengthExceeded, match=f"has {BY_FUNCTION} tokens"):
        ask(Answering(answer), context_length=BY_FUNCTION - 1)


@pytest.mark.parametrize("over", [0, 1])
def test_from_20_mb_as_sent_on_the_function_counts(over: int) -> None:
    longer = BODY | {"system": ""}
    room = MAX_SENT_BYTES - len(as_sent(longer, Measured())) + over
    longer["system"] = "é" * (room // 2) + "a" * (room % 2)
    endpoint = Answering(7)
    count = DelegatingCounter(counter([file()], HEAVY), endpoint).count(job(longer))
    if over:
        assert (count.route, count.reason, endpoint.asked) == ("function", "20 MB as sent", [])
    else:
        assert (count.route, len(endpoint.asked[0][0])) == ("endpoint", MAX_SENT_BYTES)


def url(address: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "url", "url": address}}


def test_remote_images_are_sent_as_their_files_wherever_they_stand_and_nothing_else_is_changed() -> None:
    inner, outer = picture(3, 3), picture(4, 4, "JPEG")
    given = {"type": "tool_result", "tool_use_id": "t", "content": [text("a"), url("https://x/1")]}
    use = {"type": "tool_use", "id": "t", "name": "n", "input": {"source": {"type": "url", "url": "https://x/1"}}}
    body = request(
        user(text("ä")),
        {"role": "assistant", "content": [use]},
        user(image(picture(2, 2)), given, url("https://x/2")),
        tools=[{"name": "n", "input_schema": {"type": "object"}}],
    )
    before = json.loads(json.dumps(body))
    asked = job(body)
    images = [
        Image("", part["source"]) for part in (given["content"][1], *asked.request["messages"][2]["content"][::2])
    ]
    files = [file(fetched=Fetched("image/png", inner)), file(), file(fetched=Fetched("image/jpeg", outer))]
    sent = json.loads(as_sent(asked.request, Measured(images, files)))
    assert asked.request == before
    before["messages"][2]["content"][1]["content"][1] = image(inner)
    before["messages"][2]["content"][2] = image(outer, "image/jpeg")
    assert sent == before


def test_what_was_fetched_counts_towards_what_is_sent() -> None:
    fetched = file(fetched=Fetched("image/png", bytes(15_000_001)))
    remote = request(user(url("https://x/1")))
    endpoint = Answering(7)
    count = DelegatingCounter(counter([fetched], HEAVY), endpoint).count(job(remote))
    assert (count.route, count.reason, endpoint.asked) == ("function", "20 MB as sent", [])


def test_an_image_that_the_function_s_rule_refuses_never_reaches_the_endpoint() -> None:
    endpoint = Answering(7)
    with pytest.raises(CountError):
        DelegatingCounter(counter([file(0, 5)], HEAVY), endpoint).count(job(BODY))
    assert endpoint.asked == []

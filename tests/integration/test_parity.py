"""Function and endpoint give the same number: the one from headers and a rule, the other from transformers' processor.

PARITY_REQUESTS asks for more requests than the default; each has its own seed, which a failing test names.
"""

import json
import os
import random
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from endpoint.counting import EndpointCounter
from tests.conftest import LAYERS
from tests.support.pictures import KINDS, Picture, Size, draw, gif_of_frame, make, saved
from tests.support.requests import assistant, count, image, request, text, tool, user
from tokencount.adapters.validation import validate
from tokencount.domain.counting import Counter
from tokencount.domain.images import MAX_SIDE, ImageSize

Json = dict[str, Any]
REQUESTS = int(os.environ.get("PARITY_REQUESTS", "300"))
# What a run's workers share between them.
PARTS = 4
NEVER = float("inf")
GOLDEN = Path(__file__).parents[1] / "golden" / "qwen3.5-9b.jsonl"
WORDS = ["the quick", "brown", "fox", "jumps über", "den Hund", "人力资源", "<think>", "</tool_call>", "🙂", "3.14"]


@pytest.fixture(scope="module")
def endpoint() -> EndpointCounter:
    return EndpointCounter.load(LAYERS / "qwen3.5-9b" / "model", threads=2)


def count_there(endpoint: EndpointCounter, body: Json) -> int:
    return endpoint.count(validate(body), lambda _phase: nullcontext(), NEVER)


def size(random: random.Random) -> Size:
    """Mostly small, at times wide or tall up to 200-fold, at times of a megapixel."""
    longest = random.choice([32, 200, 400, 400, 700, 1400])
    ratio = random.choice([1, 2, 2, 5, 30, 200])
    long = random.randint(1, longest)
    short = max(1, -(-long // ratio), random.randint(1, long) // random.randint(1, ratio))
    return (long, short) if random.random() < 0.5 else (short, long)


def block(picture: Picture) -> Json:
    return image(picture.data, picture.media_type)


def contents(pictures: list[Picture], random: random.Random) -> Iterator[Json]:
    for picture in pictures:
        if random.random() < 0.4:
            yield text(" ".join(random.choices(WORDS, k=random.randint(1, 12))))
        yield block(picture)


def a_request(seed: int) -> tuple[Json, list[Picture]]:
    """A request of 1 to 40 images, in the user's messages and in what tools answered."""
    dice = random.Random(seed)
    number = min(40, 1 + int(dice.expovariate(1 / 5)))
    pictures = [make(dice.choice(list(KINDS)), size(dice), dice) for _ in range(number)]
    cut = dice.randint(0, number)
    messages = [user(*contents(pictures[:cut], dice), text("And?"))]
    rest: Json = {}
    if dice.random() < 0.5:
        call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": [1, "ü", None]}}
        answered = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": dice.random() < 0.3}
        answered["content"] = list(contents(pictures[cut:], dice))
        messages += [assistant(text("Let me see."), call), user(answered)]
        rest["tools"] = [tool("look", description="Looks.")]
    else:
        messages += [assistant("Hm."), user(*contents(pictures[cut:], dice), text("So?"))]
    if dice.random() < 0.2:
        messages.append(assistant("I think"))
    if dice.random() < 0.3:
        rest["system"] = "Be brief."
    if dice.random() < 0.3:
        rest["thinking"] = {"type": "adaptive"}
    return request(*messages, **rest), pictures


@pytest.mark.parametrize("part", range(PARTS))
def test_requests_with_images_of_every_kind_cost_the_same_here_and_there(
    part: int, qwen: Counter, endpoint: EndpointCounter
) -> None:
    for seed in range(part, REQUESTS, PARTS):
        body, pictures = a_request(seed)
        here, there = count(qwen, body), count_there(endpoint, body)
        assert here == there, f"request {seed}: {', '.join(map(str, pictures))}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_of_any_kind_and_shape_costs_the_same_here_and_there(
    kind: str, qwen: Counter, endpoint: EndpointCounter
) -> None:
    for shape in [(1, 1), (1, 200), (200, 1), (3, 2), (255, 257), (1040, 1040), (2048, 16)]:
        body = request(user(block(make(kind, shape, random.Random(8)))))
        assert count(qwen, body) == count_there(endpoint, body), (kind, shape)


def test_a_picture_with_more_pixels_than_the_model_takes_costs_the_same_here_and_there(
    qwen: Counter, endpoint: EndpointCounter
) -> None:
    # One alone: it keeps a core busy for seconds.
    body = request(user(image(saved(draw((4200, 4100), "L"), "JPEG"), "image/jpeg")))
    assert count(qwen, body) == count_there(endpoint, body)


@pytest.mark.parametrize(
    ("frame", "offset"), [((450, 100), (0, 0)), ((200, 150), (300, 200)), ((10, 10), (0, 2000))], ids=str
)
def test_a_gif_whose_frame_leaves_its_screen_costs_the_same_here_and_there(
    frame: Size, offset: Size, qwen: Counter, endpoint: EndpointCounter
) -> None:
    body = request(user(image(gif_of_frame((400, 300), frame, offset), "image/gif")))
    assert count(qwen, body) == count_there(endpoint, body)


def test_every_size_costs_what_the_processor_says_of_it(endpoint: EndpointCounter) -> None:
    dice = random.Random(5)
    processor = endpoint.processor.pretrained.image_processor
    for _ in range(20_000):
        long = int(MAX_SIDE ** dice.random())
        short = dice.randint(-(-long // 200), long)
        width, height = (long, short) if dice.random() < 0.5 else (short, long)
        patches = processor.get_number_of_image_patches(height, width)
        tokens = endpoint.image.tokens_of(ImageSize(width, height), "")
        assert tokens == patches // processor.merge_size**2, (width, height)


def test_a_request_without_images_costs_the_golden_number_there_too(endpoint: EndpointCounter) -> None:
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert count_there(endpoint, row["request"]) == row["input_tokens"], row["id"]

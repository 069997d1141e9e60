"""Counts and token ids against transformers' own code over thousands of requests: its rendering, tokenizer, processors.

Chat messages are this project's, since a Messages request is none of transformers'; all that follows is its own, from
the files of the model's hub repository. DIFFERENTIAL_REQUESTS sets how many requests of each model there are.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pybase64 import b64decode
from tokenizers import Tokenizer

from tests.conftest import LAYERS, NOW, Counters
from tests.support.generated import Requests
from tests.support.hub_models import hub_files_of
from tests.support.requests import Json, job
from tests.support.served import EACH_MODEL
from tokencount.domain.chat import Chat, images_of, to_chat
from tokencount.domain.counting import Counter
from tokencount.domain.errors import InvalidRequest
from tokencount.domain.images import ImageSize

pytestmark = pytest.mark.transformers
transformers = pytest.importorskip("transformers", reason="transformers is not installed: make .venv/dev")

from jinja2.exceptions import TemplateError  # noqa: E402
from transformers.utils import chat_template_utils  # noqa: E402

REQUESTS = int(os.environ.get("DIFFERENTIAL_REQUESTS", "500"))
VISION = ["gemma-3-12b-it", "qwen3.5-9b"]
REFUSALS = (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Theirs:
    """A model as transformers loads it."""

    tokenizer: Any
    processor: Any | None

    def ids(self, chat: Chat, images: list[Image.Image]) -> list[int]:
        """The prompt's token ids, images in it; raises one of REFUSALS."""
        renderer = self.processor if images else self.tokenizer
        assert renderer
        prompt = renderer.apply_chat_template(
            chat.messages,
            tools=chat.tools,
            add_generation_prompt=not chat.continues,
            continue_final_message=chat.continues,
            tokenize=False,
            **{name: value for name, value in chat.options.items() if not name.endswith("_token")},
        )
        if images:
            [ids] = renderer(text=[prompt], images=images, add_special_tokens=False)["input_ids"]
        else:
            ids = renderer(prompt, add_special_tokens=False)["input_ids"]
        return list(ids)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Theirs]:
    def load(name: str) -> Theirs:
        folder = tmp_path_factory.mktemp(name)
        for file, data in hub_files_of(name).items():
            (folder / file).write_bytes(data)
        tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
        return Theirs(tokenizer, _processor(folder, tokenizer) if name in VISION else None)

    return load


def _processor(folder: Path, tokenizer: Any) -> Any:
    image_processor = transformers.AutoImageProcessor.from_pretrained(folder, local_files_only=True, backend="pil")
    config = json.loads((folder / "preprocessor_config.json").read_bytes())
    kind: Any = getattr(transformers, config["processor_class"])

    class WithoutVideos(kind):  # type: ignore[misc]  # a video processor would need torch
        @classmethod
        def get_attributes(cls) -> list[str]:
            return [name for name in super().get_attributes() if name != "video_processor"]

    return WithoutVideos(image_processor=image_processor, tokenizer=tokenizer, chat_template=tokenizer.chat_template)


@pytest.fixture(autouse=True)
def one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return NOW

    monkeypatch.setattr(chat_template_utils, "datetime", Clock)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", EACH_MODEL)
def test_every_request_has_the_token_ids_that_transformers_gives_it(
    name: str, counters: Counters, theirs: Callable[[str], Theirs]
) -> None:
    counter, model = counters(name), theirs(name)
    encoder = Tokenizer.from_file(str(LAYERS / name / "model" / "tokenizer.json"))
    rule = counter.model.image
    requests = Requests(name, counter.model.id, rule.placeholder if rule else None)
    counted = 0
    for number in range(REQUESTS):
        body = requests.draw()
        expected = _expected(body, counter, model)
        if expected is None:
            with pytest.raises(InvalidRequest):
                counter.count(job(body))
            continue
        counted += 1
        assert encoder.encode(_prompt(body, counter), add_special_tokens=False).ids == expected, (number, body)
        assert counter.count(job(body)).input_tokens == len(expected), (number, body)
    # A template refuses some orders of messages; most requests it takes.
    assert counted > REQUESTS / 3


def _expected(body: Json, counter: Counter, model: Theirs) -> list[int] | None:
    """Transformers' token ids; None where it refuses the request."""
    files = [b64decode(image.source["data"]) for image in images_of(body)]
    try:
        return model.ids(to_chat(body, counter.model.template), [Image.open(BytesIO(data)) for data in files])
    except REFUSALS:
        return None


def _prompt(body: Json, counter: Counter) -> str:
    """Our prompt with all soft tokens of its images written out."""
    prompt, rule = counter.template.render(to_chat(body, counter.model.template)), counter.model.image
    measured = counter.measure(job(body))
    if not measured.files:
        return prompt
    assert rule
    before, *pieces = prompt.split(rule.placeholder)
    for file, piece in zip(measured.files, pieces, strict=True):
        before += _expansion(counter, rule.tokens_of(file.size, "")) + piece
    return before


def _expansion(counter: Counter, tokens: int) -> str:
    rule = counter.model.image
    assert rule
    soft = next(part for part in ("<image_soft_token>", rule.placeholder) if part in rule.expansion)
    return rule.expansion.replace(soft, soft * tokens)


def test_every_size_of_an_image_has_the_tokens_that_the_smart_resize_gives_it(
    counters: Counters, theirs: Callable[[str], Theirs]
) -> None:
    name = "qwen3.5-9b"
    rule, processor = counters(name).model.image, theirs(name).processor
    assert rule
    assert processor
    sides = sorted({*range(1, 130), *range(130, 6000, 173), 8191, 8192, 16000, 32768})
    for height in sides:
        for width in sides:
            if max(height, width) <= rule.max_ratio * min(height, width):
                patches = processor.image_processor.get_number_of_image_patches(height, width)
                assert rule.tokens_of(ImageSize(width, height), "") == patches // rule.merge_size**2, (height, width)

"""Requests and images for tests, small and of every kind."""

import base64
from contextlib import nullcontext
from io import BytesIO
from typing import Any

from PIL import Image

from tokencount.adapters.validation import validate
from tokencount.domain.counting import Counter, Job
from tokencount.domain.ports import Caller

QWEN = "b3os/qwen3.5-9b"
Json = dict[str, Any]

EXAMPLE: Json = {
    "model": QWEN,
    "system": "You are a concise assistant.",
    "messages": [{"role": "user", "content": "How many tokens is this?"}],
}


def no_fetch(*_: object) -> list[bytes]:
    """For requests that have no image by url."""
    raise AssertionError("an image is elsewhere")


def user(*blocks: Any) -> Json:
    """A user message of one string or of blocks."""
    return {"role": "user", "content": blocks[0] if blocks and isinstance(blocks[0], str) else list(blocks)}


def assistant(*blocks: Any) -> Json:
    """An assistant message of one string or of blocks."""
    return user(*blocks) | {"role": "assistant"}


def text(value: str) -> Json:
    """A text block."""
    return {"type": "text", "text": value}


def request(*messages: Json, **rest: Any) -> Json:
    """A request of these messages."""
    return {"model": QWEN, "messages": list(messages), **rest}


def tool(name: str, **rest: Any) -> Json:
    """A tool without parameters."""
    return {"name": name, "input_schema": {"type": "object", "properties": {}}, **rest}


def picture(width: int, height: int, form: str = "PNG", **options: Any) -> bytes:
    """An image file of one colour."""
    buffer = BytesIO()
    Image.new("RGB", (width, height)).save(buffer, form, **options)
    return buffer.getvalue()


def image(data: bytes, media_type: str = "image/png") -> Json:
    """A base64 image block."""
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def job(body: Json) -> Job:
    """The job of counting a request, by way of validation."""
    return Job(validate(body), Caller("org", "proj", ("infer:run",), "req_1"), lambda _phase: nullcontext(), lambda: 26)


def count(counter: Counter, body: Json) -> int:
    """The input tokens of a request, by way of validation."""
    return counter.count(job(body)).input_tokens

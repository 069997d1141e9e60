"""Pictures to send, and requests with them."""

import base64
import random
from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageFilter

from bench.texts import Json, body

SIZE = (800, 600)


def photo(seed: int) -> bytes:
    """A JPEG with about as much detail as a photograph, some 60 kB."""
    noise = random.Random(seed).randbytes(SIZE[0] * SIZE[1] * 3)  # noqa: S311 - no secret
    buffer = BytesIO()
    Image.frombytes("RGB", SIZE, noise).filter(ImageFilter.GaussianBlur(2)).save(buffer, "JPEG", quality=80)
    return buffer.getvalue()


def request(model: str, photos: Sequence[bytes]) -> bytes:
    """A request to a model with these images."""
    return body(
        model,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, *map(_block, photos)]}]},
    )


def _block(photo: bytes) -> Json:
    source = {"type": "base64", "media_type": "image/jpeg", "data": base64.b64encode(photo).decode()}
    return {"type": "image", "source": source}

"""Image files of every type the service takes, broken ones, and ones whose headers promise the absurd."""

import base64
import struct
import zlib
from functools import cache
from io import BytesIO

from hypothesis import strategies as st
from PIL import Image

from tests.support.requests import Json, picture

MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")


def png(width: int, height: int, *chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG of that size by its header, with these chunks and no pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    all_chunks = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    parts = [struct.pack(">I", len(data)) + kind + data + _crc(kind + data) for kind, data in all_chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _crc(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))


def png_bomb(kind: bytes, size: int) -> bytes:
    """A small PNG with a compressed chunk (`zTXt`, `iCCP`, `iTXt`) that unfolds to `size` bytes."""
    packed = zlib.compress(bytes(size), 9)
    data = b"key\0\1\0\0\0" + packed if kind == b"iTXt" else b"key\0\0" + packed
    return png(8, 8, (kind, data))


@cache
def files() -> list[tuple[str, bytes]]:
    """Files with their media types, of every form within a type."""
    animated = [Image.new("P", (16, 16), shade) for shade in (1, 2)]
    return [
        ("image/png", picture(64, 64)),
        ("image/png", _saved(Image.new("P", (9, 5)), "PNG")),
        ("image/png", _saved(Image.new("I;16", (9, 5)), "PNG")),
        ("image/png", png(30_000, 30_000)),
        ("image/png", png(2**31 - 1, 2**31 - 1)),
        ("image/png", png(0, 1)),
        ("image/png", png_bomb(b"zTXt", 1_000_000)),
        ("image/png", png_bomb(b"iCCP", 1_000_000)),
        ("image/jpeg", picture(64, 48, "JPEG")),
        ("image/jpeg", picture(64, 48, "JPEG", progressive=True)),
        ("image/jpeg", _saved(Image.new("CMYK", (9, 5)), "JPEG")),
        ("image/webp", picture(40, 60, "WEBP")),
        ("image/webp", picture(40, 60, "WEBP", lossless=True)),
        ("image/webp", _saved(animated[0], "WEBP", save_all=True, append_images=animated[1:])),
        ("image/gif", picture(30, 20, "GIF")),
        ("image/gif", _saved(animated[0], "GIF", save_all=True, append_images=animated[1:])),
    ]


def _saved(image: Image.Image, form: str, **options: object) -> bytes:
    buffer = BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


@st.composite
def sources(draw: st.DrawFn) -> Json:
    """Image sources: most of them whole, some broken in the file, the base64 or the declared type."""
    media_type, data = draw(st.sampled_from(files()))
    match draw(st.integers(0, 9)):
        case 0:
            data = data[: draw(st.integers(0, len(data)))]
        case 1:
            place = draw(st.integers(0, min(len(data), 64) - 1))
            data = data[:place] + draw(st.binary(min_size=1, max_size=4)) + data[place + 1 :]
        case 2:
            data = draw(st.binary(max_size=64))
        case 3:
            media_type = draw(st.sampled_from(MEDIA_TYPES))
        case 4:
            address = draw(
                st.sampled_from(["https://127.0.0.1/a.png", "https://", "http://a.example/", "https://[::1]:0/"])
            )
            return {"type": "url", "url": address}
    return {"type": "base64", "media_type": media_type, "data": draw(_base64(data))}


@st.composite
def _base64(draw: st.DrawFn, data: bytes) -> str:
    text = base64.b64encode(data).decode()
    match draw(st.integers(0, 19)):
        case 0:
            return "data:image/png;base64," + text
        case 1:
            return base64.encodebytes(data).decode()
        case 2:
            return base64.urlsafe_b64encode(data).decode()
        case 3:
            return text.rstrip("=")
        case 4:
            return text + draw(st.text(min_size=1, max_size=3))
    return text

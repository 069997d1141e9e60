"""Image files of every kind that is accepted, small for their sizes, made from a seed."""

import random
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image

ORIENTATION = 0x0112
# Adam7: of each pass, where it begins and how far its pixels are apart.
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}

Size = tuple[int, int]


@dataclass(frozen=True)
class Picture:
    """An image file.

    Args:
        kind: how it was made, for a failing test's words.
    """

    kind: str
    size: Size
    media_type: str
    data: bytes

    def __str__(self) -> str:
        return f"{self.kind} {self.size[0]}x{self.size[1]}"


def draw(size: Size, mode: str = "RGB") -> Image.Image:
    """A gradient, which every coder packs well."""
    gradient = Image.linear_gradient("L").resize(size)
    if mode == "RGBA":
        return Image.merge("RGBA", [gradient] * 4)
    if mode == "I;16":
        return gradient.convert("I").convert("I;16")
    return gradient.convert(mode)


def png(size: Size, depth: int, color: int, *, interlaced: bool = False) -> bytes:
    """A black PNG of a kind that Pillow reads and does not write (PNG specification, sections 8.1 and 11.2.1)."""
    width, height = size
    passes = PASSES if interlaced else [(0, 0, 1, 1)]
    rows = b""
    for left, top, across, down in passes:
        columns, lines = -(-(width - left) // across), -(-(height - top) // down)
        if columns > 0 and lines > 0:
            rows += lines * bytes(1 + -(-columns * depth * SAMPLES[color] // 8))
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, int(interlaced))
    palette = [(b"PLTE", bytes(3 * 2**depth))] if color == 3 else []
    chunks = [(b"IHDR", header), *palette, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def gif_of_frame(size: Size, frame: Size, offset: Size) -> bytes:
    """A GIF whose only frame is not where, or not as large as, the screen (GIF89a, sections 18 and 20)."""
    data = bytearray(saved(draw(frame, "P"), "GIF"))
    data[6:10] = struct.pack("<HH", *size)
    at = 13 + 3 * 2 ** ((data[10] & 7) + 1)
    at = data.index(b"\x2c", at)
    data[at + 1 : at + 5] = struct.pack("<HH", *offset)
    return bytes(data)


def saved(image: Image.Image, form: str, **options: Any) -> bytes:
    """An image as a file."""
    buffer = BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def _saved(form: str, mode: str = "RGB", **options: Any) -> Callable[[Size, random.Random], bytes]:
    return lambda size, _: saved(draw(size, mode), form, **options)


def _frames(form: str, mode: str = "RGB", **options: Any) -> Callable[[Size, random.Random], bytes]:
    def animation(size: Size, _: random.Random) -> bytes:
        first = draw(size, mode)
        return saved(first, form, save_all=True, append_images=[first.rotate(180)], **options)

    return animation


def _turned(form: str) -> Callable[[Size, random.Random], bytes]:
    def with_orientation(size: Size, random: random.Random) -> bytes:
        exif = Image.Exif()
        exif[ORIENTATION] = random.randint(1, 8)
        return saved(draw(size), form, exif=exif.tobytes())

    return with_orientation


def _raw_png(depth: int, color: int, *, interlaced: bool = False) -> Callable[[Size, random.Random], bytes]:
    return lambda size, _: png(size, depth, color, interlaced=interlaced)


def _shifted_gif(size: Size, random: random.Random) -> bytes:
    width, height = size
    frame = random.randint(1, width), random.randint(1, height)
    return gif_of_frame(size, frame, (random.randint(0, width - frame[0]), random.randint(0, height - frame[1])))


KINDS: dict[str, tuple[str, Callable[[Size, random.Random], bytes]]] = {
    "PNG": ("image/png", _saved("PNG")),
    "grey PNG": ("image/png", _saved("PNG", "L")),
    "bilevel PNG": ("image/png", _saved("PNG", "1")),
    "grey PNG with alpha": ("image/png", _saved("PNG", "LA")),
    "PNG with alpha": ("image/png", _saved("PNG", "RGBA")),
    "palette PNG": ("image/png", _saved("PNG", "P")),
    "palette PNG with one transparent colour": ("image/png", _saved("PNG", "P", transparency=0)),
    "palette PNG with an alpha table": ("image/png", _saved("PNG", "P", transparency=bytes(range(256)))),
    "palette PNG of 2 bits": ("image/png", _raw_png(2, 3)),
    "grey PNG of 16 bits": ("image/png", _saved("PNG", "I;16")),
    "PNG of 16 bits": ("image/png", _raw_png(16, 2)),
    "PNG of 16 bits with alpha": ("image/png", _raw_png(16, 6)),
    "interlaced PNG": ("image/png", _raw_png(8, 2, interlaced=True)),
    "interlaced palette PNG of 4 bits": ("image/png", _raw_png(4, 3, interlaced=True)),
    "animated PNG": ("image/png", _frames("PNG")),
    "PNG with an orientation": ("image/png", _turned("PNG")),
    "JPEG": ("image/jpeg", _saved("JPEG")),
    "grey JPEG": ("image/jpeg", _saved("JPEG", "L")),
    "CMYK JPEG": ("image/jpeg", _saved("JPEG", "CMYK")),
    "progressive JPEG": ("image/jpeg", _saved("JPEG", progressive=True)),
    "JPEG without subsampling": ("image/jpeg", _saved("JPEG", subsampling=0)),
    "JPEG with an orientation": ("image/jpeg", _turned("JPEG")),
    "JPEG of several pictures": ("image/jpeg", _frames("MPO")),
    "JPEG with a large profile": ("image/jpeg", _saved("JPEG", icc_profile=bytes(200_000))),
    "lossy WebP": ("image/webp", _saved("WEBP")),
    "lossless WebP": ("image/webp", _saved("WEBP", lossless=True)),
    "lossy WebP with alpha": ("image/webp", _saved("WEBP", "RGBA")),
    "lossless WebP with alpha": ("image/webp", _saved("WEBP", "RGBA", lossless=True)),
    "animated WebP": ("image/webp", _frames("WEBP")),
    "WebP with an orientation": ("image/webp", _turned("WEBP")),
    "GIF": ("image/gif", _saved("GIF", "P")),
    "transparent GIF": ("image/gif", _saved("GIF", "P", transparency=0)),
    "animated GIF": ("image/gif", _frames("GIF", "P")),
    "GIF whose frame is smaller than its screen": ("image/gif", _shifted_gif),
}


def make(kind: str, size: Size, random: random.Random) -> Picture:
    """A picture of one of KINDS."""
    media_type, write = KINDS[kind]
    return Picture(kind, size, media_type, write(size, random))

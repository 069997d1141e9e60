"""PNG, JPEG, WebP and GIF by their first bytes: which of them a file is, and its first frame's size from its header.

Sizes are those that Pillow decodes, which a test holds against it. Pillow itself would read the same headers byte by
byte, and a hostile file of 10 MiB would keep it busy for ten seconds; here every search runs at C's speed, and nothing
is decoded, unpacked or copied.
"""

import re
import struct
import zlib
from collections.abc import Callable

from tokencount.domain.images import ImageSize

_COLOUR_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
# A marker with a segment behind it, whatever lies before: fill bytes, escaped ones, and markers that stand alone.
_SEGMENT = re.compile(rb"\xff([\x02-\xcf\xda-\xfe])")
_START_OF_SCAN = 0xDA
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_TABLES = frozenset({0xC4, 0xCC, 0xDB, 0xDC, 0xDD, *range(0xE0, 0xF0), 0xFE})
_GIF_BLOCK = re.compile(rb"[!,;]")
_COMMENT = 0xFE


class BadHeader(ValueError):
    """The file begins like one of its type, and its size cannot be told."""


def media_type_of(data: bytes) -> str | None:
    """The media type that the first bytes show, None where it is none of the four."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return None


def size_of(data: bytes, media_type: str) -> ImageSize:
    """The size of the first frame of a file of that type. Raises BadHeader."""
    try:
        return _SIZES[media_type](data)
    except (struct.error, IndexError) as error:
        raise BadHeader("the file ends too early") from error


def _png(data: bytes) -> ImageSize:
    """From IHDR, the first chunk (PNG, section 11.2.1)."""
    width, height, depth, colour, _, filtering, _ = struct.unpack_from(">2I5B", data, 16)
    (checksum,) = struct.unpack_from(">I", data, 29)
    if data[8:16] != b"\0\0\0\rIHDR" or zlib.crc32(data[12:29]) != checksum:
        raise BadHeader("the first chunk is no IHDR")
    if depth not in _COLOUR_DEPTHS.get(colour, ()) or filtering:
        raise BadHeader("IHDR names no kind of pixels that there is")
    return ImageSize(width, height)


def _jpeg(data: bytes) -> ImageSize:
    """From the frame header, behind as many tables and application segments as there are (ITU T.81, section B.2)."""
    position = 2
    while found := _SEGMENT.search(data, position):
        marker, position = found[1][0], found.end()
        (length,) = struct.unpack_from(">H", data, position)
        if marker in _FRAMES:
            return _jpeg_frame(data[position : position + length])
        if marker not in _TABLES:
            raise BadHeader("there is a scan before the frame" if marker == _START_OF_SCAN else "a marker is unknown")
        # Decoders take a length that leaves out itself for none.
        position += max(2, length)
    raise BadHeader("there is no frame")


def _jpeg_frame(header: bytes) -> ImageSize:
    length, precision, height, width, components = struct.unpack_from(">HB2HB", header)
    if length != len(header) or length != 8 + 3 * components:
        raise BadHeader("the frame's header is broken")
    if precision != 8 or components not in {1, 3, 4}:
        raise BadHeader(f"its frame has {components} components of {precision} bits; 1, 3 or 4 of 8 bits are read")
    return ImageSize(width, height)


def _gif(data: bytes) -> ImageSize:
    """The logical screen, and as much more as the first frame sticks out of it (GIF89a, sections 18 to 20)."""
    width, height, flags = struct.unpack_from("<2HB", data, 6)
    position = 13 + (3 << (flags & 7) + 1 if flags & 0x80 else 0)
    while (found := _GIF_BLOCK.search(data, position)) and found[0] != b";":
        position = found.end()
        if found[0] == b",":
            left, top, right, bottom = struct.unpack_from("<4H", data, position)
            return ImageSize(max(width, left + right), max(height, top + bottom))
        # Pillow looks for the end of an extension behind its first block, also where that is empty and so was the end.
        begins_empty = data[position + 1] == 0 and data[position] != _COMMENT
        position = _behind_blocks(data, position + (2 if begins_empty else 1))
    raise BadHeader("there is no frame")


def _behind_blocks(data: bytes, position: int) -> int:
    while size := data[position]:
        position += size + 1
    return position + 1


def _webp(data: bytes) -> ImageSize:
    """From the frame's own header; of an animation, from the canvas (RFC 9649, sections 2.5 to 2.7)."""
    if data[12:16] != b"VP8X":
        return _webp_frame(data, 12)
    flags, width, height = struct.unpack_from("<B3x3s3s", data, 20)
    canvas = ImageSize(1 + int.from_bytes(width, "little"), 1 + int.from_bytes(height, "little"))
    if flags & 0x02:
        return canvas
    position = 30
    while data[position : position + 4] not in {b"VP8 ", b"VP8L"}:
        (length,) = struct.unpack_from("<I", data, position + 4)
        position += 8 + length + length % 2
    if _webp_frame(data, position) != canvas:
        raise BadHeader("the frame is not as large as the canvas")
    return canvas


def _webp_frame(data: bytes, position: int) -> ImageSize:
    kind, _, head = struct.unpack_from("<4sI4s", data, position)
    if kind == b"VP8L" and head[0] == 0x2F:
        (bits,) = struct.unpack_from("<I", data, position + 9)
        return ImageSize(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    start, width, height = struct.unpack_from("<3s2H", data, position + 11)
    if kind == b"VP8 " and start == b"\x9d\x01\x2a" and not head[0] & 1:
        return ImageSize(width & 0x3FFF, height & 0x3FFF)
    raise BadHeader("there is no frame")


_SIZES: dict[str, Callable[[bytes], ImageSize]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/webp": _webp,
    "image/gif": _gif,
}
MEDIA_TYPES = tuple(_SIZES)

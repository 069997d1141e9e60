"""Image files of every kind by a name, those among them that no encoder of Pillow writes, and parts of made up ones."""

import base64
import random
import struct
import zlib
from collections.abc import Iterator

from tests.support.pictures import KINDS, draw, gif_of_frame, make, saved

# A picture of 13x7 pixels as no encoder of Pillow writes it.
ARITHMETIC = """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5mo
q6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/yQARCAAHAA0DASIAAhEB
AxEB/8wACgAQEAUBEBEF/9oADAMBAAIRAxEAPwCwFBk7uuJe5HZGb18kijHydhKmruKOtjYmhspFeUfpX7/z5yD/2Q=="""
PROGRESSIVE_ARITHMETIC = """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5mo
q6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/ygARCAAHAA0DASIAAhEB
AxEB/8wABgAQARD/2gAMAwEAAhADEAAAARxw/8wABBAF/9oACAEBAAEFAhrzXuqgIP/MAAQRBf/aAAgBAwEBPwHA/8wABBEF/9oACAECAQE/AcD/zAAE
EAX/2gAIAQEABj8C9QBA/8wABBAF/9oACAEBAAE/Ifbyedyosv/aAAwDAQACAAMAAAAQqv/MAAQRBf/aAAgBAwEBPxBe5P/MAAQRBf/aAAgBAgEBPxBc
/8wABBAF/9oACAEBAAE/EAdx3ZBMplJrYLhFcSD/2Q=="""
LOSSLESS = """
/9j/4AAQSkZJRgABAQAAAQABAAD/wwALCAAHAA0BAREA/8QAFwABAQEBAAAAAAAAAAAAAAAAAAUJCP/aAAgBAQAEAADn+rVq1atWrVq1atWiADP+iAGf
+gFEAZ/6AKIBn/oAUQAKIDP/AEAH/9k="""


SIZES = [(1, 1), (37, 91), (300, 5)]


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def webp(*chunks: tuple[bytes, bytes]) -> bytes:
    """A WebP file of these chunks."""
    parts = [kind + struct.pack("<I", len(data)) + data + bytes(len(data) % 2) for kind, data in chunks]
    body = b"WEBP" + b"".join(parts)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def gif(*blocks: bytes) -> bytes:
    """A GIF of a 5x4 screen without a palette, with these blocks before a frame that sticks out of it."""
    frame = gif_of_frame((5, 4), (6, 2), (3, 3))
    start = frame.index(b",\x03\x00\x03\x00")
    return frame[:10] + b"\0\0\0" + b"".join(blocks) + frame[start:]


def other_files() -> Iterator[tuple[str, str, bytes]]:
    """A name, a format and a file for each kind that the common ones lack."""
    yield "PNG with EXIF", "PNG", saved(draw((37, 91)), "PNG", exif=bytes(5000))
    yield "PNG with a profile", "PNG", saved(draw((37, 91)), "PNG", icc_profile=bytes(5000))
    yield "PNG without compression", "PNG", saved(draw((37, 91)), "PNG", compress_level=0)
    for mode in ("L", "RGB", "CMYK"):
        markers = b"Exif\0\0" + b"\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01" * 6000
        yield f"{mode} JPEG with large EXIF", "JPEG", saved(draw((300, 5), mode), "JPEG", exif=markers)
        yield f"progressive {mode} JPEG", "JPEG", saved(draw((300, 5), mode), "JPEG", progressive=True, comment=b"hi")
        yield f"{mode} JPEG with restarts", "JPEG", saved(draw((30, 50), mode), "JPEG", restart_marker_rows=1)
    yield "arithmetic JPEG", "JPEG", base64.b64decode(ARITHMETIC)
    yield "progressive arithmetic JPEG", "JPEG", base64.b64decode(PROGRESSIVE_ARITHMETIC)
    yield "lossless JPEG", "JPEG", base64.b64decode(LOSSLESS)
    yield "WebP with a profile", "WEBP", saved(draw((30, 20)), "WEBP", icc_profile=bytes(77))
    yield "GIF with a comment", "GIF", saved(draw((30, 20), "P"), "GIF", comment=bytes(700))
    yield "interlaced GIF", "GIF", saved(draw((30, 20), "P"), "GIF", interlace=1)
    yield "GIF whose frame sticks out of its screen", "GIF", gif_of_frame((5, 4), (6, 2), (3, 3))
    yield "GIF without a palette", "GIF", gif()
    yield "GIF with junk", "GIF", gif(b"\0\1\2", b"!\xfe\x02hi\0", b"!\xf9\x04\0\0\0\0\0", b"\0")
    yield "GIF with an empty extension", "GIF", gif(b"!\xf9\0\x03abc\0")
    yield "GIF with an empty comment", "GIF", gif(b"!\xfe\0")


def files() -> Iterator[tuple[str, tuple[str, bytes]]]:
    """A name, and a format and a file, for each kind at several sizes."""
    for kind in KINDS:
        for size in SIZES:
            picture = make(kind, size, random.Random(kind))
            yield str(picture), (picture.media_type.removeprefix("image/").upper(), picture.data)
    for name, form, data in other_files():
        yield name, (form, data)

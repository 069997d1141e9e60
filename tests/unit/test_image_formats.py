"""Sizes from headers are those that Pillow decodes: for files of every kind, cut, changed and made up."""

import io
import random
import struct
import zlib

import pytest
from PIL import Image as Pillow

from tests.support.image_files import chunk, files, gif, webp
from tests.support.pictures import draw, png, saved
from tokencount.adapters.image_formats import BadHeader, media_type_of, size_of

FORMS = ("PNG", "JPEG", "WEBP", "GIF")
Size = tuple[int, int]
FILES = dict(files())


def measured(data: bytes, form: str) -> Size | None:
    try:
        size = size_of(data, f"image/{form.lower()}")
    except BadHeader:
        return None
    return size.width, size.height


def decoded(data: bytes, form: str) -> Size | None:
    """What Pillow makes of it; nothing where it has so many pixels that it is not worth the time."""
    try:
        with Pillow.open(io.BytesIO(data), formats=[form]) as picture:
            if picture.size[0] * picture.size[1] > 4_000_000:
                return None
            picture.load()
            return picture.size
    except Exception:
        return None


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_every_kind_has_the_size_that_pillow_decodes(name: str) -> None:
    form, data = FILES[name]
    assert media_type_of(data) == f"image/{form.lower()}"
    assert measured(data, form) == decoded(data, form) is not None


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_cut_has_its_size_or_none_but_never_another(name: str) -> None:
    form, data = FILES[name]
    size = measured(data, form)
    places = [*range(min(len(data), 400)), *range(400, len(data), 97)]
    found = [measured(data[:place], form) for place in places]
    assert set(found) == {size, None}
    first = found.index(size)
    assert set(found[first:]) == {size}


def changed(data: bytes, dice: random.Random) -> bytes:
    """With one to three changes, most of them where the header is."""
    file = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 3])):
        place = dice.randrange(min(len(file), dice.choice([40, 100, 700, len(file)])))
        match dice.randrange(5):
            case 0:
                file[place] = dice.randrange(256)
            case 1:
                file[place] ^= 1 << dice.randrange(8)
            case 2 if len(file) > 50:
                del file[place : place + dice.choice([1, 2, 8])]
            case 3:
                file[place:place] = bytes([dice.choice(b"\x00\x01\xff!,;\xc0\xd8\xda")]) * dice.choice([1, 2, 3])
            case _:
                start = dice.randrange(len(file))
                file[place:place] = file[start : start + dice.randrange(1, 40)]
    return bytes(file)


def mended(data: bytes) -> bytes:
    """A PNG whose first chunk has the right checksum again, so that not every change of it is noticed by that."""
    return data[:29] + struct.pack(">I", zlib.crc32(data[12:29])) + data[33:]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", FORMS)
def test_a_changed_file_has_the_size_that_pillow_decodes_and_none_is_refused_that_can_be_decoded(
    form: str, seed: int
) -> None:
    dice = random.Random(f"{form} {seed}")
    originals = [data for kind, data in FILES.values() if kind == form]
    both = 0
    for _ in range(400):
        file = changed(dice.choice(originals), dice)
        file = mended(file) if form == "PNG" and len(file) > 33 else file
        expected = decoded(file, form)
        if media_type_of(file) == f"image/{form.lower()}" and expected:
            assert measured(file, form) == expected, file[:700]
            both += 1
    assert both > 10


FRAME_MARKERS = [marker for marker in range(0xC0, 0xD0) if marker not in {0xC4, 0xC8, 0xCC}]


@pytest.mark.parametrize("marker", FRAME_MARKERS)
def test_the_frame_of_every_process_of_the_jpeg_standard_is_found(marker: int) -> None:
    data = saved(draw((300, 5)), "JPEG")
    assert measured(data.replace(b"\xff\xc0\x00\x11", bytes([0xFF, marker, 0, 0x11])), "JPEG") == (300, 5)


def jpeg(frame: bytes, before: bytes = b"") -> bytes:
    return b"\xff\xd8" + before + b"\xff\xc0" + frame + b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00"


PNG = png((3, 2), 8, 0)


def header(depth_and_colour: bytes) -> bytes:
    """The PNG of another kind of pixels."""
    return mended(PNG[:24] + depth_and_colour + PNG[26:])


FRAME = b"\x00\x0b\x08\x00\x07\x00\x0d\x01\x01\x11\x00"
VP8X = b"\0\0\0\0" + (12).to_bytes(3, "little") + (6).to_bytes(3, "little")
VP8L = b"\x2f" + struct.pack("<I", 12 | 6 << 14)
VP8 = b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<2H", 13, 7)


def test_the_parts_of_what_is_made_up_here_are_good() -> None:
    assert measured(jpeg(FRAME), "JPEG") == (13, 7)
    assert measured(webp((b"VP8X", VP8X), (b"ICCP", b"odd"), (b"VP8L", VP8L)), "WEBP") == (13, 7)
    assert measured(webp((b"VP8X", VP8X), (b"ALPH", b""), (b"VP8 ", VP8)), "WEBP") == (13, 7)
    assert measured(PNG, "PNG") == measured(header(b"\x08\0"), "PNG") == (3, 2)


@pytest.mark.parametrize(
    ("form", "data"),
    [
        ("PNG", header(b"\3\0")),
        ("PNG", header(b"\x08\5")),
        ("PNG", header(b"\x10\3")),
        ("PNG", PNG.replace(b"IHDR", b"IHDr")),
        ("PNG", PNG.replace(b"\0\0\0\3\0\0\0\2", b"\0\0\0\3\0\0\0\4")),
        ("JPEG", jpeg(FRAME[:2] + b"\x0c" + FRAME[3:])),
        ("JPEG", jpeg(FRAME[:7] + b"\x02" + FRAME[8:])),
        ("JPEG", jpeg(b"\x00\x0a" + FRAME[2:])),
        ("JPEG", jpeg(b"\xff\xff" + FRAME[2:])),
        ("JPEG", jpeg(FRAME, before=b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00")),
        ("JPEG", jpeg(FRAME, before=b"\xff\x02\x00\x02")),
        ("JPEG", jpeg(FRAME, before=b"\xff\xe1\xff\xff")),
        ("WEBP", webp((b"VP8X", VP8X), (b"VP8L", b"\x2f" + struct.pack("<I", 99 | 6 << 14)))),
        ("WEBP", webp((b"VP8X", VP8X), (b"VP8 ", VP8[:6] + struct.pack("<2H", 13, 8)))),
        ("WEBP", webp((b"VP8X", VP8X), (b"ANMF", bytes(16)))),
        ("WEBP", webp((b"VP8X", VP8X))),
        ("WEBP", webp((b"VP8 ", b"\x01" + VP8[1:]))),
        ("WEBP", webp((b"VP8L", b"\x2e" + VP8L[1:]))),
        ("WEBP", webp((b"ICCP", b"odd"), (b"VP8L", VP8L))),
        ("GIF", gif(b";")),
        ("GIF", gif(b"!\xfe" + b"\xff" * 9)),
    ],
)
def test_a_header_that_lies_or_tells_nothing_is_refused(form: str, data: bytes) -> None:
    assert decoded(data, form) is None
    with pytest.raises(BadHeader, match=r"\w"):
        size_of(data, f"image/{form.lower()}")


MEGABYTES = 4 * 1024 * 1024
FLOODS = {
    "fill bytes": b"\xff\xd8" + b"\xff" * MEGABYTES,
    "empty segments": b"\xff\xd8" + b"\xff\xe5\x00\x02" * (MEGABYTES // 4),
    "restart markers": b"\xff\xd8\xff" + b"\xff\xd0" * (MEGABYTES // 2),
    "zeros behind a marker": b"\xff\xd8\xff" + b"\xff\x00" * (MEGABYTES // 2),
    "PNG chunks": PNG[:33] + chunk(b"abCd", b"") * (MEGABYTES // 12),
    "GIF junk": gif(bytes(MEGABYTES))[:MEGABYTES],
    "GIF extensions": gif(b"!\x01\x01\x00\x00" * (MEGABYTES // 5))[:MEGABYTES],
    "GIF comment": gif(b"!\xfe" + b"\x01a" * (MEGABYTES // 2))[:MEGABYTES],
    "WebP chunks": webp((b"VP8X", VP8X)) + b"ABCD\0\0\0\0" * (MEGABYTES // 8),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_file_full_of_nothing_ends_in_its_size_or_in_a_refusal(name: str) -> None:
    data = FLOODS[name]
    form = (media_type_of(data) or "").removeprefix("image/").upper()
    assert measured(data, form) == ((3, 2) if form == "PNG" else None)

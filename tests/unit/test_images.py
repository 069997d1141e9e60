"""An image's cost by its sides, and its sides by its header alone."""

import base64
import io
import random
import re
import resource
import struct
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL import ImageOps

from tests.support.pictures import ORIENTATION
from tests.support.requests import image, picture
from tokencount.adapters.image_headers import read_image
from tokencount.domain.chat import Image
from tokencount.domain.errors import CountError, InvalidRequest, UnsupportedImage
from tokencount.domain.images import ImageRule, ImageSize

QWEN = ImageRule("smart_resize", "<|image_pad|>", "<|image_pad|>", 0, 16, 2, 65_536, 16_777_216, 200)
GEMMA = ImageRule("fixed", "<start_of_image>", "<image_soft_token>", 256)
FORMS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}


def read(data: bytes, media_type: str = "image/png") -> ImageSize:
    return read_image(Image("messages.0.content.0", image(data, media_type)["source"])).size


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [
        (2048, 16, 91), (1040, 1040, 1024), (2000, 10, 114), (1, 1, 64), (256, 256, 64), (30_000, 30_000, 16_384),
        (4096, 4096, 16_384), (255, 257, 64), (16, 2048, 91),
    ],
)  # fmt: skip
def test_qwen_s_tokens_are_those_of_its_processor(width: int, height: int, tokens: int) -> None:
    assert QWEN.tokens_of(ImageSize(width, height), "p") == tokens


@given(st.integers(1, 32_768), st.integers(1, 32_768))
def test_qwen_s_tokens_stay_in_the_processor_s_bounds(width: int, height: int) -> None:
    size = ImageSize(width, height)
    if max(width, height) / min(width, height) > 200:
        with pytest.raises(InvalidRequest):
            QWEN.tokens_of(size, "p")
    else:
        assert 64 <= QWEN.tokens_of(size, "p") <= 16_384


def test_a_fixed_rule_costs_the_same_whatever_the_image_shows() -> None:
    assert {GEMMA.tokens_of(ImageSize(side, 7), "p") for side in (1, 500, 32_768)} == {256}


@pytest.mark.parametrize(("width", "height"), [(2001, 10), (10, 2001), (0, 5), (32_769, 32_769)])
def test_sides_that_the_processor_refuses_are_the_client_s_error_and_name_the_block(width: int, height: int) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        QWEN.tokens_of(ImageSize(width, height), "messages.0.content.0")
    assert refusal.value.param == "messages.0.content.0"


@pytest.mark.parametrize(("form", "media_type"), FORMS.items())
def test_every_accepted_type_is_read_from_its_header(form: str, media_type: str) -> None:
    assert read(picture(37, 91, form), media_type) == ImageSize(37, 91)


@pytest.mark.parametrize("options", [{"lossless": True}, {"lossless": False}, {"exif": b"Exif\0\0" + b"x" * 40}])
def test_every_kind_of_webp_is_read(options: dict[str, object]) -> None:
    assert read(picture(300, 2, "WEBP", **options), "image/webp") == ImageSize(300, 2)


@pytest.mark.parametrize("form", FORMS)
def test_bytes_of_another_type_than_declared_are_refused_with_both_named(form: str) -> None:
    for declared in set(FORMS.values()) - {FORMS[form]}:
        with pytest.raises(UnsupportedImage, match=f"declared {declared}.*are {FORMS[form]}"):
            read(picture(3, 3, form), declared)


def test_bytes_of_no_accepted_type_are_refused() -> None:
    with pytest.raises(UnsupportedImage, match="image/png, image/jpeg, image/webp or image/gif"):
        read(picture(3, 3, "BMP"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "empty"),
        ("data:image/png;base64,iVBORw0KGgo=", "data:image/png;base64,; send the base64 text alone"),
        ("iVBORw0KGg", "not base64"),
        ("iVBOR\nw0KGgo=", "not base64"),
        ("iVBORw0KGg-_", "not base64"),
        ("ä===", "not base64"),
    ],
)
def test_data_that_is_no_plain_base64_is_refused_and_names_the_field(data: str, words: str) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": data}
    with pytest.raises(InvalidRequest, match=words) as refusal:
        read_image(Image("messages.0.content.0", source))
    assert refusal.value.param == "messages.0.content.0.source.data"


@pytest.mark.parametrize("form", FORMS)
def test_a_file_cut_anywhere_or_with_bytes_changed_ends_in_the_contract_s_errors(form: str) -> None:
    data, dice = picture(40, 30, form), random.Random(form)
    mutants = [data[:cut] for cut in range(1, min(len(data), 80))]
    for _ in range(200):
        changed = bytearray(data)
        changed[dice.randrange(len(data))] = dice.randrange(256)
        mutants.append(bytes(changed))
    for mutant in mutants:
        try:
            size = read(mutant, FORMS[form])
        except CountError:
            continue
        assert size.width >= 0


def test_a_picture_of_900_megapixels_is_measured_without_its_pixels() -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes(30_001) * 1000)
    huge = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert read(huge) == ImageSize(30_000, 30_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20 * 1024 * (1 if sys.platform == "linux" else 1024)


def test_base64_of_any_bytes_is_measured_by_the_bytes() -> None:
    data = picture(5, 5)
    assert read_image(Image("p", image(data)["source"])).bytes == len(base64.b64decode(base64.b64encode(data)))


# RFC 4648, section 4: whole quanta, the last one padded.
BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def is_accepted(text: str) -> bool:
    """Whether a text is taken for base64, whatever is in it."""
    try:
        read_image(Image("p", {"type": "base64", "media_type": "image/png", "data": text}))
    except UnsupportedImage:
        return True
    except InvalidRequest as refusal:
        # Not so where it is the first bytes of an image, which Hypothesis finds in our sources, that were drawn.
        return not ("not base64" in refusal.message or "is empty" in refusal.message)
    return True


@given(
    st.one_of(
        st.text(alphabet="AZaz09+/=-_ \n\r\t\0.ÄＡ"),
        st.binary().map(lambda data: base64.b64encode(data).decode()),
        st.builds(
            lambda data, place, new: (text := base64.b64encode(data).decode())[:place] + new + text[place:],
            st.binary(),
            st.integers(0, 40),
            st.sampled_from(["=", "==", "\n", "\r\n", " ", "-", "_", "A", "é", "\0"]),
        ),
    )
)
def test_base64_is_what_the_standard_says_and_nothing_else(text: str) -> None:
    assert is_accepted(text) == bool(text and BASE64.fullmatch(text))


@pytest.mark.parametrize(
    "text", ["AAAA=", "AAA==", "AA=A", "=AAA", "AAAA====", "A", "AA", "AAA", "AAAAA", "AAAA\n", "AA=="[:3]]
)
def test_padding_that_is_not_right_is_refused(text: str) -> None:
    assert not is_accepted(text)


@given(st.integers(1, 32_768), st.integers(1, 32_768))
def test_an_image_that_lies_on_its_side_costs_the_same(width: int, height: int) -> None:
    def tokens(size: ImageSize) -> int | None:
        try:
            return QWEN.tokens_of(size, "p")
        except InvalidRequest:
            return None

    assert tokens(ImageSize(width, height)) == tokens(ImageSize(height, width))


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_an_image_costs_what_it_does_upright_as_the_model_s_processor_turns_it(orientation: int, form: str) -> None:
    exif = Pillow.Exif()
    exif[ORIENTATION] = orientation
    data = picture(700, 300, form, exif=exif.tobytes())
    with Pillow.open(io.BytesIO(data)) as stored:
        upright = ImageOps.exif_transpose(stored).size
    assert upright == ((700, 300) if orientation < 5 else (300, 700))
    assert QWEN.tokens_of(read(data, FORMS[form]), "p") == QWEN.tokens_of(ImageSize(*upright), "p")

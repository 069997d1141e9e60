"""The type and size of an image from its first bytes: no pixel is decoded, whatever the header promises."""

import base64
import binascii
from io import BytesIO

from PIL import Image as Pillow

from tokencount.domain.chat import Image
from tokencount.domain.counting import ImageFile, Job
from tokencount.domain.errors import InvalidRequest, UnsupportedImage, UnsupportedParameter, quote
from tokencount.domain.images import ImageSize

# Sizes are judged by the model's rule, and nothing is decoded: Pillow's own bound would refuse what costs nothing.
Pillow.MAX_IMAGE_PIXELS = None

MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")


def read_images(images: list[Image], job: Job) -> list[ImageFile]:
    """The sizes of image blocks, as `read_image` finds them."""
    with job.phase("image"):
        return [read_image(image) for image in images]


def read_image(image: Image) -> ImageFile:
    """The size of an image block.

    Raises:
        UnsupportedParameter: the image is not in the request itself.
        InvalidRequest: the data is no base64, or the file's header is broken.
        UnsupportedImage: the bytes are of no accepted type, or not of the declared one.
    """
    if image.source["type"] != "base64":
        message = "Images by url are not fetched by this version; send the image as base64"
        raise UnsupportedParameter(message, param=f"{image.param}.source.type")
    data = _decode(image.source["data"], f"{image.param}.source.data")
    declared, found = image.source["media_type"], _media_type(data)
    param = f"{image.param}.source"
    if found is None:
        message = (
            f"The image is declared {declared}, and its bytes are no {', '.join(MEDIA_TYPES[:-1])} or {MEDIA_TYPES[-1]}"
        )
        raise UnsupportedImage(message, param=f"{param}.data")
    if found != declared:
        raise UnsupportedImage(
            f"The image is declared {declared}, and its bytes are {found}", param=f"{param}.media_type"
        )
    return ImageFile(_size(data, found, f"{param}.data"), len(data))


def _decode(data: str, param: str) -> bytes:
    if data.startswith("data:"):
        prefix = quote(data[: data.find(",") + 1] or data)
        raise InvalidRequest(
            f"The image starts with {prefix}; send the base64 text alone, without a prefix", param=param
        )
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        message = "The image is not base64 in the standard alphabet, padded and without line breaks"
        raise InvalidRequest(message, param=param) from error
    if not decoded:
        raise InvalidRequest("The image is empty", param=param)
    return decoded


def _media_type(data: bytes) -> str | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return None


def _size(data: bytes, media_type: str, param: str) -> ImageSize:
    try:
        if media_type == "image/webp":
            return _webp_size(data)
        with Pillow.open(BytesIO(data), formats=[media_type.removeprefix("image/").upper()]) as picture:
            return ImageSize(*picture.size)
    except Exception as error:
        # Whatever a hostile file makes the reader raise: the file is what is wrong.
        raise InvalidRequest(f"The header of the {media_type} image cannot be read", param=param) from error


def _webp_size(data: bytes) -> ImageSize:
    """From the first chunk; Pillow would reserve the whole canvas to open it (RFC 9649, sections 2.5 to 2.7)."""
    kind, body = data[12:16], data[20:30]
    if kind == b"VP8X" and len(body) == 10:
        return ImageSize(1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little"))
    if kind == b"VP8L" and body[:1] == b"\x2f" and len(body) >= 5:
        bits = int.from_bytes(body[1:5], "little")
        return ImageSize(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a" and len(body) == 10:
        return ImageSize(int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF)
    raise ValueError("no WebP frame header")

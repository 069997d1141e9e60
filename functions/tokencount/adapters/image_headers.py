"""The images of a request from their first bytes: no pixel is decoded, whatever a header promises."""

import binascii

from pybase64 import b64decode

from tokencount.adapters.image_formats import MEDIA_TYPES, BadHeader, media_type_of, size_of
from tokencount.domain.chat import Image
from tokencount.domain.counting import Fetched, ImageFile
from tokencount.domain.errors import InvalidRequest, UnsupportedImage, quote
from tokencount.domain.images import ImageSize

_ACCEPTED = f"{', '.join(MEDIA_TYPES[:-1])} or {MEDIA_TYPES[-1]}"


def read_image(image: Image) -> ImageFile:
    """What an image block holds that came in the request itself.

    Raises:
        InvalidRequest: the data is no base64, or the file's header is broken.
        UnsupportedImage: the bytes are of no accepted type, or not of the declared one.
    """
    param = f"{image.param}.source"
    data = _decode(image.source["data"], f"{param}.data")
    declared, found = image.source["media_type"], media_type_of(data)
    if found is None:
        message = f"The image is declared {declared}, and its bytes are no {_ACCEPTED}"
        raise UnsupportedImage(message, param=f"{param}.data")
    if found != declared:
        message = f"The image is declared {declared}, and its bytes are {found}"
        raise UnsupportedImage(message, param=f"{param}.media_type")
    return ImageFile(_size(data, found, f"{param}.data"), len(data))


def read_fetched(data: bytes, param: str) -> ImageFile:
    """What was found at an image's url. Nobody has declared its type: the bytes alone tell it.

    Args:
        param: of the url.

    Raises:
        InvalidRequest: there are no bytes, or the file's header is broken.
        UnsupportedImage: the bytes are of no accepted type.
    """
    if not data:
        raise InvalidRequest("The image is empty", param=param)
    found = media_type_of(data)
    if found is None:
        raise UnsupportedImage(f"What is at the image's url is no {_ACCEPTED}", param=param)
    return ImageFile(_size(data, found, param), len(data), Fetched(found, data))


def _decode(data: str, param: str) -> bytes:
    if data.startswith("data:"):
        prefix = quote(data[: data.find(",") + 1] or data)
        raise InvalidRequest(
            f"The image starts with {prefix}; send the base64 text alone, without a prefix", param=param
        )
    try:
        # Not Python's own: before 3.13 it takes padding behind what is whole already, and it is 25 times as slow.
        decoded = b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        message = "The image is not base64 in the standard alphabet, padded and without line breaks"
        raise InvalidRequest(message, param=param) from error
    if not decoded:
        raise InvalidRequest("The image is empty", param=param)
    return decoded


def _size(data: bytes, media_type: str, param: str) -> ImageSize:
    try:
        return size_of(data, media_type)
    except BadHeader as error:
        raise InvalidRequest(f"The header of the {media_type} image is broken: {error}", param=param) from error

"""Decodes and preprocesses images, so many at a time as the machine has processors and memory for."""

import base64
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from threading import Condition, Event, Lock

from PIL import Image as Pillow
from PIL import ImageOps

from tokencount.adapters.image_headers import read_image
from tokencount.domain.chat import Image
from tokencount.domain.errors import InvalidRequest, quote
from tokencount.domain.images import MAX_DECODED_PIXELS

# The sizes are judged before; beyond twice as many Pillow refuses an image that hid its own.
Pillow.MAX_IMAGE_PIXELS = MAX_DECODED_PIXELS

# Of all images that are decoded at a time; a larger one is decoded alone. At most some 100 bytes a pixel are needed.
PIXELS_AT_A_TIME = 64 * 1024 * 1024


class TooLarge(Exception):
    """The image has more pixels than are ever decoded."""


class TooLate(Exception):
    """Nobody waits for the answer any more."""


class Decoders:
    """Threads that turn images into what stands for them in the prompt.

    Args:
        expand: preprocesses a decoded image; raises ValueError where the model's processor refuses it.
        threads: how many images are worked on at a time.
    """

    def __init__(self, expand: Callable[[Pillow.Image], str], threads: int) -> None:
        self._expand = expand
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="decoder")
        self._budget = PixelBudget(PIXELS_AT_A_TIME)

    def expansions(self, images: list[Image], deadline: float) -> list[str]:
        """The expansions of a request's images, in their order.

        Args:
            deadline: when to give up, by `time.monotonic`.

        Raises:
            InvalidRequest, UnsupportedImage: an image cannot be served, the first of them named.
            TooLarge, TooLate: it could be, but not here and now.
        """
        refused = Event()
        futures = [self._pool.submit(self._unless, refused, image, deadline) for image in images]
        return [future.result() for future in futures]

    def _unless(self, refused: Event, image: Image, deadline: float) -> str:
        """Leaves the images behind the first that is not served."""
        if refused.is_set():
            return ""
        try:
            return self._expansion(image, deadline)
        except BaseException:
            refused.set()
            raise

    def _expansion(self, image: Image, deadline: float) -> str:
        size = read_image(image).size
        pixels = size.width * size.height
        if pixels > MAX_DECODED_PIXELS:
            raise TooLarge(f"an image of {pixels} pixels; at most {MAX_DECODED_PIXELS} are decoded")
        with self._budget.hold(pixels):
            if time.monotonic() > deadline:
                raise TooLate
            picture = decode(image)
            try:
                return self._expand(picture)
            except ValueError as error:
                message = f"The model's image processor refuses the image: {quote(str(error))}"
                raise InvalidRequest(message, param=image.param) from error


class PixelBudget:
    """Lets images in while they have at most `pixels` together, in the order in which they come."""

    def __init__(self, pixels: int) -> None:
        self._pixels = pixels
        self._held = 0
        self._turn = Lock()
        self._given_back = Condition()

    @contextmanager
    def hold(self, pixels: int) -> Iterator[None]:
        """Waits for room; what is larger than the whole budget waits until it is alone."""
        with self._turn, self._given_back:
            self._given_back.wait_for(lambda: not self._held or self._held + pixels <= self._pixels)
            self._held += pixels
        try:
            yield
        finally:
            with self._given_back:
                self._held -= pixels
                self._given_back.notify_all()


def decode(image: Image) -> Pillow.Image:
    """The pixels of an image block whose header is good: of its first frame, upright, as transformers loads images.

    Raises:
        InvalidRequest: they cannot be decoded.
    """
    media_type = image.source["media_type"]
    data = BytesIO(base64.b64decode(image.source["data"]))
    try:
        picture = Pillow.open(data, formats=[media_type.removeprefix("image/").upper()])
        ImageOps.exif_transpose(picture, in_place=True)
        picture.load()
    except MemoryError:
        raise
    except Exception as error:
        # Whatever a hostile file makes the decoder raise: the file is what is wrong.
        raise InvalidRequest(f"The {media_type} image cannot be decoded", param=f"{image.param}.source.data") from error
    return picture

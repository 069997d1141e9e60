"""Fetches the images of a request that are elsewhere: four at a time, within bounds of size, number and time."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock

from tokencount.adapters.egress import EgressGuard
from tokencount.adapters.egress_answer import Answer, Deadline
from tokencount.adapters.egress_errors import Denied, Failed
from tokencount.domain.chat import Image
from tokencount.domain.errors import EgressDenied, InvalidRequest
from tokencount.domain.image_budget import Spending
from tokencount.domain.ports import Caller

MAX_IMAGES = 20
MAX_IMAGE_BYTES = 10 * 1024 * 1024
MAX_REQUEST_BYTES = 40 * 1024 * 1024
AT_A_TIME = 4

# Holds so many bytes of a caller's minute while an image is fetched. Raises RateLimited where there is no room.
Hold = Callable[[Caller, int], AbstractContextManager[Spending]]


def without_budget(_caller: Caller, _size: int) -> AbstractContextManager[Spending]:
    """Holds nothing, for whoever fetches at his own expense."""
    return nullcontext(Spending())


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds to wait for one image, and for all of a request."""

    image: float = 5
    together: float = 10


class RemoteImages:
    """Fetches through the egress guard."""

    def __init__(self, guard: EgressGuard, hold: Hold, patience: Patience = Patience()) -> None:
        self._guard = guard
        self._hold = hold
        self._patience = patience

    def fetch(self, images: Sequence[Image], caller: Caller) -> list[bytes]:
        """The files at the urls of images, in their order.

        Raises:
            EgressDenied: the guard forbids one; names its url.
            InvalidRequest: one cannot be had, or they are too many or too large; names its url.
            RateLimited: the caller's project has no room left for their bytes in this minute.
        """
        if len(images) > MAX_IMAGES:
            message = f"The request has {len(images)} images by url; at most {MAX_IMAGES} are accepted"
            raise InvalidRequest(message, param=images[MAX_IMAGES].url_param)
        for image in images:
            self._check_url(image)
        batch = _Batch(caller, Deadline(self._patience.together))
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            fetches = [pool.submit(self._fetch, image, batch) for image in images]
            wait(fetches, return_when=FIRST_EXCEPTION)
            pool.shutdown(cancel_futures=True)
        return [fetch.result() for fetch in fetches]

    def _check_url(self, image: Image) -> None:
        """Before anything is asked anywhere."""
        with _named(image):
            self._guard.check(image.source["url"])

    def _fetch(self, image: Image, batch: "_Batch") -> bytes:
        deadline = Deadline(self._patience.image, within=batch.deadline)
        with _named(image), self._guard.open(image.source["url"], deadline) as answer:
            if (answer.length or 0) > MAX_IMAGE_BYTES:
                raise Failed(f"it has {answer.length} bytes; at most {MAX_IMAGE_BYTES} are accepted")
            reserved = MAX_IMAGE_BYTES if answer.length is None else answer.length
            with self._hold(batch.caller, reserved) as spending:
                return _read(answer, spending, batch)


class _Batch:
    """What the fetches of one request share."""

    def __init__(self, caller: Caller, deadline: Deadline) -> None:
        self.caller = caller
        self.deadline = deadline
        self._left = MAX_REQUEST_BYTES
        self._lock = Lock()

    def take(self, size: int) -> None:
        """Raises Failed where the request's images have become too many bytes."""
        with self._lock:
            self._left -= size
            if self._left < 0:
                raise Failed(f"the request's images by url have more than {MAX_REQUEST_BYTES} bytes together")


def _read(answer: Answer, spending: Spending, batch: _Batch) -> bytes:
    data = bytearray()
    for piece in answer:
        data += piece
        spending.used = len(data)
        if len(data) > MAX_IMAGE_BYTES:
            raise Failed(f"it has more than {MAX_IMAGE_BYTES} bytes")
        batch.take(len(piece))
    return bytes(data)


@contextmanager
def _named(image: Image) -> Iterator[None]:
    """The guard's reasons as errors that name the image's url."""
    try:
        yield
    except Denied as error:
        raise EgressDenied(f"The image is not fetched: {error}", param=image.url_param) from error
    except Failed as error:
        raise InvalidRequest(f"The image is not fetched: {error}", param=image.url_param) from error

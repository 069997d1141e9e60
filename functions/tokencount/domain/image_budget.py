"""Bytes of images by url that a project may have fetched a minute: reserved before each fetch, settled after it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from tokencount.domain.errors import RateLimited
from tokencount.domain.limits import LimitsUnavailable, Window, counted
from tokencount.domain.ports import Caller, ImageLimits, Windows


@dataclass(slots=True)
class Spending:
    """What a fetch has used so far of the bytes that are held for it."""

    used: int = 0


class ImageBudget:
    """The budget of every project. Where it cannot be reached, a fetch goes on without: counting is free.

    Args:
        now: the clock, UTC.
        unavailable: told for whom and why the budget could not be reached.
    """

    def __init__(
        self,
        windows: Windows,
        limits: ImageLimits,
        *,
        now: Callable[[], datetime],
        unavailable: Callable[[Caller, LimitsUnavailable], None],
    ) -> None:
        self._windows = windows
        self._limits = limits
        self._now = now
        self._unavailable = unavailable

    @contextmanager
    def hold(self, caller: Caller, size: int) -> Iterator[Spending]:
        """Holds `size` bytes of the project's minute; those that are not used by the end of the block are given back.

        Raises:
            RateLimited: the minute has no room for them.
        """
        spending, window = Spending(), self._reserve(caller, size)
        try:
            yield spending
        finally:
            if window and spending.used < size:
                self._settle(caller, window, size - spending.used)

    def _reserve(self, caller: Caller, size: int) -> Window | None:
        """The minute in which there is something to give back, None where nothing could be counted."""
        now = self._now()
        window = Window.at(now)
        try:
            limit = self._limits.remote_image_bytes_per_minute(caller.project)
            usage = self._windows.reserve(_key(caller), window, size, limit)
        except LimitsUnavailable as error:
            self._unavailable(caller, error)
            return None
        if not usage.granted:
            seconds = window.seconds_left(now)
            message = (
                f"{counted(limit, 'byte')} of images by url per minute allowed for this project; "
                f"retry in {counted(seconds, 'second')}"
            )
            raise RateLimited(message, retry_after=seconds)
        return window

    def _settle(self, caller: Caller, window: Window, unused: int) -> None:
        try:
            self._windows.settle(_key(caller), window, unused)
        except LimitsUnavailable as error:
            # What is held is gone with the minute.
            self._unavailable(caller, error)


def _key(caller: Caller) -> str:
    return f"image-bytes#{caller.project}"

"""What a function remembers of a table, for at most 60 seconds."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

SECONDS = 60.0
ENTRIES = 4096
T = TypeVar("T")


class MinuteCache(Generic[T]):
    """Values by their keys, the last 4096 of them, each for at most 60 seconds from before it was read.

    Args:
        clock: seconds that also pass while the function is frozen, as those of the wall's clock do.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def get(self, key: str, read: Callable[[], T]) -> T:
        """The value that is remembered, else what `read` gives; None is not remembered."""
        now = self._clock()
        # Less than nothing where the clock was set back.
        if (known := self._known.get(key)) and 0 <= now - known[0] < SECONDS:
            return known[1]
        self._known.pop(key, None)
        value = read()
        if value is not None:
            self._known[key] = (now, value)
            if len(self._known) > ENTRIES:
                self._known.popitem(last=False)
        return value

    def forget(self, gone: Callable[[T], bool]) -> None:
        """Drops the values of which that is true."""
        self._known = OrderedDict(item for item in self._known.items() if not gone(item[1][1]))

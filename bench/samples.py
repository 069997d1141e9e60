"""Times of several ways to do the same, taken in turn, so that whatever else the machine does meets all of them."""

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Spread:
    """The median, and what the middle half lies between."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """At least two values."""
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    def show(self, digits: int) -> str:
        """As in `5.1 (4.9 to 5.6)`."""
        return f"{self.median:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


def interleaved(ways: Mapping[str, Callable[[], object]], rounds: int, in_a_row: int = 1) -> dict[str, list[float]]:
    """Seconds of each way in each round; a round has all of them, in an order of its own.

    Args:
        in_a_row: times that a way is gone in a round, whose median counts: more than one where a way is so short that
            the processor's caches, which the way before has filled with its own, are what would be measured.
    """
    dice = random.Random(0)  # noqa: S311 - an order, no secret
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()  # not timed: caches fill
    for _ in range(rounds):
        for name in dice.sample(list(ways), len(ways)):
            seconds[name].append(statistics.median(_seconds(ways[name]) for _ in range(in_a_row)))
    return seconds


def _seconds(way: Callable[[], object]) -> float:
    started = time.perf_counter()
    way()
    return time.perf_counter() - started


def ratios(seconds: Mapping[str, Sequence[float]], name: str, to: str) -> Spread:
    """How many times as long `to` took as `name`, round by round."""
    return Spread.of([theirs / own for theirs, own in zip(seconds[to], seconds[name], strict=True)])

"""Limits: requests a minute of a project, and requests in flight of an organization.

A window is a minute of the clock and has a row of its own. A row of another minute is never looked at, so one that has
ended but is still stored needs no reset and no removal, and functions whose clocks disagree count in rows of their own,
each of which stays within the limit.
"""

import math
from dataclasses import dataclass
from datetime import datetime

from tokencount.domain.errors import ConcurrencyLimited, RateLimited

WINDOW_SECONDS = 60
# A function that crashed gives its place back after this long; longer than the edge's own 28 seconds.
LEASE_SECONDS = 30


class LimitsUnavailable(Exception):
    """What was counted so far cannot be reached."""


@dataclass(frozen=True, slots=True)
class Window:
    """A minute of the clock.

    Args:
        start: its first second, counted from 1970 (UTC).
    """

    start: int

    @classmethod
    def at(cls, now: datetime) -> "Window":
        """The minute that `now` is in."""
        return cls(int(now.timestamp()) // WINDOW_SECONDS * WINDOW_SECONDS)

    @property
    def end(self) -> int:
        """The first second of the next window."""
        return self.start + WINDOW_SECONDS

    def seconds_left(self, now: datetime) -> int:
        """Whole seconds from `now` to the window's end, at least 1."""
        return max(1, math.ceil(self.end - now.timestamp()))


@dataclass(frozen=True, slots=True)
class Usage:
    """What became of a reservation.

    Args:
        granted: whether there was room for it.
        used: units of the window that are taken, those of a granted reservation included.
    """

    granted: bool
    used: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a request was told of its project's minute.

    Args:
        granted: whether the request is within it.
        limit: requests that the minute allows.
        remaining: requests that are left in it.
        reset: seconds until the next one, at least 1.
    """

    granted: bool
    limit: int
    remaining: int
    reset: int

    def require(self) -> None:
        """Raises RateLimited where the request is not within it."""
        if not self.granted:
            allowed, wait = counted(self.limit, "request"), counted(self.reset, "second")
            message = f"{allowed} per minute allowed for this project; retry in {wait}"
            raise RateLimited(message, retry_after=self.reset)


def too_many_in_flight(limit: int) -> ConcurrencyLimited:
    """The refusal of a request beyond `limit` at a time: most are answered well within a second."""
    allowed = counted(limit, "request")
    message = f"{allowed} in flight allowed for this organization; retry in 1 second"
    return ConcurrencyLimited(message, retry_after=1)


def counted(number: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{number} {noun}" + ("" if number == 1 else "s")

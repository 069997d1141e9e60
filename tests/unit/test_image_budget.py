"""Bytes of images by url: held before, settled after, and no reason to stop where they cannot be counted."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tokencount.adapters.limit_settings import TableImageLimits
from tokencount.domain.errors import RateLimited
from tokencount.domain.image_budget import ImageBudget
from tokencount.domain.limits import LimitsUnavailable, Usage, Window
from tokencount.domain.ports import Caller

NOW = datetime(2026, 7, 26, 12, 0, 51, tzinfo=UTC)
CALLER = Caller("org_1", "proj_1", ("infer:run",), "req_1")


class Memory:
    """Windows and limits in memory; those named in `broken` cannot be reached."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used: dict[tuple[str, int], int] = {}
        self.broken: set[str] = set()
        self.told: list[tuple[Caller, str]] = []
        self.now = NOW

    @property
    def budget(self) -> ImageBudget:
        return ImageBudget(self, self, now=lambda: self.now, unavailable=self._unavailable)

    def remote_image_bytes_per_minute(self, project: str) -> int:
        self._reach("limits")
        assert project == CALLER.project
        return self.limit

    def reserve(self, key: str, window: Window, units: int, limit: int) -> Usage:
        self._reach("reserve")
        used = self.used.get((key, window.start), 0)
        granted = used + units <= limit
        self.used[key, window.start] = used + units * granted
        return Usage(granted, self.used[key, window.start])

    def settle(self, key: str, window: Window, unused: int) -> None:
        self._reach("settle")
        assert unused > 0
        self.used[key, window.start] -= unused

    def _reach(self, what: str) -> None:
        if what in self.broken:
            raise LimitsUnavailable(what)

    def _unavailable(self, caller: Caller, error: LimitsUnavailable) -> None:
        self.told.append((caller, str(error)))


@contextmanager
def fetching(memory: Memory, size: int, used: int) -> Iterator[None]:
    with memory.budget.hold(CALLER, size) as spending:
        yield
        spending.used = used


def test_what_is_held_is_taken_at_once_and_what_is_not_used_given_back() -> None:
    memory = Memory(100)
    with fetching(memory, 60, used=25):
        assert list(memory.used.values()) == [60]
    assert memory.used == {("image-bytes#proj_1", Window.at(NOW).start): 25}


def test_more_than_the_minute_has_is_429_and_says_how_much_is_allowed_and_when_to_come_back() -> None:
    memory = Memory(100)
    with fetching(memory, 60, used=60), pytest.raises(RateLimited) as refusal, fetching(memory, 41, used=0):
        pass
    told = "100 bytes of images by url per minute allowed for this project; retry in 9 seconds"
    assert (refusal.value.message, refusal.value.retry_after) == (told, 9)
    assert list(memory.used.values()) == [60]
    with fetching(memory, 40, used=40):
        assert list(memory.used.values()) == [100]


def test_a_fetch_that_fails_has_used_what_came_of_it() -> None:
    memory = Memory(100)

    def fail() -> None:
        with memory.budget.hold(CALLER, 60) as spending:
            spending.used = 7
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        fail()
    assert list(memory.used.values()) == [7]


@pytest.mark.parametrize("used", [60, 61])
def test_nothing_is_given_back_of_what_was_used_up(used: int) -> None:
    memory = Memory(100)
    with fetching(memory, 60, used=used):
        pass
    assert list(memory.used.values()) == [60]


def test_what_is_given_back_goes_to_the_minute_that_it_was_taken_from() -> None:
    memory = Memory(100)
    with fetching(memory, 60, used=1):
        memory.now += timedelta(seconds=30)
    assert memory.used == {("image-bytes#proj_1", Window.at(NOW).start): 1}


@pytest.mark.parametrize("broken", ["limits", "reserve", "settle"])
def test_a_budget_out_of_reach_stops_nothing_and_is_told_once(broken: str) -> None:
    memory = Memory(100)
    memory.broken = {broken}
    with fetching(memory, 1000 if broken != "settle" else 60, used=1):
        pass
    assert memory.told == [(CALLER, broken)]


def test_a_budget_that_is_lost_before_it_was_taken_from_is_not_given_anything_back() -> None:
    memory = Memory(100)
    memory.broken = {"reserve"}
    with fetching(memory, 60, used=1):
        memory.broken = set()
    assert memory.used == {}


class OneRow:
    """A limits table."""

    def __init__(self, row: dict[str, object]) -> None:
        self.row = row

    def get(self, key: str) -> dict[str, object]:
        assert key == "settings#project#proj_1"
        return self.row


@pytest.mark.parametrize(
    ("row", "limit", "ignored"),
    [
        ({}, 100, []),
        ({"requests_per_minute": 5}, 100, []),
        ({"remote_image_bytes_per_minute": 7}, 7, []),
        ({"remote_image_bytes_per_minute": 0}, 0, []),
        ({"remote_image_bytes_per_minute": "7"}, 100, [("settings#project#proj_1", "remote_image_bytes_per_minute")]),
    ],
)
def test_a_project_s_own_setting_is_its_limit(row: dict[str, object], limit: int, ignored: list[object]) -> None:
    told: list[object] = []
    limits = TableImageLimits(
        OneRow(row),  # type: ignore[arg-type]
        remote_image_bytes_per_minute=100,
        clock=lambda: 0.0,
        ignored=lambda *what: told.append(what),
    )
    assert limits.remote_image_bytes_per_minute("proj_1") == limit
    assert told == ignored

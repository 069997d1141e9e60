"""Windows and leases on DynamoDB's own engine: exact whoever else asks at the same time."""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

import pytest

from tests.support.limits import NOON, Database, at_once
from tokencount.adapters.leases import DynamoLeases
from tokencount.adapters.limit_settings import TableLimitSettings
from tokencount.adapters.limits import DynamoWindows
from tokencount.domain.limiter import Limiter
from tokencount.domain.limits import Window
from tokencount.domain.ports import Caller

pytestmark = [pytest.mark.dynamodb_local, pytest.mark.xdist_group("dynamodb-local")]


@pytest.fixture
def database(engine: str) -> Database:
    return Database(engine)


# --- windows ---


def reservations(database: Database, count: int, units: int, limit: int) -> Sequence[Callable[[], tuple[bool, int]]]:
    def reserve(windows: DynamoWindows) -> tuple[bool, int]:
        usage = windows.reserve("requests#p", Window.at(NOON), units, limit)
        return usage.granted, usage.used

    return [partial(reserve, DynamoWindows(database.table())) for _ in range(count)]


def test_of_50_requests_at_once_a_limit_of_10_admits_exactly_10_and_each_is_told_what_is_left(
    database: Database,
) -> None:
    answers = at_once(reservations(database, 50, units=1, limit=10))
    assert sorted(used for granted, used in answers if granted) == list(range(1, 11))
    assert [used for granted, used in answers if not granted] == [10] * 40


def test_of_50_reservations_at_once_as_many_are_granted_as_fit_whole(database: Database) -> None:
    answers = at_once(reservations(database, 50, units=7, limit=100))
    assert sorted(used for granted, used in answers if granted) == list(range(7, 99, 7))
    assert {used for granted, used in answers if not granted} == {98}


def test_what_is_larger_than_the_limit_does_not_even_fit_an_empty_window(database: Database) -> None:
    windows, window = DynamoWindows(database.table()), Window.at(NOON)
    for units, limit in ((1, 0), (11, 10)):
        usage = windows.reserve("p", window, units, limit)
        assert (usage.granted, usage.used) == (False, 0)
    assert windows.reserve("p", window, 10, 10).granted
    usage = windows.reserve("p", window, 11, 10)
    assert (usage.granted, usage.used) == (False, 10)


def test_what_is_given_back_can_be_reserved_again_and_nothing_is_given_back_to_a_window_that_is_gone(
    database: Database,
) -> None:
    windows, window = DynamoWindows(database.table()), Window.at(NOON)
    assert windows.reserve("p", window, 80, 100).granted
    windows.settle("p", window, unused=50)
    assert windows.reserve("p", window, 71, 100).used == 30
    assert windows.reserve("p", window, 70, 100).used == 100
    windows.settle("other", window, unused=5)
    assert [row["used"] for row in database.rows().values()] == [100]


def test_a_row_whose_window_ended_a_second_ago_but_is_still_stored_is_a_new_window(database: Database) -> None:
    windows = DynamoWindows(database.table())
    minute_before, now = Window.at(NOON - timedelta(seconds=1)), NOON + timedelta(seconds=1)
    assert windows.reserve("requests#p", minute_before, 10, 10).granted
    [ended] = database.rows().values()
    database.put(**ended | {"ttl": minute_before.end})
    assert int(now.timestamp()) == minute_before.end + 1
    assert not windows.reserve("requests#p", minute_before, 1, 10).granted
    usage = windows.reserve("requests#p", Window.at(now), 1, 10)
    assert (usage.granted, usage.used) == (True, 1)
    assert database.rows()[ended["id"]]["used"] == 10


def test_time_to_live_takes_a_row_only_long_after_its_window_by_any_clock(database: Database) -> None:
    window = Window.at(NOON)
    DynamoWindows(database.table()).reserve("p", window, 1, 10)
    [row] = database.rows().values()
    assert row["ttl"] >= window.end + 600


class Clock:
    """A clock that a test moves; a function sees it with an error of its own."""

    def __init__(self) -> None:
        self.now = NOON

    def seen(self, error: float) -> Callable[[], datetime]:
        return lambda: self.now + timedelta(seconds=error)


def limiter(database: Database, now: Callable[[], datetime]) -> Limiter:
    def unavailable(_caller: Caller, error: Exception) -> None:
        raise error

    def ignored(row: str, attribute: str) -> None:
        raise AssertionError(row, attribute)

    table = database.table()
    read = TableLimitSettings(table, requests_per_minute=10, requests_in_flight=10, clock=lambda: 0.0, ignored=ignored)
    return Limiter(DynamoWindows(table), DynamoLeases(table), read, now=now, unavailable=unavailable)


def caller() -> Caller:
    return Caller("o", "p", ("infer:run",), f"req_{uuid4().hex[:26]}")


def test_functions_whose_clocks_disagree_by_seconds_never_pass_more_than_the_limit_in_a_stored_window(
    database: Database,
) -> None:
    clock = Clock()
    functions = [limiter(database, clock.seen(error)) for error in (-3.0, 0.0, 4.0)] * 4

    def send(function: Limiter) -> bool:
        taken = function.take_request(caller())
        return taken is not None and taken.granted

    admitted = 0
    for second in range(50, 70):
        clock.now = NOON + timedelta(seconds=second)
        admitted += sum(at_once([partial(send, function) for function in functions]))
    used = [row["used"] for row in database.rows().values()]
    assert (used, admitted) == ([10, 10], 20)


def test_a_project_has_its_own_setting_and_a_wrong_one_is_as_good_as_none(database: Database) -> None:
    database.put(id="settings#project#p", requests_per_minute=2)
    database.put(id="settings#project#wrong", requests_per_minute="2")
    ignored = []
    read = TableLimitSettings(
        database.table(),
        requests_per_minute=600,
        requests_in_flight=64,
        clock=lambda: 0.0,
        ignored=lambda row, _: ignored.append(row),
    )
    assert [read.requests_per_minute(project) for project in ("p", "wrong", "none")] == [2, 600, 600]
    assert ignored == ["settings#project#wrong"]


# --- leases ---


def acquisitions(database: Database, count: int, limit: int, now: datetime = NOON) -> Sequence[Callable[[], bool]]:
    functions = [DynamoLeases(database.table()) for _ in range(count)]
    return [partial(function.acquire, "o", f"req_{uuid4().hex[:26]}", limit, now) for function in functions]


def held(database: Database) -> dict[str, int]:
    leases: dict[str, int] = database.rows()["leases#o"]["leases"]
    return leases


def test_of_50_requests_at_once_10_places_hold_exactly_10(database: Database) -> None:
    assert sum(at_once(acquisitions(database, 50, limit=10))) == 10
    assert len(held(database)) == 10


def test_an_organization_without_places_holds_none(database: Database) -> None:
    assert not any(at_once(acquisitions(database, 3, limit=0)))
    assert database.rows() == {}


def test_a_place_that_is_given_back_is_free_at_once_and_given_back_once(database: Database) -> None:
    leases = DynamoLeases(database.table())
    assert leases.acquire("o", "a", 1, NOON)
    assert not leases.acquire("o", "b", 1, NOON)
    leases.release("o", "b")
    leases.release("other", "a")
    assert held(database).keys() == {"a"}
    leases.release("o", "a")
    leases.release("o", "a")
    assert leases.acquire("o", "b", 1, NOON)


def test_never_more_than_the_places_are_held_while_many_take_them_and_give_them_back(database: Database) -> None:
    functions, rounds, stored = 20, 10, []
    # Whoever has a place keeps it until all have tried, while those of the round before give theirs back.
    tried = threading.Barrier(functions, lambda: stored.append(len(held(database))), timeout=60)

    def hold(leases: DynamoLeases) -> list[bool]:
        answers, before = [], "nothing yet"
        for _ in range(rounds):
            leases.release("o", before)
            before = uuid4().hex
            answers.append(leases.acquire("o", before, 5, NOON))
            tried.wait()
        leases.release("o", before)
        return answers

    answers = at_once([partial(hold, DynamoLeases(database.table())) for _ in range(functions)])
    holders = [sum(each) for each in zip(*answers, strict=True)]
    assert holders[0] == 5
    assert all(1 <= number <= 5 for number in holders)
    assert stored == holders
    assert held(database) == {}


def test_holders_that_crashed_free_their_places_within_30_seconds_and_not_before_the_edge_s_own_end(
    database: Database,
) -> None:
    assert all(at_once(acquisitions(database, 10, limit=10)))
    crashed = held(database).keys()
    assert not any(at_once(acquisitions(database, 5, limit=10, now=NOON + timedelta(seconds=28.9))))
    assert sum(at_once(acquisitions(database, 50, limit=10, now=NOON + timedelta(seconds=30)))) == 10
    assert len(held(database)) == 10
    assert not held(database).keys() & crashed


@pytest.mark.parametrize("crashed", [9, 10, 60, 200])
def test_very_many_at_once_over_places_that_have_ended_all_come_to_an_exact_decision(
    crashed: int, database: Database
) -> None:
    ended, living = int(NOON.timestamp()), int(NOON.timestamp()) + 20
    database.put(id="leases#o", leases={f"crashed_{n}": ended for n in range(crashed)} | {"living": living})
    places = crashed + 1
    assert sum(at_once(acquisitions(database, 40, limit=places))) == min(40, crashed)
    assert "living" in held(database)
    assert len(held(database)) <= places


def test_a_limit_that_was_lowered_after_very_many_had_crashed_is_reached_again(database: Database) -> None:
    ended, living = int(NOON.timestamp()), int(NOON.timestamp()) + 20
    database.put(id="leases#o", leases={f"crashed_{n}": ended for n in range(1000)} | {"living": living})
    leases = DynamoLeases(database.table())
    answers = [leases.acquire("o", f"req_{n}", 3, NOON) for n in range(6)]
    assert answers.count(True) == 2
    assert answers[-2:] == [False, False]
    assert len(held(database)) == 3


def test_a_request_s_place_is_held_while_it_is_answered_and_no_longer(database: Database) -> None:
    held_by_one = limiter(database, lambda: NOON)
    with held_by_one.in_flight(caller()):
        assert len(held(database)) == 1
    assert held(database) == {}

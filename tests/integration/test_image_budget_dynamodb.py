"""Bytes of images by url on DynamoDB's own engine: exact, however many fetch at the same time."""

import random
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.support.internet import HOST, Internet, internet, plain, raw
from tests.support.limits import NOON, Database, at_once
from tokencount.adapters.limit_settings import TableImageLimits
from tokencount.adapters.limits import DynamoWindows
from tokencount.adapters.remote_images import Patience, RemoteImages
from tokencount.domain.chat import Image
from tokencount.domain.errors import RateLimited
from tokencount.domain.image_budget import ImageBudget
from tokencount.domain.limits import LimitsUnavailable
from tokencount.domain.ports import Caller

pytestmark = [pytest.mark.dynamodb_local, pytest.mark.xdist_group("dynamodb-local")]

CALLER = Caller("o", "p", ("infer:run",), "req_1")
MIB = 1024 * 1024
LIMIT = 100 * MIB


@pytest.fixture
def database(engine: str) -> Database:
    return Database(engine)


@pytest.fixture
def net() -> Iterator[Internet]:
    with internet() as net:
        yield net


def budget(database: Database) -> ImageBudget:
    """The budget as one function sees it, with a client of its own."""

    def unavailable(_caller: Caller, error: LimitsUnavailable) -> None:
        raise error

    def ignored(row: str, attribute: str) -> None:
        raise AssertionError(row, attribute)

    table = database.table()
    limits = TableImageLimits(table, remote_image_bytes_per_minute=LIMIT, clock=lambda: 0.0, ignored=ignored)
    return ImageBudget(DynamoWindows(table), limits, now=lambda: NOON, unavailable=unavailable)


def used(database: Database) -> int:
    [row] = [row for key, row in database.rows().items() if key.startswith("image-bytes#p#")]
    return int(row["used"])


def granted(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except RateLimited:
        return False
    return True


def test_of_50_fetches_at_once_exactly_as_many_hold_bytes_as_fit_and_what_they_do_not_use_is_free_again(
    database: Database,
) -> None:
    holding = threading.Barrier(50)

    def hold(function: ImageBudget) -> None:
        try:
            with function.hold(CALLER, 10 * MIB) as spending:
                holding.wait()
                spending.used = MIB
        except RateLimited:
            holding.wait()
            raise

    attempts = [partial(granted, partial(hold, budget(database))) for _ in range(50)]
    assert sum(at_once(attempts)) == 10
    assert used(database) == 10 * MIB
    with budget(database).hold(CALLER, 90 * MIB):
        assert not granted(lambda: budget(database).hold(CALLER, 1).__enter__())
    assert used(database) == 10 * MIB


def test_never_more_than_the_limit_is_held_and_in_the_end_every_byte_that_was_used_is_counted(
    database: Database,
) -> None:
    lock, held, most, spent = threading.Lock(), [0], [0], [0]

    def fetch_some(function: ImageBudget, seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(8):
            size = dice.randrange(1, 30 * MIB)
            share = dice.randrange(size // 20 + 1)
            try:
                with function.hold(CALLER, size) as spending:
                    with lock:
                        held[0] += size
                        most[0] = max(most[0], held[0] + spent[0])
                    spending.used = share
                    with lock:
                        held[0] -= size
                        spent[0] += share
            except RateLimited:
                continue

    at_once([partial(fetch_some, budget(database), seed) for seed in range(20)])
    assert 0 < most[0] <= LIMIT
    assert used(database) == spent[0]


def test_images_that_are_fetched_at_once_cost_their_bytes_and_those_that_find_no_room_none(
    database: Database, net: Internet
) -> None:
    database.put(id="settings#project#p", remote_image_bytes_per_minute=10 * MIB)
    net.serve(plain(bytes(MIB)))
    image = Image("messages.0.content.0", {"type": "url", "url": f"https://{HOST}/"})

    def fetch() -> bool:
        remote = RemoteImages(net.guard(), budget(database).hold, Patience(60, 60))
        return granted(lambda: remote.fetch([image], CALLER))

    assert sum(at_once([fetch] * 25)) == 10
    assert used(database) == 10 * MIB


def test_an_image_of_unknown_length_needs_room_for_the_largest_and_costs_its_own(
    database: Database, net: Internet
) -> None:
    net.serve(raw(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(1000)))
    image = Image("messages.0.content.0", {"type": "url", "url": f"https://{HOST}/"})
    remote = RemoteImages(net.guard(), budget(database).hold, Patience(60, 60))
    remote.fetch([image] * 20, CALLER)
    assert used(database) == 20_000
    with budget(database).hold(CALLER, 91 * MIB):
        assert not granted(lambda: remote.fetch([image], CALLER))
    assert used(database) == 20_000

"""Whatever functions do, windows and leases on DynamoDB's own engine are those of a plain model."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.support.limits import NOON, Database
from tokencount.adapters.leases import DynamoLeases
from tokencount.adapters.limits import DynamoWindows
from tokencount.domain.limits import Window

pytestmark = [pytest.mark.dynamodb_local, pytest.mark.xdist_group("dynamodb-local")]


class Machine(RuleBasedStateMachine):
    """Anything that functions may do, one after the other, beside what a plain model says of it."""

    database: Database
    PLACES = 3
    UNITS = 20

    @initialize()
    def begin(self) -> None:
        self.windows, self.leases = DynamoWindows(self.database.table()), DynamoLeases(self.database.table())
        self.name = uuid4().hex
        self.now = 0.0
        self.used: dict[int, int] = {}
        self.ends: dict[str, int] = {}

    @property
    def clock(self) -> datetime:
        return NOON + timedelta(seconds=self.now)

    @rule(seconds=st.sampled_from([0.3, 1.0, 7.0, 29.0, 30.0, 59.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(units=st.integers(1, 25), error=st.sampled_from([-4, 0, 3]))
    def reserve(self, units: int, error: int) -> None:
        window = Window.at(self.clock + timedelta(seconds=error))
        before = self.used.get(window.start, 0)
        fits = before + units <= self.UNITS
        usage = self.windows.reserve(self.name, window, units, self.UNITS)
        assert (usage.granted, usage.used) == (fits, before + units * fits)
        if fits:
            self.used[window.start] = usage.used

    @rule(part=st.floats(0, 1))
    def settle(self, part: float) -> None:
        window = Window.at(self.clock)
        if window.start in self.used:
            unused = int(self.used[window.start] * part)
            self.windows.settle(self.name, window, unused)
            self.used[window.start] -= unused

    @rule()
    def acquire(self) -> None:
        request, start = uuid4().hex, int(self.clock.timestamp())
        living = {lease for lease, end in self.ends.items() if end > start}
        assert self.leases.acquire(self.name, request, self.PLACES, self.clock) == (len(living) < self.PLACES)
        if len(living) < self.PLACES:
            self.ends[request] = start + 30

    @rule(index=st.integers(0, 2))
    def release(self, index: int) -> None:
        if self.ends:
            request = list(self.ends)[index % len(self.ends)]
            self.leases.release(self.name, request)
            del self.ends[request]

    @invariant()
    def no_row_holds_more_than_it_may(self) -> None:
        rows = {key: row for key, row in self.database.rows().items() if self.name in key}
        used = {int(key.rpartition("#")[2]): row["used"] for key, row in rows.items() if "used" in row}
        assert used == self.used
        stored = rows.get(f"leases#{self.name}", {"leases": {}})["leases"]
        assert len(stored) <= self.PLACES
        living = {lease: end for lease, end in self.ends.items() if end > self.clock.timestamp()}
        assert living.items() <= stored.items()


def test_windows_and_leases_are_those_of_a_plain_model(engine: str) -> None:
    Machine.database = Database(engine)
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )

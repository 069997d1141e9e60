"""Hostile text costs no more a byte where there is four times as much of it."""

import random
import time

import pytest

from bench.counters import Ours
from bench.growth import HOSTILE, NUMBERS
from bench.texts import body
from tests.conftest import Counters
from tests.support.served import EACH_MODEL

# The shortest and the longest of each kind: bytes, but messages or parameters where NUMBERS has the kind.
BYTES = (100_000, 400_000)
# Four times as much text costs a byte once as much where the work is linear, four times where it is quadratic.
LINEAR = 2.0
# Another process may take the caches away in the midst of a try.
TRIES = 4


@pytest.fixture(scope="module", params=EACH_MODEL)
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["tokenizers", "fast engine"])
def ours(request: pytest.FixtureRequest, model: str, counters: Counters, fast_counters: Counters) -> Ours:
    ours = Ours({"tokenizers": counters, "fast engine": fast_counters}[request.param](model))
    # What comes once, at the first long text.
    ours.count(body(ours.counter.model.id, HOSTILE["base64"](random.Random(0), BYTES[1])))
    return ours


def processor_seconds_a_byte(ours: Ours, kind: str, size: int, dice: random.Random) -> float:
    text = body(ours.counter.model.id, HOSTILE[kind](dice, size))
    started = time.process_time()
    assert ours.count(text) > 0
    return (time.process_time() - started) / len(text)


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_cost_of_hostile_text_grows_with_its_length_and_no_faster(kind: str, ours: Ours) -> None:
    dice = random.Random(1)
    short, long = (sizes := NUMBERS.get(kind, BYTES))[0], sizes[-1]
    ratios = (
        processor_seconds_a_byte(ours, kind, long, dice) / processor_seconds_a_byte(ours, kind, short, dice)
        for _ in range(TRIES)
    )
    assert any(ratio < LINEAR for ratio in ratios)

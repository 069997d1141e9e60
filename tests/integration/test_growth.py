"""Hostile text costs no more a byte where there is four times as much of it."""

import random
import time
from pathlib import Path

import pytest

from bench.counters import Ours
from bench.growth import HOSTILE, NUMBERS
from bench.texts import body
from tests.conftest import LAYERS

# The shortest and the longest of each kind: bytes, but messages or parameters where NUMBERS has the kind.
BYTES = (100_000, 400_000)
# Four times as much text costs a byte once as much where the work is linear, four times where it is quadratic.
LINEAR = 2.0
# Another process may take the caches away in the midst of a try.
TRIES = 4
MODELS = [folder / "model" for folder in sorted(LAYERS.iterdir()) if (folder / "model").is_dir()]


@pytest.fixture(scope="module", params=[None, 0], ids=["tokenizers", "fast engine"])
def ours(request: pytest.FixtureRequest, model: Path) -> Ours:
    counter = Ours(model, fast_engine_after=request.param)
    # What comes once, at the first long text.
    counter.count(body(counter.counter.model.id, HOSTILE["base64"](random.Random(0), BYTES[1])))
    return counter


@pytest.fixture(scope="module", params=MODELS, ids=lambda path: path.parent.name)
def model(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


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

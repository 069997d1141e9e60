"""What is measured is what it says: every way counts the same, and memory that came and went is seen."""

import mmap
import os
import random
import sys
from contextlib import closing

import pytest

from bench.counters import Ours, Plain, Transformers
from bench.growth import HOSTILE
from bench.peak import Process
from bench.photos import photo, request
from bench.texts import agent, body
from bench.ways import Function, Naive
from tests.conftest import LAYERS
from tests.support.requests import count
from tokencount.domain.counting import Counter
from tokencount.domain.strict_json import loads

MODEL = LAYERS / "qwen3.5-9b" / "model"


def test_the_function_and_transformers_called_naively_count_what_the_counter_counts(qwen: Counter) -> None:
    body = request(qwen.model.id, [photo(0), photo(1)])
    with closing(Function(MODEL)) as function:
        assert function.count(body) == Naive(MODEL).count(body) == count(qwen, loads(body))


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells a process's peak")
def test_a_peak_is_seen_after_it_is_over_and_forgotten_when_told() -> None:
    process = Process(os.getpid())
    process.forget()
    before = process.now
    # Memory of its own: an allocator may give what it still holds.
    with mmap.mmap(-1, 80 * 2**20) as memory:
        memory[:: mmap.PAGESIZE] = bytes(len(memory) // mmap.PAGESIZE)
    assert process.peak > before + 70
    process.forget()
    assert process.peak < before + 40


def test_text_is_counted_the_same_by_every_way_that_is_measured(qwen: Counter) -> None:
    ways, dice = (Ours.restored(MODEL), Plain(MODEL), Transformers(MODEL)), random.Random(0)
    for made in (agent(dice, 2000), *(make(dice, 200) for make in HOSTILE.values())):
        text = body(qwen.model.id, made)
        assert {way.count(text) for way in ways} == {count(qwen, loads(text))}

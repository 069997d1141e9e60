"""What is measured is what it says: every way counts the same, and memory that came and went is seen."""

import os
import sys

import pytest

from bench.images import photo, request
from bench.peak import Process
from bench.ways import Function, Naive
from tests.conftest import LAYERS
from tests.support.requests import count
from tokencount.domain.counting import Counter
from tokencount.domain.strict_json import loads

MODEL = LAYERS / "qwen3.5-9b" / "model"


def test_the_function_and_transformers_called_naively_count_what_the_counter_counts(qwen: Counter) -> None:
    body = request([photo(0), photo(1)])
    assert Function(MODEL).count(body) == Naive(MODEL).count(body) == count(qwen, loads(body))


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells a process's peak")
def test_a_peak_is_seen_after_it_is_over_and_forgotten_when_told() -> None:
    process = Process(os.getpid())
    process.forget()
    before = process.now
    bytearray(80_000_000)
    assert process.peak > before + 70
    process.forget()
    assert process.peak < before + 40

"""Counts that transformers' own code gave, held for good: a file of requests for each model, named as its layer."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Counters
from tests.support.requests import EXAMPLE, count
from tests.support.served import LAYERS, of_model
from tokencount.domain.counting import Counter

CASES = [
    of_model(path.stem, case, case=case["id"])
    for path in sorted(Path(__file__).parent.glob("*.jsonl"))
    for case in map(json.loads, path.read_text("utf-8").split("\n")[:-1])
]


@pytest.mark.parametrize("engine", ["exact", "fast"])
@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_request_counts_what_transformers_counts(
    name: str, case: dict[str, Any], engine: str, counters: Counters, fast_counters: Counters
) -> None:
    counter = (fast_counters if engine == "fast" else counters)(name)
    assert case["request"]["model"] == counter.model.id
    assert count(counter, case["request"]) == case["input_tokens"]


def test_every_model_has_golden_requests() -> None:
    assert set(LAYERS) == {case.values[0] for case in CASES}


def test_the_reference_s_own_example_counts_27(qwen: Counter) -> None:
    assert count(qwen, EXAMPLE) == 27

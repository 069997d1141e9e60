"""Counts that transformers' own code gave, held for good."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.requests import EXAMPLE, count
from tokencount.domain.counting import Counter

CASES = [json.loads(line) for line in Path(__file__).with_name("qwen3.5-9b.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_request_counts_what_transformers_counts(case: dict[str, Any], qwen: Counter) -> None:
    assert count(qwen, case["request"]) == case["input_tokens"]


def test_the_reference_s_own_example_counts_27(qwen: Counter) -> None:
    assert count(qwen, EXAMPLE) == 27

"""Whatever is sent, the answer keeps the contract: a short run of what `make fuzz` does at length."""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from local.stack import Stack
from tests.fuzz.campaign import Campaign
from tests.fuzz.client import Request
from tests.fuzz.wire import count_requests, strange_requests
from tests.support.requests import EXAMPLE

SEED = int(os.environ.get("FUZZ_SEED") or 1)


@pytest.fixture
def campaign(stack: Stack, tmp_path: Path) -> Iterator[Campaign]:
    with closing(Campaign(stack, SEED, tmp_path)) as campaign:
        yield campaign
    # Shown where the test failed, or where pytest is told to show all.
    print(f"FUZZ_SEED={SEED}\n{campaign.figures}")


def test_what_schemathesis_makes_of_the_document_is_answered_as_the_document_says(campaign: Campaign) -> None:
    campaign.schemathesis("examples", "coverage")
    assert campaign.figures.requests > 500


def test_valid_and_almost_valid_and_mangled_bodies_are_counted_or_refused(campaign: Campaign) -> None:
    campaign.send(count_requests(), 300)
    assert campaign.figures.answers[200, ""] > 30


def test_strange_methods_paths_headers_and_queries_are_answered_in_the_contract_s_form(campaign: Campaign) -> None:
    campaign.send(strange_requests(), 150)
    assert len(campaign.figures.answers) > 5


def test_a_session_is_shown_as_the_document_says(campaign: Campaign, stack: Stack) -> None:
    cookie = ("cookie", f"__Host-b3os_session={stack.session}")
    answer = campaign.answer_to(Request(headers=[cookie], method="GET", target="/v1/auth/session"))
    assert answer.status == 200


@pytest.mark.parametrize(
    ("limit", "code"), [("requests_per_minute", "rate_limited"), ("requests_in_flight", "concurrency_limited")]
)
def test_a_limit_is_told_as_the_document_says(limit: str, code: str, stack: Stack, tmp_path: Path) -> None:
    with closing(Campaign(stack, SEED, tmp_path, None, **{limit: 0})) as campaign:
        answer = campaign.answer_to(Request(json.dumps(EXAMPLE).encode()))
    assert (answer.status, answer.code) == (429, code)

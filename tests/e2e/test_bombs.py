"""A body that is made to be costly is answered like any other, by workers that live on, within their functions' memory.

FUZZ_BOMBS=all, as `make fuzz` sets it, takes every one at its full size.
"""

import json
import os
from collections.abc import Iterator
from contextlib import closing

import pytest

from local.stack import Stack
from tests.conftest import LAYERS
from tests.fuzz.bombs import LARGEST, PIECES, PROMPTS, REQUESTS, STRUCTURES, repeated
from tests.fuzz.campaign import Campaign
from tests.fuzz.client import Request
from tests.support.processes import peak_megabytes
from tests.support.requests import EXAMPLE, QWEN

ALL = os.environ.get("FUZZ_BOMBS") == "all"
SIZE = LARGEST if ALL else 1_000_000
TOO_LARGE = "payload_too_large"  # once escaped in an event
COUNTED = {"", "context_length_exceeded", TOO_LARGE}
MODELS = [str(json.loads(path.read_bytes())["id"]) for path in LAYERS.glob("*/model/model.json")] if ALL else [QWEN]
SOME = (" ", "\n", "a", "0 ", "²", "\u0301", "字", "<|im_end|>")


@pytest.fixture(scope="module")
def campaign(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    with closing(Campaign(stack, 1, tmp_path_factory.mktemp("fuzz"))) as campaign:
        for model in MODELS:  # so that there is a worker of each function
            campaign.answer_to(Request(json.dumps(EXAMPLE | {"model": model}).encode()))
        yield campaign


def code_of(campaign: Campaign, stack: Stack, body: bytes) -> str:
    """The error's code, or nothing, once the answer has kept the contract and every worker lives within its memory."""
    before = {name: pool.pids for name, pool in stack.pools.items()}
    code = campaign.answer_to(Request(body)).code
    assert {name: pool.pids for name, pool in stack.pools.items()} == before
    for name, pids in before.items():
        memory = stack.template.functions[name].memory
        assert all(peak_megabytes(pid) < memory for pid in pids), f"{name}: over {memory} MB"
    return code


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_body_that_is_no_request_is_refused(name: str, campaign: Campaign, stack: Stack) -> None:
    assert code_of(campaign, stack, STRUCTURES[name]()) in {"invalid_request", TOO_LARGE}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_costly_request_is_counted_or_refused(name: str, campaign: Campaign, stack: Stack) -> None:
    assert code_of(campaign, stack, REQUESTS[name]()) in {"", "invalid_request", "unsupported_parameter"}


@pytest.mark.parametrize("piece", PIECES if ALL else SOME, ids=ascii)
def test_a_million_times_the_same_is_counted(piece: str, campaign: Campaign, stack: Stack) -> None:
    assert code_of(campaign, stack, repeated(piece, SIZE)) in COUNTED


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", PROMPTS)
def test_a_request_that_is_long_to_count_is_counted_or_refused(
    name: str, model: str, campaign: Campaign, stack: Stack
) -> None:
    # Some templates take no such request.
    body = PROMPTS[name](SIZE).replace(QWEN.encode(), model.encode())
    assert code_of(campaign, stack, body) in COUNTED | ({"invalid_request"} if model != QWEN else set())

"""Merges are recovered from ranks, and what comes out is checked against the published digests."""

import json

import pytest

from layers.errors import BuildError
from layers.manifest import TiktokenRanks
from layers.ranks import read_ranks, recovered_merges, tokenizer_from_ranks
from tests.support.layers import MERGES, digest, published, ranks, tiny_tokenizer

SPEC = TiktokenRanks(
    normalizer="NFC",
    split=r" ?\w+",
    vocab_sha256=digest(json.dumps(tiny_tokenizer()["model"]["vocab"], ensure_ascii=False, indent=4).encode()),
    merges_sha256=digest("".join(f"{left} {right}\n" for left, right in MERGES).encode()),
    tokenizer_sha256=digest(published(tiny_tokenizer())),
)


def test_the_published_tokenizer_comes_out_bit_for_bit() -> None:
    made = tokenizer_from_ranks(ranks(), SPEC, tiny_tokenizer()["added_tokens"])
    assert made == published(tiny_tokenizer())


@pytest.mark.parametrize(
    ("digests", "file"),
    [("vocab_sha256", "vocab.json"), ("merges_sha256", "merges.txt"), ("tokenizer_sha256", "tokenizer.json")],
)
def test_each_of_the_published_files_is_checked(digests: str, file: str) -> None:
    with pytest.raises(
        BuildError, match=rf"{file} made from the ranks is not the published one: expected SHA-256 0000"
    ):
        tokenizer_from_ranks(ranks(), SPEC.model_copy(update={digests: "0" * 64}), tiny_tokenizer()["added_tokens"])


def test_the_pair_of_lowest_rank_is_merged_first() -> None:
    table = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5}
    assert recovered_merges(table) == [(b"b", b"c"), (b"a", b"b"), (b"a", b"bc")]


def test_of_equal_pairs_the_leftmost_is_merged_first() -> None:
    table = {b"a": 0, b"aa": 1, b"aaa": 2, b"aaaa": 3}
    assert recovered_merges(table) == [(b"a", b"a"), (b"aa", b"a"), (b"aa", b"aa")]


def test_a_token_that_merging_cannot_reach_has_no_merge() -> None:
    assert recovered_merges({b"x": 0, b"y": 1, b"z": 2, b"xyz": 3}) == []


def test_ranks_are_read_in_rank_order_whatever_the_order_of_lines() -> None:
    assert list(read_ranks(b"Yg== 1\nYQ== 0\n")) == [b"a", b"b"]


@pytest.mark.parametrize("data", [b"Yg==", b"Yg== one", b"*** 1", b"<html> 1"])
def test_something_else_than_ranks_is_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(BuildError, match="the ranks are not in tiktoken's form"):
        read_ranks(data)

"""A tokenizer.json has one form in a layer, and it counts as the form it came in."""

import json
from typing import Any

import pytest
from tokenizers import Tokenizer

from layers.canonical import canonical_tokenizer, merges_as_strings
from layers.errors import SourceError
from tests.support.layers import MERGES, canonical_tiny, hub_files, published, tiny_tokenizer

TEXTS = ["hello hello", " hello", "hellhe", "xyz xyz", "<end>hello<tool>", "lo\u0301l", "", "hello<end"]


def ids(data: bytes) -> list[list[int]]:
    tokenizer = Tokenizer.from_str(data.decode())
    return [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]


def added() -> list[dict[str, Any]]:
    tokens: list[dict[str, Any]] = tiny_tokenizer()["added_tokens"]
    return tokens


def test_pairs_and_strings_come_out_as_the_same_bytes() -> None:
    pairs = canonical_tokenizer(published(tiny_tokenizer()), [])
    strings = canonical_tokenizer(hub_files()["tokenizer.json"], added())
    assert pairs == strings == canonical_tiny()


def test_the_canonical_form_gives_the_same_ids() -> None:
    assert ids(canonical_tiny()) == ids(published(tiny_tokenizer()))
    assert len(ids(canonical_tiny())[0]) == 2


def test_the_canonical_form_of_itself_is_itself() -> None:
    assert canonical_tokenizer(canonical_tiny(), added()) == canonical_tiny()


def test_key_order_and_vocabulary_order_of_the_source_do_not_matter() -> None:
    document = tiny_tokenizer()
    model = document["model"]
    model["vocab"] = dict(reversed(model["vocab"].items()))
    document["model"] = dict(reversed(model.items()))
    assert canonical_tokenizer(published(dict(reversed(document.items()))), []) == canonical_tiny()


def test_what_has_no_bearing_on_ids_does_not_tell_two_sources_apart() -> None:
    document = tiny_tokenizer() | {"decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}}
    document["model"] |= {"continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False, "dropout": None}
    assert canonical_tokenizer(published(document), []) == canonical_tiny()


def test_nothing_that_cuts_pads_or_adds_to_a_count_is_kept() -> None:
    cut = {"max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    assert canonical_tokenizer(published(tiny_tokenizer() | {"truncation": cut}), []) == canonical_tiny()
    assert json.loads(canonical_tiny())["post_processor"] is None


@pytest.mark.parametrize("left", ["a b", "#version", " "])
def test_merges_stay_pairs_where_a_string_would_be_misread(left: str) -> None:
    vocab = {"a": 0, "b": 1, " ": 2, "a b": 3, "#version": 4, f"{left}a": 5}
    document = tiny_tokenizer(merges=[[left, "a"]], added=0)
    document["model"]["vocab"] = vocab
    data = canonical_tokenizer(published(document), [])
    assert json.loads(data)["model"]["merges"] == [[left, "a"]]
    Tokenizer.from_str(data.decode())


def test_merges_that_are_strings_already_are_left_alone() -> None:
    assert merges_as_strings(["a b"]) == ["a b"]
    assert merges_as_strings([]) == []
    assert merges_as_strings(MERGES)[0] == "h e"


def test_a_manifest_that_contradicts_the_file_about_an_added_token_is_refused() -> None:
    contradiction = [token | {"special": not token["special"]} for token in added()]
    with pytest.raises(SourceError, match="disagree about the added token 14"):
        canonical_tokenizer(published(tiny_tokenizer()), contradiction)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b'{"version": "1.0", "model": {"type": "BPE"}}'])
def test_a_file_that_is_no_tokenizer_is_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(SourceError, match=r"tokenizer\.json is not in the form this builder knows"):
        canonical_tokenizer(data, [])

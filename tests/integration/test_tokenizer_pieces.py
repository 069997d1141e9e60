"""A long text is counted piece by piece, by either engine, and the count is that of the whole."""

import random
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tests.conftest import LAYERS, Counters
from tests.fuzz.grammar import CHARGED
from tests.support.served import EACH_MODEL
from tokencount.adapters import tokenizer as adapter
from tokencount.adapters.text_cuts import pairs_apart, safe_cut
from tokencount.domain.counting import Tokenizer as Counted

# Whatever decides about a word: letters, marks, digits, contractions, spaces of every kind, control tokens.
ALPHABET = (
    "aZé字\u0301\u1100\u11610٣²'sStTlLrReEvVdDmMſ_.,!?-=<>|/\\\"()[]{}#$%&*+~^`@:;"
    " \t\n\r\x0b\x0c\u00a0\u2028\u3000\x00😀\u200d"
)
PIECES = st.text(ALPHABET, max_size=12) | st.sampled_from(CHARGED) | st.text(max_size=3)


@pytest.fixture(scope="module", params=EACH_MODEL)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def whole(name: str, counters: Counters) -> Tokenizer:
    counters(name)
    return Tokenizer.from_file(str(LAYERS / name / "model" / "tokenizer.json"))


@pytest.fixture(scope="module", params=["exact", "fast"])
def counted(name: str, request: pytest.FixtureRequest, counters: Counters, fast_counters: Counters) -> Counted:
    return {"exact": counters, "fast": fast_counters}[request.param](name).tokenizer


def test_something_is_known_of_the_tokenizer_of_every_served_model(whole: Tokenizer) -> None:
    assert safe_cut(whole)


def test_no_merge_goes_over_a_cut_where_there_are_no_words() -> None:
    for path in LAYERS.glob("*/model/tokenizer.json"):
        tokenizer = Tokenizer.from_file(str(path))
        if b"Regex" in tokenizer.pre_tokenizer.__getstate__():
            continue  # merges stay within words
        sides = [(re.escape(before), re.escape(after)) for before, after in pairs_apart(tokenizer)]
        over = re.compile("|".join(f"[{before}][{after}]" for before, after in sides))
        # What no merge makes: added tokens, and the names of single bytes.
        others = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
        others |= {f"<0x{byte:02X}>" for byte in range(256)}
        merged = tokenizer.get_vocab().keys() - others
        assert [token for token in merged if over.search(token.replace("▁", " "))] == []


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.lists(PIECES, max_size=30).map("".join), piece=st.integers(1, 20))
def test_wherever_a_text_is_cut_its_tokens_are_those_of_the_whole(
    text: str, piece: int, whole: Tokenizer, counted: Counted
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapter, "PIECE", piece)
        assert counted.count(text) == len(whole.encode(text, add_special_tokens=False))


def test_a_text_of_a_million_characters_has_the_tokens_of_the_whole(whole: Tokenizer, counted: Counted) -> None:
    chosen = random.Random(1)
    text = "".join(chosen.choices([*ALPHABET, *CHARGED], k=300_000))
    assert len(text) > 4 * adapter.PIECE
    assert counted.count(text) == len(whole.encode(text, add_special_tokens=False))

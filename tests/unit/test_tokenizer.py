"""What a template writes is all there is to count, and what was counted before is not encoded again."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tests.support.byte_tokenizer import byte_tokenizer
from tokencount.adapters import tokenizer as adapter
from tokencount.adapters.engines import Engine, EngineRefused, ExactEngine, FastEngine
from tokencount.adapters.tokenizer import FasterTokenizer, HuggingFaceTokenizer, PieceCounts


@pytest.fixture
def with_bos(tmp_path: Path) -> HuggingFaceTokenizer:
    """A tokenizer whose post-processor would put a BOS in front, as Gemma's and Llama's do."""
    tokenizer = Tokenizer(models.WordLevel({"<bos>": 0, "hi": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["<bos>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 0)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return HuggingFaceTokenizer(tmp_path / "tokenizer.json")


@pytest.fixture
def of_bytes(tmp_path: Path) -> Path:
    return byte_tokenizer(tmp_path)


class Recording(ExactEngine):
    """The exact engine, and what it was given."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.given: list[str] = []

    def count(self, text: str) -> int:
        self.given.append(text)
        return super().count(text)


@pytest.fixture
def recording(of_bytes: Path) -> Recording:
    return Recording(of_bytes)


@pytest.fixture
def recorded(of_bytes: Path, recording: Recording) -> HuggingFaceTokenizer:
    tokenizer = HuggingFaceTokenizer(of_bytes)
    tokenizer.use(recording)
    return tokenizer


def words(count: int, first: int = 0) -> str:
    return " ".join(f"word {number} of it." for number in range(first, first + count))


def test_the_template_s_bos_is_the_only_one(with_bos: HuggingFaceTokenizer) -> None:
    assert with_bos.count("<bos>hi") == 2
    assert with_bos.count("hi") == 1


def test_every_character_is_encoded_once_in_pieces_that_do_not_grow_with_the_text(
    recorded: HuggingFaceTokenizer, recording: Recording
) -> None:
    for text in (words(1_000), words(60_000, first=1_000)):
        recording.given.clear()
        assert recorded.count(text) == len(text)
        assert "".join(recording.given) == text
        assert max(map(len, recording.given)) < adapter.PIECE + 20


def test_a_conversation_that_grew_costs_its_new_part_and_at_most_a_piece(
    recorded: HuggingFaceTokenizer, recording: Recording
) -> None:
    earlier, new = words(20_000), words(100, first=20_000)
    recorded.count(earlier)
    recording.given.clear()
    assert recorded.count(earlier + new) == len(earlier + new)
    assert sum(map(len, recording.given)) < len(new) + adapter.PIECE + 20


def test_of_what_was_counted_only_digests_are_kept(recorded: HuggingFaceTokenizer) -> None:
    recorded.count(words(2_000))
    kept = recorded._counts._counts
    assert kept
    assert {(type(digest), len(digest)) for digest in kept} == {(bytes, 32)}


def test_the_longest_unused_counts_are_forgotten(monkeypatch: pytest.MonkeyPatch, recording: Recording) -> None:
    monkeypatch.setattr(adapter, "REMEMBERED", 3)
    counts = PieceCounts()
    for piece in ("a", "b", "c", "a", "d", "a", "b"):
        assert counts.count(piece, recording) == 1
    assert recording.given == ["a", "b", "c", "d", "b"]
    assert len(counts._counts) == 3


def test_the_fast_engine_takes_over_after_so_many_counts(of_bytes: Path) -> None:
    tokenizer, loading, may_go_on = HuggingFaceTokenizer(of_bytes), threading.Event(), threading.Event()

    def load() -> Engine:
        loading.set()
        assert may_go_on.wait(60)
        return FastEngine(of_bytes)

    faster = FasterTokenizer(tokenizer, load, after=2)
    assert faster.count("ab") == 2
    assert not loading.is_set()
    assert faster.count("abc") == 3
    assert loading.wait(60)
    assert faster.count("abcd") == 4  # while it is loaded
    may_go_on.set()
    finish_loading()
    assert isinstance(tokenizer._engine, FastEngine)
    assert faster.count("abcde") == 5


@pytest.mark.parametrize("after", [0, 1])
def test_a_refused_engine_is_told_of_and_the_exact_one_counts_on(
    after: int, of_bytes: Path, caplog: pytest.LogCaptureFixture
) -> None:
    faster = FasterTokenizer(HuggingFaceTokenizer(of_bytes), lambda: FastEngine.admitted(of_bytes, None), after)
    with caplog.at_level(logging.WARNING):
        assert faster.count("ab") == 2
        finish_loading()
        assert faster.count("abc") == 3
    assert "fastokens is not exact for this model" in caplog.text


def test_only_the_engine_that_the_layer_was_checked_with_is_admitted(of_bytes: Path) -> None:
    assert FastEngine.admitted(of_bytes, FastEngine.identity()).count("abc") == 3
    with pytest.raises(EngineRefused, match=r"checked with fastokens 0\.0\.1, and fastokens \d"):
        FastEngine.admitted(of_bytes, "fastokens 0.0.1")


@pytest.mark.parametrize("engine", [ExactEngine, FastEngine])
@pytest.mark.parametrize("character", [" ", "\n", "\t", "\u00a0", "a", "0", "\u0301", "😀"])
def test_a_million_equal_characters_are_counted(
    character: str, engine: Callable[[Path], Engine], of_bytes: Path
) -> None:
    tokenizer = HuggingFaceTokenizer(of_bytes)
    tokenizer.use(engine(of_bytes))
    assert tokenizer.count(character * 1_000_000) == 1_000_000 * len(character.encode())


def finish_loading() -> None:
    for thread in threading.enumerate():
        if thread.name == "fast engine":
            thread.join(60)

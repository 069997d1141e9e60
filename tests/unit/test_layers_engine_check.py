"""A layer says whether the fast engine counts for its model exactly, and a build says why not."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from layers.engine_check import admitted_engine, installed_engine
from layers.engine_strings import strings
from tests.support.byte_tokenizer import byte_tokenizer
from tokencount.adapters import engines


@pytest.fixture
def of_bytes(tmp_path: Path) -> Path:
    return byte_tokenizer(tmp_path)


class Inexact(engines.FastEngine):
    """Has another token for one combining mark."""

    def ids(self, text: str) -> Sequence[int]:
        return [0] if "\u1ab0" in text else super().ids(text)


class Failing(engines.FastEngine):
    """Does not take one kind of text."""

    def ids(self, text: str) -> Sequence[int]:
        if "\t" * 1000 in text:
            raise ValueError("too long")
        return super().ids(text)


def test_an_engine_of_the_same_ids_is_written_down_with_its_version(
    of_bytes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert admitted_engine(of_bytes) == installed_engine()
    assert "gives the ids of the tokenizers library" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("engine", "reason"), [(Inexact, r"it has other tokens for '"), (Failing, "ValueError: too long")]
)
def test_an_engine_of_other_ids_is_not_and_the_build_says_so(
    engine: type[engines.FastEngine],
    reason: str,
    of_bytes: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engines, "FastEngine", engine)
    assert admitted_engine(of_bytes) is None
    assert f"the fast engine will not count for this model: {reason}" in capsys.readouterr().out


def test_a_file_that_is_no_tokenizer_admits_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    assert admitted_engine(tmp_path / "tokenizer.json") is None
    assert "the fast engine will not count" in capsys.readouterr().out


def test_thousands_of_strings_are_compared_the_same_in_every_build(of_bytes: Path) -> None:
    tokenizer = json.loads(of_bytes.read_bytes())
    compared = list(strings(tokenizer))
    assert compared == list(strings(tokenizer))
    assert len(set(compared)) > 10_000
    together = "".join(compared)
    assert {chr(point) for point in range(0x20000) if not 0xD800 <= point < 0xE000} <= set(together)
    assert "<end><end>" in together
    assert " " * 1000 in together

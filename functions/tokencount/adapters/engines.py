"""What does a tokenizer's work: the library that defines what is exact, and a faster one that a layer's build admits.

An engine holds one `tokenizer.json` and gives the ids of a text: special tokens written in it count as such, none are
added. Another one takes its place here, in `FastEngine`.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, Self

# Set before the library is loaded: a fork after the first count would else print a warning and wait for a lock.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import Tokenizer


class Engine(Protocol):
    """Encodes text with one tokenizer."""

    def ids(self, text: str) -> Sequence[int]:
        """The ids of the tokens of `text`."""

    def count(self, text: str) -> int:
        """How many tokens it has."""


class ExactEngine:
    """Hugging Face tokenizers, which defines what is exact."""

    def __init__(self, path: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(path))

    def ids(self, text: str) -> Sequence[int]:
        """The ids of the tokens of `text`."""
        # The form without offsets into the text is the faster one.
        [encoding] = self.tokenizer.encode_batch_fast([text], add_special_tokens=False)
        return encoding.ids

    def count(self, text: str) -> int:
        """How many tokens it has, with no list of them."""
        [encoding] = self.tokenizer.encode_batch_fast([text], add_special_tokens=False)
        return len(encoding)


class FastEngine:
    """fastokens: some twenty times as fast, but two seconds and 240 MB to load."""

    PACKAGE = "fastokens"

    def __init__(self, path: Path) -> None:
        # Not at import: a function on demand never uses it.
        from fastokens import Tokenizer as Fast  # noqa: PLC0415

        self._tokenizer = Fast.from_file(str(path))

    @classmethod
    def admitted(cls, path: Path, checked: str | None) -> Self:
        """The engine, where it is the very one that the layer's build found to be exact.

        Args:
            checked: what `identity` said there; None where its ids were not the same.

        Raises:
            EngineRefused: says why.
        """
        if checked is None:
            raise EngineRefused(f"{cls.PACKAGE} is not exact for this model")
        if cls.identity() != checked:
            raise EngineRefused(f"the model was checked with {checked}, and {cls.identity() or 'none'} is installed")
        return cls(path)

    @classmethod
    def identity(cls) -> str | None:
        """The package and its version; None where it is not installed."""
        # Nor this, which imports what reads e-mail.
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

        try:
            return f"{cls.PACKAGE} {version(cls.PACKAGE)}"
        except PackageNotFoundError:
            return None

    def ids(self, text: str) -> Sequence[int]:
        """The ids of the tokens of `text`."""
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def count(self, text: str) -> int:
        """How many tokens it has, with no list of them."""
        return len(self._tokenizer.encode(text))


class EngineRefused(Exception):
    """An engine may not count for a model."""

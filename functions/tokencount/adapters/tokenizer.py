"""The model's tokenizer, by the library that defines what is exact: Hugging Face tokenizers."""

import os
from pathlib import Path

# Set before the library is loaded: a fork after the first count would else print a warning and wait for a lock.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import Tokenizer


class HuggingFaceTokenizer:
    """Counts with a `tokenizer.json`."""

    def __init__(self, path: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(path))

    def count(self, text: str) -> int:
        """Tokens of `text`; special tokens written in it count as such, none are added."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))

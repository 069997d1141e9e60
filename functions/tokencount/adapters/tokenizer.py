"""The model's tokenizer, by the library that defines what is exact: Hugging Face tokenizers."""

import os
from collections.abc import Iterator
from pathlib import Path

# Set before the library is loaded: a fork after the first count would else print a warning and wait for a lock.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import Tokenizer

from tokencount.adapters.text_cuts import safe_cut

# About as many characters are encoded at once: the library takes half a kilobyte a token, and one body can come to 19
# million tokens.
PIECE = 4096


class HuggingFaceTokenizer:
    """Counts with a `tokenizer.json`."""

    def __init__(self, path: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(path))
        self._cut = safe_cut(self._tokenizer)

    def count(self, text: str) -> int:
        """Tokens of `text`; special tokens written in it count as such, none are added."""
        return sum(self._count(piece) for piece in self._pieces(text))

    def _count(self, piece: str) -> int:
        # The form without offsets into the text is the faster one.
        [encoding] = self._tokenizer.encode_batch_fast([piece], add_special_tokens=False)
        return len(encoding)

    def _pieces(self, text: str) -> Iterator[str]:
        start = 0
        while self._cut and (cut := self._cut.search(text, start + PIECE)):
            yield text[start : cut.start()]
            start = cut.start()
        yield text[start:]

"""The model's tokenizer, by the library that defines what is exact: Hugging Face tokenizers."""

import json
import os
import re
import string
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

# Set before the library is loaded: a fork after the first count would else print a warning and wait for a lock.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import Tokenizer

# About as many characters are encoded at once: the library takes half a kilobyte a token, and one body can come to 19
# million tokens.
PIECE = 4096
_VISIBLE = string.ascii_letters + string.digits + string.punctuation
# By a pre-tokenizer's pattern, ASCII characters and those after them that it never takes into one word. A pattern here
# looks ahead for a space alone and never back: between such two, a text may be cut into two that fall into the same
# words as the whole.
_ALWAYS_APART = {
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+": (  # noqa: E501
        (string.ascii_letters + string.digits, string.punctuation + "\r\n"),
        (_VISIBLE, " \t\v\f" + string.digits),
    ),
}


class HuggingFaceTokenizer:
    """Counts with a `tokenizer.json`."""

    def __init__(self, path: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(path))
        self._cut = _safe_cut(self._tokenizer)

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


def _safe_cut(tokenizer: Tokenizer) -> re.Pattern[str] | None:
    """Where a text may be cut without changing its tokens; None where that is not known of this tokenizer."""
    added = tokenizer.get_added_tokens_decoder().values()
    if any(token.lstrip or token.rstrip or token.single_word for token in added):
        return None
    inside = {pair for token in added for pair in pairwise(token.content)}
    cuts = [_between(before, after, inside) for before, after in _ALWAYS_APART.get(_pattern(tokenizer) or "", ())]
    return re.compile("|".join(cuts)) if cuts else None


def _between(before: str, after: str, inside: set[tuple[str, str]]) -> str:
    """Matches between two such characters, but not where they could be two of an added token's."""
    kept = "".join(last for last in after if not any((first, last) in inside for first in before))
    return f"(?<=[{re.escape(before)}])(?=[{re.escape(kept)}])"


def _pattern(tokenizer: Tokenizer) -> str | None:
    """The pattern that alone decides about words, if NFC is all that comes before: it joins no two ASCII characters."""
    normalizer = tokenizer.normalizer and json.loads(tokenizer.normalizer.__getstate__())
    if normalizer not in (None, {"type": "NFC"}) or tokenizer.pre_tokenizer is None:
        return None
    match json.loads(tokenizer.pre_tokenizer.__getstate__()):
        case {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": str(pattern)}, "behavior": "Isolated", "invert": False},
                {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
            ],
        }:
            return pattern
    return None

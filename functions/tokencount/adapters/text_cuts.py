"""Where a text may be cut in two that have, counted one by one, the tokens of the whole."""

import json
import re
import string
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from tokenizers import Tokenizer

# Characters, and others after them: a text may be cut between two such.
Apart = tuple[str, str]

_VISIBLE = string.ascii_letters + string.digits + string.punctuation
_ALPHANUMERIC = string.ascii_letters + string.digits
# What these patterns never take into one word. They look ahead for a space alone, and never back, so that what stands
# on one side of such a cut does not change the words on the other.
_WORDS: tuple[Apart, ...] = (
    (_ALPHANUMERIC, string.punctuation.replace("'", "") + "\r\n"),
    (string.ascii_letters + string.punctuation, string.digits),
    (_VISIBLE, " \t\v\f"),
)
_BY_PATTERN: dict[str, tuple[Apart, ...]] = {
    # Llama 3 and its like: digits by threes.
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+": _WORDS,
    # Qwen3.5: digits one by one, marks with their letters.
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+": (*_WORDS, (string.digits, string.digits)),
    # o200k: words by their case.
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+": _WORDS,
}
# Gemma 3 has no words: a text is merged as one. No token of its vocabulary holds two such characters side by side, so
# no merge goes over the cut; a test looks through the vocabulary.
_WITHOUT_WORDS: tuple[Apart, ...] = ((string.digits, " " + string.punctuation), (_VISIBLE, "\t\n"))


def safe_cut(tokenizer: Tokenizer) -> re.Pattern[str] | None:
    """Matches the places, themselves empty, where a text may be cut; None where nothing is known of the tokenizer."""
    added = tokenizer.get_added_tokens_decoder().values()
    if any(token.lstrip or token.rstrip or token.single_word for token in added):
        return None
    apart = pairs_apart(tokenizer)
    places = "|".join(f"(?<=[{re.escape(before)}])(?=[{re.escape(after)}])" for before, after in apart)
    return re.compile(f"(?:{places}){_except_inside(token.content for token in added)}") if places else None


def pairs_apart(tokenizer: Tokenizer) -> tuple[Apart, ...]:
    """Between which characters a text falls apart anyway, in front of the merges or in them."""
    normalizer, splitter = _state(tokenizer.normalizer), _state(tokenizer.pre_tokenizer)
    match normalizer, splitter:
        case (
            # NFC joins no two ASCII characters.
            None | {"type": "NFC"},
            {
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "Split", "pattern": {"Regex": str(pattern)}, "behavior": "Isolated", "invert": False},
                    {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
                ],
            },
        ):
            return _BY_PATTERN.get(pattern, ())
        case (
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"},
        ):
            return _WITHOUT_WORDS
    return ()


def _state(part: Any) -> Any:
    return part and json.loads(part.__getstate__())


def _except_inside(tokens: Iterable[str]) -> str:
    """Not between two characters that stand side by side in an added token."""
    before: defaultdict[str, set[str]] = defaultdict(set)
    for token in tokens:
        for first, last in pairwise(token):
            if first in _VISIBLE and not last.isalpha():
                before[last].add(first)
    inside = [
        f"(?<=[{re.escape(''.join(sorted(firsts)))}]){re.escape(last)}" for last, firsts in sorted(before.items())
    ]
    return f"(?!{'|'.join(inside)})" if inside else ""

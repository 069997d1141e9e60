"""The one form in which a layer holds a tokenizer.json, so that its bytes are the same whatever the source.

Merges are strings, which load faster and in less memory than pairs. What would only cut, pad or add to a count is left
out.
"""

import json
from collections.abc import Iterable
from typing import Any

from layers.errors import BuildError

_MODEL_KEYS = (
    "type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
    "ignore_merges",
)  # fmt: skip
_OWN_PLACE = (*_MODEL_KEYS, "vocab", "merges")


def canonical_tokenizer(data: bytes, added: Iterable[dict[str, Any]]) -> bytes:
    """A tokenizer.json in canonical form: compact, in a fixed order, `added` united with its own added tokens."""
    try:
        source = json.loads(data)
        document = {
            "version": source["version"],
            "truncation": None,
            "padding": None,
            "added_tokens": united(source["added_tokens"], added),
            "normalizer": source["normalizer"],
            "pre_tokenizer": source["pre_tokenizer"],
            "post_processor": None,
            "decoder": source["decoder"],
            "model": _model(source["model"]),
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BuildError(f"tokenizer.json is not in the form this builder knows: {error!r}") from error
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def united(own: Iterable[dict[str, Any]], added: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The added tokens of both, by id; raises BuildError where they disagree about one."""
    tokens = {token["id"]: token for token in own}
    for token in added:
        if tokens.setdefault(token["id"], token) != token:
            raise BuildError(f"the manifest and tokenizer.json disagree about the added token {token['id']}")
    return [dict(tokens[number]) for number in sorted(tokens)]


def _model(model: dict[str, Any]) -> dict[str, Any]:
    known = {key: model[key] for key in _MODEL_KEYS if key in model}
    other = {key: model[key] for key in sorted(model) if key not in _OWN_PLACE}
    vocab = dict(sorted(model["vocab"].items(), key=lambda item: item[1]))
    return {**known, **other, "vocab": vocab, "merges": merges_as_strings(model["merges"])}


def merges_as_strings(merges: list[Any]) -> list[Any]:
    """Merges as "left right", or left as pairs where the tokenizers library would misread one such string."""
    if not merges or isinstance(merges[0], str):
        return merges
    if any(" " in left or " " in right or left.startswith("#version") for left, right in merges):
        return merges
    return [f"{left} {right}" for left, right in merges]

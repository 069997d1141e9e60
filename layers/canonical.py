"""The one form in which a layer holds a tokenizer.json, so that its bytes are the same whatever the source.

Merges are strings, which load faster and in less memory than pairs. What would only cut, pad or add to a count is left
out, and what has no bearing on ids (the decoder, offsets, a setting left unsaid or said by its default) has one
spelling: a repository's file and one made from a package's differ in such things.
"""

import json
from collections.abc import Iterable
from typing import Any

from layers.errors import SourceError

_BPE_DEFAULTS = {
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}


def canonical_tokenizer(data: bytes, added: Iterable[dict[str, Any]]) -> bytes:
    """A tokenizer.json in canonical form: compact, in a fixed order, `added` united with its own added tokens."""
    try:
        source = json.loads(data)
        document = {
            "version": source["version"],
            "truncation": None,
            "padding": None,
            "added_tokens": united(source["added_tokens"], added),
            "normalizer": _ordered(source["normalizer"]),
            "pre_tokenizer": _ordered(source["pre_tokenizer"]),
            "post_processor": None,
            "decoder": None,
            "model": _model(source["model"]),
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceError(f"tokenizer.json is not in the form this builder knows: {error!r}") from error
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def without_added_tokens(data: bytes) -> bytes:
    """The same tokenizer.json with no added token."""
    try:
        return json.dumps(json.loads(data) | {"added_tokens": []}, ensure_ascii=False).encode()
    except (ValueError, TypeError) as error:
        raise SourceError(f"tokenizer.json is not in the form this builder knows: {error!r}") from error


def united(own: Iterable[dict[str, Any]], added: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The added tokens of both, by id; raises SourceError where they disagree about one."""
    tokens = {token["id"]: token for token in own}
    for token in added:
        if tokens.setdefault(token["id"], token) != token:
            raise SourceError(f"the manifest and tokenizer.json disagree about the added token {token['id']}")
    return [_ordered(tokens[number]) for number in sorted(tokens)]


def _ordered(value: Any) -> Any:
    """The same value with the keys of its objects in order, `type` first, and without the request for offsets."""
    if isinstance(value, dict):
        ordered = {key: _ordered(value[key]) for key in sorted(value, key=lambda key: (key != "type", key))}
        return ordered | ({"trim_offsets": False} if "trim_offsets" in ordered else {})
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _model(model: dict[str, Any]) -> dict[str, Any]:
    own = {key: value for key, value in model.items() if key not in ("vocab", "merges") and value != ""}
    small = _ordered(_BPE_DEFAULTS | own if model.get("type") == "BPE" else own)
    vocab = dict(sorted(model["vocab"].items(), key=lambda item: item[1]))
    return {**small, "vocab": vocab, "merges": merges_as_strings(model["merges"])}


def merges_as_strings(merges: list[Any]) -> list[Any]:
    """Merges as "left right", or left as pairs where the tokenizers library would misread one such string."""
    if not merges or isinstance(merges[0], str):
        return merges
    if any(" " in left or " " in right or left.startswith("#version") for left, right in merges):
        return merges
    return [f"{left} {right}" for left, right in merges]

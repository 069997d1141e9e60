"""A tokenizer.json from tiktoken's ranks: the merges, which ranks leave out, are recovered from them.

A token's merge is what byte-pair merging makes of its bytes when the token itself is barred: the last two parts.
"""

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any

from layers.downloads import sha256
from layers.errors import BuildError
from layers.manifest import TiktokenRanks

_NEVER = 1 << 62


def tokenizer_from_ranks(data: bytes, spec: TiktokenRanks, added: Iterable[dict[str, Any]]) -> bytes:
    """tokenizer.json as the model's makers publish it; raises BuildError unless it comes out bit for bit."""
    ranks = read_ranks(data)
    spelled = _spelling()
    text = {token: token.decode("latin-1").translate(spelled) for token in ranks}
    vocab = {text[token]: rank for token, rank in ranks.items()}
    merges = [(text[left], text[right]) for left, right in recovered_merges(ranks)]
    lines = "".join(f"{left} {right}\n" for left, right in merges).removesuffix("\n")
    document = _document(spec, vocab, merges, list(added))
    _check("vocab.json", json.dumps(vocab, ensure_ascii=False, indent=4).encode(), spec.vocab_sha256)
    _check("merges.txt", f"{lines}\n".encode(), spec.merges_sha256)
    made = json.dumps(document, ensure_ascii=False, indent=2).encode()
    _check("tokenizer.json", made, spec.tokenizer_sha256)
    return made


def read_ranks(data: bytes) -> dict[bytes, int]:
    """Token to rank, in rank order, from lines of base64 and number."""
    words = data.split()
    try:
        pairs = zip(words[::2], words[1::2], strict=True)
        ranks = {base64.b64decode(token, validate=True): int(rank) for token, rank in pairs}
    except (binascii.Error, ValueError) as error:
        raise BuildError(f"the ranks are not in tiktoken's form: {error}") from error
    return dict(sorted(ranks.items(), key=lambda item: item[1]))


def recovered_merges(ranks: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The merges in rank order; a token that merging cannot reach has none."""
    merges = []
    for token in ranks:
        parts = _two_parts(token, ranks) if len(token) > 1 else []
        if len(parts) == 2:
            merges.append((parts[0], parts[1]))
    return merges


def _two_parts(token: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """Merge the pair of lowest rank until two parts are left (so the token itself is barred) or no pair has one."""
    rank = ranks.get
    parts = [token[at : at + 1] for at in range(len(token))]
    pairs = [rank(token[at : at + 2], _NEVER) for at in range(len(token) - 1)]
    while len(parts) > 2:
        lowest = min(pairs)
        if lowest == _NEVER:
            break
        at = pairs.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del pairs[at]
        if at > 0:
            pairs[at - 1] = rank(parts[at - 1] + parts[at], _NEVER)
        if at < len(pairs):
            pairs[at] = rank(parts[at] + parts[at + 1], _NEVER)
    return parts


def _spelling() -> dict[int, int]:
    """GPT-2's alphabet: a byte that prints stands for itself, the others for the characters from U+0100 on."""
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [byte for byte in range(256) if byte not in printing]
    return {byte: 0x100 + place for place, byte in enumerate(hidden)}


def _document(
    spec: TiktokenRanks, vocab: dict[str, int], merges: list[tuple[str, str]], added: list[dict[str, Any]]
) -> dict[str, Any]:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": spec.split}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": spec.normalizer},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": merges,
        },
    }


def _check(file: str, made: bytes, digest: str) -> None:
    if (got := sha256(made)) != digest:
        raise BuildError(f"{file} made from the ranks is not the published one: expected SHA-256 {digest}, got {got}")

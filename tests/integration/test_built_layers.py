"""The project's own layer, from real files: the same bytes whatever the source, the same ids as the published file."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from layers.manifest import HubSource, Packaged, PackageSource, read_manifest
from tests.support.hub import StandInHub
from tests.support.layers import ROOT, Project, digest, published, tiny_tokenizer

LAYER = "qwen3.5-9b"
MANIFEST = ROOT / "layers" / LAYER / "manifest.toml"
MODEL = ROOT / ".build" / "layers" / LAYER / "model"
TEXTS = [
    "How many tokens is this?",
    "<|im_start|>system\nYou are a concise assistant.<|im_end|>\n<|im_start|>assistant\n<think>\n",
    "I'm, they'LL, it'S  two   spaces\t\ttabs\r\n\r\nlines\n \n",
    "def f(x):\n    return {'a': [1, 22, 333, 4444]}  # комментарий\n",
    "你好，世界！これはテストです。안녕하세요 สวัสดี नमस्ते مرحبا שלום",
    "e\u0301 é n\u0303 \u1100\u1161\u11a8 \u0345 ﬁ Ⅷ ① ａｂｃ ½",
    "👩‍👩‍👧‍👦 🏳️‍🌈 \u200b\u200d\ufeff \U0001f468 \u00ad \x7f \x00 \ud7ff",
    "<|image_pad|><|vision_start|><tts_pad><|audio_pad|><tool_call></tool_call><|file_sep|> <|im_end",
    "https://example.com/?q=a%20b&c=d#e -- 3.14159e-10 0xDEADBEEF __init__ a_b-c.d/e\\f",
    "ⵣⴰⵎ 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𓀀𓁐 ᚠᚢᚦ ঌ ൠ ꧁꧂ ßẞ İı ǅ",
    " " * 300 + "\n" * 40 + "a" * 300 + "=-" * 100,
    "",
]


@pytest.fixture(scope="module")
def canonical() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((MODEL / "tokenizer.json").read_bytes())
    return document


@pytest.fixture(scope="module")
def with_pairs(canonical: dict[str, Any]) -> bytes:
    """The published tokenizer.json again, out of the canonical one and what that leaves out."""
    document = in_published_order(canonical)
    byte_level = document["pre_tokenizer"]["pretokenizers"][1]
    document |= {"post_processor": byte_level, "decoder": byte_level}
    document["model"] |= {"continuing_subword_prefix": "", "end_of_word_suffix": ""}
    document["model"]["merges"] = [merge.split(" ") for merge in document["model"]["merges"]]
    return published(document)


def in_published_order(canonical: dict[str, Any]) -> dict[str, Any]:
    """The same document with its keys in the order in which models of this kind are published."""
    order = tiny_tokenizer()
    split, byte_level = canonical["pre_tokenizer"]["pretokenizers"]
    split = {key: split[key] for key in order["pre_tokenizer"]["pretokenizers"][0]}
    return canonical | {
        "added_tokens": [{key: token[key] for key in order["added_tokens"][0]} for token in canonical["added_tokens"]],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "model": {key: canonical["model"][key] for key in order["model"]},
    }


def test_the_canonical_form_has_lost_nothing_of_the_published_tokenizer(with_pairs: bytes) -> None:
    (spec,) = [
        recipe.tiktoken_ranks
        for source in read_manifest(MANIFEST).sources
        if isinstance(source, PackageSource)
        for recipe in source.files.values()
        if isinstance(recipe, Packaged) and recipe.tiktoken_ranks
    ]
    assert digest(with_pairs) == spec.tokenizer_sha256


def test_the_canonical_form_gives_the_same_ids_as_the_published_tokenizer(with_pairs: bytes) -> None:
    ours = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    theirs = Tokenizer.from_str(with_pairs.decode())
    texts = [*TEXTS, "".join(TEXTS), *(chr(block) + chr(block + 7) + " x" for block in range(0x20, 0xD800, 16))]
    for mine, other in zip(encoded(ours, texts), encoded(theirs, texts), strict=True):
        assert mine == other


def encoded(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]


def test_hub_and_registry_packages_give_the_same_bytes(tmp_path: Path, canonical: dict[str, Any]) -> None:
    from_hub = built_from_hub(tmp_path, canonical)
    project = Project(tmp_path / "pypi")
    project.layer(LAYER, MANIFEST.read_text())
    for variable in ("XDG_CACHE_HOME", "PIP_CONFIG_FILE", "PIP_NO_INDEX", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        del project.env[variable]
    done = project.build("--source", "pypi")
    if "pip cannot" in done.stderr:
        pytest.skip(f"the packages are neither kept nor to be had: {done.stderr}")
    assert done.returncode == 0, done.stderr
    assert project.built(LAYER) == from_hub


def built_from_hub(tmp_path: Path, canonical: dict[str, Any]) -> dict[str, bytes]:
    """Build from a stand-in hub with the real manifest, but for the digest of the tokenizer.json that is served.

    It is written as the hub's own is: merges as strings, and only the 26 added tokens that the hub's file has.
    """
    served = published(in_published_order(canonical | {"added_tokens": canonical["added_tokens"][:26]}))
    files = {path.name: path.read_bytes() for path in MODEL.iterdir()} | {"tokenizer.json": served}
    hub = next(source for source in read_manifest(MANIFEST).sources if isinstance(source, HubSource))
    project = Project(tmp_path / "hub")
    project.layer(LAYER, MANIFEST.read_text().replace(hub.originals["tokenizer.json"], digest(served)))
    with StandInHub(hub.repo, hub.revision, files).running() as stand_in:
        project.env["HF_ENDPOINT"] = stand_in.url
        done = project.build("--source", "hub")
    assert (done.returncode, done.stderr) == (0, "")
    return project.built(LAYER)

"""The project's own layers, from real files: the same bytes whatever the source, the same ids as the published file."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from layers.engine_check import installed_engine
from layers.manifest import Packaged, PackageSource, read_manifest
from tests.support.hub import StandInHub
from tests.support.hub_models import hub_files_of, hub_of, in_published_order, manifest_of
from tests.support.layers import ROOT, Project, digest, published
from tests.support.served import LAYERS

LAYER = "qwen3.5-9b"
MODELS_TABLE = (ROOT / "docs" / "models.md").read_text("utf-8")
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


@pytest.mark.parametrize("name", LAYERS)
def test_the_hub_gives_the_same_bytes_as_the_source_that_the_layer_was_built_from(tmp_path: Path, name: str) -> None:
    from_hub, built = built_from_hub(tmp_path, name), ROOT / ".build" / "layers" / name / "model"
    for file in manifest_of(name).files:
        assert from_hub[file] == (built / file).read_bytes()


@pytest.mark.parametrize("name", LAYERS)
def test_the_build_found_the_fast_engine_exact_and_wrote_down_its_version(name: str) -> None:
    described = json.loads((ROOT / ".build" / "layers" / name / "model" / "model.json").read_bytes())
    assert described["fast_engine"] == installed_engine() is not None


def test_the_documented_models_are_those_there_are_with_their_revisions() -> None:
    rows = re.findall(r"^\| `(b3os/.*?)` \| ([\d,]+) \|.*\| `layers/(.*?)` \| `(.*?)` \|$", MODELS_TABLE, re.MULTILINE)
    assert [layer for _, _, layer, _ in rows] == LAYERS
    for model, context, layer, revision in rows:
        manifest = manifest_of(layer)
        assert (model, context) == (manifest.id, f"{manifest.context_length:,}")
        lines = "".join(f"{file} {manifest.files[file]}\n" for file in sorted(manifest.files))
        assert revision == digest(lines.encode())[:16]


@pytest.mark.parametrize("name", [name for name in LAYERS if name != LAYER])
def test_the_tokenizer_is_the_hubs_own_to_the_byte(name: str) -> None:
    assert digest(hub_files_of(name)["tokenizer.json"]) == hub_of(name).originals["tokenizer.json"]


def use_the_machines_own_registries(project: Project) -> None:
    for variable in ("XDG_CACHE_HOME", "PIP_CONFIG_FILE", "PIP_NO_INDEX", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        del project.env[variable]
    del project.env["npm_config_registry"]


def built_from_hub(tmp_path: Path, name: str) -> dict[str, bytes]:
    """Build from a stand-in hub with the real manifest, but for the digest of the tokenizer.json that is served.

    Only of Qwen's is the hub's own form not known to the byte.
    """
    hub, files = hub_of(name), hub_files_of(name)
    project = Project(tmp_path / "hub")
    manifest = (ROOT / "layers" / name / "manifest.toml").read_text()
    project.layer(name, manifest.replace(hub.originals["tokenizer.json"], digest(files["tokenizer.json"])))
    if any(isinstance(recipe, Packaged) for recipe in hub.files.values()):
        use_the_machines_own_registries(project)
    with StandInHub(hub.repo, hub.revision, files).running() as stand_in:
        project.env["HF_ENDPOINT"] = stand_in.url
        done = project.build("--source", "hub")
    assert (done.returncode, done.stderr) == (0, "")
    return project.built(name)

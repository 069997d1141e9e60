"""A small project with one tiny model, whose layer a copy of the real builder can make from every kind of source."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.packages import npm_tarball, wheel

ROOT = Path(__file__).resolve().parents[2]
REVISION = "0123456789abcdef0123456789abcdef01234567"
TEMPLATE = b"{% for message in messages %}{{ message.content }}{% endfor %}"
PROCESSOR = b'{\n    "patch_size": 16\n}'
# Every token of the tiny vocabulary, in rank order; nothing merges to "xyz".
TOKENS = [b"l", b"o", b"h", b"e", b"x", b"y", b"z", b" ", b"he", b"ll", b"hell", b"hello", b"xyz", b" hello"]
MERGES = [("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o"), ("Ġ", "hello")]
ADDED = ["<end>", "<tool>"]


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def tiny_tokenizer(*, merges: list[Any] | None = None, added: int = 2) -> dict[str, Any]:
    """The tiny model's tokenizer.json, with merges as pairs unless told otherwise."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    first = len(TOKENS)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": " ?\\w+"}, "behavior": "Isolated", "invert": False}
    tokens = [{"id": first + at, "content": text, **flags, "special": at == 0} for at, text in enumerate(ADDED[:added])]
    vocab = {token.decode().replace(" ", "Ġ"): rank for rank, token in enumerate(TOKENS)}
    empty = {"dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": ""}
    model = {"type": "BPE", **empty, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": tokens,
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {**model, "vocab": vocab, "merges": MERGES if merges is None else merges},
    }


def published(document: dict[str, Any]) -> bytes:
    """A document in the form in which models are published."""
    return json.dumps(document, ensure_ascii=False, indent=2).encode()


def canonical_tiny() -> bytes:
    """The tiny tokenizer.json as a layer holds it, spelled out."""
    return "".join(
        line.strip()
        for line in """
        {"version":"1.0","truncation":null,"padding":null,"added_tokens":[
        {"content":"<end>","id":14,"lstrip":false,"normalized":false,"rstrip":false,"single_word":false,"special":true},
        {"content":"<tool>","id":15,"lstrip":false,"normalized":false,"rstrip":false,"single_word":false,"special":false}],
        "normalizer":{"type":"NFC"},
        "pre_tokenizer":{"type":"Sequence","pretokenizers":[
        {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":" ?\\\\w+"}},
        {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false}]},
        "post_processor":null,
        "decoder":null,
        "model":{"type":"BPE","byte_fallback":false,"continuing_subword_prefix":null,"dropout":null,
        "end_of_word_suffix":null,"fuse_unk":false,"ignore_merges":false,"unk_token":null,
        "vocab":{"l":0,"o":1,"h":2,"e":3,"x":4,"y":5,"z":6,"Ġ":7,"he":8,"ll":9,"hell":10,"hello":11,"xyz":12,"Ġhello":13},
        "merges":["h e","l l","he ll","hell o","Ġ hello"]}}
        """.splitlines()
    ).encode()


def hub_files() -> dict[str, bytes]:
    """The tiny model as its hub repository would hold it: one added token short, merges as strings."""
    tokenizer = tiny_tokenizer(merges=[f"{left} {right}" for left, right in MERGES], added=1)
    return {
        "tokenizer.json": published(tokenizer),
        "chat_template.jinja": TEMPLATE,
        "preprocessor_config.json": PROCESSOR,
    }


def ranks() -> bytes:
    """The tiny vocabulary in tiktoken's form."""
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(TOKENS))


def tiny_wheel() -> bytes:
    """The package that the tiny manifest takes its ranks and its template from."""
    templates = json.dumps([{"chat_template": TEMPLATE.decode()}]).encode()
    return wheel("tiny-model", {"tiny/ranks.tiktoken": ranks(), "tiny/models.json": templates})


def tiny_tarball() -> bytes:
    """The npm package that the tiny manifest takes its tokenizer from."""
    return npm_tarball("@tiny/tokenizer", {"models/tokenizer.json": published(tiny_tokenizer())})


MANIFEST = """
id = "test/tiny"
context_length = 100
max_request_bytes = 1000
[template]
content = "strings"
reasoning_key = "thinking"
[files]
"tokenizer.json" = "{canonical}"
"chat_template.jinja" = "{template}"
"preprocessor_config.json" = "{processor}"
[tokenizer]
first_added_id = 14
added_tokens = ["<end>", "<tool>"]
not_special = ["<tool>"]
[[sources]]
name = "hub"
repo = "test/tiny"
revision = "{revision}"
originals = {{ "tokenizer.json" = "{original}" }}
[[sources]]
name = "pypi"
[sources.files."tokenizer.json"]
pypi = "tiny-model==1.0"
sha256 = "{wheel}"
member = "tiny/ranks.tiktoken"
[sources.files."tokenizer.json".tiktoken_ranks]
normalizer = "NFC"
split = ' ?\\w+'
vocab_sha256 = "{vocab}"
merges_sha256 = "{merges}"
tokenizer_sha256 = "{pairs}"
[sources.files."chat_template.jinja"]
pypi = "tiny-model==1.0"
sha256 = "{wheel}"
member = "tiny/models.json"
json_path = [0, "chat_template"]
[sources.files."preprocessor_config.json".json]
patch_size = 16
[[sources]]
name = "npm"
[sources.files."tokenizer.json"]
npm = "@tiny/tokenizer@1.0.0"
sha256 = "{tarball}"
member = "models/tokenizer.json"
[sources.files."chat_template.jinja"]
pypi = "tiny-model==1.0"
sha256 = "{wheel}"
member = "tiny/models.json"
json_path = [0, "chat_template"]
[sources.files."preprocessor_config.json".json]
patch_size = 16
[[sources]]
name = "folder"
path = "files"
"""


def tiny_manifest() -> str:
    """A manifest with all four kinds of source."""
    lines = "\n".join(f"{left} {right}" for left, right in MERGES) + "\n"
    return MANIFEST.format(
        revision=REVISION,
        canonical=digest(canonical_tiny()),
        template=digest(TEMPLATE),
        processor=digest(PROCESSOR),
        original=digest(hub_files()["tokenizer.json"]),
        wheel=digest(tiny_wheel()),
        tarball=digest(tiny_tarball()),
        vocab=digest(json.dumps(tiny_tokenizer()["model"]["vocab"], ensure_ascii=False, indent=4).encode()),
        merges=digest(lines.encode()),
        pairs=digest(published(tiny_tokenizer())),
    )


@dataclass
class Project:
    """A project in a temporary folder; `env` is what its builder is run with besides the test's own environment.

    The builder finds no fast engine in it: to compare one over thousands of strings would be most of a build's time.
    """

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.root / "layers").mkdir(parents=True)
        for path in (ROOT / "layers").glob("*.py"):
            shutil.copy(path, self.root / "layers")
        hides = self.root / "hides" / "tokencount"
        hides.mkdir(parents=True)
        (hides / "__init__.py").touch()
        # No cache, token or registry but those of the test.
        self.env = {
            "PYTHONPATH": str(hides.parent),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "HF_HOME": str(self.root / "hf"),
            "HF_ENDPOINT": "http://127.0.0.1:9",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_EXTRA_INDEX_URL": "",
            "PIP_FIND_LINKS": str(self.root / "wheels"),
            "npm_config_registry": "http://127.0.0.1:9/",
            **self.env,
        }

    def layer(self, name: str = "tiny", manifest: str | None = None) -> Path:
        """Add a model's folder."""
        folder = self.root / "layers" / name
        folder.mkdir()
        (folder / "manifest.toml").write_text(manifest or tiny_manifest(), encoding="utf-8")
        return folder

    def local_files(self, name: str = "tiny") -> Path:
        """Put the hub's files where the manifest's folder source looks."""
        folder = self.root / "layers" / name / "files"
        folder.mkdir()
        for file, data in hub_files().items():
            (folder / file).write_bytes(data)
        return folder

    def model(self, name: str = "tiny") -> Path:
        """Where the built layer is."""
        return self.root / ".build" / "layers" / name / "model"

    def built(self, name: str = "tiny") -> dict[str, bytes]:
        """The built layer's files."""
        return {path.name: path.read_bytes() for path in self.model(name).iterdir()}

    def build(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the project's builder by its path, from another folder, as its users do."""
        command = [sys.executable, str(self.root / "layers" / "build.py"), *arguments]
        env = {key: value for key, value in os.environ.items() if not key.startswith("HF_")} | self.env
        done = subprocess.run(command, env=env, cwd="/", capture_output=True, text=True, timeout=120, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done

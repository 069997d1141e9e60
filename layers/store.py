"""Built layers on disk: put in place whole, recognised as up to date, and listed for the edge.

A built layer is a folder with `model` (what is deployed) and `stamp.json` (what it was made from).
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from layers.downloads import sha256, write_atomically
from layers.engine_check import admitted_engine, installed_engine
from layers.manifest import Manifest


class Store:
    """The folder of built layers; `builder` is the folder of the builder's own sources, a change of which rebuilds."""

    def __init__(self, folder: Path, builder: Path) -> None:
        self.folder = folder
        self._builder = hashlib.sha256(b"".join(sorted(_digest(path) for path in builder.glob("*.py")))).hexdigest()

    def model(self, name: str) -> Path:
        """Where a layer's deployed files are."""
        return self.folder / name / "model"

    def source_of(self, name: str, manifest: Path) -> str | None:
        """The source an up-to-date layer was built from; None where it is missing, old or damaged."""
        try:
            stamp = json.loads((self.folder / name / "stamp.json").read_bytes())
            made = {path.name: sha256(path.read_bytes()) for path in self.model(name).iterdir()}
        except (OSError, ValueError):
            return None
        fresh = stamp["made_from"] == self._made_from(manifest) and stamp["files"] == made
        return str(stamp["source"]) if fresh else None

    def put(self, name: str, manifest_path: Path, manifest: Manifest, files: dict[str, bytes], source: str) -> str:
        """Put a layer in place, all its files at once; returns its tokenizer revision."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=self.folder) as temporary:
            new, old = Path(temporary, "new"), Path(temporary, "old")
            for file, data in files.items():
                write_atomically(new / "model" / file, data)
            described = describe(manifest, files, admitted_engine(new / "model" / "tokenizer.json"))
            description = (json.dumps(described, ensure_ascii=False, indent=2) + "\n").encode()
            write_atomically(new / "model" / "model.json", description)
            digests = _digests({**files, "model.json": description})
            stamp = {"source": source, "made_from": self._made_from(manifest_path), "files": digests}
            write_atomically(new / "stamp.json", json.dumps(stamp, indent=2).encode())
            if (self.folder / name).exists():
                (self.folder / name).rename(old)
            new.rename(self.folder / name)
        return str(described["tokenizer_revision"])

    def _made_from(self, manifest: Path) -> str:
        # A change of the engine too: what was checked is one version.
        return hashlib.sha256(f"{_digest(manifest).hex()} {self._builder} {installed_engine()}".encode()).hexdigest()


def describe(manifest: Manifest, files: dict[str, bytes], fast_engine: str | None) -> dict[str, Any]:
    """A layer's model.json; `fast_engine` is the one that was found to be exact."""
    digests = _digests(files)
    lines = "".join(f"{file} {digest}\n" for file, digest in sorted(digests.items()))
    return {
        "id": manifest.id,
        "context_length": manifest.context_length,
        "max_request_bytes": manifest.max_request_bytes,
        "tokenizer_revision": sha256(lines.encode())[:16],
        "digests": digests,
        "template": manifest.template.model_dump(),
        "image": manifest.image,
        "endpoint": manifest.endpoint,
        "fast_engine": fast_engine,
    }


def write_models(path: Path, layers: Iterable[Path]) -> None:
    """Write the list of served models, which the edge reads, from the layers' model.json files."""
    described = [json.loads((layer / "model.json").read_bytes()) for layer in layers]
    listed = {model["id"]: _listed(model) for model in sorted(described, key=lambda model: str(model["id"]))}
    data = (json.dumps(listed, ensure_ascii=False, indent=2) + "\n").encode()
    if not path.exists() or path.read_bytes() != data:
        write_atomically(path, data)


def _listed(model: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": model["id"],
        "object": "model",
        "context_length": model["context_length"],
        "max_request_bytes": model["max_request_bytes"],
        "vision": model["image"] is not None,
        "tokenizer_revision": model["tokenizer_revision"],
        "digests": model["digests"],
    }


def _digests(files: dict[str, bytes]) -> dict[str, str]:
    return {file: sha256(files[file]) for file in sorted(files)}


def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()

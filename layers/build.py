"""Builds the layers of the models: `python -m layers.build [NAME…] [--source …] [--out DIR] [--models-json PATH]`.

One builder for all models. It fetches what a manifest pins, verifies it, and writes `.build/layers/<name>/model` and
the list of models that the edge reads. What is up to date is left alone; a model whose files cannot be had is left out.
"""

import argparse
import errno
import fcntl
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if not __package__:  # called by its path, as the makefiles that SAM runs do
    sys.path[0] = str(ROOT)

from layers.downloads import Downloads  # noqa: E402
from layers.errors import BuildError, SourceError  # noqa: E402
from layers.manifest import FolderSource, Manifest, Source, read_manifest  # noqa: E402
from layers.sources import files_from  # noqa: E402
from layers.store import Store, write_models  # noqa: E402

SOURCES = ("hub", "pypi", "npm", "folder")


def main(arguments: list[str], root: Path = ROOT, environ: Mapping[str, str] = os.environ) -> int:
    """Build what the command line asks for, leaving out a layer that fails; returns 0 unless all of them do."""
    options = _options(arguments)
    builder = Builder(root, Downloads.from_env(environ), options.source)
    try:
        names = builder.chosen(options.names)
        results = [_attempt(builder, name, alone=len(names) == 1) for name in names]
        # A single layer's build, by SAM, chooses no models.
        listed = builder.built([] if options.out else options.names)
        write_models(options.models_json or root / "functions" / "edge" / "models.json", listed)
        if options.out and all(results):
            builder.copy(names[0], options.out)
    except (BuildError, OSError) as error:
        return _fail(error, "layers")
    return 0 if any(results) else 1


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m layers.build", description="Builds the layers of the models.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="folders under layers/ (default: all with a manifest)")
    parser.add_argument("--source", metavar="|".join(SOURCES), help="one source only; folder=PATH names the folder")
    parser.add_argument("--out", type=Path, metavar="DIR", help="copy the one NAME's model folder into DIR as well")
    parser.add_argument("--models-json", type=Path, metavar="PATH", help="where to write the list of models")
    options = parser.parse_args(arguments)
    if options.out and len(options.names) != 1:
        parser.error("--out takes exactly one NAME")
    kind, equals, path = (options.source or "").partition("=")
    if options.source and (kind not in SOURCES or (equals and (kind != "folder" or not path))):
        parser.error(f"--source is one of {', '.join(SOURCES)} and folder=PATH, not {options.source!r}")
    return options


def _attempt(builder: "Builder", name: str, *, alone: bool) -> bool:
    try:
        builder.build(name)
    except (BuildError, OSError) as error:
        return _fail(error, name if alone else f"{name} is left out") == 0
    return True


def _fail(error: BuildError | OSError, what: str) -> int:
    reason = str(error)
    if isinstance(error, OSError):
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = f"{'the disk is full' if full else error.strerror or error}: {error.filename}"
    print(f"{what}: {reason}", file=sys.stderr, flush=True)
    return 1


class Builder:
    """Builds single layers; `source` is the only one to try, as the command line names it."""

    def __init__(self, root: Path, downloads: Downloads, source: str | None) -> None:
        self._layers = root / "layers"
        self._downloads = downloads
        self._source = source
        self.store = Store(root / ".build" / "layers", builder=Path(__file__).parent)

    def chosen(self, names: list[str]) -> list[str]:
        """The layers to build; raises BuildError for a name that is none."""
        known = sorted(path.parent.name for path in self._layers.glob("*/manifest.toml"))
        if unknown := [name for name in names if name not in known]:
            raise BuildError(f"there is no layers/{unknown[0]}/manifest.toml; there are: {', '.join(known)}")
        return names or known

    def built(self, names: list[str]) -> list[Path]:
        """The model folders of those layers, or of all, that are built and up to date."""
        chosen = self.chosen(names)
        return [self.store.model(name) for name in chosen if self.store.source_of(name, self._path(name))]

    def copy(self, name: str, destination: Path) -> None:
        """Copy a built layer's model folder into another folder."""
        with _locked(self.store.folder):
            shutil.copytree(self.store.model(name), destination / "model", dirs_exist_ok=True)

    def build(self, name: str) -> None:
        """Build one layer unless it is up to date; raises BuildError or OSError."""
        with _locked(self.store.folder):
            made_from = self.store.source_of(name, self._path(name))
            if made_from is not None and self._source in (None, made_from):
                print(f"{name}: up to date", flush=True)
                return
            manifest = read_manifest(self._path(name))
            files, source = self._first_that_answers(name, manifest)
            revision = self.store.put(name, self._path(name), manifest, files, source)
        print(f"{name}: built from {source}, revision {revision}", flush=True)

    def _first_that_answers(self, name: str, manifest: Manifest) -> tuple[dict[str, bytes], str]:
        said = []
        for source in self._sources(manifest):
            label = self._source or source.name
            print(f"{name}: building from {label}", flush=True)
            try:
                return files_from(source, manifest, self._path(name).parent, self._downloads), label
            except SourceError as error:
                said.append(f"{label}: {error}")
                print(f"  {error}", flush=True)
        raise BuildError(f"no source gave the files ({'; '.join(said)})")

    def _sources(self, manifest: Manifest) -> list[Source]:
        kind, _, path = (self._source or "").partition("=")
        if path:
            return [FolderSource(name="folder", path=str(Path(path).resolve()))]
        sources = [source for source in manifest.sources if kind in ("", source.name)]
        if not sources:
            raise BuildError(f"the manifest has no source {kind}")
        return sources

    def _path(self, name: str) -> Path:
        return self._layers / name / "manifest.toml"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One builder at a time: SAM and a test run may start several."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)

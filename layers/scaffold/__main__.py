"""Scaffolds a model: `python -m layers.scaffold ID org/name|FOLDER [--context TOKENS]`.

Writes `layers/<name>` with a manifest whose digests are pinned and whose rules were found by asking the model's own
template, and prints the lines to add to template.yaml. What it cannot find out it says.
"""

import argparse
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from layers.downloads import Downloads, write_atomically
from layers.errors import BuildError
from layers.scaffold.model import Scaffold, scaffold
from layers.scaffold.repository import Folder, Hub, Repository
from layers.scaffold.text import template_lines

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str], root: Path = ROOT, environ: Mapping[str, str] = os.environ) -> int:
    """Scaffold the model that the command line names; returns the exit code."""
    options = _options(arguments)
    folder = root / "layers" / options.id.partition("/")[2]
    try:
        if folder.exists():
            raise BuildError(f"there is a layers/{folder.name} already")
        repository = _repository(options.source, Downloads.from_env(environ))
        found = scaffold(options.id, repository, options.context)
        lines = template_lines((root / "template.yaml").read_text("utf-8"), options.id, folder.name)
        _write(folder, found, keep=isinstance(repository, Folder))
    except (BuildError, OSError) as error:
        print(f"{options.id}: {error}", file=sys.stderr)
        return 1
    print(f"wrote layers/{folder.name}")
    for note in found.notes:
        print(f"note: {note}")
    for place, text in lines.items():
        print(f"\n# template.yaml, {place}:\n{text}", end="")
    print(f"\nThen: make layers MODELS={folder.name}; docs/models.md tells how to make sure of the count.")
    return 0


def _write(folder: Path, found: Scaffold, *, keep: bool) -> None:
    """The layer's folder, with the makefile of the others; `keep`: and with the files themselves, which git ignores."""
    makefile = next(folder.parent.glob("*/manifest.toml")).with_name("Makefile")
    for file, data in found.files.items() if keep else ():
        write_atomically(folder / "files" / file, data)
    folder.mkdir(exist_ok=True)
    shutil.copy(makefile, folder)
    (folder / "manifest.toml").write_text(found.manifest, encoding="utf-8")


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m layers.scaffold", description="Scaffolds a model.")
    parser.add_argument("id", metavar="ID", help="its name in requests, as b3os/some-model-7b")
    parser.add_argument("source", metavar="org/name|FOLDER", help="a repository of the hub, or a folder with its files")
    parser.add_argument(
        "--context", type=int, metavar="TOKENS", help="context length, where its configuration is silent"
    )
    options = parser.parse_args(arguments)
    if not re.fullmatch(r"[\w.-]+/[A-Za-z0-9_][\w.-]*", options.id):
        parser.error(f"ID is an owner and a name, as b3os/some-model-7b, not {options.id!r}")
    return options


def _repository(source: str, downloads: Downloads) -> Repository:
    if Path(source).is_dir():
        return Folder(Path(source))
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", source):
        raise BuildError(f"{source} is neither a folder nor a repository's name (org/name)")
    return Hub(source, downloads)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

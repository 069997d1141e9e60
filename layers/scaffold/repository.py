"""A model's files as a hub repository or a folder holds them, and how a manifest names that place."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from layers.downloads import Downloads, sha256
from layers.errors import BuildError, MissingFileError
from layers.hub import fetch_from_hub, newest_commit
from layers.manifest import HubSource


class Repository(Protocol):
    """Where a model's files are."""

    def read(self, file: str) -> bytes | None:
        """A file; None where there is none of that name."""

    def source(self) -> dict[str, Any] | None:
        """The manifest's table for this source, without digests; None where the files are to be kept instead."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder with a repository's files."""

    path: Path

    def read(self, file: str) -> bytes | None:
        """A file; None where there is none of that name."""
        path = self.path / file
        return path.read_bytes() if path.exists() else None

    def source(self) -> None:
        """No table: the folder is this machine's own, so the layer keeps copies of its files."""


@dataclass(frozen=True, slots=True)
class Hub:
    """A repository of the hub, at the commit where its main branch stands. What is read is kept for the builder."""

    repo: str
    downloads: Downloads
    revision: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "revision", newest_commit(self.repo))

    def read(self, file: str) -> bytes | None:
        """A file; None where the repository has none of that name. Raises SourceError where it cannot be had."""
        try:
            data = fetch_from_hub(HubSource(name="hub", repo=self.repo, revision=self.revision), file)
        except MissingFileError:
            return None
        return self.downloads.put(data, sha256(data), file=file, source=self.repo)

    def source(self) -> dict[str, Any]:
        """The manifest's table for this source, without digests."""
        return {"name": "hub", "repo": self.repo, "revision": self.revision}


def read_json(repository: Repository, file: str) -> dict[str, Any]:
    """An object in a JSON file; empty where there is no such file. Raises BuildError where it holds no object."""
    data = repository.read(file)
    if data is None:
        return {}
    try:
        value = json.loads(data)
    except ValueError as error:
        raise BuildError(f"{file} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BuildError(f"{file} holds no JSON object")
    return value

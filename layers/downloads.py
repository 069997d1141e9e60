"""Downloads kept by their SHA-256, so that nothing is fetched twice and nothing unverified is ever used."""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from layers.errors import DigestError


def sha256(data: bytes) -> str:
    """The SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def write_atomically(path: Path, data: bytes) -> None:
    """Put a file in place whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        error.filename = str(path)  # a write that fails does not say where
        raise
    finally:
        Path(temporary).unlink(missing_ok=True)


class Downloads:
    """A folder of verified files, named by their digests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Downloads":
        """The user's own cache, as the XDG rules place it."""
        cache = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return cls(Path(cache) / "tokencount" / "downloads")

    def get(self, digest: str) -> bytes | None:
        """The file of that digest, or None; one that was damaged is thrown away."""
        path = self.folder / digest
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        if sha256(data) == digest:
            return data
        path.unlink(missing_ok=True)
        return None

    def put(self, data: bytes, digest: str, *, file: str, source: str) -> bytes:
        """Keep a file that was downloaded; raises DigestError where it is another than the pinned one."""
        if (got := sha256(data)) != digest:
            raise DigestError(file, source, digest, got)
        write_atomically(self.folder / digest, data)
        return data

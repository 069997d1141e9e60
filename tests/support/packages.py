"""Packages as registries hold them, the same bytes every time they are made."""

import gzip
import io
import json
import tarfile
import zipfile


def wheel(name: str, files: dict[str, bytes]) -> bytes:
    """A wheel of version 1.0 that pip takes."""
    info = f"{name.replace('-', '_')}-1.0.dist-info"
    described = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in (files | described).items():
            archive.writestr(zipfile.ZipInfo(path), data)
    return buffer.getvalue()


def npm_tarball(name: str, files: dict[str, bytes]) -> bytes:
    """A package of version 1.0.0 as npm registries hold it."""
    buffer = io.BytesIO()
    package = json.dumps({"name": name, "version": "1.0.0"}).encode()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for path, data in (files | {"package.json": package}).items():
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()

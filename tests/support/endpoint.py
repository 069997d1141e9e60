"""The endpoint as a process on loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

from local.port import claim
from tokencount.adapters.endpoint_protocol import REQUEST_ID_HEADER

SERVE = [sys.executable, "-m", "endpoint.serve", "serve"]


@dataclass
class EndpointProcess:
    """A running endpoint."""

    process: subprocess.Popen[str]
    port: int

    def ping(self) -> int | None:
        """The status of the health check, None while nobody listens."""
        try:
            return self._ask("GET", "/ping")[0]
        except OSError:
            return None

    def invoke(self, request: Any, request_id: str = "req_1") -> tuple[int, Any]:
        """Status and body of the answer to a request."""
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        status, answer = self._ask("POST", "/invocations", body, {REQUEST_ID_HEADER: request_id})
        return status, json.loads(answer)

    def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def wait_until_healthy(self) -> list[int | None]:
        """Waits for a 200; what the health check said until then."""
        said = [self.ping()]
        while said[-1] != 200:
            assert self.process.poll() is None, f"the endpoint ended: {self.process.communicate()}"
            time.sleep(0.02)
            if (status := self.ping()) != said[-1]:
                said.append(status)
        return said

    def terminate(self) -> tuple[int, str]:
        """The exit code after SIGTERM, and all that was logged."""
        self.process.send_signal(signal.SIGTERM)
        output, _ = self.process.communicate(timeout=60)
        return self.process.returncode, output


@contextmanager
def endpoint_process(command: Sequence[str], env: Mapping[str, str], *, wait: bool = True) -> Iterator[EndpointProcess]:
    """An endpoint with a port of its own, healthy unless told not to wait, and ended with the block."""
    with claim(0) as listener:
        port = listener.getsockname()[1]
    env = {**env, "BIND_HOST": "127.0.0.1", "SAGEMAKER_BIND_TO_PORT": str(port)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        endpoint = EndpointProcess(process, port)
        try:
            if wait:
                endpoint.wait_until_healthy()
            yield endpoint
        finally:
            process.kill()


def serving(model_dir: os.PathLike[str]) -> dict[str, str]:
    """The environment of an endpoint of this repository."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, "MODEL_DIR": os.fspath(model_dir), "PYTHONPATH": path}

"""A provisioned endpoint: the container's process, asked as SageMaker asks it, and what may go wrong with both."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import urllib3
from urllib3.exceptions import HTTPError

from local.errors import StackError
from local.port import HOST, claim
from local.process import needed_environment

LOADING_SECONDS = 300
# What SageMaker waits for an answer.
ANSWER_SECONDS = 60
Fault = Literal["throttled", "loading", "no capacity", "unavailable", "absent", "crashing"]


class Unanswered(Exception):
    """The container gave no answer."""


class Endpoint:
    """The endpoint of one model.

    Args:
        module: what the container runs; it is given the model's folder and a port by the environment.
        root: the folder of the module.
        fault: what is wrong with it at the moment, where a test says so.
        delay: seconds before a request reaches the container, likewise.
    """

    def __init__(self, module: str, root: Path, model: Path, log: Path) -> None:
        self._command = [sys.executable, "-P", str(Path(__file__).with_name("endpoint_process.py")), module, "serve"]
        self._root = root
        self._model = model
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = asyncio.Lock()
        self._http = urllib3.PoolManager(retries=False)
        self.fault: Fault | None = None
        self.delay = 0.0

    @property
    def pid(self) -> int | None:
        """The process of the moment."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Have the container running and ready; one that has ended is started again."""
        async with self._starting:
            if self._process is None or self._process.poll() is not None:
                self.close()
                await self._start()

    async def invoke(self, body: bytes, headers: Mapping[str, str]) -> urllib3.BaseHTTPResponse:
        """The container's answer. Raises Unanswered where there is none."""
        await self.start()
        await asyncio.sleep(self.delay)
        try:
            return await asyncio.to_thread(self._ask, "POST", "/invocations", ANSWER_SECONDS, body, headers)
        except HTTPError as error:
            raise Unanswered from error

    def close(self) -> None:
        """End the container, whatever it does."""
        if self._process:
            self._process.kill()
            self._process.communicate()

    async def _start(self) -> None:
        with claim(0) as free:
            port = free.getsockname()[1]
        self.url = f"http://{HOST}:{port}"
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                env=needed_environment()
                | {
                    "PYTHONPATH": os.pathsep.join([str(self._root), str(self._root / "functions")]),
                    "MODEL_DIR": str(self._model),
                    "BIND_HOST": HOST,
                    "SAGEMAKER_BIND_TO_PORT": str(port),
                },
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(LOADING_SECONDS):
                while not await asyncio.to_thread(self._ready):
                    if self._process.poll() is not None:
                        raise self._broken()
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise self._broken() from None

    def _broken(self) -> StackError:
        return StackError(f"the endpoint's container does not start: see {self._log}")

    def _ready(self) -> bool:
        try:
            return self._ask("GET", "/ping", 2).status == 200
        except HTTPError:
            return False

    def _ask(
        self,
        method: str,
        path: str,
        seconds: float,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> urllib3.BaseHTTPResponse:
        return self._http.request(method, self.url + path, body=body, headers=headers, timeout=seconds)

"""A worker as the stack sees it: the process, its socket, and what Lambda would say when it fails."""

import asyncio
import json
import os
import socket
import struct
import subprocess
import sys
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from local.template import PSEUDO, Function

INIT_SECONDS = 60
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class Answer:
    """What an invocation gave: JSON text, and whether it tells of a failed function."""

    payload: bytes
    failed: bool = False


def arn(function: Function) -> str:
    """The ARN the function would have."""
    return f"arn:aws:lambda:{PSEUDO['AWS::Region']}:{PSEUDO['AWS::AccountId']}:function:{function.name}"


class Worker:
    """A process of its own that runs the function's real handler."""

    def __init__(self, function: Function, environment: dict[str, str], log: Path) -> None:
        self._function = function
        self._log = log
        ours, theirs = socket.socketpair()
        self._writer: asyncio.StreamWriter | None = None
        with ours, theirs, log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).with_name("worker.py")), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=function.code,
                env=_environment(function) | environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for the stack, which ends its workers itself
            )
            self._ours = ours.dup()  # only now: nothing stays open where there is no process
        self.pid = self._process.pid

    async def start(self) -> Answer:
        """How the import of the handler went."""
        self._reader, self._writer = await asyncio.open_connection(sock=self._ours)
        return await self._answer("init", INIT_SECONDS)

    async def invoke(self, event: bytes) -> Answer:
        """Run the handler on the event. A crash or a timeout is an answer too, and the end of the worker."""
        request_id = str(uuid.uuid4())
        context = {"request_id": request_id, "arn": arn(self._function), "seconds": self._function.timeout}
        assert self._writer
        for frame in (json.dumps(context).encode(), event):
            self._writer.write(struct.pack(">I", len(frame)) + frame)
        return await self._answer(request_id, self._function.timeout)

    async def _answer(self, request_id: str, seconds: float) -> Answer:
        try:
            async with asyncio.timeout(seconds):
                failed = await self._frame() != b"ok"
                return Answer(await self._frame(), failed)
        except TimeoutError:
            return self._failure("Sandbox.Timedout", request_id, f"Task timed out after {seconds:.2f} seconds")
        except (asyncio.IncompleteReadError, ConnectionError):
            self.kill()
            code = self._process.returncode
            status = f"exit status {code}" if code >= 0 else f"signal {-code}"
            return self._failure("Runtime.ExitError", request_id, f"Runtime exited with error: {status}")

    def _failure(self, kind: str, request_id: str, message: str) -> Answer:
        self.kill()
        failure = {"errorType": kind, "errorMessage": f"RequestId: {request_id} Error: {message}"}
        with suppress(OSError), self._log.open("a") as log:  # a full disk is no reason to give no answer
            log.write(json.dumps(failure) + "\n")
        return Answer(json.dumps(failure).encode(), failed=True)

    async def _frame(self) -> bytes:
        (length,) = struct.unpack(">I", await self._reader.readexactly(4))
        return await self._reader.readexactly(length)

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        if self._writer:
            self._writer.close()  # where it is not there yet, the start finds the process gone and closes it


def needed_environment() -> dict[str, str]:
    """Of the user's own environment only what every process needs: no profile, no proxy, no region."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ}


def _environment(function: Function) -> dict[str, str]:
    """What Lambda sets for a function."""
    return needed_environment() | {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": PSEUDO["AWS::Region"],
        "AWS_DEFAULT_REGION": PSEUDO["AWS::Region"],
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": "local",
        "LAMBDA_TASK_ROOT": str(function.code),
        "_HANDLER": function.handler,
        "PYTHONUNBUFFERED": "1",
        "FAST_ENGINE_AFTER": "20",  # answers; in Lambda nothing goes on between requests
        "TZ": "UTC",
        **function.environment,
    }

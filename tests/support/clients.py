"""The real SDKs as one kind of client: a process for each, a JSON call a line in, a JSON outcome a line out."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.environments import PACKAGES, node, node_packages, python_with
from tests.support.requests import Json

Command = list[str | Path]


@dataclass(frozen=True, slots=True)
class Sdk:
    """A major version of an SDK, and where the four differ.

    Args:
        program: what runs the client program with it, and the folder to run it in.
        older: it sends an `api_key` as x-api-key, and a beta count with a query string.
        base: its class for an error whose status has none of its own.
        too_large: its class for 413.
    """

    program: Callable[[], tuple[Command, Path]]
    older: bool
    base: str
    too_large: str


def _python(interpreter: Path) -> tuple[Command, Path]:
    return [interpreter, PACKAGES / "anthropic_sdk.py"], PACKAGES


def _typescript(package: str) -> tuple[Command, Path]:
    # As text: Node looks for a file's packages beside the file, and those are elsewhere.
    program = (PACKAGES / "anthropic_sdk.mjs").read_text()
    return [node().program, "--input-type=module", "--eval", program, package], node_packages()


SDKS = {
    "python-1": Sdk(lambda: _python(python_with("anthropic-1")), True, "APIStatusError", "RequestTooLargeError"),
    "python-2": Sdk(lambda: _python(Path(sys.executable)), False, "APIStatusError", "ContentTooLargeError"),
    "typescript-0": Sdk(lambda: _typescript("anthropic-sdk-0"), True, "APIError", "APIError"),
    "typescript-1": Sdk(lambda: _typescript("anthropic-sdk-1"), False, "APIError", "ContentTooLargeError"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an application sees of a call: a count, or an exception.

    Args:
        request_id: under the SDK's own name for it: `_request_id`, `request_id` or `requestID`.
        pauses: seconds that the SDK waited before each further attempt.
        classes: of the exception, its own first.
    """

    request_id: str
    headers: dict[str, str]
    pauses: list[float]
    input_tokens: int | None = None
    classes: list[str] = field(default_factory=list)
    status: int | None = None
    message: str = ""
    body: Any = None


class Client:
    """A running client program; its calls go to `url` and carry `credential` where they say nothing else."""

    def __init__(self, process: "subprocess.Popen[str]", sdk: Sdk, url: str, credential: Json) -> None:
        self.sdk = sdk
        self._process = process
        self._url = url
        self._credential = credential

    def call(
        self,
        body: Json,
        method: str = "count",
        *,
        url: str = "",
        credential: Json | None = None,
        headers: dict[str, str] | None = None,
        **options: Any,
    ) -> Outcome:
        """How a call ends.

        Args:
            method: `count`, `beta count`, or `create` of a message.
            url: of the service.
            credential: `{"auth_token": …}` or `{"api_key": …}`.
            options: of the SDK's client object, such as `max_retries`.
        """
        assert self._process.stdin
        assert self._process.stdout
        options |= {"base_url": f"{url or self._url}/v1/infer"} | (credential or self._credential)
        print(
            json.dumps({"method": method, "body": body, "headers": headers or {}, "client": options}),
            file=self._process.stdin,
            flush=True,
        )
        line = self._process.stdout.readline()
        assert line, "the client program ended; what it said is in the captured stderr"
        return Outcome(**json.loads(line))


@contextmanager
def running(sdk: Sdk, url: str, credential: Json, environment: dict[str, str]) -> Iterator[Client]:
    """The SDK's client program, in that environment alone."""
    command, folder = sdk.program()
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Client(process, sdk, url, credential)
        finally:
            process.kill()

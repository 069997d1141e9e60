"""The real SDKs as one kind of client: a process for each, a JSON call a line in, a JSON outcome a line out."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from local.stack import ROOT
from tests.support.environments import PACKAGES, node, node_packages, python_with
from tests.support.requests import Json


@dataclass(frozen=True, slots=True)
class Sdk:
    """An installed SDK.

    Args:
        command: runs the program that follows as text, from `folder`.
        package: the name it is installed under.
    """

    language: Literal["python", "ts"]
    command: Sequence[str | Path]
    folder: Path
    package: str

    def running(self, program: str) -> list[str | Path]:
        """The command that runs a program which imports the SDK by its own name."""
        return [*self.command, program.replace("@anthropic-ai/sdk", self.package)]


def _python(interpreter: Path) -> Sdk:
    return Sdk("python", [interpreter, "-c"], PACKAGES, "anthropic")


def _typescript(package: str) -> Sdk:
    return Sdk("ts", [node().program, "--input-type=module", "--eval"], node_packages(), package)


# By their headings in docs/clients.md, installed when they are asked for.
SDKS: dict[str, Callable[[], Sdk]] = {
    "Python 1.x": lambda: _python(python_with("anthropic-1")),
    "Python 2.x": lambda: _python(Path(sys.executable)),
    "TypeScript 0.x": lambda: _typescript("anthropic-sdk-0"),
    "TypeScript 1.x": lambda: _typescript("anthropic-sdk-1"),
}
PROGRAMS = {"python": "anthropic_sdk.py", "ts": "anthropic_sdk.mjs"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an application sees of a call: a count, or an exception.

    Args:
        request_id: under the SDK's own name for it: `_request_id`, `request_id` or `requestID`.
        pauses: seconds that the SDK waited before each further attempt.
        error: the exception's class.
    """

    request_id: str
    headers: dict[str, str]
    pauses: list[float]
    input_tokens: int | None = None
    error: str = ""
    status: int | None = None
    message: str = ""
    body: Any = None


class Client:
    """A running client program; its calls go to `url` and carry `credential` where they say nothing else."""

    def __init__(self, process: "subprocess.Popen[str]", sdk: str, url: str, credential: Json) -> None:
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
def running(sdk: str, url: str, credential: Json, environment: dict[str, str]) -> Iterator[Client]:
    """The SDK's client program, in that environment alone."""
    installed = SDKS[sdk]()
    command = installed.running((PACKAGES / PROGRAMS[installed.language]).read_text())
    with subprocess.Popen(
        command, cwd=installed.folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Client(process, sdk, url, credential)
        finally:
            process.kill()


def documented(row: str) -> dict[str, str]:
    """What the table of docs/clients.md says for each SDK."""
    lines = (ROOT / "docs" / "clients.md").read_text().replace("`", "").splitlines()
    head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|"))
    [cells] = [cells for first, *cells in rows if row in first.split(", ")]
    return dict(zip(head[1:], cells, strict=True))

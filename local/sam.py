"""The service in containers, as one object: functions and layers as `sam build` makes them, run by the SAM CLI.

    with SamLocal(state=folder) as service:
        requests.get(service.url + "/v1/infer/models", headers={"authorization": f"Bearer {service.api_key}"})

The SAM CLI runs twice: its API Gateway, and its Lambda, in which the edge finds the counters. Around them is what the
stack of workers has around its own: moto with the template's tables, queues and secret.
"""

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from socket import create_connection
from types import TracebackType
from typing import BinaryIO, Self

import urllib3
from urllib3.exceptions import HTTPError

from local import aws, docker
from local.errors import StackError
from local.port import claim
from local.stack import ROOT
from local.template import PSEUDO, Template

SAM = ROOT / ".venv-sam" / "bin" / "sam"
PROCESSOR = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
COUNT = "/v1/infer/v1/messages/count_tokens"
FIRST_ANSWER_SECONDS = 600  # an image may have to be pulled


class ImageMissing(StackError):
    """There is nothing to run the functions in."""


class SamLocal:
    """The service behind `sam local start-api`, on loopback.

    Args:
        port: of its HTTP front; 0 takes a free one.
        state: folder for logs.
        built: folder for what is built, where `sam local invoke` finds all that it needs.
    """

    url: str
    api_key: str
    pat: str
    session: str
    aws_url: str  # of what stands in for AWS
    models: list[str]  # ids of those that are served, in the template's order
    invoke: str  # shell command that runs an event

    def __init__(self, port: int = 0, *, state: Path, built: Path = ROOT / ".build" / "sam-local") -> None:
        self._port = port
        self._logs = state / "logs"
        self._built = built
        self.invoke = f"(cd {built} && {SAM} local invoke EdgeFunction -e events/count-text.json)"

    def __enter__(self) -> Self:
        with ExitStack() as ending:
            front = ending.enter_context(claim(self._port))
            address = front.getsockname()
            self.url = "http://{}:{}".format(*address)
            host = docker.host()
            self._logs.mkdir(parents=True, exist_ok=True)
            self._build()
            template = Template(self._built / "template.yaml")
            self.models = list(_models(template))
            self.aws_url = ending.enter_context(aws.moto(self._logs / "moto.log", host.address))
            first = aws.provision(template, self.aws_url)
            self.pat, self.session, self.api_key = (secret.reveal() for secret, _ in first)
            self._configure(template, host, invoke := host.free_port())
            ending.enter_context(self._serving("start-lambda", host.address, invoke))
            front.close()
            ending.enter_context(self._serving("start-api", *address))
            self._write_events(self._first_answer(template))
            self._ending = ending.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.__exit__(kind, error, trace)

    def _build(self) -> None:
        log = self._logs / "sam-build.log"
        target = ["--build-dir", str(self._built), "--parameter-overrides", f"Architecture={PROCESSOR}"]
        with log.open("wb") as output, _started(output, ROOT, SAM, "build", "--parallel", *target) as building:
            try:
                failed = building.wait()
            except BaseException:  # a signal among others
                os.killpg(building.pid, signal.SIGKILL)
                raise
        if failed:
            raise StackError(f"the functions and layers could not be built: see {log}")

    @contextmanager
    def _serving(self, command: str, host: str, port: int) -> Iterator[None]:
        """One server of the SAM CLI. A container is started for a function's first request, and lives on."""
        log = self._logs / f"sam-{command}.log"
        options = ["--host", host, "--port", str(port), "--warm-containers", "LAZY"]
        tied: list[str | Path] = [sys.executable, "-P", Path(__file__).with_name("tied_process.py")]
        with log.open("wb") as output, _started(output, self._built, *tied, SAM, "local", command, *options) as process:
            while not _answers(host, port):
                if process.poll() is not None:
                    raise StackError(f"`sam local {command}` does not start: see {log}")
                time.sleep(0.1)
            yield

    def _first_answer(self, template: Template) -> str:
        """The id of a first request, with which the containers of the edge and of a counter start."""
        body = {"model": self.models[0], "messages": [{"role": "user", "content": "How many tokens is this?"}]}
        headers = {"Authorization": f"Bearer {self.api_key}", "User-Agent": "make sam-local"}
        try:
            timeout = FIRST_ANSWER_SECONDS
            answer = urllib3.request(
                "POST", self.url + COUNT, json=body, headers=headers, retries=False, timeout=timeout
            )
        except HTTPError as error:
            raise StackError(f"the first request gets no answer: see the logs in {self._logs}") from error
        if answer.status != 200 and not _has_image(template):
            raise ImageMissing(f"Lambda's image is not here and cannot be pulled: see the logs in {self._logs}")
        if answer.status != 200:
            raise StackError(f"the first answer is a {answer.status}: see the logs in {self._logs}")
        return answer.headers["request-id"]

    def _configure(self, template: Template, host: docker.Host, invoke: int) -> None:
        """Write what `sam local` finds in the folder: the built template with local variables, and its options."""
        aws_port = self.aws_url.rpartition(":")[2]
        endpoints = aws.endpoint_variables(f"http://{host.name}:{aws_port}", f"http://{host.name}:{invoke}")
        # In the template itself: SAM's own file for variables fills only those that a template has.
        environments = {name: {**function.environment, **endpoints} for name, function in template.functions.items()}
        document = template.with_environments(environments, Architecture=PROCESSOR)
        (self._built / "local.json").write_text(json.dumps(document, indent=1))
        # An image that is here already is taken as it is: not everywhere can one be pulled.
        options = {"template_file": str(self._built / "local.json"), "skip_pull_image": _has_image(template)}
        lines = (f"{name} = {json.dumps(value)}\n" for name, value in options.items())
        (self._built / "samconfig.toml").write_text(f"version = 0.1\n[default.global.parameters]\n{''.join(lines)}")

    def _write_events(self, request_id: str) -> None:
        """The repository's events as `sam local invoke` takes them: with the key, and with an id that has a record."""
        (self._built / "events").mkdir(exist_ok=True)
        for path in (ROOT / "events").glob("*.json"):
            text = path.read_text("utf-8").replace("{{API_KEY}}", self.api_key).replace("{{REQUEST_ID}}", request_id)
            (self._built / "events" / path.name).write_text(text, "utf-8")


def _has_image(template: Template) -> bool:
    """Whether the image of the functions' runtime is here, by the name that SAM has for it in any registry."""
    return docker.has_image(f"*/lambda/{template.runtime.replace('python', 'python:')}-{PROCESSOR}")


def _models(template: Template) -> Iterator[str]:
    for function in template.functions.values():
        for layer in function.layers:
            if (model := layer / "model" / "model.json").exists():
                yield json.loads(model.read_bytes())["id"]


def _started(output: BinaryIO, folder: Path, *command: str | Path) -> "subprocess.Popen[bytes]":
    """A command of its own session, since Ctrl-C is for this process. Its `with` ends by closing its stdin."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )


def _environment() -> dict[str, str]:
    """The user's own, from which builds take their package index, without what make and AWS's tools read."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MAKE", "SAM_"))}
    return kept | {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": PSEUDO["AWS::Region"],
        "SAM_CLI_TELEMETRY": "0",
    }


def _answers(host: str, port: int) -> bool:
    try:
        create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True

"""Cold starts of the built artifacts, the memory they take, and their sizes."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.canned import canned
from bench.machine import described
from bench.options import LAYERS, Options
from bench.report import table
from bench.samples import Spread, interleaved, ratios
from local import aws
from local.template import Function, Template
from tests.infrastructure.artifacts import ROOT, Artifacts, build_for_host
from tokencount.adapters.node_protocol import DETAILS_HEADER, NODE_TOKEN_HEADER
from tokencount.adapters.node_tokens import NodeKeys, NodeTokens, utc_now
from tokencount.domain.ports import Caller

TITLE = "Cold start, memory and sizes"
FIRST_ANSWER = Path(__file__).with_name("first_answer.py")
EVENT = ROOT / "events" / "count-text.json"
CALLER = Caller("org", "prj", ("infer:run",), "req_1")
UNPACKED_MB = 250
BARE, EDGE, OBVIOUS = "bare Python", "edge", "the obvious "


@dataclass(slots=True)
class Start:
    """One way to start a process; the last line that it prints is its peak of memory in MB."""

    command: list[str]
    environment: Mapping[str, str]
    peaks: list[float] = field(default_factory=list)

    def __call__(self) -> None:
        """From nothing to the end of the first answer."""
        done = subprocess.run(self.command, env=self.environment, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        self.peaks.append(float(done.stdout.splitlines()[-1]))


def section(options: Options) -> str:
    """The tables of the document."""
    template = Template(ROOT / "template.yaml")
    with TemporaryDirectory() as folder:
        artifacts = Artifacts(Path(folder) / "built")
        build_for_host(template, artifacts.root, str(options.python))
        python = clean(options.python, Path(folder))
        with starts(template, artifacts, options, python, Path(folder)) as ways:
            seconds = interleaved(ways, options.rounds)
        sizes = list(size_rows(template, artifacts))
    rows = [row(name, way, seconds) for name, way in ways.items()]
    return f"""
{described("fastapi", "mangum", "aws-lambda-powertools", "boto3", "transformers", "tokenizers")}
`make bench`: the artifacts that `make build` makes, for this machine and `{version(options.python)}`; each started
{options.rounds} times in a fresh process, in turn, up to the end of its first answer, the count of a short request.
The edge's AWS answers at once. A counter is started as on demand. The obvious counter of a model is FastAPI, Mangum,
Powertools, boto3 and transformers' AutoTokenizer with the same files.

{table(["start of", "ms", "of the obvious one", f"times {BARE}", "most memory, MB"], rows)}

Unpacked sizes, of which Lambda takes {UNPACKED_MB} MB a function with its layers:

{table(["function", "artifact, MB", "layers, MB", "together, MB", f"of {UNPACKED_MB} MB"], sizes)}
"""


def row(name: str, way: Start, seconds: Mapping[str, list[float]]) -> list[str]:
    """One way's figures."""
    spread = Spread.of([1000 * each for each in seconds[name]])
    of_bare = ratios(seconds, BARE, name).show(1)
    of_obvious = ratios(seconds, OBVIOUS + name, name).show(2) if OBVIOUS + name in seconds else "–"
    return [name, spread.show(0), of_obvious, of_bare, f"{Spread.of(way.peaks).median:.0f}"]


def clean(python: Path, folder: Path) -> Path:
    """The interpreter as on Lambda: with its site module, and nothing that this machine has put into its packages."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder / "python"], check=True)
    return folder / "python" / "bin" / "python"


@contextmanager
def starts(
    template: Template, artifacts: Artifacts, options: Options, python: Path, folder: Path
) -> Iterator[dict[str, Start]]:
    """Each way to start, by its name."""
    with aws.moto(folder / "moto.log") as behind, canned(behind, invoked()) as url:
        key = aws.provision(template, behind).api_key.secret.reveal()
        asked = written(folder / "edge.json", json.loads(EVENT.read_text("utf-8").replace("{{API_KEY}}", key)))
        ways = {BARE: Start([str(python), "-P", "-c", "print(0)"], {})}
        for function in template.functions.values():
            if function.handler == "edge.handler.handler":
                environment = artifacts.environment(function) | aws.endpoint_variables(url, url)
                ways[EDGE] = Start(command(python, function.handler, asked), environment)
            elif "MODEL_DIR" in function.environment:
                [name, counter] = counter_start(function, artifacts, python, folder)
                ways[name] = counter
                ways[OBVIOUS + name] = obvious(options, folder / name, name.removeprefix("counter-"), asked)
        yield ways


def command(python: Path, handler: str, event: Path) -> list[str]:
    """Without the working directory among its packages."""
    return [str(python), "-P", str(FIRST_ANSWER), handler, str(event)]


def counter_start(function: Function, artifacts: Artifacts, python: Path, folder: Path) -> tuple[str, Start]:
    """A counter by its name, asked as the edge would."""
    environment = artifacts.environment(function)
    keys = NodeKeys.parse(environment["NODE_TOKEN_KEYS"])
    # Good until the last round.
    token = NodeTokens(keys, lambda: keys, lambda: utc_now() + timedelta(hours=1)).sign(CALLER)
    headers = {"content-type": "application/json", "x-request-id": CALLER.request_id, NODE_TOKEN_HEADER: token}
    event = json.loads(EVENT.read_bytes()) | {"headers": headers, "multiValueHeaders": None}
    asked = written(folder / f"{function.name}.json", event)
    return environment["POWERTOOLS_SERVICE_NAME"], Start(command(python, function.handler, asked), environment)


def obvious(options: Options, folder: Path, model_name: str, event: Path) -> Start:
    """The obvious counter, with a model's folder as transformers wants it."""
    model = folder / "model"
    model.mkdir(parents=True)
    for name in ("tokenizer.json", "chat_template.jinja"):
        shutil.copy(LAYERS / model_name / "model" / name, model)
    written(model / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})
    handler = written(folder / "obvious.py", (Path(__file__).with_name("obvious.py")).read_text("utf-8")).parent
    environment = {
        "PATH": os.defpath,
        "PYTHONPATH": str(handler),
        "AWS_DEFAULT_REGION": "us-east-1",
        "HF_HUB_OFFLINE": "1",
        "MODEL_DIR": str(model),
        "POWERTOOLS_SERVICE_NAME": "obvious",
    }
    return Start([str(options.obvious), str(FIRST_ANSWER), "obvious.handler", str(event)], environment)


def invoked() -> bytes:
    """What Lambda gives for a counter's answer."""
    details = {"route": "function", "tokenizer_revision": "0" * 16, "images": {"count": 0, "bytes": 0, "pixels": 0}}
    headers = {"content-type": "application/json", DETAILS_HEADER: json.dumps(details)}
    return json.dumps({"statusCode": 200, "headers": headers, "body": '{"input_tokens":27}'}).encode()


def written(path: Path, content: Any) -> Path:
    """The file, of text or else of JSON."""
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def size_rows(template: Template, artifacts: Artifacts) -> Iterator[list[str]]:
    """Megabytes of 1,048,576 bytes, as Lambda counts them."""
    task = size(artifacts.task)
    for function in template.functions.values():
        layers = sum(map(size, artifacts.layers(function)))
        shown = [f"{each:.0f}" for each in (task, layers, task + layers)]
        yield [function.name, *shown, f"{100 * (task + layers) / UNPACKED_MB:.0f} %"]


def size(folder: Path) -> float:
    """Of all its files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1024**2


def version(python: Path) -> str:
    """As in `Python 3.13.0`."""
    return subprocess.run([python, "--version"], check=True, capture_output=True, text=True).stdout.strip()

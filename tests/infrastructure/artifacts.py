"""Artifacts built for this host's interpreter and processor, and what Lambda would put around them."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local.template import PSEUDO, Function, Template

ROOT = Path(__file__).resolve().parents[2]
# Gives the folder of a name, which the function fills the first time a test run asks for it.
Once = Callable[[str, Callable[[Path], None]], Path]


@dataclass(frozen=True, slots=True)
class Artifacts:
    """Built folders: what Lambda unpacks at /var/task, and each layer by the name of its folder in the repository."""

    root: Path

    @property
    def task(self) -> Path:
        """The artifact of every function."""
        return self.root / "functions"

    def layers(self, function: Function) -> list[Path]:
        """The built layers of a function, which Lambda lays over each other at /opt."""
        return [self.root / folder.name for folder in function.layers]

    def environment(self, function: Function) -> dict[str, str]:
        """The variables in which Lambda starts the function, its artifact and its layers alone on the module path."""
        layers = self.layers(function)
        return {
            "PATH": os.defpath,
            "PYTHONPATH": os.pathsep.join(map(str, [self.task, *(layer / "python" for layer in layers)])),
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": PSEUDO["AWS::Region"],
            "AWS_DEFAULT_REGION": PSEUDO["AWS::Region"],
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
            "AWS_LAMBDA_FUNCTION_TIMEOUT": str(int(function.timeout)),
            **{name: _mounted(value, layers) for name, value in function.environment.items()},
        }


def build_for_host(template: Template, into: Path, python: str = sys.executable) -> None:
    """Run the makefiles that SAM runs, for this host and an interpreter of it."""
    into.mkdir()
    function, *_ = template.functions.values()
    for _, layer in template.resources("AWS::Serverless::LayerVersion"):
        _make(ROOT / layer["ContentUri"], into / Path(layer["ContentUri"]).name, python)
    _make(function.code, into / "functions", python)


def _make(folder: Path, artifacts: Path, python: str) -> None:
    artifacts.mkdir()
    # A variable that this run itself was given by make, such as PYTHON, is none of theirs.
    inherited = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKEOVERRIDES")}
    environment = inherited | {"BUILD_FOR": "host", "ARTIFACTS_DIR": str(artifacts), "HOST_PYTHON": python}
    done = subprocess.run(
        ["make", "-C", str(folder), "build-for-tests"], env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _mounted(value: str, layers: list[Path]) -> str:
    if not value.startswith("/opt/"):
        return value
    [found] = [path for layer in layers if (path := layer / value.removeprefix("/opt/")).exists()]
    return str(found)

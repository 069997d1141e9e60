"""What samconfig.toml says of the deployment: `python -m deploy.samconfig architecture` prints one of its fields.

`sam deploy --guided` writes the file; here it is only read, with the standard library alone, so that make can ask.
"""

import re
import sys
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deploy.errors import DeployError

SAMCONFIG = Path(__file__).resolve().parents[1] / "samconfig.toml"


@dataclass(frozen=True, slots=True)
class Deployment:
    """Region and profile are empty where the AWS configuration of whoever deploys decides."""

    stack: str
    architecture: str
    region: str = ""
    profile: str = ""


def read(path: Path = SAMCONFIG) -> Deployment:
    """The deployment that `sam deploy` makes by default.

    Raises:
        DeployError: the file is not there, is no TOML, or lacks the stack's name.
    """
    try:
        environment = tomllib.loads(path.read_text("utf-8")).get("default", {})
    except (OSError, ValueError) as error:
        raise DeployError(f"{path.name} cannot be read: {error}") from error
    parameters: dict[str, Any] = {}
    for command in ("global", "deploy"):
        parameters |= environment.get(command, {}).get("parameters", {})
    if "stack_name" not in parameters:
        raise DeployError(f"{path.name} names no stack: make deploy GUIDED=1")
    return Deployment(
        parameters["stack_name"],
        _architecture(parameters.get("parameter_overrides", [])),
        parameters.get("region", ""),
        parameters.get("profile", ""),
    )


def _architecture(overrides: str | list[str]) -> str:
    text = overrides if isinstance(overrides, str) else " ".join(overrides)
    # The SAM CLI writes Architecture="x86_64".
    found = re.search(r"\bArchitecture=\W?(\w+)", text)
    return found[1] if found else "arm64"


if __name__ == "__main__":
    try:
        print(asdict(read())[sys.argv[1]])
    except DeployError as refused:
        sys.exit(f"tokencount: {refused}")

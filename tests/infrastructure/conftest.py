"""What the infrastructure tests share: the template, the SAM CLI, and artifacts built once for all workers of a run."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from local import aws
from local.template import Template
from tests.infrastructure.artifacts import ROOT, Artifacts, Once, build_for_host

SAM_ENVIRONMENT = ROOT / ".venv-sam"


@pytest.fixture(scope="session")
def template() -> Template:
    """template.yaml."""
    return Template(ROOT / "template.yaml")


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Gives the folder of that name, made by the first worker that asks for it."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def made(name: str, make: Callable[[Path], None]) -> Path:
        done, draft = shared / name, shared / f"{name}.draft"
        with FileLock(shared / f"{name}.lock"):
            if not done.exists():
                shutil.rmtree(draft, ignore_errors=True)
                make(draft)
                draft.rename(done)
        return done

    return made


@pytest.fixture(scope="session")
def artifacts(template: Template, once: Once) -> Artifacts:
    """Everything that is deployed, built for this host."""
    return Artifacts(once("host", lambda into: build_for_host(template, into)))


@pytest.fixture(scope="session")
def services(template: Template, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The URL of a stand-in for AWS with the template's tables and secrets, and an API key it knows."""
    with aws.moto(tmp_path_factory.mktemp("aws") / "moto.log") as endpoint:
        yield endpoint, aws.provision(template, endpoint).api_key.secret.reveal()


@pytest.fixture(scope="session")
def sam() -> Callable[..., str]:
    """Runs a program of the SAM CLI's environment in the repository; its output, or a failure that shows it."""
    if not (SAM_ENVIRONMENT / "installed").exists():
        pytest.skip("the SAM CLI is not installed: make .venv-sam/installed")
    environment = os.environ | {"SAM_CLI_TELEMETRY": "0", "AWS_DEFAULT_REGION": "us-east-1"}

    def run(program: str, *arguments: str | Path) -> str:
        command = [SAM_ENVIRONMENT / "bin" / program, *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def lint(sam: Callable[..., str], tmp_path: Path) -> Callable[..., str]:
    """Validates the template with other defaults of its parameters, since cfn-lint looks at what they lead to."""

    def validated(**defaults: str) -> str:
        text = (ROOT / "template.yaml").read_text("utf-8")
        for name, value in defaults.items():
            at = rf"(^  {name}:\n(?:    .*\n)*?    Default: ).*$"
            text, found = re.subn(at, rf'\g<1>"{value}"', text, flags=re.MULTILINE)
            assert found == 1
        (tmp_path / "template.yaml").write_text(text, "utf-8")
        for name in ("functions", "layers"):
            (tmp_path / name).symlink_to(ROOT / name)
        return sam("sam", "validate", "--lint", "--template", tmp_path / "template.yaml")

    return validated


@pytest.fixture(scope="session")
def transform(sam: Callable[..., str]) -> Callable[..., dict[str, Any]]:
    """Gives the CloudFormation template that SAM makes of ours; content of the resources named is other."""

    def translated(*changed: str) -> dict[str, Any]:
        text = sam("python", Path(__file__).with_name("transform.py"), ROOT / "template.yaml", *changed)
        document: dict[str, Any] = json.loads(text)
        return document

    return translated


@pytest.fixture(scope="session")
def translated(transform: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """The CloudFormation template."""
    return transform()


@pytest.fixture(scope="session")
def deployed(translated: dict[str, Any]) -> dict[str, Any]:
    """The CloudFormation resources of a deployment, in every setting of the conditions."""
    resources: dict[str, Any] = translated["Resources"]
    return resources

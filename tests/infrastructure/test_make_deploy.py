"""What `make deploy` would run, in its order; nothing is run."""

import os
import subprocess

import pytest

from tests.infrastructure.artifacts import ROOT

CHECKED = [".venv-sam/bin/sam validate", ".venv-checkov/bin/checkov"]


def steps(*variables: str) -> list[str]:
    """The commands that check, build, look through and deploy; not those that set up what is not there yet."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--dry-run", "deploy", *variables]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    known = (".venv-sam/bin/sam ", ".venv-checkov/bin/checkov ", ".venv/bin/python -m deploy.")
    return [line[line.index(step) :].strip() for line in done.stdout.splitlines() for step in known if step in line]


def is_like(found: list[str], expected: list[str]) -> bool:
    return len(found) == len(expected) and all(map(str.startswith, found, expected))


def test_it_checks_builds_looks_through_and_deploys_what_samconfig_says() -> None:
    build = ".venv-sam/bin/sam build --parameter-overrides Architecture=arm64"
    found = steps()
    assert is_like(found, [*CHECKED, build, ".venv/bin/python -m deploy.packages", ".venv-sam/bin/sam deploy"])
    assert found[-1] == ".venv-sam/bin/sam deploy"


@pytest.mark.parametrize("processor", ["arm64", "x86_64"])
def test_the_first_time_it_asks_and_both_build_and_answers_are_for_one_processor(processor: str) -> None:
    overrides = f"--parameter-overrides Architecture={processor}"
    looks = ".venv/bin/python -m deploy.packages"
    deploy = f".venv-sam/bin/sam deploy --guided {overrides}"
    found = steps("GUIDED=1", f"ARCH={processor}")
    assert is_like(found, [*CHECKED, f".venv-sam/bin/sam build {overrides}", f"{looks} {processor}", deploy, looks])
    # After the questions, as samconfig.toml has them then.
    assert found[-1] == looks

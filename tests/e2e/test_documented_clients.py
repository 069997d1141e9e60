"""The programs in README.md and docs/clients.md, run as they stand but for the port."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from local.stack import ROOT, Stack
from tests.support.clients import SDKS

pytestmark = pytest.mark.xdist_group("clients")

README, CLIENTS = ROOT / "README.md", ROOT / "docs" / "clients.md"
ADDRESS = "http://127.0.0.1:8080"


def blocks(document: Path, language: str) -> list[str]:
    """The document's blocks of code in a language."""
    return re.findall(rf"```{language}\n(.*?)```", document.read_text(), re.DOTALL)


def output(command: Sequence[str | Path], stack: Stack, folder: Path = ROOT) -> str:
    """What the command prints where a user has set the variables that the documents name."""
    environment = {
        "PATH": os.environ["PATH"],
        "API_KEY": stack.api_key,
        "ANTHROPIC_BASE_URL": f"{stack.url}/v1/infer",
        "ANTHROPIC_AUTH_TOKEN": stack.api_key,
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("sdk", SDKS)
def test_the_program_of_the_guide_prints_the_count_and_the_request_id(sdk: str, stack: Stack) -> None:
    installed = SDKS[sdk]()
    [program] = blocks(CLIENTS, installed.language)
    assert re.fullmatch(r"\d+ req_\w{26}\n", output(installed.running(program), stack, installed.folder))


@pytest.mark.parametrize("sdk", ["Python 1.x", "Python 2.x"])
def test_the_program_of_the_readme_counts(sdk: str, stack: Stack) -> None:
    [program] = blocks(README, "python")
    *lines, counted = program.replace(ADDRESS, stack.url).strip().splitlines()
    program = "\n".join(["import os", 'API_KEY = os.environ["API_KEY"]', *lines, f"print({counted})"])
    assert int(output(SDKS[sdk]().running(program), stack)) > 0


@pytest.mark.parametrize("document", [README, CLIENTS], ids=lambda path: path.name)
def test_every_curl_of_a_document_counts(document: Path, stack: Stack) -> None:
    [command] = [block for block in blocks(document, "sh") if block.startswith("curl ")]
    printed = output(["bash", "-c", command.replace(ADDRESS, stack.url)], stack)
    assert re.fullmatch(r'\{"input_tokens":\d+\}', printed)


def test_the_readme_s_curl_prints_what_stands_below_it(stack: Stack) -> None:
    [(command, printed)] = re.findall(r"```sh\n(curl .*?)```\n\n```json\n(.*?)```", README.read_text(), re.DOTALL)
    assert output(["bash", "-c", command.replace(ADDRESS, stack.url)], stack) == printed.strip()

"""What `make check` checks holds, so that whoever runs the tests alone sees it too."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"], ["lint-imports"]],
    ids=["ruff", "format", "mypy", "import-linter"],
)
def test_the_tree_is_clean(command: list[str]) -> None:
    tool, *arguments = command
    done = subprocess.run([TOOLS / tool, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

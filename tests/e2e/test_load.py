"""`make load` against a service that runs, and what it says where it cannot."""

import os
import subprocess
import sys
from pathlib import Path

from local.stack import ROOT, Stack


def load(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if name != "KEY"}
    own["PYTHONPATH"] = str(ROOT / "functions")
    command = [sys.executable, "-m", "bench.load", *arguments]
    return subprocess.run(command, cwd=ROOT, env=own | environment, check=False, capture_output=True, text=True)


def test_a_service_that_runs_is_loaded_and_its_answers_are_told(stack: Stack, tmp_path: Path) -> None:
    document = tmp_path / "benchmarks.md"
    document.write_text("# Benchmarks\n")
    asked = ("4", "--seconds", "1.5", "--soak", "0.03", "--models", "qwen3.5-9b", "--write", str(document))
    done = load(*asked, "--url", stack.url, KEY=stack.api_key)
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in document.read_text("utf-8").splitlines() if line.startswith("|")]
    [rate] = [row for row in rows if row[0] == "| 4"]
    [together] = [row for row in rows if row[0] == "| all"]
    assert rate[7] == "none"
    assert together[-1] == "none |"
    # Its processes are not ours.
    assert "Resident memory" not in document.read_text("utf-8")


def test_what_is_missing_is_told_in_a_sentence(stack: Stack) -> None:
    for arguments, environment, told in (
        (["--url", stack.url], {}, "make load: an API key for the service at URL is wanted in KEY\n"),
        (
            ["--url", stack.url],
            {"KEY": "no key"},
            f"make load: {stack.url} answers 401 when it is asked for its models\n",
        ),
        (
            ["--url", stack.url, "--models", "none"],
            {"KEY": stack.api_key},
            f"make load: {stack.url} does not serve none\n",
        ),
    ):
        done = load("1", *arguments, **environment)
        assert (done.returncode, done.stderr) == (1, told)

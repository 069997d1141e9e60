"""`python -m tokencount` counts with no server and answers what the service would."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.requests import EXAMPLE, QWEN

ROOT = Path(__file__).parents[2]


def run(*arguments: str, text: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tokencount", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "functions")} | env
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, env=environment)


def test_files_are_counted_one_line_each(tmp_path: Path) -> None:
    for name, system in (("a.json", EXAMPLE["system"]), ("b.json", None)):
        (tmp_path / name).write_text(json.dumps(EXAMPLE | {"system": system}, indent=2))
    done = run(str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"input_tokens": 27}, {"input_tokens": 16}]


def test_json_lines_come_from_standard_input_and_errors_are_the_service_s() -> None:
    lines = [json.dumps(EXAMPLE), "", '{"model": "none"}', json.dumps({"model": QWEN, "messages": []}), "{"]
    done = run(text="\n".join(lines))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert answers[0] == {"input_tokens": 27}
    codes = [answer["b3os"]["code"] for answer in answers[1:]]
    assert codes == ["model_not_available", "invalid_request", "invalid_request"]


def test_a_body_larger_than_the_model_takes_is_refused_as_by_the_service() -> None:
    (answer,) = [json.loads(line) for line in run(text=json.dumps(EXAMPLE) + " " * 4_718_592).stdout.splitlines()]
    assert answer["b3os"]["code"] == "payload_too_large"


@pytest.mark.parametrize(("arguments", "env"), [(["none.json"], {}), ([], {"TOKENCOUNT_LAYERS": "/none"})])
def test_what_cannot_be_read_is_one_sentence(arguments: list[str], env: dict[str, str]) -> None:
    done = run(*arguments, text="{}", **env)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tokencount: ")
    assert len(done.stderr.splitlines()) == 1


def test_an_image_by_url_is_refused_or_fetched_by_the_service_s_own_guard() -> None:
    block = {"type": "image", "source": {"type": "url", "url": "https://169.254.169.254/"}}
    done = run(text=json.dumps({"model": QWEN, "messages": [{"role": "user", "content": [block]}]}))
    assert (done.returncode, done.stderr) == (1, "")
    answer = json.loads(done.stdout)
    assert answer["error"]["type"] == "permission_error"
    assert answer["b3os"] == {"code": "egress_denied", "param": "messages.0.content.0.source.url"}

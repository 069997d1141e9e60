"""The service on one machine: the example of the reference, and `python -m local` from start to end."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from local.stack import Stack
from tests.support.local import children, clone, runs
from tests.support.server import Server

COUNT = "/v1/infer/v1/messages/count_tokens"
EXAMPLE = {
    "model": "b3os/qwen3.5-9b",
    "system": "You are a concise assistant.",
    "messages": [{"role": "user", "content": "How many tokens is this?"}],
}
REQUEST_ID = re.compile(r"req_[0-9a-hjkmnp-tv-z]{26}")


def ask(server: Server, path: str, body: object = None, key: str | None = None) -> tuple[urllib3.BaseHTTPResponse, Any]:
    headers = {"authorization": f"Bearer {key or server.api_key}", "content-type": "application/json"}
    method, content = ("POST", json.dumps(body)) if body else ("GET", None)
    answer = urllib3.request(method, server.url + path, body=content, headers=headers, retries=False, timeout=30)
    return answer, answer.json()


def test_the_example_of_the_reference_is_27_tokens_and_its_record_is_found_at_once(server: Server) -> None:
    answer, body = ask(server, COUNT, EXAMPLE)
    assert (answer.status, body) == (200, {"input_tokens": 27})
    assert REQUEST_ID.fullmatch(answer.headers["x-request-id"])
    assert answer.headers["request-id"] == answer.headers["x-request-id"]
    assert answer.headers["server-timing"].startswith("edge_auth;dur=")
    _, record = ask(server, f"/v1/requests/{answer.headers['x-request-id']}")
    assert (record["id"], record["status"]) == (answer.headers["x-request-id"], 200)
    assert (record["input_tokens"], record["model"]) == (27, "b3os/qwen3.5-9b")


def test_the_model_is_listed_and_found_by_its_raw_and_its_encoded_id(server: Server) -> None:
    _, models = ask(server, "/v1/infer/models")
    [model] = [model for model in models["data"] if model["id"] == EXAMPLE["model"]]
    assert ask(server, "/v1/infer/models/b3os/qwen3.5-9b")[1] == model
    assert ask(server, "/v1/infer/models/b3os%2Fqwen3.5-9b")[1] == model


def test_a_wrong_key_is_401_and_an_unknown_model_404_in_the_shapes_of_the_contract(server: Server) -> None:
    answer, body = ask(server, COUNT, EXAMPLE, key="wrong")
    assert (answer.status, body["error"]["code"]) == (401, "unauthorized")
    answer, body = ask(server, COUNT, EXAMPLE | {"model": "b3os/other"})
    assert (answer.status, body["type"], body["b3os"]["code"]) == (404, "error", "model_not_available")
    assert body["request_id"] == answer.headers["request-id"]


def test_a_counter_that_was_killed_is_replaced(stack: Stack, stack_state: Path) -> None:
    for pid in json.loads((stack_state / "stack.json").read_text())["workers"]["Qwen35Counter"]:
        os.kill(pid, signal.SIGKILL)
    while (answer := ask(stack, COUNT, EXAMPLE))[0].status != 200:
        assert answer[0].status == 503  # it was asked before it was gone
    assert answer[1] == {"input_tokens": 27}


@contextlib.contextmanager
def started(root: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """`python -m local` of a clone."""
    command = [sys.executable, "-m", "local", "--port", "0", *arguments]
    with subprocess.Popen(
        command, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return clone(tmp_path)


def until_ready(process: "subprocess.Popen[str]") -> list[str]:
    assert process.stdout
    lines: list[str] = []
    while "ready" not in lines:
        line = process.stdout.readline()
        assert line, process.stderr and process.stderr.read()
        lines.append(line.rstrip("\n"))
    return lines


def test_python_m_local_prints_a_curl_that_works_and_ready(root: Path) -> None:
    with started(root) as process:
        lines = until_ready(process)
        running = json.loads((root / ".local" / "stack.json").read_text())
        assert f"URL      {running['url']}" in lines
        assert f"API key  {running['api_key']}" in lines
        assert "models   b3os/qwen3.5-9b" in lines
        assert [line[:18] for line in lines if "b3os_pat_" in line or "b3os_ses_" in line] == [
            "PAT      b3os_pat_",
            "session  b3os_ses_",
        ]
        assert running["pid"] == process.pid
        command = "\n".join(lines[lines.index(next(line for line in lines if line.startswith("curl "))) : -1])
        answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        assert json.loads(answer.stdout) == {"input_tokens": 27}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_every_process_that_it_started(root: Path, number: signal.Signals) -> None:
    with started(root) as process:
        until_ready(process)
        pids = children(process.pid)
        assert len(pids) >= 3
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert not any(runs(pid) for pid in pids)
    assert not (root / ".local" / "stack.json").exists()


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_a_signal_during_the_start_ends_it_as_cleanly(root: Path, processes: int) -> None:
    with started(root) as process:
        while len(pids := children(process.pid)) < processes:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert not any(runs(pid) for pid in pids)
    assert (process.returncode, errors) == (0, "")


def test_a_taken_port_is_one_clear_sentence_and_exit_code_1(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with started(root, "--port", str(port)) as process:
            output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (1, "")
    assert errors == f"tokencount: port {port} is taken by another process: stop it, or choose another with PORT=…\n"


def test_sam_local_without_a_docker_engine_is_one_clear_sentence_and_exit_code_1(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    with started(root, "--sam") as process:
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (1, "")
    assert errors == "tokencount: no Docker engine answers, which SAM local needs: see `docker info`\n"


def test_that_no_model_is_built_is_one_clear_sentence_and_exit_code_1(root: Path) -> None:
    (root / ".build/layers/qwen3.5-9b").unlink()
    with started(root) as process:
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (1, "")
    assert errors == "tokencount: no model is built: run `make layers` first\n"

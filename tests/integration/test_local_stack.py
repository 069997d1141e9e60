"""The local stack over a small project: what stands in for AWS, and how the stack starts and ends."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from local.errors import StackError
from local.pool import MAX_PAYLOAD
from local.stack import ROOT, Stack
from tests.support.local import TEMPLATE, ask, children, connect, runs, write_project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def stack(project: Path) -> Iterator[Stack]:
    with Stack(root=project, state=project / ".local") as stack:
        yield stack


@pytest.fixture
def client(stack: Stack) -> Iterator[http.client.HTTPConnection]:
    with closing(connect(stack.url)) as connection:
        yield connection


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("Inner", "$LATEST"),
        ("Inner:live", "1"),
        ("arn:aws:lambda:us-east-1:123456789012:function:Inner", "$LATEST"),
        ("arn:aws:lambda:us-east-1:123456789012:function:Inner:live", "1"),
    ],
)
def test_a_function_calls_another_by_boto3(
    client: http.client.HTTPConnection, project: Path, name: str, version: str
) -> None:
    answer = ask(client, {"invoke": {"FunctionName": name, "payload": '{"n": 1}'}})
    assert (answer["version"], answer["error"]) == (version, None)
    assert answer["payload"]["event"] == {"n": 1}
    assert answer["payload"]["model"] == str(project / ".build/layers/model-a/model")


def test_what_the_template_gives_a_function_is_an_alias_a_table_and_a_secret(
    client: http.client.HTTPConnection,
) -> None:
    by_alias = ask(client, {"invoke": {"payload": "{}", "Qualifier": "live"}})
    secret = json.loads(ask(client, {"aws": True})["secret"])
    assert by_alias["version"] == "1"
    assert secret == by_alias["payload"]["keys"]
    assert secret["current"] == "first"
    assert len(secret["first"]) == 64


def test_a_failed_function_is_told_as_lambda_tells_it(client: http.client.HTTPConnection) -> None:
    answer = ask(client, {"invoke": {"payload": '"raise"'}})
    assert answer["error"] == "Unhandled"
    assert answer["payload"]["errorType"] == "ValueError"


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ({"payload": "{}", "FunctionName": "Nobody"}, ("ResourceNotFoundException", 404)),
        ({"payload": "{}", "Qualifier": "other"}, ("ResourceNotFoundException", 404)),
        ({"payload": "", "size": MAX_PAYLOAD}, ("RequestEntityTooLargeException", 413)),
    ],
)
def test_invoke_refuses_as_lambda_does(
    client: http.client.HTTPConnection, arguments: dict[str, object], refusal: tuple[str, int]
) -> None:
    answer = ask(client, {"invoke": arguments})
    assert (answer["refused"], answer["status"]) == refusal


def test_an_event_reaches_a_function_with_the_half_of_a_surrogate_pair_that_is_in_it(stack: Stack) -> None:
    event = {"body": "", "half": "\ud800 \\\udc00 \\\\ ü 你"}
    answer = stack.invoke("Front", event)
    assert json.loads(json.loads(answer.payload)["body"]) == event


def test_stack_json_tells_scripts_what_they_need_and_nobody_else(stack: Stack, project: Path) -> None:
    told = project / ".local" / "stack.json"
    content = json.loads(told.read_text())
    assert (content["url"], content["api_key"], content["pid"]) == (stack.url, stack.api_key, os.getpid())
    assert told.stat().st_mode & 0o777 == 0o600
    assert content["workers"].keys() == {"Front", "Inner"}
    assert all(runs(pid) for pids in content["workers"].values() for pid in pids)


def test_stack_json_follows_the_workers_that_come_and_go(stack: Stack, project: Path) -> None:
    def inner() -> list[int]:
        workers: dict[str, list[int]] = json.loads((project / ".local" / "stack.json").read_text())["workers"]
        return workers["Inner"]

    [before] = inner()
    os.kill(before, signal.SIGKILL)
    while not (answer := stack.invoke("Inner", {})).payload.startswith(b'{"event"'):
        assert b"Runtime.ExitError" in answer.payload  # it was asked before it was gone
    assert before not in inner()


def test_the_users_own_aws_settings_and_proxies_do_not_matter(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "not-here")
    for name in ("AWS_ENDPOINT_URL", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Stack(root=project) as stack, closing(connect(stack.url)) as client:
        assert "secret" in ask(client, {"aws": True})


def test_that_no_model_is_built_is_one_clear_sentence(tmp_path: Path) -> None:
    project = write_project(tmp_path)
    (project / ".build/layers/model-a/model/model.json").unlink()
    with pytest.raises(StackError, match=r"^no model is built: run `make layers` first$"), Stack(root=project):
        pass


@pytest.mark.parametrize("file", [".build/layers/model-b/model/model.json", "functions/edge/models.json"])
def test_a_counter_is_left_out_whose_model_is_not_built_or_not_listed(tmp_path: Path, file: str) -> None:
    project = write_project(tmp_path)
    other = TEMPLATE.partition("  Front:")[0].partition("Resources:")[2].replace("model-a", "model-b")
    other = re.sub(r"^  (Layer|Inner):", r"  Other\1:", other, flags=re.MULTILINE).replace(
        "!Ref Layer", "!Ref OtherLayer"
    )
    (project / "template.yaml").write_text(TEMPLATE + other)
    both = {
        "layers/model-b/manifest.toml": "",
        ".build/layers/model-b/model/model.json": '{"id": "test/b"}',
        "functions/edge/models.json": '{"test/a": {}, "test/b": {}}',
    }
    for name, text in both.items():
        if name != file:
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text)
    with Stack(root=project) as stack, closing(connect(stack.url)) as client:
        assert stack.pools.keys() == {"Inner", "Front"}
        assert ask(client, {"invoke": {"payload": "{}"}})["payload"]["event"] == {}


def test_a_stack_that_is_not_warm_starts_a_worker_when_it_is_needed(project: Path) -> None:
    with Stack(root=project, warm=False) as stack:
        assert [pool.pids for pool in stack.pools.values()] == [[], []]
        assert not stack.invoke("Inner", {}).failed
        assert len(stack.pools["Inner"].pids) == 1
        assert stack.pools["Front"].pids == []


def test_a_taken_port_is_one_clear_sentence(stack: Stack, project: Path) -> None:
    port = urlsplit(stack.url).port
    assert port
    with pytest.raises(StackError, match=rf"^port {port} is taken by another process"), Stack(port, root=project):
        pass


STANDALONE = """
import sys
from pathlib import Path
from local.stack import Stack
with Stack(root=Path(sys.argv[1])) as stack:
    print("ready", flush=True)
    stack.invoke("Inner", "sleep")
"""


def test_when_the_stack_dies_hard_its_processes_end_even_in_the_middle_of_their_work(project: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STANDALONE, project], stdout=subprocess.PIPE, cwd=ROOT) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == b"ready\n"
        started = children(parent.pid)
        parent.kill()
    assert len(started) == 3  # a worker of each function, and moto
    while any(runs(pid) for pid in started):
        time.sleep(0.02)

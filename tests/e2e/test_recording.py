"""With recording on, count requests are kept with all of their content and no credential, and can be run again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from local.stack import EVENTS, ROOT, Stack
from replay import recorded
from replay.__main__ import main
from tests.support.requests import EXAMPLE, QWEN
from tokencount.adapters.node_protocol import COUNT_PATH
from tokencount.domain.credentials import new_secret

LAYER = str(ROOT / ".build" / "layers" / "qwen3.5-9b")
JSON = {"content-type": "application/json"}


class Recorded:
    """A stack that records, and what it has recorded."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        self.stack = stack
        self.folder = folder

    def send(self, headers: dict[str, str], body: Any = EXAMPLE, path: str = COUNT_PATH) -> tuple[str, int]:
        """The id and the status of the answer."""
        url = self.stack.url + path
        answer = urllib3.request("POST", url, json=body, headers=headers | JSON, retries=False, timeout=60)
        return answer.headers["request-id"], answer.status

    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.stack.api_key}"}

    def names(self) -> set[str]:
        return {path.stem for path in self.folder.glob("*")}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    state = tmp_path_factory.mktemp("recording")
    with Stack(state=state, warm=False, record_events=True) as stack:
        yield Recorded(stack, state / EVENTS)


@pytest.fixture(autouse=True)
def folder(service: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the replay looks, as it does where `make run` recorded."""
    monkeypatch.setattr(recorded, "FOLDER", service.folder)


def test_what_is_recorded_is_the_request_and_its_record(service: Recorded) -> None:
    request_id, status = service.send(service.bearer())
    recording = json.loads((service.folder / f"{request_id}.json").read_text())
    assert status == 200
    assert json.loads(recording["event"]["body"]) == EXAMPLE
    assert (recording["record"]["id"], recording["record"]["input_tokens"]) == (request_id, 27)
    answer = urllib3.request("GET", f"{service.stack.url}/v1/requests/{request_id}", headers=service.bearer())
    assert answer.json() == recording["record"]


def test_no_credential_is_in_a_recording_in_whatever_way_it_was_sent(service: Recorded) -> None:
    stack = service.stack
    cookie = {"cookie": f"__Host-b3os_session={stack.session}"}
    session = urllib3.request("GET", f"{stack.url}/v1/auth/session", headers=cookie).json()
    csrf = session["csrf_token"]
    told = EXAMPLE | {"system": f"my key is {stack.api_key}\nand my token {stack.pat}"}
    sent = [
        service.send(service.bearer()),
        service.send({"x-api-key": stack.api_key}),
        service.send({"authorization": f"Bearer {stack.pat}"}),
        service.send(cookie | {"x-b3os-csrf": csrf}),
        service.send(service.bearer() | cookie | {"x-b3os-csrf": csrf, "proxy-authorization": stack.pat}),
        service.send(service.bearer() | {"user-agent": f"mine/1 {stack.pat}"}),
        service.send(service.bearer(), path=f"{COUNT_PATH}?key={stack.api_key}"),
        service.send(service.bearer(), told),
    ]
    assert {status for _, status in sent} == {200}
    assert {name for name, _ in sent} <= service.names()
    written = "".join(path.read_text() for path in service.folder.iterdir())
    for secret in (stack.api_key, stack.pat, stack.session):
        assert secret.split("_")[2] not in written
    assert csrf not in written
    assert "and my token b3os_pat_" in written


def test_without_a_good_credential_nothing_is_recorded_and_nothing_but_count_requests_is(service: Recorded) -> None:
    before = service.names()
    wrong = {"authorization": f"Bearer {new_secret('sk').reveal()}"}
    sent = [service.send(wrong), service.send({}), service.send(service.bearer(), {}, "/v1/infer/models")]
    assert [status for _, status in sent] == [401, 401, 405]
    assert service.names() == before


def test_a_recorded_request_runs_again_through_the_function_and_over_http(
    service: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    counted, _ = service.send(service.bearer())
    refused, _ = service.send(service.bearer(), {"model": QWEN, "messages": []})
    there = ["--url", service.stack.url, "--key", service.stack.api_key]
    assert main(["--request-id", counted]) == 0
    assert main(["--request-id", counted, *there]) == 0
    assert main(["--request-id", refused, *there]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [[counted, "200"], [counted, "200"], [refused, "400"]]
    assert ['{"input_tokens":27}' in line for line in lines] == [True, True, False]
    assert all(line.endswith("  as recorded") for line in lines)


def test_a_request_that_no_encoding_holds_runs_again_as_well(
    service: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request_id, status = service.send(service.bearer(), {"model": QWEN, "messages": "half"})
    name = f"{request_id}.json"
    # Half of a surrogate pair comes in base64, which the local stack does not use.
    (tmp_path / name).write_text((service.folder / name).read_text().replace("half", "\\ud800"))
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    assert status == 400
    assert main(["--request-id", request_id]) == 0
    assert capsys.readouterr().out.endswith("  as recorded\n")


def test_an_answer_that_is_not_the_recorded_one_is_told_with_exit_code_1(
    service: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request_id, _ = service.send(service.bearer())
    text = (service.folder / f"{request_id}.json").read_text()
    (tmp_path / f"{request_id}.json").write_text(text.replace('"input_tokens": 27', '"input_tokens": 26'))
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    assert main(["--request-id", request_id, "--url", service.stack.url, "--key", service.stack.api_key]) == 1
    assert capsys.readouterr().out.endswith("  DIFFERS: input_tokens is 27, expected 26\n")


def test_recordings_are_counted_with_two_layers(service: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    service.send(service.bearer())
    assert main(["--drift", LAYER, LAYER, str(service.folder)]) == 0
    assert f"requests                     {len(service.names())}\n" in capsys.readouterr().out

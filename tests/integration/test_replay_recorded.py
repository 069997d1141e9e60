"""A recording is fetched by its request's id, from a bucket or a folder; what cannot be fetched is one sentence."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from replay import recorded
from replay.__main__ import main
from replay.targets import Reply, Service
from tests.support.http_server import http_server
from tests.support.records import record
from tokencount.adapters.node_protocol import COUNT_PATH
from tokencount.adapters.recordings import S3Recordings
from tokencount.domain.ids import new_id
from tokencount.domain.recordings import Recording

ID = new_id("req")
EVENT = {"httpMethod": "POST", "path": COUNT_PATH, "headers": {}, "multiValueHeaders": {}, "body": "{}"}
WHOLE = json.dumps(Recording(record(id=ID).to_dict(), EVENT).to_dict())


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client: Any = boto3.client("s3")
        client.create_bucket(Bucket="recordings")
        S3Recordings(client, "recordings").put(Recording(record(id=ID).to_dict(), EVENT), lambda: 10)
        yield "recordings"


def test_a_recording_is_found_in_a_bucket_and_given_a_key(bucket: str) -> None:
    found = recorded.find(ID, bucket)
    assert found.id == ID
    event = recorded.with_key(found.event, "k")
    assert (event["headers"], event["multiValueHeaders"]) == (
        {"authorization": "Bearer k"},
        {"authorization": ["Bearer k"]},
    )
    assert found.event["headers"] == {}


def test_an_answer_is_compared_by_its_status_its_count_and_its_code() -> None:
    counted = record(status=200, input_tokens=27).to_dict()
    refused = record(status=400, error={"type": "t", "code": "invalid_request", "param": None}).to_dict()
    ours, theirs = {"b3os": {"code": "invalid_request"}, "error": {}}, {"error": {"code": "unauthorized"}}
    assert recorded.recorded_answer(counted) == recorded.answer_of(Reply(200, {}, {"input_tokens": 27}))
    assert recorded.recorded_answer(refused) == recorded.answer_of(Reply(400, {}, ours))
    assert recorded.answer_of(Reply(401, {}, theirs))["code"] == "unauthorized"
    assert recorded.answer_of(Reply(502, {}, "no json")) == {"status": 502, "input_tokens": None, "code": None}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["../stack"], "../stack is no request's id"),
        ([new_id("req")], "there is no recording of req_"),
        ([new_id("req"), "--bucket", "recordings"], "in the bucket recordings"),
        ([ID, "--bucket", "others"], "the bucket others cannot be read: "),
    ],
)
def test_what_cannot_be_fetched_is_one_sentence_and_exit_code_2(
    bucket: str, arguments: list[str], told: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    assert main(["--request-id", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("replay: ")
    assert told in output.err
    assert output.err.count("\n") == 1


@pytest.mark.parametrize(
    "content",
    [
        WHOLE[:-9].encode(),
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"record": {}, "event": {}}',
        b'{"record": [], "event": []}',
        WHOLE.replace('"status"', '"state"').encode(),
        WHOLE.replace('"event"', '"events"').encode(),
    ],
    ids=range(9),  # the same in every process, as request ids are not
)
def test_a_recording_that_is_broken_is_one_sentence_and_exit_code_2(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    (tmp_path / f"{ID}.json").write_bytes(content)
    assert main(["--request-id", ID]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"replay: the recording of {ID} in {tmp_path} (see --bucket) is broken: ")
    assert output.err.count("\n") == 1


def test_half_of_a_surrogate_pair_is_sent_to_a_service_as_the_bytes_that_came() -> None:
    came = []

    class Listening(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            came.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

    with http_server(Listening) as url:
        assert Service(url, "k").send(EVENT | {"body": '{"text": "\ud800 ü"}'}).status == 204
    assert came == [b'{"text": "\xed\xa0\x80 \xc3\xbc"}']


def test_without_aws_s_credentials_that_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("AWS_PROFILE", "none-of-that-name")
    assert main(["--request-id", ID, "--bucket", "recordings"]) == 2
    assert capsys.readouterr().err == "replay: The config profile (none-of-that-name) could not be found\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name the events to run, or one --request-id"),
        (["a.json", "--request-id", ID], "name the events to run, or one --request-id"),
        (["a.json", "--bucket", "b"], "--bucket is where a --request-id was recorded"),
        (["a.json", "--plot", "a.png"], "--plot draws what --drift finds"),
        (["--drift", "a", "b", "c.json", "--url", "u"], "--drift takes events alone: nothing is sent anywhere"),
        (["--drift", "a", "b"], "name the events to run, or one --request-id"),
    ],
)
def test_options_that_do_not_go_together_are_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {told}\n")

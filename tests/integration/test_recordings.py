"""Recordings in a bucket (moto's) and in a folder: read back as they were written, not waited for beyond a bound."""

import json
import resource
import stat
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import Any

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws

from tests.support.http_server import http_server
from tests.support.records import record
from tokencount.adapters.recordings import FolderRecordings, S3Recordings, recordings_at
from tokencount.domain.ports import Recordings
from tokencount.domain.recordings import NotRecorded, Recording, RecordingsUnavailable

RECORDING = Recording(record().to_dict(), {"body": '{"text": "\ud800 ü 你好"}', "headers": {}})


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield


@pytest.fixture(params=["bucket", "folder"])
def recordings(request: pytest.FixtureRequest, aws: None, tmp_path: Path) -> Recordings:
    if request.param == "folder":
        return recordings_at(str(tmp_path / "new" / "events"))
    boto3.client("s3").create_bucket(Bucket="recordings")
    return recordings_at("s3://recordings")


def test_a_recording_is_read_back_by_its_id_as_it_was_written(recordings: Recordings) -> None:
    recordings.put(RECORDING, lambda: 10)
    text = recordings.get("req_1")
    assert text is not None
    assert json.loads(text) == RECORDING.to_dict()
    assert recordings.get("req_2") is None


def test_in_a_bucket_a_recording_is_one_json_object_named_by_the_request(aws: None) -> None:
    client: Any = boto3.client("s3")
    client.create_bucket(Bucket="recordings")
    S3Recordings(client, "recordings").put(RECORDING, lambda: 10)
    [found] = client.list_objects_v2(Bucket="recordings")["Contents"]
    assert found["Key"] == "req_1.json"
    assert client.get_object(Bucket="recordings", Key="req_1.json")["ContentType"] == "application/json"


def test_a_bucket_that_is_not_there_is_told_in_the_domain_s_words(aws: None) -> None:
    missing = recordings_at("s3://recordings")
    with pytest.raises(NotRecorded, match="req_1"):
        missing.put(RECORDING, lambda: 10)
    with pytest.raises(RecordingsUnavailable, match="the bucket recordings cannot be read: .*NoSuchBucket"):
        missing.get("req_1")


def test_a_folder_is_for_its_owner_alone_and_one_that_is_none_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    FolderRecordings(folder).put(RECORDING, lambda: 10)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "req_1.json").stat().st_mode) == 0o600
    none = FolderRecordings(folder / "req_1.json")
    with pytest.raises(NotRecorded, match="req_1"):
        none.put(RECORDING, lambda: 10)
    with pytest.raises(RecordingsUnavailable, match=r"req_1.json cannot be read: Not a directory"):
        none.get("req_1")


def test_a_recording_that_is_cut_off_is_none(tmp_path: Path) -> None:
    folder = FolderRecordings(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
    try:
        with pytest.raises(NotRecorded):
            folder.put(RECORDING, lambda: 10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert folder.get("req_1") is None
    assert not [*tmp_path.glob("*.json")]
    folder.put(RECORDING, lambda: 10)
    assert [path.name for path in tmp_path.iterdir()] == ["req_1.json"]


def test_who_is_denied_is_told_that_there_may_be_no_such_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    class Denying(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(403)
            self.end_headers()
            self.wfile.write(b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with http_server(Denying) as url:
        client: Any = boto3.client("s3", endpoint_url=url, region_name="us-east-1", config=Config(proxies={}))
        with pytest.raises(RecordingsUnavailable, match="AccessDenied.*; it may be that there is no such recording$"):
            S3Recordings(client, "recordings").get("req_1")


def test_a_bucket_that_does_not_answer_is_given_up_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Event()

    class Silent(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            ended.wait()

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with http_server(Silent) as url:
        config = Config(read_timeout=10, retries={"total_max_attempts": 1}, proxies={})
        client: Any = boto3.client("s3", endpoint_url=url, region_name="us-east-1", config=config)
        recordings = S3Recordings(client, "recordings")
        try:
            # The second does not so much as begin: the thread is still at the first.
            for _ in range(2):
                with pytest.raises(NotRecorded):
                    recordings.put(RECORDING, lambda: 0.05)
        finally:
            ended.set()

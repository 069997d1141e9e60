"""What is recorded of a request: the count requests of who may send them, whole, but for every credential."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from edge.recording import NEEDED_SECONDS, WAITED_SECONDS, EventRecording
from tests.support.edge import CONTEXT, KEY, EdgeUnderTest, event
from tests.support.metrics import lines
from tests.support.records import record
from tokencount.adapters.node_protocol import COUNT_PATH
from tokencount.domain.credentials import new_secret
from tokencount.domain.recordings import NotRecorded, Recording

BODY = {"model": "b3os/tiny", "messages": [{"role": "user", "content": "hi"}]}


class MemoryRecordings(dict[str, Recording]):
    """Recordings by their ids."""

    error: Exception | None = None

    def put(self, recording: Recording, seconds: Callable[[], float]) -> None:
        if self.error:
            raise self.error
        self.seconds = seconds()
        self[recording.id] = recording

    def get(self, request_id: str) -> str | None:  # type: ignore[override]
        return json.dumps(self[request_id].to_dict()) if request_id in self else None


class Recorded(EdgeUnderTest):
    """An edge that records events."""

    def __init__(self) -> None:
        self.recordings = MemoryRecordings()
        self.failures: list[tuple[str, NotRecorded]] = []
        super().__init__(recording=EventRecording(self.recordings, lambda *failure: self.failures.append(failure)))

    def only(self) -> dict[str, Any]:
        [recording] = self.recordings.values()
        return dict(recording.event)


def test_a_count_request_is_recorded_by_its_id_with_its_record_and_the_body_as_it_was_sent() -> None:
    edge = Recorded()
    answer = edge.send("POST", COUNT_PATH, BODY)
    recording = edge.recordings[answer["headers"]["request-id"]]
    assert recording.record == edge.log[recording.id].to_dict()
    assert recording.record["input_tokens"] == 27
    assert json.loads(recording.event["body"]) == BODY
    assert recording.event["headers"] == {"content-type": "application/json", "user-agent": "test/1"}


def test_what_was_recorded_is_an_event_that_gets_the_same_answer_once_a_credential_is_put_in() -> None:
    edge = Recorded()
    first = edge.send("POST", COUNT_PATH, BODY)
    again = edge.only()
    assert again.keys() >= event("POST", COUNT_PATH).keys()
    again["headers"]["authorization"] = f"Bearer {KEY.reveal()}"
    again["multiValueHeaders"]["authorization"] = [f"Bearer {KEY.reveal()}"]
    second = edge.edge(again, CONTEXT)
    assert (second["statusCode"], json.loads(second["body"])) == (first["statusCode"], first["body"])


@pytest.mark.parametrize(
    ("body", "status"), [({"model": "b3os/none"}, 404), ("{", 400), ({"model": "b3os/tiny", "x": "y" * 1000}, 413)]
)
def test_a_count_request_that_is_refused_is_recorded_too(body: Any, status: int) -> None:
    edge = Recorded()
    assert edge.send("POST", COUNT_PATH, body)["statusCode"] == status
    [recording] = edge.recordings.values()
    assert recording.record["status"] == status


@pytest.mark.parametrize("headers", [{}, {"Authorization": f"Bearer {new_secret('sk').reveal()}"}, {"x-api-key": "x"}])
def test_a_request_without_a_good_credential_is_not_recorded(headers: dict[str, str]) -> None:
    edge = Recorded()
    answer = edge.send("POST", COUNT_PATH, BODY, headers=headers | {"Content-Type": "application/json"})
    assert answer["statusCode"] == 401
    assert edge.recordings == {}


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/keys"), ("POST", "/v1/keys"), ("GET", "/v1/infer/models"), ("PUT", COUNT_PATH), ("GET", "/x")],
)
def test_nothing_but_a_count_request_is_recorded(method: str, path: str) -> None:
    edge = Recorded()
    edge.send(method, path, {"name": "x", "scopes": ["infer:run"]})
    assert edge.log
    assert edge.recordings == {}


GOOD = {"Authorization": f"Bearer {KEY.reveal()}", "Content-Type": "application/json"}
SECRET = new_secret("pat").reveal()
# Where a client, API Gateway or what stands before it may put what opens something, and not of our own form alone.
PLACES: dict[str, dict[str, Any]] = {
    "authorization": {"headers": GOOD},
    "x-api-key": {"headers": GOOD | {"X-Api-Key": KEY.reveal()}},
    "cookie": {"headers": GOOD | {"Cookie": "__Host-b3os_session=hidden"}},
    "csrf": {"headers": GOOD | {"X-B3os-Csrf": "hidden"}},
    "another scheme's header": {"headers": GOOD | {"Proxy-Authorization": "hidden", "X-Amz-Security-Token": "hidden"}},
    "several values": {
        "multiValueHeaders": {name: [value] for name, value in GOOD.items()} | {"cookie": ["a=hidden", "b=hidden"]}
    },
    "user agent": {"headers": GOOD | {"User-Agent": f"x {SECRET}"}},
    "body": {"body": json.dumps(BODY | {"system": f"my key is {SECRET}\n, {KEY.reveal()}"})},
    "query": {"queryStringParameters": {"key": "hidden"}, "multiValueQueryStringParameters": {"key": ["hidden"]}},
    "identity": {"requestContext": {"identity": {"apiKey": "hidden", "accessKey": "hidden", "user": "hidden"}}},
    "authorizer": {"requestContext": {"authorizer": {"claims": {"token": "hidden"}}}},
    "stage variables": {"stageVariables": {"token": "hidden"}},
    "a field that is not known yet": {"hidden": "hidden"},
}


@pytest.mark.parametrize("place", PLACES)
def test_no_credential_is_in_a_recording_wherever_it_was_sent(place: str) -> None:
    edge = Recorded()
    sent = {"body": json.dumps(BODY)} | PLACES[place]
    assert edge.edge(event("POST", COUNT_PATH, **sent), CONTEXT)
    text = json.dumps(next(iter(edge.recordings.values())).to_dict())
    assert "hidden" not in text
    assert KEY.reveal()[8:] not in text
    assert SECRET[9:] not in text


def test_a_body_in_base64_is_recorded_as_the_text_that_it_is() -> None:
    edge = Recorded()
    edge.send("POST", COUNT_PATH, "eyJtb2RlbCI6ICJiM29zL3RpbnkifQ==", isBase64Encoded=True)
    assert (edge.only()["body"], edge.only()["isBase64Encoded"]) == ('{"model": "b3os/tiny"}', False)


@pytest.mark.parametrize("body", ['{"model": "\ud800"}', "\x00", ""])
def test_a_body_that_no_encoding_holds_is_recorded(body: str) -> None:
    edge = Recorded()
    edge.send("POST", COUNT_PATH, body)
    assert edge.only()["body"] == body


@pytest.mark.parametrize("error", [NotRecorded("req_1"), ValueError("of the body")])
def test_a_recording_that_fails_is_told_and_the_answer_goes_out(error: Exception) -> None:
    edge = Recorded()
    edge.recordings.error = error
    answer = edge.send("POST", COUNT_PATH, BODY)
    assert (answer["statusCode"], answer["body"]) == (200, {"input_tokens": 27})
    logged = [line["message"] for line in edge.logger.lines if line["level"] == "ERROR"]
    told = [request_id for request_id, _ in edge.failures] + logged
    assert told == ([answer["headers"]["request-id"]] if isinstance(error, NotRecorded) else logged[:1])
    assert len(told) == 1
    assert "of the body" not in edge.logger.text.getvalue()


def test_a_failure_that_nobody_expected_is_counted_like_any_other(capsys: pytest.CaptureFixture[str]) -> None:
    edge = Recorded()
    edge.recordings.error = ValueError("of the body")
    edge.send("POST", COUNT_PATH, BODY)
    [line] = lines(capsys.readouterr().out)
    assert line["EventNotRecorded"] == [1]
    assert "of the body" not in json.dumps(line)


class Clock(list[float]):
    """The seconds that are left, from one question to the next."""

    def __call__(self) -> float:
        return self.pop(0)


@pytest.mark.parametrize(
    ("at_first", "once_serialized", "given"),
    [(28.0, 28.0, WAITED_SECONDS), (1.0, 0.75, 0.5), (1.0, 0.1, 0.0)],
)
def test_a_recording_has_a_second_at_most_and_never_more_than_is_left_once_it_is_serialized(
    at_first: float, once_serialized: float, given: float
) -> None:
    recording = EventRecording(recordings := MemoryRecordings(), lambda *_: None)
    recording.keep(event("POST", COUNT_PATH, BODY), record(path=COUNT_PATH), Clock([at_first, once_serialized]))
    assert recordings.seconds == given


def test_with_too_little_time_left_nothing_is_recorded_and_that_is_told() -> None:
    told: list[str] = []
    recording = EventRecording(recordings := MemoryRecordings(), lambda request_id, _: told.append(request_id))
    recording.keep(event("POST", COUNT_PATH, BODY), record(path=COUNT_PATH), lambda: NEEDED_SECONDS - 0.01)
    assert (recordings, told) == ({}, ["req_1"])

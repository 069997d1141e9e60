"""The list of request records as it is asked for, and what of a request its record may hold."""

import json
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from edge.record_query import read_record_query
from tests.support.edge import KEY, NOW, EdgeUnderTest, credential, event
from tokencount.domain.cursors import read_cursor, to_cursor
from tokencount.domain.errors import InvalidRequest, UnsupportedParameter
from tokencount.domain.ids import first_id, is_id, new_id
from tokencount.domain.records import RecordQuery, RequestRecord

COUNT = "/v1/infer/v1/messages/count_tokens"
LIST = "/v1/requests"
MARKER = "MARKER-7f3a"
NOON = datetime(2026, 7, 26, 12, tzinfo=UTC)


@pytest.fixture
def edge() -> EdgeUnderTest:
    return EdgeUnderTest()


def query(**parameters: str | list[str]) -> RecordQuery:
    values = {name: [value] if isinstance(value, str) else value for name, value in parameters.items()}
    return read_record_query(values, "proj_1")


def test_without_parameters_the_newest_twenty_are_asked_for() -> None:
    assert query() == RecordQuery(project="proj_1", limit=20)


@pytest.mark.parametrize(
    ("text", "statuses"),
    [("429", (429, 429)), ("200", (200, 200)), ("4xx", (400, 499)), ("5XX", (500, 599)), ("599", (599, 599))],
)
def test_a_status_is_a_code_or_a_class_of_them(text: str, statuses: tuple[int, int]) -> None:
    assert query(status=text).statuses == statuses


@pytest.mark.parametrize(
    "text",
    [
        "2026-07-26T12:00:00Z",
        "2026-07-26T12:00:00",
        "2026-07-26 12:00:00",
        "2026-07-26T12:00",
        "2026-07-26T12:00:00.000Z",
        "2026-07-26T12:00:00.000000+00:00",
        "2026-07-26T14:00:00+02:00",
        "2026-07-26T14:00:00 02:00",
        "2026-07-26T07:30:00.0-04:30",
        "20260726T120000Z",
    ],
)
def test_since_is_a_time_of_iso_8601_with_or_without_fraction_and_offset(text: str) -> None:
    assert query(since=text).since == first_id("req", NOON)


def test_since_takes_in_the_millisecond_it_names_and_none_before() -> None:
    at = NOON.replace(microsecond=570_000)
    assert new_id("req", at) >= (query(since=at.isoformat()).since or "")
    assert new_id("req", NOON.replace(microsecond=569_999)) < (query(since=at.isoformat()).since or "")
    assert new_id("req", at) < (query(since="2026-07-26T12:00:00.570001Z").since or "")


@pytest.mark.parametrize("text", ["2026-07-26", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_since_may_be_a_day_however_far_away(text: str) -> None:
    assert is_id(query(since=text).since or "")


@pytest.mark.parametrize("text", ["1", "20", "100"])
def test_a_limit_is_a_whole_number_from_1_to_100(text: str) -> None:
    assert query(limit=text).limit == int(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("status", text) for text in ("", "abc", "600", "99", "42", "4x", "xxx", "4294", "-42", " 42", "٤٢٩", "4,5")),
        *(("since", text) for text in ("", "yesterday", "1785067200", "2026-13-01", "2026-07-26T25:00Z", "12:00")),
        *(("limit", text) for text in ("", "0", "101", "-1", "1.5", "1e1", "ten", " 5", "+5", "٥", "9" * 5000)),
        *(("model", text) for text in ("", "m" * 257)),
        *(("cursor", text) for text in ("", "abc", "A" * 32, "req_01m5t4yg394wegr3j4y01qb363", "é" * 32)),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_in_the_name_of_its_parameter(name: str, value: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{name} must be ") as refusal:
        query(**{name: value})
    assert refusal.value.param == name
    assert len(refusal.value.message) < 350


def test_a_parameter_sent_twice_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="status was sent 2 times; it is accepted once") as refusal:
        query(status=["429", "429"])
    assert refusal.value.param == "status"


def test_an_unknown_parameter_is_refused_by_name_with_those_there_are() -> None:
    with pytest.raises(UnsupportedParameter, match="stauts is not a parameter .* model, status, since") as refusal:
        query(stauts="429")
    assert refusal.value.param == "stauts"


def test_beta_true_changes_nothing() -> None:
    assert query(beta="true") == query()


def test_a_cursor_is_read_back_in_its_project_alone() -> None:
    last = new_id("req", NOW)
    cursor = to_cursor(last, "proj_1")
    assert read_cursor(cursor, "req", "proj_1") == last
    for kind, project in (("req", "proj_2"), ("key", "proj_1")):
        with pytest.raises(ValueError, match="not a cursor"):
            read_cursor(cursor, kind, project)


def test_a_cursor_with_any_one_character_changed_is_refused() -> None:
    cursor = to_cursor(new_id("req", NOW), "proj_1")
    for at, character in enumerate(cursor):
        changed = cursor[:at] + ("A" if character != "A" else "B") + cursor[at + 1 :]
        with pytest.raises(ValueError, match="not a cursor"):
            read_cursor(changed, "req", "proj_1")


def test_ids_of_later_milliseconds_sort_later() -> None:
    times = [NOON.replace(microsecond=1000 * step) for step in (0, 1, 2, 569, 570, 571)]
    ids = [new_id("req", at) for at in times]
    assert ids == sorted(ids)
    assert [first_id("req", at) <= each for at, each in zip(times, ids, strict=True)] == [True] * 6


def listed(edge: EdgeUnderTest, **parameters: str) -> dict[str, Any]:
    return edge.send("GET", LIST, queryStringParameters=parameters or None)


def test_the_list_holds_the_project_s_records_and_where_to_go_on(edge: EdgeUnderTest) -> None:
    request_id = edge.send("POST", COUNT, {"model": "b3os/tiny"})["headers"]["request-id"]
    answer = listed(edge)
    assert (answer["statusCode"], list(answer["body"])) == (200, ["object", "data", "next_cursor"])
    assert (answer["body"]["object"], answer["body"]["next_cursor"]) == ("list", None)
    assert [record["id"] for record in answer["body"]["data"]] == [request_id]
    assert edge.log.query == RecordQuery(project="proj_1")
    edge.log.last = request_id
    cursor = listed(edge)["body"]["next_cursor"]
    assert listed(edge, cursor=cursor)["statusCode"] == 200
    assert edge.log.query.after == request_id


def test_the_list_is_asked_for_in_the_caller_s_own_project(edge: EdgeUnderTest) -> None:
    edge.credentials[KEY.digest] = credential(project="proj_2")
    assert listed(edge)["statusCode"] == 200
    assert edge.log.query.project == "proj_2"


def test_another_project_s_cursor_is_400_like_one_that_never_was(edge: EdgeUnderTest) -> None:
    edge.log.last = new_id("req", NOW)
    cursor = listed(edge)["body"]["next_cursor"]
    edge.credentials[KEY.digest] = credential(project="proj_2")
    for sent in (cursor, "B" * 32):
        answer = listed(edge, cursor=sent)
        assert (answer["statusCode"], answer["body"]["error"]["code"]) == (400, "invalid_request")
        assert (
            answer["body"]["error"]["message"]
            == f"cursor must be the next_cursor of a page of this list; {sent} was sent"
        )


def test_parameters_are_read_from_the_multi_value_form_too(edge: EdgeUnderTest) -> None:
    many = {"status": ["4xx"], "model": ["b3os/tiny"]}
    single = {"status": "4xx", "model": "b3os/tiny"}
    sent = edge.send("GET", LIST, queryStringParameters=single, multiValueQueryStringParameters=many)
    assert sent["statusCode"] == 200
    assert (edge.log.query.statuses, edge.log.query.model) == ((400, 499), "b3os/tiny")
    many["status"].append("429")
    assert edge.send("GET", LIST, multiValueQueryStringParameters=many)["body"]["error"]["param"] == "status"


def test_a_wrong_value_is_a_400_in_the_openai_shape_and_kept_by_its_name(edge: EdgeUnderTest) -> None:
    answer = listed(edge, limit=MARKER)
    assert answer["statusCode"] == 400
    assert answer["body"] == {
        "error": {
            "message": f"limit must be a whole number from 1 to 100; {MARKER} was sent",
            "type": "invalid_request_error",
            "param": "limit",
            "code": "invalid_request",
        }
    }
    record = edge.log[answer["headers"]["request-id"]]
    assert record.error == {"type": "invalid_request_error", "code": "invalid_request", "param": "limit"}


def test_of_an_unknown_parameter_the_record_does_not_keep_the_name(edge: EdgeUnderTest) -> None:
    for name in (MARKER, f"{MARKER}.limit", f"limit.{MARKER}", "limit.", ".limit"):
        answer = listed(edge, **{name: "x"})
        assert (answer["body"]["error"]["code"], answer["body"]["error"]["param"]) == ("unsupported_parameter", name)
        record = edge.log[answer["headers"]["request-id"]]
        assert record.error is not None
        assert record.error["param"] in (None, "limit")
        assert MARKER not in json.dumps(record.to_dict())


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        (f"/v1/requests/{MARKER}", "/v1/requests/{request_id}"),
        ("/v1/requests/{API_KEY}", "/v1/requests/{request_id}"),
        ("/v1/requests/req_01m5t4yg394wegr3j4y01qb363", "/v1/requests/req_01m5t4yg394wegr3j4y01qb363"),
        (f"/v1/infer/models/{MARKER}/x", "/v1/infer/models/{id}"),
        ("/v1/infer/models/b3os/tiny", "/v1/infer/models/b3os/tiny"),
        (COUNT, COUNT),
    ],
)
def test_a_path_is_kept_with_ids_and_served_models_alone(path: str, kept: str, edge: EdgeUnderTest) -> None:
    path = path.replace("{API_KEY}", KEY.reveal())
    answer = edge.send("POST" if path == COUNT else "GET", path, {"model": "b3os/tiny"})
    assert edge.log[answer["headers"]["request-id"]].path == kept


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", COUNT, {"model": "b3os/tiny"}, 200),
        ("POST", COUNT, "{", 400),
        ("POST", COUNT, {"model": "b3os/none"}, 404),
        ("POST", COUNT, " " * 6000, 413),
        ("GET", "/v1/infer/models", None, 200),
        ("GET", "/v1/infer/models/b3os/none", None, 404),
        ("GET", LIST, None, 200),
        ("GET", "/v1/requests/req_01m5t4yg394wegr3j4y01qb363", None, 404),
        ("GET", "/v1/keys", None, 403),
        ("GET", "/v1/auth/session", None, 401),
    ],
)
def test_every_answer_to_a_known_caller_has_one_record_whatever_the_route(
    method: str, path: str, body: Any, status: int, edge: EdgeUnderTest
) -> None:
    answer = edge.send(method, path, body)
    assert [(record.id, record.status) for record in edge.log.values()] == [(answer["headers"]["request-id"], status)]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer b3os_sk_x"}])
def test_who_is_not_known_has_no_record(headers: dict[str, str], edge: EdgeUnderTest) -> None:
    assert edge.send("POST", COUNT, {"model": "b3os/tiny"}, headers=headers)["statusCode"] == 401
    assert not edge.log


def test_an_answer_leaves_however_the_record_fails_and_the_log_then_holds_it_whole(edge: EdgeUnderTest) -> None:
    def fail(record: RequestRecord) -> None:
        raise RuntimeError(MARKER)

    edge.log.put = fail  # type: ignore[method-assign]
    answer = edge.send("POST", COUNT, {"model": "b3os/tiny"})
    assert answer["statusCode"] == 200
    [line] = [line for line in edge.logger.lines if "record" in line]
    assert RequestRecord.from_dict(line["record"]).id == answer["headers"]["request-id"]
    assert MARKER not in edge.logger.text.getvalue()


def test_an_answer_that_is_almost_late_waits_no_longer_for_its_record_and_the_log_holds_it(edge: EdgeUnderTest) -> None:
    class AlmostOver:
        def get_remaining_time_in_millis(self) -> int:
            return 400

    answered = threading.Event()

    def hang(record: RequestRecord) -> None:
        answered.wait()

    edge.log.put = hang  # type: ignore[method-assign]
    answer = edge.edge(event("POST", COUNT, {"model": "b3os/tiny"}), AlmostOver())
    answered.set()
    assert answer["statusCode"] == 200
    [line] = [line for line in edge.logger.lines if "record" in line]
    assert line["record"]["id"] == answer["headers"]["request-id"]


def test_a_record_begins_when_its_id_says(edge: EdgeUnderTest) -> None:
    request_id = edge.send("POST", COUNT, {"model": "b3os/tiny"})["headers"]["request-id"]
    created = datetime.fromisoformat(edge.log[request_id].created_at)
    assert first_id("req", created)[:14] == request_id[:14]


def test_a_record_is_the_same_after_a_way_as_plain_json(edge: EdgeUnderTest) -> None:
    edge.send("POST", COUNT, {"model": "b3os/tiny"})
    (record,) = edge.log.values()
    assert RequestRecord.from_dict(json.loads(json.dumps(record.to_dict()))) == record


@pytest.mark.parametrize("data", [{}, {"images": {}}, {"images": None}, [], None, 5, "text"])
def test_what_is_no_record_is_not_read_as_one(data: Any) -> None:
    with pytest.raises((KeyError, TypeError)):
        RequestRecord.from_dict(data)


def test_a_record_with_a_field_that_is_none_of_a_record_s_is_not_read(edge: EdgeUnderTest) -> None:
    edge.send("POST", COUNT, {"model": "b3os/tiny"})
    (record,) = edge.log.values()
    with pytest.raises(TypeError):
        RequestRecord.from_dict(record.to_dict() | {"text": MARKER})

"""The edge's part of the contract, on doubles: who may ask, in which order it is judged, and what is kept of it."""

import base64
import json
import re
from typing import Any

import pytest

from tests.support.edge import CONTEXT, KEY, MODEL, NOW, EdgeUnderTest, FreshContext, credential, event
from tokencount.adapters.request_log import RecordNotKept
from tokencount.domain.credentials import new_secret
from tokencount.domain.errors import NodeUnavailable, PayloadTooLarge
from tokencount.domain.ports import Caller, NodeAnswer
from tokencount.domain.records import RequestRecord

COUNT = "/v1/infer/v1/messages/count_tokens"
BODY = {"model": "b3os/tiny", "messages": []}
REQUEST_ID = re.compile(r"req_[0-9a-hjkmnp-tv-z]{26}")
BEARER = f"Bearer {KEY.reveal()}"


@pytest.fixture
def edge() -> EdgeUnderTest:
    return EdgeUnderTest()


def test_a_count_is_the_counter_s_answer_with_both_request_ids_and_its_timing(edge: EdgeUnderTest) -> None:
    answer = edge.send("POST", COUNT, BODY)
    assert (answer["statusCode"], answer["body"]) == (200, {"input_tokens": 27})
    headers = answer["headers"]
    assert REQUEST_ID.fullmatch(headers["x-request-id"])
    assert headers["request-id"] == headers["x-request-id"]
    assert headers["Content-Type"] == "application/json"
    phases = [entry.split(";")[0] for entry in headers["Server-Timing"].split(", ")]
    assert phases == ["edge_auth", "edge_upstream", "parse", "encode", "total"]
    assert not {name for name in headers if "details" in name}


def test_the_counter_is_told_for_whom_and_never_with_what_credential(edge: EdgeUnderTest) -> None:
    request_id = edge.send("POST", COUNT, BODY)["headers"]["request-id"]
    ((model, body, caller),) = edge.node.asked
    assert (model, json.loads(body)) == ("b3os/tiny", BODY)
    assert (caller.organization, caller.project, caller.scopes) == ("org_1", "proj_1", ("infer:run",))
    assert caller.request_id == request_id


def test_the_record_of_a_count_holds_every_field_of_the_contract(edge: EdgeUnderTest) -> None:
    answer = edge.send("POST", COUNT, BODY)
    record = edge.send("GET", f"/v1/requests/{answer['headers']['request-id']}")["body"]
    timing = record.pop("timing")
    assert list(timing) == ["edge_auth", "edge_upstream", "parse", "encode", "total"]
    assert record == {
        "id": answer["headers"]["request-id"],
        "created_at": "2026-07-26T12:00:00.000+00:00",
        "method": "POST",
        "path": COUNT,
        "status": 200,
        "model": "b3os/tiny",
        "organization": "org_1",
        "project": "proj_1",
        "credential": {"kind": "api_key", "id": "key_1"},
        "input_tokens": 27,
        "route": "function",
        "images": {"count": 1, "bytes": 0, "remote_bytes": 0, "pixels": 4},
        "request_bytes": len(json.dumps(BODY)),
        "response_bytes": len('{"input_tokens":27}'),
        "error": None,
        "tokenizer_revision": "0123456789abcdef",
        "user_agent": "test/1",
        "expires_at": int(NOW.timestamp()) + 30 * 86_400,
    }


def test_another_project_s_record_is_not_found(edge: EdgeUnderTest) -> None:
    request_id = edge.send("POST", COUNT, BODY)["headers"]["request-id"]
    edge.credentials[KEY.digest] = credential(project="proj_2")
    for wanted in (request_id, "req_00000000000000000000000000", "x" * 5000, "%00", "req_" + "é" * 26):
        answer = edge.send("GET", f"/v1/requests/{wanted}")
        assert (answer["statusCode"], answer["body"]["error"]["code"]) == (404, "not_found")
        assert len(answer["body"]["error"]["message"]) < 300


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Basic eDp5"},
        {"Authorization": "Bearer"},
        {"Authorization": f"Bearer {new_secret('sk').reveal()}"},
        {"Authorization": BEARER[:-1]},
        {"x-api-key": "sk-ant-api03-abc"},
        {"Authorization": BEARER, "x-api-key": new_secret("sk").reveal()},
    ],
)
def test_no_credential_a_wrong_one_or_two_that_differ_are_401_in_the_openai_shape(
    headers: dict[str, str], edge: EdgeUnderTest
) -> None:
    answer = edge.send("POST", COUNT, BODY, headers=headers | {"content-type": "application/json"})
    assert answer["statusCode"] == 401
    assert set(answer["body"]) == {"error"}
    assert answer["body"]["error"]["code"] == "unauthorized"
    assert answer["headers"]["request-id"]
    assert not edge.node.asked


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": BEARER},
        {"AUTHORIZATION": BEARER.replace("Bearer", "bearer")},
        {"X-Api-Key": KEY.reveal()},
        {"x-api-key": KEY.reveal(), "Authorization": BEARER},
    ],
)
def test_the_same_key_is_accepted_in_either_header_in_any_case(headers: dict[str, str], edge: EdgeUnderTest) -> None:
    answer = edge.send("POST", COUNT, BODY, headers=headers | {"CONTENT-TYPE": "application/json; charset=utf-8"})
    assert answer["statusCode"] == 200


def test_multi_value_headers_are_read_and_a_second_value_that_differs_is_seen(edge: EdgeUnderTest) -> None:
    many: dict[str, Any] = {"Authorization": [BEARER], "Content-Type": ["application/json"]}
    assert edge.send("POST", COUNT, BODY, headers={}, multiValueHeaders=many)["statusCode"] == 200
    many["Authorization"].append(f"Bearer {new_secret('sk').reveal()}")
    assert edge.send("POST", COUNT, BODY, headers={}, multiValueHeaders=many)["statusCode"] == 401


def test_a_key_without_the_scope_is_403_in_the_openai_shape_and_recorded(edge: EdgeUnderTest) -> None:
    edge.credentials[KEY.digest] = credential(scopes=["keys:manage"])
    for method, path in (("POST", COUNT), ("GET", "/v1/infer/models"), ("GET", "/v1/infer/models/b3os/tiny")):
        answer = edge.send(method, path, BODY)
        assert (answer["statusCode"], answer["body"]["error"]["code"]) == (403, "forbidden")
        assert edge.log[answer["headers"]["request-id"]].status == 403


@pytest.mark.parametrize(
    ("body", "headers", "status", "code", "param", "model"),
    [
        ("{}", {"Content-Type": "text/plain"}, 415, "unsupported_media_type", None, None),
        ("{}", {"Content-Type": None}, 415, "unsupported_media_type", None, None),
        ("[" + " " * 5000, {}, 413, "payload_too_large", None, None),
        ("{", {}, 400, "invalid_request", None, None),
        (None, {}, 400, "invalid_request", None, None),
        ("[]", {}, 400, "invalid_request", None, None),
        ('{"model": 5}', {}, 400, "invalid_request", "model", None),
        ('{"model": "claude-sonnet-4-5"}', {}, 404, "model_not_available", "model", None),
        ('{"model": "b3os/tiny"}' + " " * 1000, {}, 413, "payload_too_large", None, "b3os/tiny"),
        ('{"model": "b3os/tiny", "model": "b3os/tiny"}', {}, 400, "invalid_request", None, None),
        ("\ud800", {}, 400, "invalid_request", None, None),
    ],
)
def test_the_checks_come_in_the_contract_s_order_in_the_anthropic_shape(
    body: str | None,
    headers: dict[str, str],
    status: int,
    code: str,
    param: str | None,
    model: str | None,
    edge: EdgeUnderTest,
) -> None:
    sent = {"Authorization": BEARER, "Content-Type": "application/json"} | headers
    answer = edge.send("POST", COUNT, body, headers=sent)
    assert (answer["statusCode"], answer["body"]["type"]) == (status, "error")
    assert answer["body"]["b3os"] == {"code": code} | ({"param": param} if param else {})
    assert answer["body"]["request_id"] == answer["headers"]["request-id"]
    record = edge.log[answer["headers"]["request-id"]]
    assert (record.status, record.model) == (status, model)
    assert record.error is not None
    assert (record.error["code"], record.error["param"]) == (code, param)
    assert not edge.node.asked


def test_a_413_says_the_reference_s_words(edge: EdgeUnderTest) -> None:
    large = '{"model": "b3os/tiny"}' + " " * 1000
    message = edge.send("POST", COUNT, large)["body"]["error"]["message"]
    assert message == "Request body is 1022 bytes; b3os/tiny accepts at most 1000"
    message = edge.send("POST", COUNT, " " * 6000)["body"]["error"]["message"]
    assert message == "Request body is 6000 bytes; this service accepts at most 5000"


def test_a_404_says_where_the_models_are(edge: EdgeUnderTest) -> None:
    message = edge.send("POST", COUNT, {"model": "m" * 250})["body"]["error"]["message"]
    assert message.endswith("is not served on this node; GET /v1/infer/models lists the models that are")
    assert len(message) < 300


def test_a_base64_body_is_decoded(edge: EdgeUnderTest) -> None:
    encoded = base64.b64encode(json.dumps(BODY).encode()).decode()
    assert edge.send("POST", COUNT, encoded, isBase64Encoded=True)["statusCode"] == 200
    assert json.loads(edge.node.asked[0][1]) == BODY
    assert edge.send("POST", COUNT, "=broken=", isBase64Encoded=True)["statusCode"] == 400


@pytest.mark.parametrize(
    "place",
    [
        {"resource": COUNT, "path": COUNT, "pathParameters": None},
        {"resource": COUNT, "path": "/live" + COUNT, "pathParameters": None},
        {"resource": COUNT, "path": "/base/path" + COUNT},
        {"resource": "/{proxy+}", "path": "/base" + COUNT, "pathParameters": {"proxy": COUNT[1:]}},
        {"resource": None, "path": "/live" + COUNT, "pathParameters": None},
        {"resource": None, "path": COUNT, "pathParameters": None},
        {"queryStringParameters": {"beta": "true"}, "multiValueQueryStringParameters": {"beta": ["true"]}},
    ],
)
def test_stage_base_path_and_query_change_nothing(place: dict[str, Any], edge: EdgeUnderTest) -> None:
    answer = edge.edge(event("POST", COUNT, BODY) | place, CONTEXT)
    assert (answer["statusCode"], answer["body"]) == (200, '{"input_tokens":27}')


def test_models_are_listed_and_shown_by_their_ids_raw_and_escaped(edge: EdgeUnderTest) -> None:
    listed = edge.send("GET", "/v1/infer/models")["body"]
    assert (listed["object"], [model["id"] for model in listed["data"]]) == ("list", ["b3os/tiny", "b3os/big"])
    for name in ("b3os/tiny", "b3os%2Ftiny"):
        assert edge.send("GET", f"/v1/infer/models/{name}")["body"] == MODEL
    missing = edge.send("GET", "/v1/infer/models/b3os/none")
    assert (missing["statusCode"], missing["body"]["b3os"]["code"]) == (404, "model_not_available")


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/infer/v1/messages", COUNT + "/", "/v1/infer/models/", "/v1/requests/a/b"]
)
def test_an_unknown_path_is_404_in_the_openai_shape_even_without_a_credential(path: str, edge: EdgeUnderTest) -> None:
    answer = edge.send("GET", path, headers={})
    assert (answer["statusCode"], answer["body"]["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(("method", "path"), [("GET", COUNT), ("DELETE", "/v1/infer/models"), ("OPTIONS", COUNT)])
def test_a_wrong_method_is_405_with_allow(method: str, path: str, edge: EdgeUnderTest) -> None:
    answer = edge.send(method, path)
    assert (answer["statusCode"], answer["body"]["error"]["code"]) == (405, "method_not_allowed")
    assert answer["headers"]["Allow"] == ("POST" if path == COUNT else "GET")


@pytest.mark.parametrize(("method", "path", "status"), [("PUT", COUNT, 405), ("GET", "/nope/at/all", 404)])
def test_who_asks_for_nothing_with_a_good_key_finds_a_record_of_it(
    method: str, path: str, status: int, edge: EdgeUnderTest
) -> None:
    answer = edge.send(method, path)
    record = edge.log[answer["headers"]["request-id"]]
    assert (record.status, record.path, record.project) == (status, "{path}", "proj_1")
    odd = edge.send("A-KEY-PASTED-HERE", path)
    assert edge.log[odd["headers"]["request-id"]].method == "{method}"
    assert edge.send(method, path, headers={})["headers"]["request-id"] not in edge.log
    missing = answer["body"]["error"]["code"]
    assert [line["code"] for line in edge.logger.lines] == [missing, odd["body"]["error"]["code"], missing]


def test_a_counter_is_waited_for_as_long_as_the_request_has_but_for_what_its_record_needs(edge: EdgeUnderTest) -> None:
    class Late(FreshContext):
        def get_remaining_time_in_millis(self) -> int:
            return 9_000

    waited: list[float] = []

    def count(model: str, body: str, caller: Caller, seconds: float) -> NodeAnswer:
        waited.append(seconds)
        return edge.node.answer

    edge.node.count = count  # type: ignore[method-assign]
    edge.edge(event("POST", COUNT, BODY), Late())
    assert waited == [7]


def test_a_counter_s_error_passes_through_and_its_details_reach_the_record(edge: EdgeUnderTest) -> None:
    error = {"type": "invalid_request_error", "code": "invalid_request", "param": "messages"}
    details = {"tokenizer_revision": "r", "error": error}
    edge.node.answer = NodeAnswer(400, '{"type":"error"}', {"x-b3os-details": json.dumps(details)})
    answer = edge.send("POST", COUNT, BODY)
    assert (answer["statusCode"], answer["body"]) == (400, {"type": "error"})
    record = edge.log[answer["headers"]["request-id"]]
    assert (record.status, record.error, record.input_tokens, record.route) == (400, error, None, None)


def test_a_node_that_does_not_answer_is_503_in_the_openai_shape_with_retry_after(edge: EdgeUnderTest) -> None:
    def fail(*_: object) -> NodeAnswer:
        raise NodeUnavailable("The node is unavailable; retry in 5 seconds", retry_after=5)

    edge.node.count = fail  # type: ignore[method-assign,assignment]
    answer = edge.send("POST", COUNT, BODY)
    assert (answer["statusCode"], answer["body"]["error"]["code"]) == (503, "node_unavailable")
    assert answer["headers"]["Retry-After"] == "5"
    assert edge.log[answer["headers"]["request-id"]].model == "b3os/tiny"


def test_a_body_that_grows_too_large_by_escaping_is_413(edge: EdgeUnderTest) -> None:
    def fail(*_: object) -> NodeAnswer:
        raise PayloadTooLarge("Request body is 9 bytes once escaped; this service accepts at most 6")

    edge.node.count = fail  # type: ignore[method-assign,assignment]
    answer = edge.send("POST", COUNT, BODY)
    assert (answer["statusCode"], answer["body"]["error"]["type"]) == (413, "request_too_large")


def test_a_fault_of_ours_is_a_500_that_tells_its_id_and_logs_where_but_not_what(
    edge: EdgeUnderTest,
) -> None:
    def fail(*_: object) -> NodeAnswer:
        raise RuntimeError("MARKER-CONTENT")

    edge.node.count = fail  # type: ignore[method-assign,assignment]
    answer = edge.send("POST", COUNT, BODY)
    assert answer["statusCode"] == 500
    assert answer["body"]["error"]["message"] == f"internal error (request {answer['headers']['request-id']})"
    lines = edge.logger.lines
    assert "RuntimeError at" in lines[0]["fault"]
    assert "MARKER-CONTENT" not in json.dumps([lines, answer])
    assert [line["request_id"] for line in lines] == [answer["headers"]["request-id"]] * 2


def test_an_answer_leaves_though_its_record_is_not_kept_and_the_log_then_holds_it_whole(
    edge: EdgeUnderTest,
) -> None:
    def fail(record: RequestRecord) -> None:
        raise RecordNotKept(record.id)

    edge.log.put = fail  # type: ignore[method-assign]
    answer = edge.send("POST", COUNT, BODY)
    assert answer["statusCode"] == 200
    (record,) = [line["record"] for line in edge.logger.lines if "record" in line]
    assert record["id"] == answer["headers"]["request-id"]


@pytest.mark.parametrize(
    "broken", [{"headers": None, "multiValueHeaders": None}, {"body": 5}, {"requestContext": None}]
)
def test_an_event_with_holes_is_answered_like_any_other(broken: dict[str, Any], edge: EdgeUnderTest) -> None:
    answer = edge.edge(event("POST", COUNT, BODY) | broken, CONTEXT)
    assert answer["statusCode"] < 500

"""The key routes on doubles: who may manage keys, what a key may be asked to be, and where its secret is shown."""

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.support.edge import KEY, NOW, EdgeUnderTest, credential
from tokencount.domain.credentials import INFER_RUN, KEYS_MANAGE, SCOPES, Credential, parse_secret
from tokencount.domain.ids import new_id
from tokencount.domain.issuing import Account, issue_key, issue_pat

ACCOUNT = Account("org_1", "proj_1", "usr_1")
LATER = "2026-07-27T12:00:00Z"
WANTED = {"name": "ci", "scopes": [INFER_RUN]}
# Of the finite doubles.
LARGEST = 1.7976931348623157e308


class Managed(EdgeUnderTest):
    """An edge that also knows a user's token, which its requests are sent with."""

    def __init__(self) -> None:
        super().__init__()
        self.pat, holder = issue_pat(ACCOUNT, "mine", NOW)
        self.credentials[self.pat.digest] = holder

    def ask(self, method: str, path: str = "/v1/keys", body: Any = None, **rest: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.pat.reveal()}", "Content-Type": "application/json"}
        return self.send(method, path, body, headers=headers | rest.pop("headers", {}), **rest)

    def add_key(self, **rest: Any) -> Credential:
        """A key of which only the store knows."""
        made: dict[str, Any] = {"organization": "org_1", "project": "proj_1", "name": "x", "scopes": [INFER_RUN]}
        secret, key = issue_key(**made | {"now": NOW} | rest)
        self.credentials[secret.digest] = key
        return key

    def keys_by_id(self) -> dict[str, Credential]:
        return {key.id: key for key in self.credentials.values()}


@pytest.fixture
def edge() -> Managed:
    return Managed()


def test_a_new_key_is_shown_with_its_secret_in_the_answer_to_its_creation_alone(edge: Managed) -> None:
    wanted = {"name": "ci", "scopes": [INFER_RUN], "expires_at": LATER, "spend_cap": 12.5}
    answer = edge.ask("POST", body=wanted)
    made = answer["body"]
    secret = parse_secret(made.pop("secret"))
    assert answer["statusCode"] == 201
    assert answer["headers"]["Cache-Control"] == "no-store"
    assert made == {
        "id": made["id"],
        "object": "key",
        "name": "ci",
        "prefix": secret.prefix,
        "project": "proj_1",
        "scopes": [INFER_RUN],
        "spend_cap": 12.5,
        "expires_at": "2026-07-27T12:00:00.000+00:00",
        "created_at": "2026-07-26T12:00:00.000+00:00",
        "revoked_at": None,
    }
    [listed] = [key for key in edge.ask("GET")["body"]["data"] if key["id"] == made["id"]]
    assert listed == made
    assert edge.ask("DELETE", f"/v1/keys/{made['id']}")["body"].keys() == made.keys()


def test_a_new_key_may_do_what_it_was_given_and_nothing_else(edge: Managed) -> None:
    secret = edge.ask("POST", body=WANTED)["body"]["secret"]
    bearer = {"Authorization": f"Bearer {secret}"}
    assert edge.send("GET", "/v1/infer/models", headers=bearer)["statusCode"] == 200
    assert edge.send("GET", "/v1/keys", headers=bearer)["statusCode"] == 403


def test_expiry_and_spend_cap_may_be_null_or_left_out(edge: Managed) -> None:
    for extra in ({}, {"expires_at": None, "spend_cap": None}):
        made = edge.ask("POST", body=WANTED | extra)["body"]
        assert (made["expires_at"], made["spend_cap"]) == (None, None)


@pytest.mark.parametrize("cap", [0, 0.0, 5, 0.1, 5e-324, LARGEST, pytest.param(int(LARGEST), id="309 digits")])
def test_a_spend_cap_is_shown_as_it_was_sent(cap: float, edge: Managed) -> None:
    made = edge.ask("POST", body=WANTED | {"spend_cap": cap})["body"]
    assert made["spend_cap"] == cap


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("2026-07-26T14:00:00.001+02:00", "2026-07-26T12:00:00.001+00:00"),
        ("2026-07-26T12:00:01", "2026-07-26T12:00:01.000+00:00"),
        ("2027-01-01", "2027-01-01T00:00:00.000+00:00"),
        ("9999-12-31T23:59:59-01:00", "9999-12-31T23:59:59.999+00:00"),
    ],
)
def test_an_expiry_is_a_time_of_iso_8601_and_shown_in_utc(sent: str, shown: str, edge: Managed) -> None:
    assert edge.ask("POST", body=WANTED | {"expires_at": sent})["body"]["expires_at"] == shown


@pytest.mark.parametrize(
    ("change", "param", "message"),
    [
        ({"name": None}, "name", "name must be a string of 1 to 100 characters; null was sent"),
        ({"name": ""}, "name", 'name must be a string of 1 to 100 characters; "" was sent'),
        ({"name": "x" * 101}, "name", f"name must be a string of 1 to 100 characters; {'x' * 101} was sent"),
        ({"name": ["x"]}, "name", "name must be a string of 1 to 100 characters; an array was sent"),
        ({"scopes": None}, "scopes", "scopes must be an array that holds infer:run or keys:manage; null was sent"),
        ({"scopes": []}, "scopes", "scopes must be an array that holds infer:run or keys:manage; an array was sent"),
        ({"scopes": INFER_RUN}, "scopes", "infer:run was sent"),
        ({"scopes": [INFER_RUN, "x"]}, "scopes.1", "scopes.1 must be infer:run or keys:manage; x was sent"),
        ({"scopes": [[INFER_RUN]]}, "scopes.0", "an array was sent"),
        ({"scopes": [INFER_RUN, INFER_RUN]}, "scopes.1", "scopes.1 is infer:run for a second time"),
        ({"expires_at": 5}, "expires_at", "a time of ISO 8601 like 2026-07-26T12:00:00Z, or null; 5 was sent"),
        ({"expires_at": "soon"}, "expires_at", "soon was sent"),
        ({"expires_at": ""}, "expires_at", '"" was sent'),
        ({"expires_at": "2026-07-26T12:00:00Z"}, "expires_at", "expires_at must be in the future"),
        ({"expires_at": "0001-01-01T00:00:00+14:00"}, "expires_at", "expires_at must be in the future"),
        ({"spend_cap": -0.01}, "spend_cap", f"spend_cap must be a number from 0 to {LARGEST}, or null; -0.01 was sent"),
        ({"spend_cap": int(LARGEST) + 1}, "spend_cap", f"{str(int(LARGEST))[:199]}… was sent"),
        ({"spend_cap": 10**4000}, "spend_cap", "0… was sent"),
        ({"spend_cap": True}, "spend_cap", "true was sent"),
        ({"spend_cap": "5"}, "spend_cap", "5 was sent"),
        ({"Name": "x"}, "Name", "Name is not a field of a new key; accepted: name, scopes, expires_at, spend_cap"),
        ({"name": 5, "x": 1, "spend_cap": {}}, "name", "5 was sent (and 2 more faults)"),
        ({"scopes": 1, "x": 1}, "scopes", "1 was sent (and 1 more fault)"),
    ],
)
def test_a_bad_field_is_a_400_in_the_openai_shape_that_names_it(
    change: dict[str, Any], param: str, message: str, edge: Managed
) -> None:
    answer = edge.ask("POST", body=WANTED | change)
    error = answer["body"]["error"]
    assert (answer["statusCode"], set(answer["body"])) == (400, {"error"})
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", "invalid_request", param)
    assert message in error["message"]
    assert len(edge.credentials) == 2


@pytest.mark.parametrize("missing", ["name", "scopes"])
def test_a_name_and_scopes_are_required(missing: str, edge: Managed) -> None:
    body = {name: value for name, value in WANTED.items() if name != missing}
    error = edge.ask("POST", body=body)["body"]["error"]
    assert (error["code"], error["param"]) == ("invalid_request", missing)
    assert error["message"].endswith("; nothing was sent")


@pytest.mark.parametrize(
    "body",
    [
        None,
        "",
        "{",
        "[]",
        '"x"',
        '{"name": "a", "name": "b", "scopes": ["infer:run"]}',
        '{"name": "a", "scopes": ["infer:run"], "spend_cap": NaN}',
        '{"name": "a", "scopes": ["infer:run"], "spend_cap": 1e400}',
        '{"name": "\\ud800", "scopes": ["infer:run"]}',
        '{"name": ' + "[" * 200 + "]" * 200 + "}",
    ],
)
def test_a_body_that_is_no_strict_json_object_is_a_400(body: str | None, edge: Managed) -> None:
    answer = edge.ask("POST", body=body)
    assert (answer["statusCode"], answer["body"]["error"]["code"]) == (400, "invalid_request")


def test_a_body_that_is_not_declared_as_json_is_a_415(edge: Managed) -> None:
    answer = edge.ask("POST", body=WANTED, headers={"Content-Type": "text/plain"})
    assert (answer["statusCode"], answer["body"]["error"]["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_an_api_key_without_the_scope_manages_no_keys(method: str, edge: Managed) -> None:
    path = f"/v1/keys/{new_id('key', NOW)}" if method == "DELETE" else "/v1/keys"
    answer = edge.send(method, path, WANTED)
    assert (answer["statusCode"], answer["body"]["error"]["code"]) == (403, "forbidden")
    assert "keys:manage" in answer["body"]["error"]["message"]


def test_an_api_key_with_the_scope_gives_at_most_its_own_scopes(edge: Managed) -> None:
    edge.credentials[KEY.digest] = credential(scopes=[KEYS_MANAGE])
    assert edge.send("POST", "/v1/keys", WANTED | {"scopes": [KEYS_MANAGE]})["statusCode"] == 201
    answer = edge.send("POST", "/v1/keys", WANTED | {"scopes": [KEYS_MANAGE, INFER_RUN]})
    assert (answer["statusCode"], answer["body"]["error"]["code"]) == (403, "forbidden")
    assert "infer:run" in answer["body"]["error"]["message"]


def test_a_users_token_gives_every_scope(edge: Managed) -> None:
    assert edge.ask("POST", body=WANTED | {"scopes": list(SCOPES)})["body"]["scopes"] == list(SCOPES)


def test_a_list_is_of_the_callers_project_and_of_api_keys_alone_the_newest_first(edge: Managed) -> None:
    mine = [edge.add_key(now=NOW + timedelta(minutes=at)).id for at in range(3)]
    edge.add_key(project="proj_2")
    body = edge.ask("GET")["body"]
    assert (body["object"], body["next_cursor"]) == ("list", None)
    assert [key["id"] for key in body["data"]] == [*mine[::-1], "key_1"]
    assert {key["object"] for key in body["data"]} == {"key"}


def test_a_list_is_read_page_by_page(edge: Managed) -> None:
    ids = [edge.add_key(now=NOW + timedelta(minutes=at)).id for at in range(25)]
    del edge.credentials[KEY.digest]
    page = edge.ask("GET")["body"]
    assert len(page["data"]) == 20
    rest = edge.ask("GET", multiValueQueryStringParameters={"cursor": [page["next_cursor"]]})["body"]
    assert [key["id"] for key in [*page["data"], *rest["data"]]] == ids[::-1]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        ({"limit": ["0"]}, "invalid_request", "limit"),
        ({"limit": ["101"]}, "invalid_request", "limit"),
        ({"limit": ["2.0"]}, "invalid_request", "limit"),
        ({"limit": ["1", "2"]}, "invalid_request", "limit"),
        ({"cursor": ["x"]}, "invalid_request", "cursor"),
        ({"status": ["200"]}, "unsupported_parameter", "status"),
    ],
)
def test_a_query_string_of_another_kind_is_a_400(
    query: dict[str, list[str]], code: str, param: str, edge: Managed
) -> None:
    answer = edge.ask("GET", multiValueQueryStringParameters=query)
    error = answer["body"]["error"]
    assert (answer["statusCode"], error["code"], error["param"]) == (400, code, param)


def test_a_revoked_key_is_shown_with_its_time_is_forgotten_here_and_stays_as_it_is(edge: Managed) -> None:
    key = edge.add_key()
    first = edge.ask("DELETE", f"/v1/keys/{key.id}")
    assert (first["statusCode"], first["body"]["revoked_at"]) == (200, "2026-07-26T12:00:00.000+00:00")
    assert edge.ask("DELETE", f"/v1/keys/{key.id}")["body"] == first["body"]
    assert edge.forgotten == [key.id, key.id]


def test_a_key_may_revoke_itself_and_is_none_from_then_on(edge: Managed) -> None:
    edge.credentials[KEY.digest] = credential(id="key_00000000000000000000000001", scopes=[KEYS_MANAGE])
    assert edge.send("DELETE", "/v1/keys/key_00000000000000000000000001")["statusCode"] == 200
    answer = edge.send("GET", "/v1/keys")
    assert (answer["statusCode"], answer["body"]["error"]["message"]) == (401, "This API key has been revoked")


@pytest.mark.parametrize(
    "wanted", ["key_00000000000000000000000000", "key_1", "x", "%00", "secret%23abc", "é", "x" * 3000]
)
def test_a_key_that_is_none_of_the_project_is_not_found(wanted: str, edge: Managed) -> None:
    answer = edge.ask("DELETE", f"/v1/keys/{wanted}")
    assert (answer["statusCode"], answer["body"]["error"]["code"]) == (404, "not_found")


def test_another_projects_key_is_not_found_and_stays_good(edge: Managed) -> None:
    theirs = edge.add_key(project="proj_2")
    assert edge.ask("DELETE", f"/v1/keys/{theirs.id}")["statusCode"] == 404
    assert edge.keys_by_id()[theirs.id].revoked_at is None


def test_of_a_bad_field_the_record_keeps_the_name_and_of_an_unknown_one_nothing(edge: Managed) -> None:
    for change, kept in (({"scopes": ["x"]}, "scopes.0"), ({"b3os_sk_secret": 1}, None)):
        answer = edge.ask("POST", body=WANTED | change)
        record = edge.log[answer["headers"]["request-id"]]
        assert record.error == {"type": "invalid_request_error", "code": "invalid_request", "param": kept}


def test_the_secret_of_a_new_key_is_in_no_record_and_no_log(edge: Managed) -> None:
    answer = edge.ask("POST", body=WANTED)
    random = answer["body"]["secret"].split("_")[2]
    record = edge.log[answer["headers"]["request-id"]]
    assert record.credential == {"kind": "pat", "id": edge.credentials[edge.pat.digest].id}
    assert random not in json.dumps([record.to_dict(), edge.logger.lines]) + repr([record, edge.credentials])

"""No credential, good or bad, is in anything that leaves the edge or stays behind, wherever a client put it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.edge import DASHBOARD, KEY, NOW, EdgeUnderTest, credential
from tokencount.domain.credentials import SCOPES, Secret, new_secret
from tokencount.domain.errors import quote
from tokencount.domain.issuing import Account, issue_pat, issue_session

COUNT = "/v1/infer/v1/messages/count_tokens"
ACCOUNT = Account("org_1", "proj_1", "usr_1")
Request = tuple[str, str, dict[str, str], Any]
GOOD = {"Authorization": f"Bearer {KEY.reveal()}", "Content-Type": "application/json"}


def key_body(**fields: Any) -> Request:
    return ("POST", "/v1/keys", GOOD, {"name": "x", "scopes": ["infer:run"]} | fields)


PLACES: dict[str, Callable[[str], Request]] = {
    "bearer": lambda text: ("POST", COUNT, {"Authorization": f"Bearer {text}"}, {}),
    "bearer of a key route": lambda text: ("POST", "/v1/keys", {"Authorization": f"Bearer {text}"}, {}),
    "scheme": lambda text: ("GET", "/v1/keys", {"Authorization": text}, None),
    "x-api-key": lambda text: ("GET", "/v1/requests", {"x-api-key": text}, None),
    "two": lambda text: ("GET", "/v1/requests", GOOD | {"x-api-key": text}, None),
    "cookie": lambda text: (
        "GET",
        "/v1/auth/session",
        {"Host": DASHBOARD, "Cookie": f"__Host-b3os_session={text}"},
        None,
    ),
    "cookie elsewhere": lambda text: ("GET", "/v1/keys", {"Cookie": f"__Host-b3os_session={text}"}, None),
    "user agent": lambda text: ("GET", "/v1/requests", GOOD | {"User-Agent": f"x/1 {text}"}, None),
    "csrf": lambda text: ("POST", COUNT, GOOD | {"x-b3os-csrf": text}, {}),
    "scopes": lambda text: key_body(scopes=[text]),
    "expiry": lambda text: key_body(expires_at=text),
    "spend cap": lambda text: key_body(spend_cap=text),
    "unknown field": lambda text: key_body(**{text: 1}),
    "field twice": lambda text: ("POST", "/v1/keys", GOOD, f'{{"{text}": 1, "{text}": 2}}'),
    "long name": lambda text: key_body(name=f"{text} " * 20),
    "no json": lambda text: ("POST", "/v1/keys", GOOD, text),
    "model": lambda text: ("POST", COUNT, GOOD, {"model": text}),
    "key id": lambda text: ("DELETE", f"/v1/keys/{text}", GOOD, None),
    "record id": lambda text: ("GET", f"/v1/requests/{text}", GOOD, None),
    "model id": lambda text: ("GET", f"/v1/infer/models/{text}", GOOD, None),
    "path": lambda text: ("GET", f"/v1/{text}/x", GOOD, None),
    "method": lambda text: (text, "/v1/keys", GOOD, None),
}


def with_letter(secret: Secret, place: int) -> str:
    """The secret with one letter changed: nearly the good one."""
    text = secret.reveal()
    return f"{text[:place]}{'b' if text[place] != 'b' else 'c'}{text[place + 1 :]}"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["sk", "pat", "ses"])
@pytest.mark.parametrize("good", ["known", "unknown", "mistyped", "cut"])
def test_no_credential_is_in_an_answer_a_log_a_record_or_a_repr(place: str, kind: Any, good: str) -> None:
    edge = EdgeUnderTest()
    edge.credentials[KEY.digest] = credential(scopes=list(SCOPES))
    secret = new_secret(kind)
    made = {
        "sk": lambda: credential(scopes=list(SCOPES)),
        "pat": lambda: issue_pat(ACCOUNT, "x", NOW).credential,
        "ses": lambda: issue_session(ACCOUNT, "x", NOW).credential,
    }
    if good == "known":
        edge.credentials[secret.digest] = made[kind]()
    text = {"mistyped": with_letter(secret, 40), "cut": secret.reveal()[:-3]}.get(good, secret.reveal())
    method, path, headers, body = PLACES[place](text)
    answer = edge.send(method, path, body, headers=headers)
    kept = [record.to_dict() for record in edge.log.values()]
    seen = json.dumps([answer, kept, edge.logger.lines]) + repr([edge.log, edge.credentials, vars(edge.edge)])
    random = text.split("_")[2]
    # The name of a key is its maker's own text, and the CSRF token is no credential by itself.
    assert not [random[at : at + 8] for at in range(len(random) - 8) if random[at : at + 8] in seen]
    assert answer["statusCode"] < 500


@pytest.mark.parametrize("text", ["b3os_sk_abc", "x B3OS_PAT_ABC_1 y", '["b3os_ses_abc"]', "/v1/b3os_sk_abc%20/x"])
def test_a_message_repeats_no_credential_that_it_quotes(text: str) -> None:
    assert "abc" not in quote(text).lower()


def test_a_credential_that_is_cut_where_a_message_ends_is_not_repeated_either() -> None:
    for before in range(150, 200):
        assert "zzz" not in quote("x" * before + "b3os_sk_" + "z" * 40)


BREAKS = "a\r\nSet-Cookie: x=1\r\n\r\nb\u0085\u2028\x00"


@pytest.mark.parametrize("credentials", [GOOD, {}])
def test_no_header_of_an_answer_holds_anything_of_the_clients(credentials: dict[str, str]) -> None:
    edge = EdgeUnderTest()
    names = ("User-Agent", "x-request-id", "request-id", "Host", "Cookie", "x-b3os-csrf", "Origin", "Accept")
    headers = credentials | dict.fromkeys(names, BREAKS) | {"Content-Type": "application/json"}
    query = {BREAKS: BREAKS, "limit": BREAKS}
    for method, path in (
        ("POST", COUNT),
        ("POST", "/v1/keys"),
        ("GET", "/v1/keys"),
        ("DELETE", f"/v1/keys/{BREAKS}"),
        ("GET", f"/v1/requests/{BREAKS}"),
        ("GET", f"/v1/infer/models/{BREAKS}"),
        ("GET", f"/{BREAKS}"),
        (f"GET{BREAKS}", "/v1/keys"),
        ("GET", "/v1/auth/session"),
    ):
        answer = edge.send(method, path, {BREAKS: 1, "model": BREAKS}, headers=headers, queryStringParameters=query)
        assert answer["statusCode"] < 500
        for name, value in answer["headers"].items():
            assert f"{name}: {value}".isprintable()
            assert "Set-Cookie" not in name + value

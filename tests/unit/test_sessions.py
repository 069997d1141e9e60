"""The session cookie: on which host, with what beside it, and what a dashboard is told of its session."""

from datetime import timedelta
from typing import Any

import pytest

from edge.authentication import Authentication, require_csrf_token
from edge.request import EdgeRequest
from tests.support.edge import DASHBOARD, KEY, NOW, EdgeUnderTest, KnownCredentials, event
from tokencount.domain.credentials import SCOPES, Secret, new_secret
from tokencount.domain.errors import Forbidden, Unauthorized
from tokencount.domain.issuing import SESSION_LIFETIME, Account, issue_pat, issue_session

ACCOUNT = Account("org_1", "proj_1", "usr_1")
COUNT = "/v1/infer/v1/messages/count_tokens"
BODY = {"model": "b3os/tiny", "messages": []}
ABSENT = "key_01m5t4yg394wegr3j4y01qb363"  # written down: a test's name holds it, in every process the same
BEARER = {"Authorization": f"Bearer {KEY.reveal()}"}


def cookie(secret: Secret) -> str:
    return f"__Host-b3os_session={secret.reveal()}"


class Dashboard(EdgeUnderTest):
    """An edge with a session, asked as the dashboard's page asks."""

    def __init__(self) -> None:
        super().__init__()
        self.secret, self.session = issue_session(ACCOUNT, "mine", NOW)
        self.credentials[self.secret.digest] = self.session

    def ask(self, method: str, path: str, body: Any = None, **headers: str | None) -> dict[str, Any]:
        sent = {"Host": DASHBOARD, "Cookie": cookie(self.secret), "Content-Type": "application/json"}
        changes = {name.replace("_", "-"): value for name, value in headers.items()}
        kept = {name: value for name, value in (sent | changes).items() if value is not None}
        return self.send(method, path, body, headers=kept)


@pytest.fixture
def edge() -> Dashboard:
    return Dashboard()


def test_a_session_is_told_whose_it_is_with_its_csrf_token(edge: Dashboard) -> None:
    answer = edge.ask("GET", "/v1/auth/session")
    assert answer["statusCode"] == 200
    assert answer["headers"]["Cache-Control"] == "no-store"
    assert answer["body"] == {
        "object": "session",
        "id": edge.session.id,
        "user": "usr_1",
        "organization": "org_1",
        "project": "proj_1",
        "expires_at": "2026-07-27T00:00:00.000+00:00",
        "csrf_token": edge.secret.csrf_token,
    }


@pytest.mark.parametrize("also", [{}, {"Cookie": "other=1"}])
def test_whoever_has_no_session_is_told_401_of_it(also: dict[str, str], edge: Dashboard) -> None:
    pat, holder = issue_pat(ACCOUNT, "mine", NOW)
    edge.credentials[pat.digest] = holder
    for headers in ({}, BEARER, {"x-api-key": KEY.reveal()}, {"Authorization": f"Bearer {pat.reveal()}"}):
        answer = edge.send("GET", "/v1/auth/session", headers=headers | also | {"Host": DASHBOARD})
        assert (answer["statusCode"], answer["body"]["error"]["code"]) == (401, "unauthorized")


def test_with_a_bearer_credential_present_the_cookie_is_ignored_whatever_it_holds(edge: Dashboard) -> None:
    for value in (edge.secret.reveal(), "broken", new_secret("ses").reveal()):
        answer = edge.ask("POST", COUNT, BODY, **BEARER, Cookie=f"__Host-b3os_session={value}")
        assert answer["statusCode"] == 200
        assert edge.log[answer["headers"]["request-id"]].credential == {"kind": "api_key", "id": "key_1"}
        assert edge.ask("GET", "/v1/auth/session", **BEARER)["statusCode"] == 401
        assert (
            edge.ask("POST", COUNT, BODY, x_api_key=KEY.reveal(), Cookie="__Host-b3os_session=x")["statusCode"] == 200
        )


def test_a_bad_bearer_credential_is_not_made_good_by_a_cookie(edge: Dashboard) -> None:
    answer = edge.ask("GET", "/v1/requests", Authorization=f"Bearer {new_secret('sk').reveal()}")
    assert answer["statusCode"] == 401


def test_a_session_counts_and_manages_keys_with_its_csrf_token(edge: Dashboard) -> None:
    token = edge.ask("GET", "/v1/auth/session")["body"]["csrf_token"]
    assert edge.ask("POST", COUNT, BODY, x_b3os_csrf=token)["statusCode"] == 200
    made = edge.ask("POST", "/v1/keys", {"name": "x", "scopes": list(SCOPES)}, x_b3os_csrf=token)
    assert made["statusCode"] == 201
    assert edge.ask("DELETE", f"/v1/keys/{made['body']['id']}", x_b3os_csrf=token)["statusCode"] == 200


def test_reading_needs_no_csrf_token(edge: Dashboard) -> None:
    for path in ("/v1/auth/session", "/v1/keys", "/v1/requests", "/v1/infer/models"):
        assert edge.ask("GET", path)["statusCode"] == 200


@pytest.mark.parametrize(("method", "path"), [("POST", COUNT), ("POST", "/v1/keys"), ("DELETE", f"/v1/keys/{ABSENT}")])
@pytest.mark.parametrize("token", [None, "", "x", "é", "another's", "longer"])
def test_anything_else_without_the_sessions_csrf_token_is_403_and_recorded(
    token: str | None, method: str, path: str, edge: Dashboard
) -> None:
    made = {"another's": new_secret("ses").csrf_token, "longer": f"{edge.secret.csrf_token}0"}
    answer = edge.ask(method, path, BODY, x_b3os_csrf=made.get(token or "", token))
    assert (answer["statusCode"], answer["body"]["error"]["code"]) == (403, "forbidden")
    record = edge.log[answer["headers"]["request-id"]]
    assert (record.status, record.credential) == (403, {"kind": "session", "id": edge.session.id})
    assert not edge.node.asked


def test_a_head_request_needs_no_csrf_token_as_it_changes_nothing(edge: Dashboard) -> None:
    headers = {"Host": DASHBOARD, "Cookie": cookie(edge.secret)}
    require_csrf_token(EdgeRequest(event("HEAD", "/", headers=headers)), edge.session)
    with pytest.raises(Forbidden, match="x-b3os-csrf"):
        require_csrf_token(EdgeRequest(event("PUT", "/", headers=headers)), edge.session)


def test_an_api_key_and_a_token_need_no_csrf_token(edge: Dashboard) -> None:
    assert edge.send("POST", COUNT, BODY)["statusCode"] == 200


@pytest.mark.parametrize("host", ["api.example", "dashboard.example.evil", "localhost", "xdashboard.example", None])
def test_on_any_other_host_the_cookie_is_no_credential(host: str | None, edge: Dashboard) -> None:
    answer = edge.ask("GET", "/v1/auth/session", Host=host)
    assert (answer["statusCode"], answer["body"]["error"]["code"]) == (401, "unauthorized")


@pytest.mark.parametrize("host", ["dashboard.example", "DASHBOARD.example:443"])
def test_the_hosts_case_and_port_do_not_matter(host: str, edge: Dashboard) -> None:
    assert edge.ask("GET", "/v1/auth/session", Host=host)["statusCode"] == 200


def test_api_gateways_word_for_the_host_goes_before_the_clients(edge: Dashboard) -> None:
    headers = {"Host": DASHBOARD, "Cookie": cookie(edge.secret)}
    context = {"stage": "live", "domainName": "api.example"}
    answer = edge.send("GET", "/v1/auth/session", headers=headers, requestContext=context)
    assert answer["statusCode"] == 401
    there = {"headers": headers | {"Host": "x"}, "requestContext": context | {"domainName": DASHBOARD}}
    assert edge.send("GET", "/v1/auth/session", **there)["statusCode"] == 200


@pytest.mark.parametrize("configured", ["localhost", "127.0.0.1"])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "localhost:8080", "127.0.0.1:51234"])
def test_a_dashboard_on_this_machine_is_reached_by_either_name_on_any_port(configured: str, host: str) -> None:
    secret, session = issue_session(ACCOUNT, "mine", NOW)
    authentication = Authentication(KnownCredentials({secret.digest: session}), configured, lambda: NOW)
    request = EdgeRequest(event("GET", "/", headers={"Host": host, "Cookie": cookie(secret)}))
    assert authentication.find(request) == session


def test_the_cookie_is_found_among_others_and_two_that_differ_are_refused(edge: Dashboard) -> None:
    mine, other = cookie(edge.secret), cookie(new_secret("ses"))
    for value in (f"a=1; {mine}; b=2", f"a=1;{mine}", f"{mine};{mine}"):
        assert edge.ask("GET", "/v1/auth/session", Cookie=value)["statusCode"] == 200
    for value in (f"{mine}; {other}", mine.replace("__Host-", ""), mine.lower(), f"x{mine}", "__Host-b3os_session="):
        assert edge.ask("GET", "/v1/auth/session", Cookie=value)["statusCode"] == 401
    several = {"Host": [DASHBOARD], "Cookie": ["a=1", mine]}
    assert edge.send("GET", "/v1/auth/session", headers={}, multiValueHeaders=several)["statusCode"] == 200


def test_each_kind_of_credential_is_accepted_in_its_own_place_alone(edge: Dashboard) -> None:
    pat, holder = issue_pat(ACCOUNT, "mine", NOW)
    edge.credentials[pat.digest] = holder
    for secret in (KEY, pat):
        assert edge.ask("GET", "/v1/requests", Cookie=cookie(secret))["statusCode"] == 401
        for headers in ({"Authorization": f"Bearer {secret.reveal()}"}, {"x-api-key": secret.reveal()}):
            assert edge.send("GET", "/v1/requests", headers=headers)["statusCode"] == 200
    for headers in ({"Authorization": f"Bearer {edge.secret.reveal()}"}, {"x-api-key": edge.secret.reveal()}):
        answer = edge.send("GET", "/v1/requests", headers=headers | {"Host": DASHBOARD})
        assert answer["statusCode"] == 401
        assert "cookie" in answer["body"]["error"]["message"]


def test_a_broken_cookie_is_told_as_a_broken_key_is(edge: Dashboard) -> None:
    answer = edge.ask("GET", "/v1/auth/session", Cookie=f"{cookie(edge.secret)[:-1]}")
    assert answer["body"]["error"]["message"] == "API key checksum does not match; check that the whole key was copied"


def test_a_session_ends_after_twelve_hours() -> None:
    secret, session = issue_session(ACCOUNT, "mine", NOW)
    request = EdgeRequest(event("GET", "/", headers={"Host": DASHBOARD, "Cookie": cookie(secret)}))
    now = [NOW + timedelta(hours=11, minutes=59)]
    authentication = Authentication(KnownCredentials({secret.digest: session}), DASHBOARD, lambda: now[0])
    assert authentication.find(request) == session
    now[0] = NOW + SESSION_LIFETIME
    with pytest.raises(Unauthorized, match="This session expired at 2026-07-27T00:00:00"):
        authentication.find(request)

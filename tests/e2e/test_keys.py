"""Credentials of the running stack: keys made, used and revoked over HTTP, sessions, and a rotation under load."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import urllib3

from local import aws
from local.stack import Stack
from tests.support.counter import counter_event
from tests.support.requests import EXAMPLE
from tests.support.server import Server
from tokencount.adapters.credentials import CredentialStore
from tokencount.adapters.node_protocol import COUNT_PATH
from tokencount.adapters.node_tokens import NodeKeys, NodeTokens
from tokencount.domain.credentials import INFER_RUN, KEYS_MANAGE, new_secret
from tokencount.domain.issuing import issue_key
from tokencount.domain.ports import Caller

pytestmark = pytest.mark.xdist_group("keys")

SECRET = "NodeTokenSecret"


class Http:
    """The service over HTTP; `sent` are the credentials that went into it, good and bad."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.sent: list[str] = [server.api_key, server.pat, server.session]
        self.store = CredentialStore(self._client("dynamodb"), "CredentialsTable")
        self.vault = self._client("secretsmanager")
        self._http = urllib3.PoolManager(8, retries=False, timeout=60)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and JSON of an answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content = None if body is None else json.dumps(body)
        sent = {"content-type": "application/json"} | named
        answer = self._http.request(method, self.server.url + path, body=content, headers=sent)
        return answer.status, answer.json()

    def count(self, **headers: str) -> tuple[int, Any]:
        return self.ask("POST", COUNT_PATH, EXAMPLE, **headers)

    def _client(self, service: Any) -> Any:
        return aws.session().client(service, endpoint_url=self.server.aws_url, config=aws.DIRECT)


@pytest.fixture(scope="module")
def http(server: Server) -> Http:
    return Http(server)


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def test_a_key_is_made_with_the_token_counts_is_listed_and_dies_when_it_is_revoked(http: Http) -> None:
    mine = bearer(http.server.pat)
    status, made = http.ask("POST", "/v1/keys", {"name": "ci", "scopes": [INFER_RUN]}, **mine)
    secret = made.pop("secret")
    http.sent.append(secret)
    assert status == 201
    assert http.count(**bearer(secret)) == (200, {"input_tokens": 27})
    assert http.count(x_api_key=secret) == (200, {"input_tokens": 27})
    assert made in http.ask("GET", "/v1/keys", **mine)[1]["data"]
    assert http.ask("GET", "/v1/keys", **bearer(secret))[0] == 403
    status, revoked = http.ask("DELETE", f"/v1/keys/{made['id']}", **mine)
    assert (status, revoked) == (200, made | {"revoked_at": revoked["revoked_at"]})
    status, error = http.count(**bearer(secret))
    assert (status, error["error"]["message"]) == (401, "This API key has been revoked")


def test_an_expired_key_is_refused(http: Http) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    project = http.ask("GET", "/v1/keys", **bearer(http.server.pat))[1]["data"][0]["project"]
    secret, key = issue_key("org_1", project, name="x", scopes=[INFER_RUN], now=before, expires_at=before)
    http.store.add(secret, key)
    status, error = http.count(**bearer(secret.reveal()))
    assert (status, error["error"]["code"]) == (401, "unauthorized")


def test_the_first_key_may_count_and_not_manage_keys(http: Http) -> None:
    assert http.count(**bearer(http.server.api_key))[0] == 200
    assert http.ask("GET", "/v1/keys", **bearer(http.server.api_key))[0] == 403


def test_a_key_that_manages_keys_gives_at_most_its_own_scopes(http: Http) -> None:
    mine = bearer(http.server.pat)
    manager = http.ask("POST", "/v1/keys", {"name": "m", "scopes": [KEYS_MANAGE]}, **mine)[1]["secret"]
    http.sent.append(manager)
    assert http.ask("POST", "/v1/keys", {"name": "x", "scopes": [KEYS_MANAGE]}, **bearer(manager))[0] == 201
    status, error = http.ask("POST", "/v1/keys", {"name": "x", "scopes": [INFER_RUN]}, **bearer(manager))
    assert (status, error["error"]["code"]) == (403, "forbidden")
    assert http.count(**bearer(manager))[0] == 403


def test_a_list_of_keys_goes_on_where_its_cursor_says(http: Http) -> None:
    mine = bearer(http.server.pat)
    for name in ("a", "b", "c"):
        http.ask("POST", "/v1/keys", {"name": name, "scopes": [INFER_RUN]}, **mine)
    _, first = http.ask("GET", "/v1/keys?limit=2", **mine)
    _, second = http.ask("GET", f"/v1/keys?limit=2&cursor={first['next_cursor']}", **mine)
    assert [key["name"] for key in first["data"] + second["data"]][:3] == ["c", "b", "a"]


def test_a_session_works_in_a_browser_on_this_machine_with_its_csrf_token(http: Http) -> None:
    cookie = {"cookie": f"theme=dark; __Host-b3os_session={http.server.session}"}
    status, session = http.ask("GET", "/v1/auth/session", **cookie)
    assert (status, session["object"]) == (200, "session")
    assert http.count(**cookie)[0] == 403
    assert http.count(**cookie, x_b3os_csrf=session["csrf_token"]) == (200, {"input_tokens": 27})
    assert http.ask("GET", "/v1/auth/session", **cookie, host="localhost:1234")[0] == 200
    assert http.ask("GET", "/v1/auth/session", **cookie, host="api.example")[0] == 401
    assert http.ask("GET", "/v1/auth/session", **cookie, **bearer(http.server.pat))[0] == 401


def test_the_account_of_the_session_the_token_and_the_key_is_one(http: Http) -> None:
    session = http.ask("GET", "/v1/auth/session", cookie=f"__Host-b3os_session={http.server.session}")[1]
    [key] = [key for key in http.ask("GET", "/v1/keys", **bearer(http.server.pat))[1]["data"] if key["name"] == "first"]
    assert key["project"] == session["project"]
    assert session["organization"].startswith("org_")
    assert session["user"].startswith("usr_")


def test_keys_of_node_tokens_rotate_while_requests_flow(http: Http, stack: Stack) -> None:
    old = NodeKeys.parse(http.vault.get_secret_value(SecretId=SECRET)["SecretString"])
    second = NodeKeys("second", {"second": "s" * 64})

    def keep(current: str, keys: dict[str, str]) -> None:
        http.vault.put_secret_value(SecretId=SECRET, SecretString=json.dumps({"current": current} | keys))

    # Of a project of its own: the limit of a minute is for other tests as well.
    secret, key = issue_key("org_flow", "prj_flow", name="x", scopes=[INFER_RUN], now=datetime.now(UTC))
    http.store.add(secret, key)

    def flow(at_once: int = 8) -> None:
        with ThreadPoolExecutor(at_once) as pool:
            answers = list(pool.map(lambda _: http.count(**bearer(secret.reveal())), range(16)))
        assert answers == [(200, {"input_tokens": 27})] * 16

    flow(1)
    keep(old.current, {**old.keys, **second.keys})
    flow(1)
    keep("second", {**old.keys, **second.keys})
    flow(1)
    before = len(stack.pools["EdgeFunction"].pids)
    while len(stack.pools["EdgeFunction"].pids) == before < 8:
        flow()  # until there is an edge that knows no other current key
    assert count_directly(stack, second) == 200
    keep("second", dict(second.keys))
    flow()


def count_directly(stack: Stack, keys: NodeKeys) -> int:
    """The status of a counter that is asked with a token of these keys."""
    token = NodeTokens(keys, lambda: keys).sign(Caller("org_1", "prj_1", (INFER_RUN,), "req_1"))
    event = counter_event(json.dumps(EXAMPLE), token)
    status = json.loads(stack.invoke("Qwen35Counter", event).payload)["statusCode"]
    return int(status)


def test_no_credential_is_in_a_log_or_a_record(http: Http, stack_state: Path) -> None:
    unknown = new_secret("sk").reveal()
    mistyped = http.server.pat[:-1] + ("0" if http.server.pat[-1] != "0" else "1")
    http.sent += [unknown, mistyped]
    for secret in list(http.sent):
        http.count(**bearer(secret))
        http.count(x_api_key=secret)
        http.ask("GET", "/v1/auth/session", cookie=f"__Host-b3os_session={secret}")
        http.ask("POST", "/v1/keys", {"name": 1, secret: secret, "scopes": [secret]}, **bearer(http.server.pat))
        http.ask("DELETE", f"/v1/keys/{secret}", **bearer(http.server.pat))
    tables = aws.session().client("dynamodb", endpoint_url=http.server.aws_url, config=aws.DIRECT)
    kept = [str(tables.scan(TableName=name)["Items"]) for name in ("CredentialsTable", "RequestsTable")]
    kept += [log.read_text("utf-8", "replace") for log in (stack_state / "logs").iterdir()]
    assert "/v1/keys" in "".join(kept)
    for secret in http.sent:
        random = secret.split("_")[2]
        assert not [random[at : at + 12] for at in range(21) if any(random[at : at + 12] in text for text in kept)]


def test_the_stack_tells_scripts_its_api_key_and_no_other_credential(http: Http, stack_state: Path) -> None:
    told = (stack_state / "stack.json").read_text()
    assert set(json.loads(told)) == {"url", "api_key", "pid", "workers"}
    assert http.server.pat not in told
    assert http.server.session not in told

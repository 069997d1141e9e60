"""Of what a client sends nothing is in a log, a record or a header, whatever comes of the request.

Every place of a request is filled with a marker, one place at a time, through the running stack; an error's body alone
may quote some of it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import urllib3

from local import aws
from local.stack import Stack
from tests.support import markers
from tests.support.markers import HERE, Sent
from tests.support.requests import EXAMPLE
from tokencount.adapters.credentials import CredentialStore
from tokencount.domain.credentials import INFER_RUN, KEYS_MANAGE
from tokencount.domain.issuing import issue_key

# As it is sent, as a header's name arrives, and in base64 wherever it begins.
MARKERS = re.compile(r"(?i:marker)|TUFSS0VS|1BUktFU|NQVJLRV")
QUOTED = re.compile(r"(?:MARKER\d*)+")
# The first bytes of every PNG, in base64.
PNG = "iVBORw0KGgo"


@dataclass(frozen=True, slots=True)
class Got:
    """What a request with a marker of its own was answered."""

    number: int
    sent: Sent
    status: int
    code: str | None
    headers: dict[str, str]
    body: str


class Service:
    """A stack of its own, whose logs and records are of these tests alone."""

    def __init__(self, stack: Stack, state: Path) -> None:
        self.stack = stack
        self._state = state
        self._sent = 0
        session = aws.session()
        self.database = session.client("dynamodb", endpoint_url=stack.aws_url, config=aws.DIRECT)
        self._store = CredentialStore(self.database, "CredentialsTable")
        self._client = urllib3.PoolManager(retries=False, timeout=60)

    def key(self, project: str, *scopes: str) -> str:
        """An API key of that project, and of an organization of that name."""
        secret, credential = issue_key(f"org_{project}", project, name="x", scopes=scopes, now=datetime.now(UTC))
        self._store.add(secret, credential)
        return secret.reveal()

    def limit(self, row: str, **limits: int) -> None:
        values: Any = {name: {"N": str(value)} for name, value in limits.items()}
        self.database.put_item(TableName="LimitsTable", Item={"id": {"S": f"settings#{row}"}, **values})

    def send(self, sent: Sent) -> Got:
        self._sent += 1
        marked = f"{HERE}{self._sent}"
        answer = self._client.request(
            sent.method.replace(HERE, marked),
            self.stack.url + sent.path.replace(HERE, marked),
            body=sent.body and sent.body.replace(HERE.encode(), marked.encode()),
            headers={name: value.replace(HERE, marked) for name, value in sent.headers.items()},
        )
        body = answer.data.decode()
        parsed = json.loads(body)
        code = (parsed.get("b3os") or parsed.get("error") or {}).get("code")
        return Got(self._sent, sent, answer.status, code, dict(answer.headers), body)

    def written(self) -> str:
        """Every log of the functions, every other file of the stack's, and every record, as text."""
        names = {path.name for path in self._state.rglob("*") if path.is_file()}
        assert names == {"stack.json", "moto.log"} | {f"{function}.log" for function in self.stack.pools}
        logs = [path.read_text() for path in self._state.rglob("*.*") if path.name != "moto.log"]
        pages = self.database.get_paginator("scan").paginate(TableName="RequestsTable")
        records = [json.dumps(item) for page in pages for item in page["Items"]]
        return "\n".join([*logs, *records])


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    state = tmp_path_factory.mktemp("no-content")
    with Stack(state=state, warm=False) as stack:
        yield Service(stack, state)


def require_no_content(service: Service, got: list[Got], *secrets: str) -> None:
    """Nothing of the requests is anywhere but, in little pieces, in the bodies of errors."""
    for each in got:
        assert not MARKERS.search(json.dumps(each.headers)), each.sent.place
        if each.status < 400:
            assert not MARKERS.search(each.body), each.sent.place
        assert max(map(len, QUOTED.findall(each.body)), default=0) <= 200, each.sent.place
    leaks = [line for line in service.written().splitlines() if MARKERS.search(line) or PNG in line]
    numbers = {int(number) for line in leaks for number in re.findall(r"(?i)marker(\d+)", line)}
    assert leaks == [], [each.sent.place for each in got if each.number in numbers]
    for secret in secrets:
        assert secret not in service.written()


def test_the_marker_in_any_place_of_a_request_is_in_no_log_record_or_header(service: Service) -> None:
    service.limit("project#free", requests_per_minute=1_000_000_000)
    key = service.key("free", INFER_RUN, KEYS_MANAGE)
    got = [service.send(sent) for sent in markers.requests(key)]
    assert got[0].status == 200, got[0].body
    assert not [each for each in got if each.status >= 500]
    require_no_content(service, got, key)
    # The requests were what they are meant to be: they met these errors.
    assert {each.code for each in got} >= {
        *("invalid_request", "unsupported_parameter", "unsupported_media_type", "unauthorized", "not_found"),
        *("model_not_available", "method_not_allowed", "payload_too_large"),
    }


def test_nor_is_it_where_the_request_could_not_be_counted_for_another_reason(service: Service) -> None:
    service.limit("project#slow", requests_per_minute=0)
    service.limit("organization#org_busy", requests_in_flight=0)
    service.database.put_item(TableName="RequestsTable", Item={"id": {"S": RUINED}, "project": {"S": "whole"}})
    good, weak, slow, busy = (
        service.key("whole", INFER_RUN),
        service.key("whole", KEYS_MANAGE),
        service.key("slow", INFER_RUN),
        service.key("busy", INFER_RUN),
    )
    long = EXAMPLE | {"system": HERE + " a" * 262_144}
    got = [
        service.send(request("context_length_exceeded", good, long)),
        service.send(request("forbidden", weak)),
        service.send(request("rate_limited", slow)),
        service.send(request("concurrency_limited", busy)),
        service.send(request("internal", good, path=f"/v1/requests/{RUINED}?{HERE}={HERE}")),
    ]
    counter = service.stack.pools.pop("Qwen35Counter")
    got.append(service.send(request("node_unavailable", good)))
    service.stack.pools["Qwen35Counter"] = counter
    assert [each.code for each in got] == [each.sent.place for each in got]
    require_no_content(service, got, good, weak, slow, busy)


RUINED = "req_00000000000000000000000000"


def request(code: str, key: str, body: Any = None, path: str = markers.COUNT) -> Sent:
    """A request that is answered with that error."""
    content = json.dumps(body or markers.whole_request()).encode()
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    return Sent(code, "POST" if path == markers.COUNT else "GET", path, content, headers)

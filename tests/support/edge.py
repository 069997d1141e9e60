"""An edge on doubles of three lines, and API Gateway events to send to it."""

import json
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from edge.app import Edge
from edge.authentication import Authentication
from edge.infer import Infer
from edge.keys import Keys
from edge.models import Models
from edge.recording import EventRecording
from edge.requests import Requests
from edge.session import Session
from tests.support.logs import ReadableLogger
from tests.support.metrics import metrics_of
from tokencount.adapters.metrics import Metrics
from tokencount.domain.credentials import INFER_RUN, Credential, Secret, new_secret
from tokencount.domain.limits import Allowance
from tokencount.domain.ports import Caller, KeyPage, Limits, NodeAnswer
from tokencount.domain.records import RecordPage, RecordQuery, RequestRecord

DASHBOARD = "dashboard.example"
NOW = datetime(2026, 7, 26, 12, tzinfo=UTC)
KEY = new_secret("sk")
MODEL = {
    "id": "b3os/tiny",
    "object": "model",
    "context_length": 100,
    "max_request_bytes": 1000,
    "vision": False,
    "tokenizer_revision": "0123456789abcdef",
    "digests": {},
}
DETAILS = {"route": "function", "tokenizer_revision": "0123456789abcdef", "images": {"count": 1, "pixels": 4}}


def credential(**rest: Any) -> Credential:
    """An API key's holder."""
    known: dict[str, Any] = {
        "id": "key_1",
        "kind": "api_key",
        "organization": "org_1",
        "project": "proj_1",
        "scopes": [INFER_RUN],
        "name": "test",
        "prefix": KEY.prefix,
        "created_at": NOW,
    }
    return Credential(**known | rest)


class KnownCredentials(dict[str, Credential]):
    """Credentials by the digest of their secret."""

    def find(self, secret: Secret) -> Credential | None:
        return self.get(secret.digest)


class MemoryKeys:
    """API keys among the known credentials."""

    def __init__(self, known: KnownCredentials) -> None:
        self.known = known

    def add(self, secret: Secret, credential: Credential) -> None:
        self.known[secret.digest] = credential

    def page(self, project: str, limit: int, after: str | None = None) -> KeyPage:
        keys = [key for key in self.known.values() if (key.project, key.kind) == (project, "api_key")][::-1]
        ids = [key.id for key in keys]
        start = ids.index(after) + 1 if after else 0
        return KeyPage(keys[start : start + limit], ids[start + limit - 1] if ids[start + limit :] else None)

    def revoke(self, key_id: str, project: str, at: datetime) -> Credential | None:
        for digest, key in self.known.items():
            if (key.id, key.project) == (key_id, project):
                self.known[digest] = replace(key, revoked_at=key.revoked_at or at)
                return self.known[digest]
        return None


class MemoryLog(dict[str, RequestRecord]):
    """Records by their ids; every query finds all of them, and goes on after `last`."""

    def __init__(self) -> None:
        super().__init__()
        self.last: str | None = None

    def put(self, record: RequestRecord) -> None:
        self[record.id] = record

    def get(self, request_id: str) -> dict[str, Any] | None:  # type: ignore[override]
        return self[request_id].to_dict() if request_id in self else None

    def find(self, query: RecordQuery) -> RecordPage:
        self.query = query
        return RecordPage([record.to_dict() for record in self.values()], self.last)


class OpenLimits:
    """Admits everything."""

    def take_request(self, caller: Caller) -> Allowance | None:
        return Allowance(granted=True, limit=600, remaining=599, reset=60)

    def in_flight(self, caller: Caller) -> AbstractContextManager[None]:
        return nullcontext()


class OneNode:
    """A counter that answers the same to all."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Caller]] = []
        headers = {"server-timing": "parse;dur=1.5, encode;dur=2.0", "x-b3os-details": json.dumps(DETAILS)}
        self.answer = NodeAnswer(200, '{"input_tokens":27}', headers)

    def count(self, model: str, body: str, caller: Caller, seconds: float) -> NodeAnswer:
        self.asked.append((model, body, caller))
        return self.answer


class FreshContext:
    """Lambda's context at the start of an invocation."""

    def get_remaining_time_in_millis(self) -> int:
        return 28_000


CONTEXT = FreshContext()


class EdgeUnderTest:
    """The real edge between doubles, without limits and without recording if none are given."""

    def __init__(
        self,
        limits: Limits | None = None,
        recording: EventRecording | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.credentials = KnownCredentials({KEY.digest: credential()})
        self.forgotten: list[str] = []
        self.log = MemoryLog()
        self.node = OneNode()
        self.logger = ReadableLogger()
        self.metrics = metrics or metrics_of("edge", self.logger)
        models = Models({"b3os/tiny": MODEL, "b3os/big": MODEL | {"id": "b3os/big", "max_request_bytes": 5000}})
        self.edge = Edge(
            Infer(models, self.node, limits or OpenLimits()).routes
            | Requests(self.log).routes
            | Keys(MemoryKeys(self.credentials), self.forgotten.append, lambda: NOW).routes
            | Session().routes,
            authentication=Authentication(self.credentials, DASHBOARD, lambda: NOW),
            log=self.log,
            record_days=30,
            recording=recording,
            logger=self.logger,
            metrics=self.metrics,
            now=lambda: NOW,
        )

    def send(self, method: str, path: str, body: Any = None, **rest: Any) -> dict[str, Any]:
        """The edge's answer to an event, its body parsed."""
        answer = self.edge(event(method, path, body, **rest), CONTEXT)
        return answer | {"body": json.loads(answer["body"])}


def event(method: str, path: str, body: Any = None, headers: Any = None, **rest: Any) -> dict[str, Any]:
    """A REST proxy event of the catch-all route; `headers` replace the good ones."""
    sent = {"Authorization": f"Bearer {KEY.reveal()}", "Content-Type": "application/json", "User-Agent": "test/1"}
    plain: dict[str, Any] = {
        "resource": "/{proxy+}",
        "path": path,
        "pathParameters": {"proxy": path.removeprefix("/")},
        "httpMethod": method,
        "headers": sent if headers is None else headers,
        "multiValueHeaders": None,
        "requestContext": {"stage": "live"},
        "body": body if body is None or isinstance(body, str) else json.dumps(body),
        "isBase64Encoded": False,
    }
    return plain | rest

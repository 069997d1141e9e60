"""The routes of the edge: who may ask, which model counts, and the record of what came of it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from aws_lambda_powertools import Logger

from edge.models import Models
from edge.request import EdgeRequest
from edge.routing import Routes
from tokencount.adapters.answers import answer_to, error_body, error_headers
from tokencount.adapters.faults import describe
from tokencount.adapters.node_protocol import COUNT_PATH, DETAILS_HEADER
from tokencount.adapters.request_log import RecordNotKept
from tokencount.domain.checks import model_id
from tokencount.domain.credentials import INFER_RUN, Credential
from tokencount.domain.errors import (
    CountError,
    Internal,
    NotFound,
    PayloadTooLarge,
    Unauthorized,
    UnsupportedMediaType,
    quote,
)
from tokencount.domain.ids import new_id
from tokencount.domain.ports import Caller, Credentials, Nodes, RequestLog
from tokencount.domain.records import ImageTotals, RequestRecord
from tokencount.domain.strict_json import loads
from tokencount.domain.timing import Phases, read_server_timing, server_timing


@dataclass(slots=True)
class Exchange:
    """One request while it is answered: what is known of it so far."""

    id: str
    request: EdgeRequest
    phases: Phases
    credential: Credential | None = None
    record: RequestRecord | None = None

    @property
    def is_infer(self) -> bool:
        """Whether the path belongs to the infer service, whose errors have the Anthropic shape."""
        return self.request.path.startswith("/v1/infer/")


@dataclass(slots=True)
class EdgeAnswer:
    """What leaves: a status, a JSON body and headers beside those of every answer."""

    status: int
    body: str
    headers: dict[str, str]


class Edge:
    """The edge function.

    Args:
        record_days: how long a record is kept.
        now: the clock, UTC.
    """

    def __init__(
        self,
        *,
        credentials: Credentials,
        models: Models,
        nodes: Nodes,
        log: RequestLog,
        record_days: int,
        logger: Logger,
        now: Callable[[], datetime],
    ) -> None:
        self._credentials = credentials
        self._models = models
        self._nodes = nodes
        self._log = log
        self._record_days = record_days
        self._logger = logger
        self._now = now
        self._routes: Routes[Callable[..., EdgeAnswer]] = Routes(
            {
                ("POST", COUNT_PATH): self._count,
                ("GET", "/v1/infer/models"): self._list_models,
                ("GET", "/v1/infer/models/{id+}"): self._show_model,
                ("GET", "/v1/requests/{request_id}"): self._show_request,
            }
        )

    def __call__(self, event: Mapping[str, Any], _context: object) -> dict[str, Any]:
        """API Gateway's answer to API Gateway's event; whatever happens, an answer in the contract's form."""
        exchange = Exchange(new_id("req"), EdgeRequest(event), Phases())
        with self._logger.append_context_keys(request_id=exchange.id):
            answer = self._answer_or_error(exchange)
            self._keep_record(exchange, answer)
            return self._finish(exchange, answer)

    def _answer_or_error(self, exchange: Exchange) -> EdgeAnswer:
        try:
            return self._answer(exchange)
        except CountError as error:
            return self._failure(exchange, error)
        except Exception as error:
            self._logger.error("the request failed", extra={"fault": describe(error)})
            return self._failure(exchange, Internal(f"internal error (request {exchange.id})"))

    def _answer(self, exchange: Exchange) -> EdgeAnswer:
        request = exchange.request
        target, parameters = self._routes.find(request.method, request.path)
        with exchange.phases.phase("edge_auth"):
            exchange.credential = self._authenticate(exchange)
        exchange.record = self._new_record(exchange, exchange.credential)
        return target(exchange, exchange.credential, **parameters)

    def _authenticate(self, exchange: Exchange) -> Credential:
        credential = self._credentials.find(exchange.request.secret())
        if credential is None:
            raise Unauthorized("This API key is not known; it may have been deleted")
        credential.require_valid(self._now())
        return credential

    # --- routes

    def _count(self, exchange: Exchange, credential: Credential) -> EdgeAnswer:
        credential.require_scope(INFER_RUN)
        body = self._read_body(exchange)
        model = self._models.get(model_id(loads(body)))
        _require_size(body, model["max_request_bytes"], model["id"])
        record = exchange.record
        assert record is not None, "made with the credential"
        record.model = model["id"]
        caller = Caller(credential.organization, credential.project, tuple(credential.scopes), exchange.id)
        with exchange.phases.phase("edge_upstream"):
            reply = self._nodes.count(model["id"], body.decode(), caller)
        headers = dict(reply.headers)
        _add_details(record, json.loads(headers.pop(DETAILS_HEADER, "{}")))
        exchange.phases.durations |= read_server_timing(headers.pop("server-timing", ""))
        if reply.status == 200:
            record.input_tokens = json.loads(reply.body)["input_tokens"]
        kept = {name: value for name, value in headers.items() if name == "retry-after"}
        return EdgeAnswer(reply.status, reply.body, kept)

    def _read_body(self, exchange: Exchange) -> bytes:
        if not exchange.request.is_json:
            raise UnsupportedMediaType("expected Content-Type: application/json")
        body = exchange.request.body
        _require_size(body, self._models.max_request_bytes, "this service")
        return body

    def _list_models(self, _exchange: Exchange, credential: Credential) -> EdgeAnswer:
        credential.require_scope(INFER_RUN)
        return _json({"object": "list", "data": [*self._models.by_id.values()], "next_cursor": None})

    def _show_model(self, _exchange: Exchange, credential: Credential, id: str) -> EdgeAnswer:
        credential.require_scope(INFER_RUN)
        return _json(self._models.get(id))

    def _show_request(self, _exchange: Exchange, credential: Credential, request_id: str) -> EdgeAnswer:
        record = self._log.get(request_id)
        if record is None or record["project"] != credential.project:
            raise NotFound(f"There is no request {quote(request_id)} in this project")
        return _json(record)

    # --- records and answers

    def _new_record(self, exchange: Exchange, credential: Credential) -> RequestRecord:
        now, request = self._now(), exchange.request
        return RequestRecord(
            id=exchange.id,
            created_at=now.isoformat(timespec="milliseconds"),
            method=request.method,
            path=request.path,
            organization=credential.organization,
            project=credential.project,
            credential={"kind": credential.kind, "id": credential.id},
            request_bytes=len(request.body),
            user_agent=request.header("user-agent"),
            expires_at=int((now + timedelta(days=self._record_days)).timestamp()),
        )

    def _failure(self, exchange: Exchange, error: CountError) -> EdgeAnswer:
        answer = answer_to(error)
        if exchange.record is not None:
            exchange.record.error = {"type": answer.type, "code": answer.code, "param": error.param}
        body = error_body(error, exchange.id, infer=exchange.is_infer)
        return _json(body, answer.status, error_headers(error))

    def _keep_record(self, exchange: Exchange, answer: EdgeAnswer) -> None:
        record = exchange.record
        if record is None:
            return
        record.status = answer.status
        record.response_bytes = len(answer.body.encode())
        record.timing = exchange.phases.durations | {"total": exchange.phases.total()}
        try:
            self._log.put(record)
        except RecordNotKept as error:
            self._logger.error("the record was not kept", extra={"fault": describe(error), "record": record.to_dict()})

    def _finish(self, exchange: Exchange, answer: EdgeAnswer) -> dict[str, Any]:
        timing = exchange.phases.durations | {"total": exchange.phases.total()}
        self._logger.info("answered", extra={"status": answer.status, "timing": timing})
        headers = answer.headers | {
            "Content-Type": "application/json",
            "x-request-id": exchange.id,
            "request-id": exchange.id,
            "Server-Timing": server_timing(timing),
        }
        return {"statusCode": answer.status, "headers": headers, "body": answer.body, "isBase64Encoded": False}


def _require_size(body: bytes, accepted: int, who: str) -> None:
    if len(body) > accepted:
        raise PayloadTooLarge(f"Request body is {len(body)} bytes; {who} accepts at most {accepted}")


def _add_details(record: RequestRecord, details: Mapping[str, Any]) -> None:
    record.route = details.get("route")
    record.tokenizer_revision = details.get("tokenizer_revision")
    record.images = ImageTotals(**details.get("images", {}))
    record.error = details.get("error")


def _json(body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> EdgeAnswer:
    return EdgeAnswer(status, json.dumps(body, ensure_ascii=False, separators=(",", ":")), dict(headers or {}))

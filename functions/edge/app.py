"""What happens to every request, whatever its route: an id, a credential, a record, an answer in the right form."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from aws_lambda_powertools import Logger

from edge.authentication import Authentication, require_csrf_token
from edge.exchange import Answer, Exchange, Route, json_answer
from edge.infer import INFER_PREFIX
from edge.record_query import PARAMETERS
from edge.recording import EventRecording
from edge.request import EdgeRequest
from edge.routing import Routes
from tokencount.adapters.answers import answer_to, error_body, error_headers
from tokencount.adapters.faults import describe
from tokencount.adapters.metrics import Metrics
from tokencount.domain.credentials import Credential
from tokencount.domain.errors import CountError, Internal, redact
from tokencount.domain.ids import new_id
from tokencount.domain.ports import RequestLog
from tokencount.domain.records import RequestRecord
from tokencount.domain.timing import Phases, server_timing

# What a record may name of the edge's own bodies and query strings; another name is a client's.
_PARAMS = frozenset({"model", "name", "scopes", "expires_at", "spend_cap", *PARAMETERS})


# The others are the counter's, which measures them itself.
OWN_PHASES = {"edge_auth", "edge_upstream", "total"}


# What an answer still needs once its record is kept, or given up.
_RESERVED_SECONDS = 0.3
# A path that is none may be anything, a key pasted by mistake for instance.
UNKNOWN_PATH = "{path}"
# And so may a method that is none (RFC 9110 and 5789).
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}


class Context(Protocol):
    """What the edge uses of Lambda's context."""

    def get_remaining_time_in_millis(self) -> int:
        """Until the function is ended."""


@dataclass(slots=True)
class Arrival:
    """A request before its caller is known."""

    id: str
    at: datetime
    request: EdgeRequest
    phases: Phases
    seconds_left: Callable[[], float]
    record: RequestRecord | None = None
    headers: dict[str, str] = field(default_factory=dict)
    code: str | None = None


class Edge:
    """The edge function.

    Args:
        routes: by method and path.
        record_days: how long a record is kept.
        recording: of events; None where it is off.
        now: the clock, UTC.
    """

    def __init__(
        self,
        routes: Mapping[tuple[str, str], Route],
        *,
        authentication: Authentication,
        log: RequestLog,
        record_days: int,
        recording: EventRecording | None,
        logger: Logger,
        metrics: Metrics,
        now: Callable[[], datetime],
    ) -> None:
        self._routes = Routes(routes)
        self._authentication = authentication
        self._log = log
        self._record_days = record_days
        self._recording = recording
        self._logger = logger
        self._metrics = metrics
        self._now = now
        self._threads = ThreadPoolExecutor(thread_name_prefix="record")

    def __call__(self, event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        """API Gateway's answer to API Gateway's event; whatever happens, an answer in the contract's form."""
        now = self._now()
        left = context.get_remaining_time_in_millis
        arrival = Arrival(new_id("req", now), now, EdgeRequest(event), Phases(), lambda: left() / 1000)
        with self._logger.append_context_keys(request_id=arrival.id):
            answer = self._answer_or_error(arrival)
            self._keep_record(arrival, answer)
            self._keep_event(arrival, event)
            return self._finish(arrival, answer)

    def _answer_or_error(self, arrival: Arrival) -> Answer:
        try:
            return self._answer(arrival)
        except CountError as error:
            return _failure(arrival, error)
        except Exception as error:
            self._logger.error("the request failed", extra={"fault": describe(error)})
            return _failure(arrival, Internal(f"internal error (request {arrival.id})"))

    def _answer(self, arrival: Arrival) -> Answer:
        request = arrival.request
        try:
            route, parameters, path = self._routes.find(request.method, request.path)
        except CountError:
            # Nothing is there for anybody; who has a credential finds a record of having asked.
            with suppress(CountError):
                self._identify(arrival, UNKNOWN_PATH)
            raise
        credential, record = self._identify(arrival, path)
        require_csrf_token(request, credential)
        exchange = Exchange(
            arrival.id, request, arrival.phases, arrival.seconds_left, credential, record, arrival.headers
        )
        return route(exchange, **parameters)

    def _identify(self, arrival: Arrival, path: str) -> tuple[Credential, RequestRecord]:
        with arrival.phases.phase("edge_auth"):
            credential = self._authentication.find(arrival.request)
        arrival.record = self._new_record(arrival, path, credential)
        return credential, arrival.record

    def _new_record(self, arrival: Arrival, path: str, credential: Credential) -> RequestRecord:
        request = arrival.request
        agent = request.header("user-agent")
        return RequestRecord(
            id=arrival.id,
            created_at=arrival.at.isoformat(timespec="milliseconds"),
            method=request.method if request.method in METHODS else "{method}",
            path=path,
            organization=credential.organization,
            project=credential.project,
            credential={"kind": credential.kind, "id": credential.id},
            request_bytes=len(request.body),
            user_agent=None if agent is None else redact(agent),
            expires_at=int((arrival.at + timedelta(days=self._record_days)).timestamp()),
        )

    def _keep_record(self, arrival: Arrival, answer: Answer) -> None:
        record = arrival.record
        if record is None:
            return
        record.status = answer.status
        record.response_bytes = len(answer.body.encode())
        record.timing = arrival.phases.durations | {"total": arrival.phases.total()}
        kept = self._threads.submit(self._log.put, record)
        try:
            # However slow the table and the queue are: an answer that is not given in time has no record at all.
            kept.result(max(0.0, arrival.seconds_left() - _RESERVED_SECONDS))
        except Exception as error:
            self._metrics.add("RecordsLost")
            self._logger.error("the record was not kept", extra={"fault": describe(error), "record": record.to_dict()})

    def _keep_event(self, arrival: Arrival, event: Mapping[str, Any]) -> None:
        if self._recording is None or arrival.record is None:
            return
        try:
            self._recording.keep(event, arrival.record, arrival.seconds_left)
        except Exception as error:
            self._metrics.event_not_recorded(arrival.id, error)
            self._logger.error("the event was not recorded", extra={"fault": describe(error)})

    def _finish(self, arrival: Arrival, answer: Answer) -> dict[str, Any]:
        timing = arrival.phases.durations | {"total": arrival.phases.total()}
        code = _code(arrival)
        self._logger.info("answered", extra={"status": answer.status, "code": code, "timing": timing})
        self._metrics.answered(answer.status)
        self._metrics.took({phase: timing[phase] for phase in OWN_PHASES & timing.keys()})
        if code is not None:
            self._metrics.add("Errors", code=code)
        self._metrics.write(request_id=arrival.id)
        headers = (
            arrival.headers
            | answer.headers
            | {
                "Content-Type": "application/json",
                "x-request-id": arrival.id,
                "request-id": arrival.id,
                "Server-Timing": server_timing(timing),
            }
        )
        return {"statusCode": answer.status, "headers": headers, "body": answer.body, "isBase64Encoded": False}


def _code(arrival: Arrival) -> str | None:
    """The edge's own code of an error, or the counter's."""
    error = arrival.record.error if arrival.record else None
    return arrival.code or (error or {}).get("code")


def _failure(arrival: Arrival, error: CountError) -> Answer:
    known = answer_to(error)
    arrival.code = known.code
    if arrival.record is not None:
        arrival.record.error = {"type": known.type, "code": known.code, "param": _kept(error.param)}
    infer = arrival.request.path.startswith(INFER_PREFIX)
    return json_answer(error_body(error, arrival.id, infer=infer), known.status, error_headers(error))


def _kept(param: str | None) -> str | None:
    """As much of a path as is the edge's own: an unknown key becomes its parent's path."""
    name, _, index = (param or "").partition(".")
    if name not in _PARAMS:
        return None
    return param if index.isdecimal() else name

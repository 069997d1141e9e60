"""The infer service's routing: which model is asked for, whether it may be asked, and its counter's answer."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from edge.exchange import Answer, Exchange, Route, json_answer
from edge.models import Models
from tokencount.adapters.answers import limit_headers
from tokencount.adapters.node_protocol import COUNT_PATH, DETAILS_HEADER
from tokencount.domain.checks import model_id, require_size
from tokencount.domain.credentials import INFER_RUN
from tokencount.domain.errors import UnsupportedMediaType
from tokencount.domain.ports import Caller, Limits, NodeAnswer, Nodes
from tokencount.domain.records import ImageTotals, RequestRecord
from tokencount.domain.strict_json import loads
from tokencount.domain.timing import read_server_timing

INFER_PREFIX = "/v1/infer/"
# Of a counter's headers, those that are for the client.
_KEPT = {"retry-after"}
# What an answer still needs after the counter's: its place given back, which takes 1.5 s where the table hangs, and its
# record written, or else logged.
_RESERVED_SECONDS = 2


class Infer:
    """The routes below `/v1/infer`."""

    def __init__(self, models: Models, nodes: Nodes, limits: Limits) -> None:
        self._models = models
        self._nodes = nodes
        self._limits = limits

    @property
    def routes(self) -> dict[tuple[str, str], Route]:
        """By method and path."""
        return {
            ("POST", COUNT_PATH): self.count,
            ("GET", "/v1/infer/models"): self.list_models,
            ("GET", "/v1/infer/models/{id+}"): self.show_model,
        }

    def count(self, exchange: Exchange) -> Answer:
        """The counter's answer, once the edge's own checks have passed in the contract's order."""
        exchange.credential.require_scope(INFER_RUN)
        if not exchange.request.is_json:
            raise UnsupportedMediaType("expected Content-Type: application/json")
        body = exchange.request.body
        require_size(len(body), self._models.max_request_bytes, "this service")
        model = self._models.get(model_id(loads(body)))
        exchange.record.model = model["id"]
        require_size(len(body), model["max_request_bytes"], model["id"])
        caller = _caller(exchange)
        with self._within_limits(exchange, caller), exchange.phases.phase("edge_upstream"):
            reply = self._nodes.count(model["id"], body.decode(), caller, exchange.seconds_left() - _RESERVED_SECONDS)
        exchange.phases.durations |= read_server_timing(reply.headers.get("server-timing", ""))
        _complete(exchange.record, reply)
        return Answer(reply.status, reply.body, {name: reply.headers[name] for name in _KEPT & reply.headers.keys()})

    def list_models(self, exchange: Exchange) -> Answer:
        """Every served model."""
        exchange.credential.require_scope(INFER_RUN)
        return json_answer({"object": "list", "data": [*self._models.by_id.values()], "next_cursor": None})

    def show_model(self, exchange: Exchange, id: str) -> Answer:
        """One served model."""
        exchange.credential.require_scope(INFER_RUN)
        model = self._models.get(id)
        exchange.record.path = exchange.request.path
        return json_answer(model)

    @contextmanager
    def _within_limits(self, exchange: Exchange, caller: Caller) -> Iterator[None]:
        """Counts the request and holds a place for it; goes on without where the limits cannot be reached."""
        allowance = self._limits.take_request(caller)
        if allowance is None:
            yield
            return
        exchange.headers |= limit_headers(allowance)
        allowance.require()
        with self._limits.in_flight(caller):
            yield


def _caller(exchange: Exchange) -> Caller:
    credential = exchange.credential
    return Caller(credential.organization, credential.project, tuple(credential.scopes), exchange.id)


def _complete(record: RequestRecord, reply: NodeAnswer) -> None:
    """Adds what the counter tells of its work."""
    details: Mapping[str, Any] = json.loads(reply.headers.get(DETAILS_HEADER, "{}"))
    record.route = details.get("route")
    record.tokenizer_revision = details.get("tokenizer_revision")
    record.images = ImageTotals(**details.get("images", {}))
    record.error = details.get("error")
    if reply.status == 200:
        record.input_tokens = json.loads(reply.body)["input_tokens"]

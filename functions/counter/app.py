"""One route: from a request's bytes to the number, with what the edge needs for the request's record."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools import Logger
from fastapi import FastAPI, Request, Response

from tokencount.adapters.answers import answer_to, error_body, error_headers
from tokencount.adapters.faults import describe
from tokencount.adapters.metrics import Metrics
from tokencount.adapters.node_protocol import COUNT_PATH, DETAILS_HEADER, NODE_TOKEN_HEADER
from tokencount.adapters.node_tokens import NodeTokens
from tokencount.adapters.validation import schema_path, validate
from tokencount.domain.counting import Count, Job
from tokencount.domain.delegation import DelegatingCounter
from tokencount.domain.errors import CountError, Internal
from tokencount.domain.strict_json import loads
from tokencount.domain.timing import Phases, server_timing


def create_app(counter: DelegatingCounter, tokens: NodeTokens, logger: Logger, metrics: Metrics) -> FastAPI:
    """The counter of one model, for callers with a node token."""
    app = FastAPI(openapi_url=None)

    @app.post(COUNT_PATH)
    async def count_tokens(request: Request) -> Response:
        request_id = request.headers.get("x-request-id", "")
        with logger.append_context_keys(request_id=request_id, model=counter.model.id):
            return await answer_to_request(request, request_id)

    async def answer_to_request(request: Request, request_id: str) -> Response:
        phases = Phases()
        way: dict[str, str | None] = {}
        try:
            caller = tokens.verify(request.headers.get(NODE_TOKEN_HEADER, ""), request_id)
            with phases.phase("parse"):
                body = validate(loads(await request.body()))
            job = Job(body, caller, phases.phase, _seconds_left(request))
            count = counter.count(job)
            way = {"route": count.route, "reason": count.reason}
            answer = _success(counter, count)
        except CountError as error:
            if error.endpoint_failure:
                way = {"reason": error.endpoint_failure}
            answer = _failure(counter, error, request_id)
        except Exception as error:
            logger.error("the count failed", extra={"fault": describe(error)})
            answer = _failure(counter, Internal(f"internal error (request {request_id})"), request_id)
        answer.headers["Server-Timing"] = server_timing(phases.durations)
        logger.info("counted", extra={"status": answer.status_code, "timing": phases.durations} | way)
        _measure_way(metrics, way)
        metrics.answered(answer.status_code)
        metrics.took(phases.durations)
        metrics.write(request_id=request_id)
        return answer

    return app


def _measure_way(metrics: Metrics, way: Mapping[str, str | None]) -> None:
    route = way.get("route")
    if route is not None:
        metrics.add(f"CountedBy{route.title()}")
    if way and route in {None, "fallback"}:
        metrics.add("EndpointFailures")


def _seconds_left(request: Request) -> Callable[[], float]:
    """The Lambda context's own clock."""
    context = request.scope["aws.context"]
    return lambda: float(context.get_remaining_time_in_millis()) / 1000


def _success(counter: DelegatingCounter, count: Count) -> Response:
    images = {
        "count": len(count.images),
        "bytes": sum(image.bytes for image in count.images),
        "remote_bytes": count.remote_bytes,
        "pixels": count.pixels,
    }
    return _answer(counter, 200, {"input_tokens": count.input_tokens}, {"route": count.route, "images": images})


def _failure(counter: DelegatingCounter, error: CountError, request_id: str) -> Response:
    answer = answer_to(error)
    details = {"error": {"type": answer.type, "code": answer.code, "param": schema_path(error.param)}}
    response = _answer(counter, answer.status, error_body(error, request_id, infer=True), details)
    response.headers.update(error_headers(error))
    return response


def _answer(counter: DelegatingCounter, status: int, body: dict[str, Any], details: dict[str, Any]) -> Response:
    details["tokenizer_revision"] = counter.model.tokenizer_revision
    content = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    headers = {"content-type": "application/json", DETAILS_HEADER: json.dumps(details)}
    return Response(content.encode(), status, headers)

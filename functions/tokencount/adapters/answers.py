"""One table from errors to answers, and the two shapes an error body has."""

from dataclasses import dataclass
from typing import Any

from tokencount.domain import errors
from tokencount.domain.limits import Allowance


@dataclass(frozen=True, slots=True)
class Answer:
    """How an error looks from outside.

    Args:
        type: the Anthropic error type.
        code: the service's own code.
        always_openai: the OpenAI shape even on the infer routes (raised before a request reaches the infer service).
    """

    status: int
    type: str
    code: str
    always_openai: bool = False


STATUS: dict[type[errors.CountError], Answer] = {
    errors.InvalidRequest: Answer(400, "invalid_request_error", "invalid_request"),
    errors.UnsupportedParameter: Answer(400, "invalid_request_error", "unsupported_parameter"),
    errors.ContextLengthExceeded: Answer(400, "invalid_request_error", "context_length_exceeded"),
    errors.UnsupportedImage: Answer(400, "invalid_request_error", "unsupported_media_type"),
    errors.Unauthorized: Answer(401, "authentication_error", "unauthorized", always_openai=True),
    errors.Forbidden: Answer(403, "permission_error", "forbidden", always_openai=True),
    errors.EgressDenied: Answer(403, "permission_error", "egress_denied"),
    errors.ModelNotAvailable: Answer(404, "not_found_error", "model_not_available"),
    errors.NotFound: Answer(404, "not_found_error", "not_found", always_openai=True),
    errors.MethodNotAllowed: Answer(405, "invalid_request_error", "method_not_allowed", always_openai=True),
    errors.PayloadTooLarge: Answer(413, "request_too_large", "payload_too_large"),
    errors.UnsupportedMediaType: Answer(415, "invalid_request_error", "unsupported_media_type"),
    errors.RateLimited: Answer(429, "rate_limit_error", "rate_limited"),
    errors.ConcurrencyLimited: Answer(429, "rate_limit_error", "concurrency_limited"),
    errors.Internal: Answer(500, "api_error", "internal"),
    errors.BackendUnavailable: Answer(503, "overloaded_error", "infer_backend_unavailable"),
    errors.NodeUnavailable: Answer(503, "overloaded_error", "node_unavailable", always_openai=True),
}

# The OpenAI shape has five types; what it has no word for is the client's or the server's fault.
_OPENAI_TYPES = {
    "not_found_error": "invalid_request_error",
    "request_too_large": "invalid_request_error",
    "api_error": "server_error",
    "overloaded_error": "server_error",
}


def answer_to(error: errors.CountError) -> Answer:
    """The row of the table for `error`."""
    return STATUS[type(error)]


def error_body(error: errors.CountError, request_id: str | None = None, *, infer: bool) -> dict[str, Any]:
    """The JSON body of an error.

    Args:
        request_id: None on the command line, where there is none.
        infer: the request was for an infer route, whose errors have the Anthropic shape but for the few raised before.
    """
    answer = answer_to(error)
    if not infer or answer.always_openai:
        kind = _OPENAI_TYPES.get(answer.type, answer.type)
        return {"error": {"message": error.message, "type": kind, "param": error.param, "code": answer.code}}
    detail = {"code": answer.code} | ({"param": error.param} if error.param else {})
    head = {"type": "error", "error": {"type": answer.type, "message": error.message}}
    return head | ({"request_id": request_id} if request_id else {}) | {"b3os": detail}


def error_headers(error: errors.CountError) -> dict[str, str]:
    """The headers an error brings: when to come back, or with which method."""
    headers = {}
    if answer_to(error).status in {429, 503}:
        headers["Retry-After"] = str(max(1, error.retry_after or 1))
    if isinstance(error, errors.MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    return headers


def limit_headers(allowance: Allowance) -> dict[str, str]:
    """The headers that tell how much of the minute is left."""
    return {
        "RateLimit-Limit": str(allowance.limit),
        "RateLimit-Remaining": str(allowance.remaining),
        "RateLimit-Reset": str(allowance.reset),
    }

"""The answers of a route: its success, and what the status table says of each error it can end in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from docs.openapi.resources import REQUEST_ID, TEXT
from docs.openapi.schemas import Schema, closed, nullable, ref
from tokencount.adapters.answers import STATUS, error_body
from tokencount.domain import errors

Kind = type[errors.CountError]
SECONDS = {"type": "integer", "minimum": 1}
ANTHROPIC_TYPES = (
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "api_error",
    "timeout_error",
    "overloaded_error",
)
# Raised before the limiter has counted the request.
_BEFORE_LIMITS = {errors.Unauthorized, errors.Forbidden, errors.ModelNotAvailable, errors.UnsupportedMediaType}

HEADERS: dict[str, Schema] = {
    "x-request-id": REQUEST_ID
    | {"description": "The request's id, by which `GET /v1/requests/{request_id}` finds it."},
    "request-id": REQUEST_ID | {"description": "The same, under the name that Anthropic's SDKs read."},
    "Server-Timing": TEXT
    | {
        "pattern": r"^[a-z_]+;dur=[0-9]+\.[0-9](, [a-z_]+;dur=[0-9]+\.[0-9])*$",
        "description": "Milliseconds of each phase that ran, the edge's first, `total` last (W3C Server Timing).",
    },
    "Retry-After": SECONDS | {"description": "Seconds to wait before another try."},
    "RateLimit-Limit": {"type": "integer", "minimum": 0, "description": "Requests a minute that the project may send."},
    "RateLimit-Remaining": {"type": "integer", "minimum": 0, "description": "Requests left in this minute."},
    "RateLimit-Reset": SECONDS | {"description": "Seconds to the next minute."},
    "Cache-Control": TEXT | {"enum": ["no-store"], "description": "The answer holds a secret."},
    "Allow": TEXT | {"pattern": "^[A-Z]+(, [A-Z]+)*$", "description": "The methods that the path has."},
}
_ALWAYS = ("x-request-id", "request-id", "Server-Timing")
_LIMITS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


def error_schemas() -> dict[str, Schema]:
    """Both shapes of an error body."""
    detail = {"type": {"type": "string", "enum": list(ANTHROPIC_TYPES)}, "message": TEXT}
    anthropic = {
        "type": {"type": "string", "enum": ["error"]},
        "error": closed(detail),
        "request_id": TEXT,
        "b3os": closed(
            {"code": TEXT, "param": TEXT | {"description": "Dotted path into the body."}}, optional=("param",)
        ),
    }
    openai = {"message": TEXT, "type": TEXT, "param": nullable(TEXT), "code": nullable(TEXT)}
    return {
        "AnthropicError": closed(anthropic, optional=("request_id", "b3os")),
        "OpenAIError": closed({"error": closed(openai)}),
    }


def header_components() -> dict[str, Any]:
    """The headers by their names; where they stand they are always there, but for those that tell of limits."""
    return {name: _spelled_out(name, name not in _LIMITS) for name in HEADERS}


@dataclass(frozen=True, slots=True)
class Success:
    """What a route answers when all went well. `stored`: no secret is in it that a cache must not keep."""

    schema: Schema
    description: str
    status: int = 200
    stored: bool = True
    example: Schema | None = None


def answers(success: Success, kinds: Sequence[Kind], *, infer: bool = False, limited: bool = False) -> dict[str, Any]:
    """Every answer of a route by its status.

    Args:
        kinds: the errors it can end in.
        infer: their shape is that of the infer routes.
        limited: the limiter counts the route's requests.
    """
    sometimes = _LIMITS if limited else ()
    always = _ALWAYS if success.stored else (*_ALWAYS, "Cache-Control")
    answer = _answer(success.description, success.schema, always, sometimes)
    if success.example:
        answer["content"]["application/json"]["example"] = success.example
    known = {str(success.status): answer}
    for status in sorted({STATUS[kind].status for kind in kinds}):
        of_status = [kind for kind in kinds if STATUS[kind].status == status]
        known[str(status)] = failure(of_status, infer=infer, limited=limited)
    return known


def failure(kinds: Sequence[Kind], *, infer: bool, limited: bool = False) -> dict[str, Any]:
    """The answer to errors of one status."""
    status = STATUS[kinds[0]].status
    bodies = [error_body(_made(kind), "", infer=infer) for kind in kinds]
    said = " ".join(f"`{STATUS[kind].code}`: {(kind.__doc__ or '').splitlines()[0]}" for kind in kinds)
    always = _ALWAYS + (("Retry-After",) if status in {429, 503} else ()) + (("Allow",) if status == 405 else ())
    counted = limited and not _BEFORE_LIMITS.issuperset(kinds)
    if counted and status == 429:
        always, counted = always + _LIMITS, False
    return _answer(said, _either(bodies, infer=infer), always, _LIMITS if counted else ())


def _either(bodies: Sequence[dict[str, Any]], *, infer: bool) -> Schema:
    """Both shapes on the infer routes, as the reference has it, and which types and codes come in which."""
    anthropic = [(body["error"]["type"], body["b3os"]["code"]) for body in bodies if "b3os" in body]
    openai = [(body["error"]["type"], body["error"]["code"]) for body in bodies if "b3os" not in body]
    narrowed = []
    if anthropic:
        known = {"error": _enum("type", anthropic, 0), "b3os": _enum("code", anthropic, 1)}
        narrowed.append({"required": ["request_id", "b3os"], "properties": known})
    if openai:
        both = {"type": _values(openai, 0), "code": _values(openai, 1)}
        narrowed.append({"properties": {"error": {"required": ["code"], "properties": both}}})
    shapes = {"oneOf": [ref("AnthropicError"), ref("OpenAIError")]} if infer else ref("OpenAIError")
    return shapes | {"anyOf": narrowed}


def _enum(name: str, pairs: Sequence[tuple[str, str]], place: int) -> Schema:
    return {"properties": {name: _values(pairs, place)}}


def _values(pairs: Sequence[tuple[str, str]], place: int) -> Schema:
    return {"enum": list(dict.fromkeys(pair[place] for pair in pairs))}


def _answer(description: str, schema: Schema, always: Sequence[str], sometimes: Sequence[str]) -> dict[str, Any]:
    return {
        "description": description,
        "headers": {name: _header(name, required=name in always) for name in (*always, *sometimes)},
        "content": {"application/json": {"schema": schema}},
    }


def _header(name: str, *, required: bool) -> dict[str, Any]:
    return {"$ref": f"#/components/headers/{name}"} if required != (name in _LIMITS) else _spelled_out(name, required)


def _spelled_out(name: str, required: bool) -> dict[str, Any]:
    schema = dict(HEADERS[name])
    return {"description": schema.pop("description"), "required": required, "schema": schema}


def _made(kind: Kind) -> errors.CountError:
    return errors.MethodNotAllowed("", ()) if kind is errors.MethodNotAllowed else kind("")

"""Tells in our own words what the schema library found wrong with a body, and where."""

import json
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, to_json

from tokencount.adapters.wire import MOST_FAULTS, SCHEMA_NAMES, CountTokensRequest
from tokencount.domain.checks import check
from tokencount.domain.errors import CountError, InvalidRequest, UnsupportedParameter, and_more, quote

_SERVED_TYPES = {"text", "image", "tool_result", "tool_use", "thinking", "redacted_thinking", "base64", "url"}
_ARRAYS = {"messages", "content", "system", "tools"}
# Below these a client's own keys begin.
_FREE = (["input"], ["input_schema"], ["cache_control"], ["citations"])
_CUSTOM_TOOLS = "this node takes custom tools (name, description, input_schema)"
_JSON_TYPES = {
    "string_type": "a string",
    "bool_type": "true or false",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "list_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "string_or_array": "a string or an array",
}


def validate(body: Any) -> dict[str, Any]:
    """The body itself, once it is known to be a Messages request that can be counted.

    Raises:
        InvalidRequest, UnsupportedParameter: the first fault in the schema's order, and how many more there are.
    """
    try:
        CountTokensRequest.model_validate(body)
    except ValidationError as error:
        raise _explain(error.errors(include_url=False)[0], error.error_count() - 1) from None
    check(body, to_json)
    return dict(body)


def schema_path(param: str | None) -> str | None:
    """As much of a path as is the schema's own, for records and logs: an unknown key becomes its parent's path."""
    kept: list[str] = []
    for step in (param or "").split("."):
        is_index = step.isdecimal() and kept and kept[-1] in _ARRAYS
        if kept[-1:] in _FREE or not (is_index or step in SCHEMA_NAMES):
            break
        kept.append(step)
    return ".".join(kept) or None


def _explain(fault: ErrorDetails, more: int) -> CountError:
    *outer, last = fault["loc"] or ("",)
    # A tag of the schema, but for an unknown key, which may look like one.
    is_key = fault["type"] == "extra_forbidden" or not str(last).startswith("<")
    steps = [step for step in outer if not str(step).startswith("<")] + ([last] if is_key and fault["loc"] else [])
    kind, message, path = _describe(fault, [quote(str(step)) for step in steps])
    return kind(message + and_more(more, at_least=more >= MOST_FAULTS), param=".".join(path) or None)


def _describe(fault: ErrorDetails, path: list[str]) -> tuple[type[CountError], str, list[str]]:
    """The error's class, its message and its path; a variant that is not known is a fault of the key that names it."""
    where, sent, context = ".".join(path) or "The body", fault["input"], fault.get("ctx", {})
    match fault["type"]:
        case "kind" if isinstance(sent, dict):
            return _unknown_kind(sent, [*path, context["key"]], context["accepted"])
        case "kind":
            return InvalidRequest, f"{where} must be an object; {_shown(sent)} was sent", path
        case "literal_error":
            return _unlisted(sent, path, context["expected"])
        case "missing":
            return InvalidRequest, f"{where} is required", path
        case "unknown_keys":
            key = ".".join([*path, quote(context["key"])])
            message = f"{quote(key)} is not a parameter of this request{and_more(MOST_FAULTS, at_least=True)}"
            return UnsupportedParameter, message, key.split(".")
        case "extra_forbidden":
            return UnsupportedParameter, f"{quote(where)} is not a parameter of this request", path
        case "string_too_short" | "too_short":
            return InvalidRequest, f"{where} must not be empty", path
        case "string_too_long":
            return (
                InvalidRequest,
                f"{where} has {len(sent)} characters; at most {context['max_length']} are accepted",
                path,
            )
        case "greater_than_equal":
            return InvalidRequest, f"{where} must be at least {context['ge']}; {_shown(sent)} was sent", path
        case "string_pattern_mismatch":
            return InvalidRequest, f"{where} must match {context['pattern']}; {_shown(sent)} was sent", path
        case name:
            return (
                InvalidRequest,
                f"{where} must be {_JSON_TYPES.get(name, 'another value')}; {_shown(sent)} was sent",
                path,
            )


def _unknown_kind(sent: dict[str, Any], path: list[str], accepted: str) -> tuple[type[CountError], str, list[str]]:
    if path[-1] not in sent:
        return InvalidRequest, f"{'.'.join(path)} is required: one of {accepted}", path
    return _unlisted(sent[path[-1]], path, accepted)


def _unlisted(sent: Any, path: list[str], accepted: str) -> tuple[type[CountError], str, list[str]]:
    where, accepted = ".".join(path), accepted.replace("'", "").replace(" or ", ", ")
    if path[0] == "tools" and isinstance(sent, str):
        message = f"{quote(sent)} is a tool Anthropic defines or runs; {_CUSTOM_TOOLS}"
        return UnsupportedParameter, message, path
    if path[-1] == "type" and path[0] in {"messages", "system"} and isinstance(sent, str) and sent not in _SERVED_TYPES:
        return UnsupportedParameter, f"{where}: {_shown(sent)} is not served; accepted here: {accepted}", path
    return InvalidRequest, f"{where} must be one of {accepted}; {_shown(sent)} was sent", path


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return quote(json.dumps(value, ensure_ascii=False))

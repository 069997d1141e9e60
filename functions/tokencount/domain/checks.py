"""What a schema cannot say about a Messages request. Each rule is one of the counting contract's."""

import json
from typing import Any

from tokencount.domain.errors import InvalidRequest, quote
from tokencount.domain.strict_json import depth

MAX_MODEL_ID = 256
MAX_SCHEMA_BYTES = 65_536
MAX_SCHEMA_DEPTH = 32


def check(request: dict[str, Any]) -> None:
    """Raises InvalidRequest where a request that fits the schema cannot be a Messages request."""
    tools = request.get("tools") or []
    _check_names([tool["name"] for tool in tools])
    for index, tool in enumerate(tools):
        _check_schema(tool["input_schema"], f"tools.{index}.input_schema")
    _check_choice(request.get("tool_choice") or {}, [tool["name"] for tool in tools])


def model_id(body: Any) -> str:
    """The model that a body of JSON names, before anything else of it is judged.

    Raises:
        InvalidRequest: it names none.
    """
    if not isinstance(body, dict):
        raise InvalidRequest("The body must be a JSON object")
    model = body.get("model")
    if not isinstance(model, str) or not 1 <= len(model) <= MAX_MODEL_ID:
        sent = quote(model) if "model" in body else "nothing"
        raise InvalidRequest(
            f"model must be a string of 1 to {MAX_MODEL_ID} characters; {sent} was sent", param="model"
        )
    return model


def _check_names(names: list[str]) -> None:
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if first.setdefault(name, index) != index:
            message = f"Tool names must be unique; {name} is also the name of tools.{first[name]}"
            raise InvalidRequest(message, param=f"tools.{index}.name")


def _check_schema(schema: dict[str, Any], param: str) -> None:
    levels = depth(schema)
    if levels > MAX_SCHEMA_DEPTH:
        message = f"{param} is {levels} levels deep; at most {MAX_SCHEMA_DEPTH} are accepted"
        raise InvalidRequest(message, param=param)
    size = len(json.dumps(schema, ensure_ascii=False, separators=(",", ":")).encode())
    if size > MAX_SCHEMA_BYTES:
        message = f"{param} is {size} bytes of JSON; at most {MAX_SCHEMA_BYTES} are accepted"
        raise InvalidRequest(message, param=param)


def _check_choice(choice: dict[str, Any], names: list[str]) -> None:
    kind = choice.get("type")
    if kind in {"any", "tool"} and not names:
        raise InvalidRequest(f"tool_choice {kind} needs tools; none were sent", param="tool_choice.type")
    if kind == "tool" and choice["name"] not in names:
        message = f"tool_choice.name must be the name of one of tools; {quote(choice['name'])} was sent"
        raise InvalidRequest(message, param="tool_choice.name")

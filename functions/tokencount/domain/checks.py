"""What a schema cannot say about a Messages request. Each rule is one of the counting contract's."""

from collections.abc import Callable, Iterator
from typing import Any

from tokencount.domain.errors import InvalidRequest, PayloadTooLarge, and_more, quote
from tokencount.domain.strict_json import depth

MAX_MODEL_ID = 256
MAX_SCHEMA_BYTES = 65_536
MAX_SCHEMA_DEPTH = 32


def check(request: dict[str, Any], compact: Callable[[Any], bytes]) -> None:
    """Raises InvalidRequest where a request that fits the schema cannot be a Messages request.

    Args:
        compact: writes a value as compact JSON in UTF-8.
    """
    faults = list(_faults(request, compact))
    if faults:
        raise InvalidRequest(faults[0].message + and_more(len(faults) - 1), param=faults[0].param)


def _faults(request: dict[str, Any], compact: Callable[[Any], bytes]) -> Iterator[InvalidRequest]:
    tools = request.get("tools") or []
    names = [tool["name"] for tool in tools]
    yield from _repeated(names)
    for index, tool in enumerate(tools):
        schema = tool["input_schema"]
        yield from _schema_faults(schema, compact(schema), f"tools.{index}.input_schema")
    yield from _choice_faults(request.get("tool_choice") or {}, names)


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


def require_size(size: int, accepted: int, who: str) -> None:
    """Raises PayloadTooLarge where a body of `size` bytes is more than `who` takes."""
    if size > accepted:
        raise PayloadTooLarge(f"Request body is {size} bytes; {who} accepts at most {accepted}")


def _repeated(names: list[str]) -> Iterator[InvalidRequest]:
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if first.setdefault(name, index) != index:
            message = f"Tool names must be unique; {name} is also the name of tools.{first[name]}"
            yield InvalidRequest(message, param=f"tools.{index}.name")


def _schema_faults(schema: dict[str, Any], text: bytes, param: str) -> Iterator[InvalidRequest]:
    # A bracket a level: few schemas need to be gone through.
    if text.count(b"{") + text.count(b"[") > MAX_SCHEMA_DEPTH and (levels := depth(schema)) > MAX_SCHEMA_DEPTH:
        yield InvalidRequest(f"{param} is {levels} levels deep; at most {MAX_SCHEMA_DEPTH} are accepted", param=param)
    if len(text) > MAX_SCHEMA_BYTES:
        yield InvalidRequest(
            f"{param} is {len(text)} bytes of JSON; at most {MAX_SCHEMA_BYTES} are accepted", param=param
        )


def _choice_faults(choice: dict[str, Any], names: list[str]) -> Iterator[InvalidRequest]:
    kind = choice.get("type")
    if kind in {"any", "tool"} and not names:
        yield InvalidRequest(f"tool_choice {kind} needs tools; none were sent", param="tool_choice.type")
    elif kind == "tool" and choice["name"] not in names:
        message = f"tool_choice.name must be the name of one of tools; {quote(choice['name'])} was sent"
        yield InvalidRequest(message, param="tool_choice.name")

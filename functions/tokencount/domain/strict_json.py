"""Reads a JSON body without forgiving anything: what a lenient reader would drop or bend is refused by name.

Two readers: a fast one, which also finds keys that stand twice, and for what that one refuses the standard library's,
whose numbers and strings are what the chat templates render. It has the last word, and the words for what is wrong.
"""

import json
import math
import re
from typing import Any, NoReturn

import jiter

from tokencount.domain.errors import InvalidRequest, quote

MAX_DEPTH = 128
MAX_INTEGER_DIGITS = 4300
_CONTAINERS = frozenset({dict, list})
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def loads(body: bytes) -> Any:
    """The value of a JSON document in UTF-8.

    Raises:
        InvalidRequest: not UTF-8, not JSON, a key twice in one object, NaN or Infinity, a number out of range (1e400,
            an integer of over 4,300 digits), a lone surrogate, or nesting deeper than 128.
    """
    try:
        # Without its cache, which would keep strings of earlier bodies.
        value = jiter.from_json(body, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="none")
    except ValueError:
        return read_slowly(body)
    levels, finite = _survey(value)
    if not finite:  # 1e400, to the fast reader
        return read_slowly(body)
    if levels > MAX_DEPTH:
        raise _too_deep()
    return value


def read_slowly(body: bytes) -> Any:
    """As `loads`, which it defines, by the standard library's reader."""
    try:
        value = _DECODER.decode(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"The body is not UTF-8 text (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"The body is not valid JSON: see line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise _too_deep() from error
    if depth(value) > MAX_DEPTH:
        raise _too_deep()
    if _SURROGATE_ESCAPE.search(body):
        _check_surrogates(value)
    return value


def depth(value: Any) -> int:
    """How many levels of arrays and objects `value` has: a scalar none, `{"a": [1]}` two."""
    return _survey(value)[0]


def _survey(value: Any) -> tuple[int, bool]:
    """How many levels it has, and whether its numbers are finite."""
    levels, finite, layer = 0, True, [value]
    while layer:
        kinds = set(map(type, layer))
        if float in kinds:
            finite = finite and all(math.isfinite(item) for item in layer if type(item) is float)
        if kinds.isdisjoint(_CONTAINERS):
            break
        levels += 1
        containers = [item for item in layer if type(item) in _CONTAINERS]
        layer = []
        for item in containers:
            layer.extend(item.values() if type(item) is dict else item)
    return levels, finite


def _too_deep() -> InvalidRequest:
    return InvalidRequest(f"The body is nested too deep; at most {MAX_DEPTH} levels of arrays and objects are accepted")


def _check_surrogates(value: Any) -> None:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            try:
                item.encode()
            except UnicodeEncodeError as error:
                escape = f"\\u{ord(item[error.start]):04x}"
                raise InvalidRequest(
                    f"The body holds {escape}, half of a surrogate pair, which is no character"
                ) from error
        elif isinstance(item, dict):
            pending.extend(item.keys())
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InvalidRequest(f"The body has an object with the key {_printable(key)} twice")
            seen.add(key)
    return result


def _printable(key: str) -> str:
    return quote(json.dumps(key.encode("utf-8", "replace").decode(), ensure_ascii=False))


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidRequest(f"The number {quote(text)} in the body is out of range")
    return value


def _int(text: str) -> int:
    if len(text.lstrip("-")) > MAX_INTEGER_DIGITS:
        raise InvalidRequest(f"An integer in the body has more than {MAX_INTEGER_DIGITS:,} digits")
    return int(text)


def _constant(text: str) -> NoReturn:
    raise InvalidRequest(f"{text} in the body is not JSON; numbers must be finite")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_int=_int, parse_constant=_constant)

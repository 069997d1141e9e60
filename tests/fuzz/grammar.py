"""Count requests: valid ones, and ones that are wrong in a place or two."""

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.pictures import sources
from tests.support.requests import QWEN, Json

# Words that mean something to a template, a tokenizer or a reader of JSON.
CHARGED = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>", "</tool_call>",
    "<tool_response>", "<|image_pad|>", "<|vision_start|>", "<|video_pad|>", "<function=f>", "{{ messages }}",
    "{% raise %}", "CONTINUE_FINAL_MESSAGE_TAG ", "\x00", "\ufeff", "\u202e", "\u2028", "e\u0301" * 8,
    "\u1100\u1161\u11a8", "👩\u200d👩\u200d👧", "ﷺ", "\U0010ffff", "𝔘𝔫𝔦", "\r\n", "\n\n\n", " " * 50, "null",
    "\\u0000", '"', "'", "</", "%00", "../..", "${jndi:x}",
)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(),
    st.sampled_from([0, -1, 2**31, 2**63, 2**64, 10**400, -(10**400), 1024, 1023]),
    st.floats(allow_nan=False, allow_infinity=False),
)
TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(CHARGED),
    st.lists(st.sampled_from((*CHARGED, "word ", "слово", "字")), max_size=6).map("".join),
    st.builds(lambda piece, times: piece * times, st.text(min_size=1, max_size=3), st.integers(0, 2000)),
)
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_OBJECTS = st.dictionaries(st.text(max_size=8), JUNK, max_size=3)
_NAMES = st.from_regex(r"[A-Za-z0-9_-]{1,128}", fullmatch=True) | st.sampled_from(["search", "f", "get_weather"])
_SCHEMAS = st.one_of(_OBJECTS, st.just({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}))


def _block(kind: str, required: dict[str, Any], **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({"type": st.just(kind), **required}, optional=optional)


_CACHE = st.none() | st.fixed_dictionaries({}, optional={"type": TEXTS, "ttl": TEXTS, "more": JUNK})
_TEXT = _block("text", {"text": TEXTS}, cache_control=_CACHE, citations=st.none() | st.lists(_OBJECTS, max_size=2))
_IMAGE = _block("image", {"source": sources()}, cache_control=_CACHE)
_RESULT = _block(
    "tool_result",
    {"tool_use_id": TEXTS},
    content=st.none() | TEXTS | st.lists(_TEXT | _IMAGE, max_size=3),
    is_error=st.none() | st.booleans(),
    cache_control=_CACHE,
)
_USE = _block("tool_use", {"id": st.text(min_size=1), "name": TEXTS, "input": _OBJECTS}, cache_control=_CACHE)
_THOUGHT = _block("thinking", {"thinking": TEXTS}, signature=st.none() | TEXTS)
_REDACTED = _block("redacted_thinking", {"data": TEXTS})
_USER = st.fixed_dictionaries(
    {"role": st.just("user"), "content": TEXTS | st.lists(_TEXT | _IMAGE | _RESULT, max_size=4)}
)
_ASSISTANT = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": TEXTS | st.lists(_TEXT | _USE | _THOUGHT | _REDACTED, max_size=4)}
)
_TOOL: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"name": _NAMES, "input_schema": _SCHEMAS},
    optional={
        "type": st.sampled_from(["custom", None]),
        "description": st.none() | TEXTS,
        "strict": st.none() | st.booleans(),
        "cache_control": _CACHE,
    },
)
_PARALLEL = {"disable_parallel_tool_use": st.none() | st.booleans()}
_DISPLAY = {"display": st.sampled_from(["summarized", "omitted", "updates", None])}
_BUDGET = st.integers(1024, 10**20) | st.sampled_from([1024.0, 4096.0])
_THINKING = st.one_of(
    st.fixed_dictionaries({"type": st.just("enabled"), "budget_tokens": _BUDGET}, optional=_DISPLAY),
    st.fixed_dictionaries({"type": st.just("adaptive")}, optional=_DISPLAY),
    st.just({"type": "disabled"}),
)
_MESSAGES = st.builds(
    lambda first, others: [first, *others],
    st.fixed_dictionaries({"role": st.just("user"), "content": TEXTS}) | _USER | _ASSISTANT,
    st.lists(_USER | _ASSISTANT, max_size=4),
)


@st.composite
def valid(draw: st.DrawFn) -> Json:
    """Requests that fit the schema; a template may still refuse some, and so may the files of images."""
    optional = {
        "system": st.none() | TEXTS | st.lists(_TEXT, max_size=3),
        "tools": st.none() | st.lists(_TOOL, max_size=3, unique_by=lambda tool: tool["name"]),
        "thinking": st.none() | _THINKING,
    }
    body: Json = draw(st.fixed_dictionaries({"model": st.just(QWEN), "messages": _MESSAGES}, optional=optional))
    if draw(st.booleans()):
        body["tool_choice"] = draw(_choice([tool["name"] for tool in body.get("tools") or ()]))
    return body


def _choice(names: list[str]) -> st.SearchStrategy[Any]:
    """What may be chosen where there are these tools."""
    free = st.fixed_dictionaries({"type": st.sampled_from(["auto", "any"] if names else ["auto"])}, optional=_PARALLEL)
    choices = [st.none(), st.just({"type": "none"}), free]
    if names:
        named = {"type": st.just("tool"), "name": st.sampled_from(names)}
        choices.append(st.fixed_dictionaries(named, optional=_PARALLEL))
    return st.one_of(choices)


_KEYS = (
    "type",
    "text",
    "name",
    "content",
    "source",
    "role",
    "cache_control",
    "max_tokens",
    "citations",
    "display",
    "é",
)


@st.composite
def almost_valid(draw: st.DrawFn) -> Any:
    """A valid request, changed in one to three places."""
    body: Any = copy.deepcopy(draw(valid()))
    for _ in range(draw(st.integers(1, 3))):
        # Without its model a request is not looked at any further.
        places = [place for place in _places(body) if place[1] != "model"]
        if not places:
            return draw(JUNK)
        holder, key = draw(st.sampled_from(places))
        _change(draw, holder, key, draw(st.sampled_from(places)))
    return body


def _change(draw: st.DrawFn, holder: Any, key: Any, other: tuple[Any, Any]) -> None:
    match draw(st.integers(0, 4)):
        case 0:
            holder[key] = draw(JUNK)
        case 1:
            del holder[key]
        case 2 if isinstance(holder, dict):
            holder[draw(st.sampled_from(_KEYS) | st.text(max_size=8))] = draw(JUNK)
        case 3:
            holder[key] = [copy.deepcopy(holder[key])]
        case _:
            holder[key] = copy.deepcopy(other[0][other[1]])


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each key of each object and each index of each array, with what holds it."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])

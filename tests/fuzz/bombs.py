"""Bodies that cost their sender little and a careless reader much."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.fuzz.pictures import png, png_bomb
from tests.support.requests import QWEN, Json, assistant, image, picture, request, text, tool, user

LARGEST = 4_718_592  # what a model takes
_REQUEST = f'{{"model":"{QWEN}","messages":[{{"role":"user","content":"hi"}}'
_CALLING = _REQUEST + ',{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{'
_CALLED = '}},{"type":"text","text":"b"}]}]}'
_TOOL = tool("f", input_schema={"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(2350)}})
# Each is one word, many words, one token or many tokens, in one byte or in several.
PIECES = (
    " ", "\n", "\t", " \n", "\u00a0", "a", "aB", "0", "0 ", ".", "'", "<|", "-=", "\t.", "1>", "a_", "\u00a0.", "²",
    "².", "é", "\u0301", "a\u0301", "字", "字 ", "\u1100", "😀", "\u200d", "ﷺ", "<|im_end|>", "<|image_pad|>",
    "</think>", "\U0010ffff", "\x00",
)  # fmt: skip


def repeated(piece: str, size: int) -> bytes:
    """A message of a piece over and over, of at most `size` bytes, between two letters that no template strips."""
    start, end = json.dumps(request(user("x@x"))).split("@")
    return _filled(start, json.dumps(piece, ensure_ascii=False)[1:-1], end, size)


def _filled(start: str, piece: str, end: str, size: int = LARGEST) -> bytes:
    """As many pieces as fit, between a start and an end."""
    head, middle, tail = (part.encode() for part in (start, piece, end))
    return head + middle * ((size - len(head) - len(tail)) // len(middle)) + tail


def _with_messages(piece: str, size: int = LARGEST, last: str | None = None) -> bytes:
    return _filled(f'{{"model":"{QWEN}","messages":[', f"{piece},", f"{last or piece}]}}", size)


def _with_keys(start: str, end: str, size: int = LARGEST) -> bytes:
    """As many different keys as fit in between."""
    number = (size - len(start) - len(end)) // len('"0000000":1,')
    return (start + ",".join(f'"{key:07}":1' for key in range(number)) + end).encode()


def _tools(schema: Json, number: int) -> list[Json]:
    return [tool(f"f{n}", input_schema=schema) for n in range(number)]


def _deep() -> Json:
    schema: Any = [1] * 30_000
    for _ in range(28):
        schema = [schema]
    return {"a": schema}


def _long_lists() -> Json:
    return {"properties": {f"{n:x}": {} for n in range(3500)}, "required": [f"z{n:x}" for n in range(3500)]}


def _sent(body: Json) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _with_chunk(kind: bytes) -> Callable[[], bytes]:
    """A PNG with 100 MB in a compressed chunk."""
    return lambda: _sent(request(user(image(png_bomb(kind, 100_000_000)))))


# No JSON, too deep, or no request; none of it gets further than the edge.
STRUCTURES: dict[str, Callable[[], bytes]] = {
    "opening brackets": lambda: b"[" * LARGEST,
    "opening objects": partial(_filled, "", '{"a":', ""),
    "ones": partial(_filled, "[", "1,", "1]"),
    "empty objects": partial(_filled, "[", "{},", "{}]"),
    "small objects": partial(_filled, "[", '{"":0},', "{}]"),
    "arrays in arrays": partial(_filled, "[", "[[]],", "[]]"),
    "short words": partial(_filled, "[", '"é1",', '""]'),
    "long integers": partial(_filled, "[", "9" * 4300 + ",", "1]"),
    "one long fraction": partial(_filled, "0.", "3", ""),
    "escaped pairs": partial(_filled, '"', "\\ud83d\\ude00", '"'),
    "different keys": partial(_with_keys, "{", "}"),
}
# What the counter has to judge.
REQUESTS: dict[str, Callable[[], bytes]] = {
    "one long key": partial(_filled, _REQUEST + '],"', "k", '":1}'),
    "unknown parameters": partial(_with_keys, _REQUEST + "],", "}"),
    "a large free object": partial(
        _with_keys, _REQUEST + '],"system":[{"type":"text","text":"a","cache_control":{', "}}]}"
    ),
    "two million faults": partial(_with_messages, "1"),
    "faulty messages": partial(_with_messages, "{}"),
    "10,000 messages": lambda: _sent(request(*[user("hi"), assistant("ho")] * 5000)),
    "a tool of 60 KB": lambda: _sent(request(user("hi"), tools=[_TOOL])),
    "an image of absurd size": lambda: _sent(request(user(image(png(2**31 - 1, 2**31 - 1))))),
    "an image of 30,000 pixels a side": lambda: _sent(request(user(image(png(30_000, 30_000))))),
    "an image with a compressed text": _with_chunk(b"zTXt"),
    "an image with a compressed international text": _with_chunk(b"iTXt"),
    "an image with a compressed colour profile": _with_chunk(b"iCCP"),
}
# Valid, and long to count; each of about so many bytes.
PROMPTS: dict[str, Callable[[int], bytes]] = {
    "empty messages": lambda size: _with_messages('{"role":"user","content":""}', size),
    "turns": lambda size: _with_messages(
        '{"role":"user","content":"a"},{"role":"assistant","content":"b"}', size, '{"role":"user","content":"c"}'
    ),
    "blocks": lambda size: _with_messages('{"role":"user","content":[{"type":"text","text":"a"}]}', size),
    "tools of 60 KB": lambda size: _sent(request(user("hi"), tools=_tools(_TOOL["input_schema"], size // 61_000))),
    # Templates that write tools out indented, or look for each parameter in the list of the required ones.
    "tools of 29 levels": lambda size: _sent(request(user("hi"), tools=_tools(_deep(), size // 61_000))),
    "tools with long lists": lambda size: _sent(request(user("hi"), tools=_tools(_long_lists(), size // 56_000))),
    "images": lambda size: _sent(request(user(*[image(picture(1, 1))] * (size // 181)))),
    "a call with many ones": lambda size: _filled(_CALLING + '"a":[', "1,", "1]" + _CALLED, size),
    # Templates write it out: four characters become nineteen.
    "a call with many large numbers": lambda size: _filled(_CALLING + '"a":[', "1e15,", "1e15]" + _CALLED, size),
    "a call with many arguments": lambda size: _with_keys(_CALLING, _CALLED, size),
    "a started answer": lambda size: _sent(request(user("a"), assistant(text("ab" * (size // 2 - 100))))),
}

"""Requests to count, made of slices of the standard library's sources: code and English, which every machine has."""

import json
import random
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

Json = dict[str, Any]
LONGEST_SLICE = 6000


@cache
def _source() -> str:
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return "\n".join(file.read_text("utf-8") for file in files)


def slice_of(dice: random.Random, characters: int) -> str:
    """So many characters from anywhere, of several places where they are many."""
    pieces, left = [], characters
    while left > 0:
        length = min(left, LONGEST_SLICE)
        start = dice.randrange(len(_source()) - length)
        pieces.append(_source()[start : start + length])
        left -= length
    return "".join(pieces)


def short(dice: random.Random) -> Json:
    """A question of some thirty tokens."""
    return {"messages": [{"role": "user", "content": slice_of(dice, 60).strip() or "?"}]}


def agent(dice: random.Random, characters: int, tools: int = 20, turns: int = 20) -> Json:
    """An agent's request: tools, and so many messages in turn, of so many characters together."""
    share = max(1, characters // turns)
    messages = [
        {"role": ("user", "assistant")[turn % 2], "content": f"{turn}: {slice_of(dice, share)}"}
        for turn in range(turns)
    ]
    if turns % 2 == 0:
        messages.append({"role": "user", "content": "Go on."})
    return {
        "system": "You are a careful engineer.",
        "tools": [tool(dice, n) for n in range(tools)],
        "messages": messages,
    }


def tool(dice: random.Random, number: int, parameters: int = 3) -> Json:
    """A tool with a description and a schema of so many parameters."""
    properties = {f"p{n}": {"type": "string", "description": slice_of(dice, 60)} for n in range(parameters)}
    schema = {"type": "object", "properties": properties, "required": ["p0"]}
    return {"name": f"tool_{number}", "description": slice_of(dice, 120), "input_schema": schema}


def body(model: str, request: Json) -> bytes:
    """The request's JSON text for a model."""
    return json.dumps({"model": model, **request}, ensure_ascii=False).encode()

"""Turns a Messages request into the chat messages that a model's own template renders.

The rules are those of the counting contract; a request that comes here has passed the schema.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tokencount.domain.model import TemplateRules

Block = dict[str, Any]
Message = dict[str, Any]
Content = str | list[Block]


@dataclass(frozen=True, slots=True)
class Chat:
    """What the template is given.

    Args:
        messages: chat messages in the Hugging Face form.
        tools: function definitions, or None.
        options: further template keywords, special tokens among them.
        continues: the last message is the start of the answer, which the model goes on writing.
    """

    messages: list[Message]
    tools: list[dict[str, Any]] | None
    options: dict[str, Any]
    continues: bool


@dataclass(frozen=True, slots=True)
class Image:
    """An image block of the request and its dotted path."""

    param: str
    source: dict[str, Any]

    @property
    def url_param(self) -> str:
        """The path of its url, where it has one."""
        return f"{self.param}.source.url"


def to_chat(request: dict[str, Any], rules: TemplateRules) -> Chat:
    """The chat of a Messages request, for a template with these rules."""
    messages = list(_system(request.get("system")))
    for message in request["messages"]:
        if message["role"] == "user":
            messages.extend(_user(message["content"], rules))
        else:
            messages.append(_assistant(message["content"], rules))
    thinking = request.get("thinking") or {}
    return Chat(
        messages=messages,
        tools=[_tool(tool, rules) for tool in request.get("tools") or ()] or None,
        options={**rules.special_tokens, **(rules.thinking if thinking.get("type") in {"enabled", "adaptive"} else {})},
        continues=_continues(request["messages"][-1]),
    )


def images_of(request: dict[str, Any]) -> list[Image]:
    """The image blocks of a request, in the order in which the template meets them."""
    return [image for index, message in enumerate(request["messages"]) for image in _images_in(index, message)]


def _images_in(index: int, message: Message) -> Iterator[Image]:
    if isinstance(message["content"], str):
        return
    blocks = [(f"messages.{index}.content.{place}", block) for place, block in enumerate(message["content"])]
    results, others = _split(blocks)
    for path, block in results:
        inner = block.get("content")
        for place, part in enumerate(inner if isinstance(inner, list) else ()):
            if part["type"] == "image":
                yield Image(f"{path}.content.{place}", part["source"])
    for path, block in others:
        if block["type"] == "image":
            yield Image(path, block["source"])


def _split(blocks: Sequence[tuple[str, Block]]) -> tuple[list[tuple[str, Block]], list[tuple[str, Block]]]:
    """Tool results, then the rest: a message's results go next to their calls, whatever stands between them."""
    results = [item for item in blocks if item[1]["type"] == "tool_result"]
    return results, [item for item in blocks if item[1]["type"] != "tool_result"]


def _system(system: str | list[Block] | None) -> Iterator[Message]:
    text = system if isinstance(system, str) else "\n\n".join(block["text"] for block in system or ())
    if text:
        yield {"role": "system", "content": text}


def _user(content: Content, rules: TemplateRules) -> Iterator[Message]:
    if isinstance(content, str):
        yield {"role": "user", "content": content}
        return
    results, others = _split([("", block) for block in content])
    for _, block in results:
        yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": _result(block, rules)}
    if others:
        yield {"role": "user", "content": _parts([block for _, block in others], rules)}


def _result(block: Block, rules: TemplateRules) -> Content:
    content = block.get("content") or []
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if block.get("is_error"):
        if parts and parts[0]["type"] == "text":
            parts[0] = {"type": "text", "text": f"Error: {parts[0]['text']}"}
        else:
            parts.insert(0, {"type": "text", "text": "Error:"})
    return _parts(parts, rules)


def _assistant(content: Content, rules: TemplateRules) -> Message:
    if isinstance(content, str):
        return {"role": "assistant", "content": content}
    message = {"role": "assistant", "content": _parts([block for block in content if block["type"] == "text"], rules)}
    thoughts = [block["thinking"] for block in content if block["type"] == "thinking"]
    if thoughts:
        message[rules.reasoning_key] = "".join(thoughts)
    calls = [_call(block, rules) for block in content if block["type"] == "tool_use"]
    if calls:
        message["tool_calls"] = calls
    return message


def _call(block: Block, rules: TemplateRules) -> dict[str, Any]:
    arguments = block["input"] if rules.arguments == "object" else json.dumps(block["input"], ensure_ascii=False)
    return {"id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": arguments}}


def _parts(blocks: list[Block], rules: TemplateRules) -> Content:
    """One text block alone is the plain string; a template of strings gets text joined by line feeds."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    if len(texts) == len(blocks) and (len(texts) < 2 or rules.content == "strings"):
        return "\n".join(texts)
    return [
        {"type": "text", "text": block["text"]} if block["type"] == "text" else {"type": "image"} for block in blocks
    ]


def _tool(tool: dict[str, Any], rules: TemplateRules) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool["name"]}
    description = tool.get("description")
    if description is None:
        description = rules.missing_description
    if description is not None:
        function["description"] = description
    function["parameters"] = tool["input_schema"]
    return {"type": "function", "function": function}


def _continues(last: Message) -> bool:
    if last["role"] != "assistant":
        return False
    content = last["content"]
    if isinstance(content, str):
        return bool(content)
    types = {block["type"] for block in content}
    return "tool_use" not in types and any(block["type"] == "text" and block["text"] for block in content)

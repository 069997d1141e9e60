"""Finds out by rendering what a chat template takes: parts or strings, its key for reasoning, its switches.

A template is asked with words that stand nowhere else, and what it writes is looked through for them.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jinja2 import meta, nodes
from jinja2.exceptions import TemplateSyntaxError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from layers.errors import BuildError
from layers.manifest import Template
from tokencount.adapters.chat_template import GenerationBlock, JinjaChatTemplate
from tokencount.domain.chat import Chat
from tokencount.domain.errors import InvalidRequest

FIRST, SECOND = "zqfirst", "zqsecond"
REASONING_KEYS = ("reasoning_content", "thinking", "reasoning")
THINKING_SWITCHES = ("enable_thinking", "thinking")
GIVEN = {"messages", "tools", "documents", "add_generation_prompt", "raise_exception", "strftime_now"}

Message = dict[str, Any]
HELLO: Message = {"role": "user", "content": FIRST}
TOOL = {"name": "zqtool", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
DESCRIBED = {"name": "zqtool", "description": "zqdescription", "parameters": TOOL["parameters"]}


class Probe:
    """A chat template that is asked about itself.

    Args:
        special_tokens: of the tokenizer, by the names that templates know them by.
    """

    def __init__(self, source: str, special_tokens: Mapping[str, str]) -> None:
        environment = ImmutableSandboxedEnvironment(extensions=[GenerationBlock, loopcontrols])
        try:
            self.names = _names(environment.parse(source))
        except TemplateSyntaxError as error:
            raise BuildError(f"the chat template is not one for Jinja: {error.message}") from error
        self._template = JinjaChatTemplate(source, lambda: datetime(2026, 1, 1))
        self._special_tokens = {name: token for name, token in special_tokens.items() if name in self.names}
        if self.render([HELLO]) is None:
            raise BuildError("the chat template refuses a plain user message")

    def rules(self) -> Template:
        """How requests are to be written for the template."""
        return Template(
            content="parts" if self.takes_parts() else "strings",
            reasoning_key=next(filter(self._reads_reasoning, REASONING_KEYS), REASONING_KEYS[0]),
            thinking={name: True for name in THINKING_SWITCHES if name in self.names},
            missing_description="" if self._needs_description() else None,
            special_tokens=dict(sorted(self._special_tokens.items())),
            arguments="object" if self._takes_objects() else "string",
        )

    def unset(self) -> list[str]:
        """What the template also reads and is not given."""
        return sorted(self.names - GIVEN - set(self._special_tokens) - set(THINKING_SWITCHES))

    def takes_parts(self) -> bool:
        """Whether content may be a list of parts: one part of text is then written as the text alone is."""
        one, two = (self.render([_parts(*texts)]) for texts in ((FIRST,), (FIRST, SECOND)))
        return one == self.render([HELLO]) and two is not None and FIRST in two and SECOND in two

    def writes_for_an_image(self, placeholder: str) -> bool:
        """Whether an image part becomes exactly one placeholder."""
        message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": FIRST}]}
        before, after = self.render([HELLO]) or "", self.render([message]) or ""
        return after.count(placeholder) - before.count(placeholder) == 1

    def render(self, messages: list[Message], tools: list[dict[str, Any]] | None = None) -> str | None:
        """The prompt; None where the template refuses."""
        functions = [{"type": "function", "function": tool} for tool in tools or ()] or None
        try:
            return self._template.render(Chat(messages, functions, dict(self._special_tokens), continues=False))
        except InvalidRequest:
            return None

    def _reads_reasoning(self, key: str) -> bool:
        answer = {"role": "assistant", "content": "zqanswer", key: SECOND}
        calling = _call({"city": "zqcity"}) | {key: SECOND}
        dialogs = [[HELLO, answer], [HELLO, answer, HELLO], [HELLO, calling, _result()]]
        return any(SECOND in (self.render(dialog, [DESCRIBED]) or "") for dialog in dialogs)

    def _takes_objects(self) -> bool:
        """Whether a call's arguments are written from the object; Python's own spelling of it is not meant."""
        written = self.render([HELLO, _call({"city": "zqcity"}), _result()], [DESCRIBED])
        if written is not None and "zqcity" in written and "'city'" not in written:
            return True
        text = self.render([HELLO, _call('{"city": "zqcity"}'), _result()], [DESCRIBED])
        return text is None or '{"city": "zqcity"}' not in text

    def _needs_description(self) -> bool:
        return self.render([HELLO], [DESCRIBED]) is not None and self.render([HELLO], [TOOL]) is None


def _names(template: nodes.Template) -> set[str]:
    """What a template reads and nothing in it sets, but as the default of what its caller may set."""
    defaults = {
        test.node.name
        for test in template.find_all(nodes.Test)
        if test.name in {"defined", "undefined"} and isinstance(test.node, nodes.Name)
    }
    own = {name.name for name in template.find_all(nodes.Name) if name.ctx == "store"} - defaults
    return meta.find_undeclared_variables(template) - own


def _parts(*texts: str) -> Message:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def _call(arguments: Any) -> Message:
    function = {"name": "zqtool", "arguments": arguments}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}


def _result() -> Message:
    return {"role": "tool", "tool_call_id": "c1", "content": "zqresult"}

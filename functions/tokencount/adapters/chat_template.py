"""Renders a chat template as Hugging Face transformers does (`utils/chat_template_utils.py`), compiled once."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from jinja2 import Template, nodes
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tokencount.domain.chat import Chat
from tokencount.domain.errors import InvalidRequest, quote

# Written behind the last message's text, to find where the prompt ends; transformers' own mark, so that a request that
# happens to hold it counts the same there and here.
_END = "CONTINUE_FINAL_MESSAGE_TAG "
# A template is a program over the client's data: what it cannot handle is not a fault of the service.
TEMPLATE_FAULTS = (
    TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class JinjaChatTemplate:
    """A compiled chat template.

    Args:
        source: the text of `chat_template.jinja`.
        now: the clock behind the template's `strftime_now`.
    """

    def __init__(self, source: str, now: Callable[[], datetime] = datetime.now) -> None:
        self._template = _compile(source, now)

    def render(self, chat: Chat) -> str:
        """The prompt of `chat`, with the generation prompt or up to where the started answer ends.

        Raises:
            InvalidRequest: the template raises, or drops the answer it should continue.
        """
        if not chat.continues:
            return self._render(chat, chat.messages, add_generation_prompt=True)
        *earlier, last = chat.messages
        text, marked = _mark(last)
        prompt = self._render(chat, [*earlier, marked], add_generation_prompt=False)
        if text.strip() not in prompt or _END.strip() not in prompt:
            raise InvalidRequest(
                "The model's chat template leaves out the last message, so its text cannot be continued"
            )
        end = prompt.rindex(_END.strip())
        return prompt[:end] if prompt.startswith(_END, end) else prompt[:end].rstrip()

    def _render(self, chat: Chat, messages: list[dict[str, Any]], *, add_generation_prompt: bool) -> str:
        try:
            return self._template.render(
                messages=messages,
                tools=chat.tools,
                documents=None,
                add_generation_prompt=add_generation_prompt,
                **chat.options,
            )
        except TEMPLATE_FAULTS as error:
            raise refusal(error) from error


def refusal(error: Exception) -> InvalidRequest:
    """What a client is told of one of TEMPLATE_FAULTS."""
    if isinstance(error, TemplateError):
        return InvalidRequest(
            f"The model's chat template refuses the request: {quote(error.message or 'no reason given')}"
        )
    return InvalidRequest("The model's chat template cannot render this request")


def _mark(message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The text to continue and its message with the mark behind it; of parts, the last text is continued."""
    content = message["content"]
    if isinstance(content, str):
        return content, {**message, "content": content + _END}
    *others, last = content
    return last["text"], {**message, "content": [*others, {**last, "text": last["text"] + _END}]}


def _compile(source: str, now: Callable[[], datetime]) -> Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationBlock, loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda form: now().strftime(form)
    return environment.from_string(source)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


class GenerationBlock(Extension):
    """`{% generation %}` marks the assistant's own text for training; a prompt is the same with and without."""

    tags = {"generation"}  # noqa: RUF012 - the form of Jinja's own extensions

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)

"""Renders a chat template as Hugging Face transformers does (`utils/chat_template_utils.py`), compiled once."""

import json
import time
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tokencount.domain.chat import Chat
from tokencount.domain.errors import InvalidRequest, quote

# Written behind the last message's text, to find where the prompt ends; transformers' own mark, so that a request that
# happens to hold it counts the same there and here.
_END = "CONTINUE_FINAL_MESSAGE_TAG "
# A request may come to many times its own length, as with a tool that is written out indented by its depth, and to work
# without end, as with a list that is gone through for every item of another.
MAX_PROMPT_CHARACTERS = 20_000_000
MAX_SECONDS = 8.0
_DICT_ATTRIBUTES = frozenset(dir(dict))
# What is no method, of which the sandbox wraps some.
_VALUES = frozenset({str, int, bool, float, list, dict})
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
        wall: a clock of the time that passes.
        processor: a clock of the processor's time, which is dearer to ask.
    """

    def __init__(
        self,
        source: str,
        now: Callable[[], datetime] = datetime.now,
        wall: Callable[[], float] = time.monotonic,
        processor: Callable[[], float] = time.process_time,
    ) -> None:
        self._environment = _Environment(now, wall, processor)
        self._template = self._environment.from_string(source)

    def render(self, chat: Chat) -> str:
        """The prompt of `chat`, with the generation prompt or up to where the started answer ends.

        Raises:
            InvalidRequest: the template raises, drops the answer it should continue, or writes too much or too long.
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
        self._environment.begin()
        pieces: list[str] = []
        written = 0
        try:
            for piece in self._template.generate(
                messages=messages,
                tools=chat.tools,
                documents=None,
                add_generation_prompt=add_generation_prompt,
                **chat.options,
            ):
                pieces.append(piece)
                written += len(piece)
                if written > MAX_PROMPT_CHARACTERS:
                    raise _too_long()
                self._environment.require_time()
        except TEMPLATE_FAULTS as error:
            raise refusal(error) from error
        return "".join(pieces)


def refusal(error: Exception) -> InvalidRequest:
    """What a client is told of one of TEMPLATE_FAULTS."""
    # What the template itself says; those below are Jinja's own words.
    if type(error) is TemplateError:
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


def _too_long() -> InvalidRequest:
    message = f"The model's chat template makes over {MAX_PROMPT_CHARACTERS:,} characters of this request"
    return InvalidRequest(f"{message}; so long a prompt is not counted")


class _Environment(ImmutableSandboxedEnvironment):
    """What templates can use, as in transformers, for a limited time."""

    def __init__(self, now: Callable[[], datetime], wall: Callable[[], float], processor: Callable[[], float]) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[GenerationBlock, loopcontrols])
        self.filters["tojson"] = _tojson
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = lambda form: now().strftime(form)
        self._wall = wall
        self._processor = processor
        self._soonest = self._ends = 0.0
        # As large as the template has attributes of other things than dicts.
        self._safe: dict[tuple[type, str], bool] = {}

    def getattr(self, obj: Any, attribute: str) -> Any:
        """As in the sandbox, with less ado about what templates ask most: `message.role` of a dict, `loop.first`."""
        if type(obj) is dict and attribute not in _DICT_ATTRIBUTES:
            return obj[attribute] if attribute in obj else self.undefined(obj=obj, name=attribute)
        if self._safe.get((type(obj), attribute)) and type(value := getattr(obj, attribute, None)) in _VALUES:
            return value
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """The sandbox's own judgement, which looks at the object's type alone; remembered."""
        key = (type(obj), attr)
        safe = self._safe.get(key)
        if safe is None:
            safe = self._safe[key] = super().is_safe_attribute(obj, attr, value)
        return safe

    def begin(self) -> None:
        """The time begins."""
        self._soonest = self._wall() + MAX_SECONDS
        self._ends = self._processor() + MAX_SECONDS

    def require_time(self) -> None:
        """Raises InvalidRequest where it is over."""
        if self._wall() > self._soonest and self._processor() > self._ends:
            message = f"The model's chat template works on this request for more than {MAX_SECONDS:.0f} seconds"
            raise InvalidRequest(f"{message}; it is too large or too deep to be written out")

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as Jinja has it
        """Also asked in the midst of a macro, whose text comes in one piece.

        A macro is the template's own: Jinja comes to the same call of it, by way of more questions.
        """
        __self.require_time()
        if type(__obj) is not Macro:
            return super().call(__context, __obj, *args, **kwargs)
        for internal in ("_block_vars", "_loop_vars"):
            kwargs.pop(internal, None)
        return __obj(__context.eval_ctx, *args, **kwargs)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return _encoder(ensure_ascii, indent, separators and tuple(separators), sort_keys).encode(value)


@lru_cache(maxsize=16)  # a template asks for one form or two
def _encoder(
    ensure_ascii: bool, indent: int | None, separators: tuple[str, str] | None, sort_keys: bool
) -> json.JSONEncoder:
    # What was JSON holds nothing that holds itself.
    return json.JSONEncoder(
        ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys, check_circular=False
    )


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


class GenerationBlock(Extension):
    """`{% generation %}` marks the assistant's own text for training; a prompt is the same with and without."""

    tags = {"generation"}  # noqa: RUF012 - the form of Jinja's own extensions

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The block's own nodes."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)

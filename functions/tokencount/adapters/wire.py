"""The request schema of the published reference, closed at every depth but inside what a client may fill freely.

Strings and arrays, and the kinds of blocks, are told apart by tags in angle brackets, so that a path into the body can
be told from a path into the schema.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    FailFast,
    Field,
    Tag,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

TOOL_NAME = r"^[A-Za-z0-9_-]{1,128}$"


# As many faults as are worth counting: two million would take gigabytes to report.
MOST_FAULTS = 100
_OWN_ERRORS = {"kind", "string_or_array", "unknown_keys"}


class _FirstFault(FailFast):
    """Stops at the first faulty item of a list."""

    __hash__ = object.__hash__  # what stands in a union must be hashable


def _up_to_most(items: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Judges a list as a whole, and where that fails item by item, until there are faults enough."""
    try:
        return handler(items)
    except ValidationError as error:
        whole = error
    faults: list[InitErrorDetails] = []
    for index, item in enumerate(items if isinstance(items, list) else ()):
        try:
            handler([item])
        except ValidationError as error:
            faults += [_moved(fault, index) for fault in error.errors(include_url=False)]
        if len(faults) > MOST_FAULTS:
            break
    raise ValidationError.from_exception_data("list", faults) if faults else whole


def _moved(fault: ErrorDetails, index: int) -> InitErrorDetails:
    """The fault of an item that was judged alone, at the item's own place."""
    kind, context = fault["type"], fault.get("ctx", {})
    error = PydanticCustomError(kind, "", context) if kind in _OWN_ERRORS else kind
    return InitErrorDetails(type=error, loc=(index, *fault["loc"][1:]), input=fault["input"], ctx=context)


_Item = TypeVar("_Item")
Items = Annotated[list[_Item], _FirstFault(), WrapValidator(_up_to_most)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _few_unknown(cls, value: Any) -> Any:
        """As with lists: an object of unknown keys by the hundred is one fault."""
        if isinstance(value, dict) and len(value) > MOST_FAULTS:
            unknown = [key for key in value if key not in cls.model_fields]
            if len(unknown) > MOST_FAULTS:
                raise PydanticCustomError("unknown_keys", "", {"key": unknown[0]})
        return value


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Variants(Discriminator):
    """A discriminator with a context for our own message."""

    __hash__ = object.__hash__


def _by(key: str, kinds: Mapping[str, str]) -> Discriminator:
    """Tells the variants of an object apart by the value of `key`.

    Args:
        kinds: the values accepted, each with the tag of its variant.
    """

    def tag(value: Any) -> str | None:
        name = value.get(key) if isinstance(value, dict) else None
        return kinds.get(name) if isinstance(name, str) else None

    return _Variants(
        tag,
        custom_error_type="kind",
        custom_error_message=key,
        custom_error_context={"key": key, "accepted": ", ".join(kinds)},
    )


def _by_type(*names: str) -> Discriminator:
    return _by("type", {name: f"<{name}>" for name in names})


def _string_or_array(value: Any) -> str | None:
    if isinstance(value, str):
        return "<string>"
    return "<array>" if isinstance(value, list) else None


_STRING_OR_ARRAY = Discriminator(
    _string_or_array,
    custom_error_type="string_or_array",
    custom_error_message="string or array",
)


def _integral(value: Any) -> Any:
    """JSON has one kind of number: 1024.0 is the integer 1024."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class CacheControl(_Open):
    """Accepted and ignored."""

    type: str = ""
    ttl: str = ""


class Citation(_Open):
    """Accepted and ignored."""


Citations = Annotated[Items[Citation] | None, Field(description="Accepted and ignored.")]


class TextBlock(_Closed):
    """A piece of text."""

    type: Literal["text"]
    text: str
    cache_control: CacheControl | None = None
    citations: Citations = None


class Base64Source(_Closed):
    """An image in the request itself."""

    type: Literal["base64"]
    media_type: Literal["image/png", "image/jpeg", "image/webp", "image/gif"]
    data: Annotated[
        str, Field(description="The file of a PNG, JPEG, WebP or GIF, in base64.", json_schema_extra={"format": "byte"})
    ]


class UrlSource(_Closed):
    """An image elsewhere."""

    type: Literal["url"]
    url: Annotated[str, Field(pattern="^https://", description="Of a PNG, JPEG, WebP or GIF of at most 10 MiB.")]


Source = Annotated[
    Annotated[Base64Source, Tag("<base64>")] | Annotated[UrlSource, Tag("<url>")],
    _by_type("base64", "url"),
]


class ImageBlock(_Closed):
    """An image."""

    type: Literal["image"]
    source: Source
    cache_control: CacheControl | None = None


ResultPart = Annotated[
    Annotated[TextBlock, Tag("<text>")] | Annotated[ImageBlock, Tag("<image>")],
    _by_type("text", "image"),
]


class ToolResultBlock(_Closed):
    """What a tool answered."""

    type: Literal["tool_result"]
    tool_use_id: str
    content: (
        Annotated[
            Annotated[str, Tag("<string>")] | Annotated[Items[ResultPart], Tag("<array>")],
            _STRING_OR_ARRAY,
        ]
        | None
    ) = None
    is_error: Annotated[bool | None, Field(description="The model sees the result with `Error:` before it.")] = None
    cache_control: CacheControl | None = None


class ToolUseBlock(_Closed):
    """A tool call of an earlier answer."""

    type: Literal["tool_use"]
    id: Annotated[str, Field(min_length=1)]
    name: str
    input: dict[str, Any]
    cache_control: CacheControl | None = None


class ThinkingBlock(_Closed):
    """Reasoning of an earlier answer."""

    type: Literal["thinking"]
    thinking: str
    signature: Annotated[str | None, Field(description="Opaque; not checked.")] = None


class RedactedThinkingBlock(_Closed):
    """Reasoning that cannot be read; left out of the prompt."""

    type: Literal["redacted_thinking"]
    data: str


UserBlock = Annotated[
    Annotated[TextBlock, Tag("<text>")]
    | Annotated[ImageBlock, Tag("<image>")]
    | Annotated[ToolResultBlock, Tag("<tool_result>")],
    _by_type("text", "image", "tool_result"),
]
AssistantBlock = Annotated[
    Annotated[TextBlock, Tag("<text>")]
    | Annotated[ToolUseBlock, Tag("<tool_use>")]
    | Annotated[ThinkingBlock, Tag("<thinking>")]
    | Annotated[RedactedThinkingBlock, Tag("<redacted_thinking>")],
    _by_type("text", "tool_use", "thinking", "redacted_thinking"),
]


class UserMessage(_Closed):
    """A turn of the user, tool results among it."""

    role: Literal["user"]
    content: Annotated[Annotated[str, Tag("<string>")] | Annotated[Items[UserBlock], Tag("<array>")], _STRING_OR_ARRAY]


class AssistantMessage(_Closed):
    """An earlier answer; as the last message, the start of the answer."""

    role: Literal["assistant"]
    content: Annotated[
        Annotated[str, Tag("<string>")] | Annotated[Items[AssistantBlock], Tag("<array>")], _STRING_OR_ARRAY
    ]


Message = Annotated[
    Annotated[UserMessage, Tag("<user>")] | Annotated[AssistantMessage, Tag("<assistant>")],
    _by("role", {"user": "<user>", "assistant": "<assistant>"}),
]


class Tool(_Closed):
    """A custom tool; those that Anthropic defines or runs (another `type`) are `unsupported_parameter`."""

    type: Literal["custom"] | None = None
    name: Annotated[str, Field(pattern=TOOL_NAME, description="Unique among the tools.")]
    description: str | None = None
    input_schema: Annotated[
        dict[str, Any], Field(description="A JSON Schema of at most 64 KiB (compact JSON) and 32 levels.")
    ]
    strict: bool | None = None
    cache_control: CacheControl | None = None


class FreeChoice(_Closed):
    """The model decides (`auto`), or must call some tool (`any`, which needs `tools`)."""

    type: Literal["auto", "any"]
    disable_parallel_tool_use: bool | None = None


class NamedChoice(_Closed):
    """The model must call this tool."""

    type: Literal["tool"]
    name: Annotated[str, Field(description="Of one of `tools`.")]
    disable_parallel_tool_use: bool | None = None


class NoChoice(_Closed):
    """The model may call no tool."""

    type: Literal["none"]


ToolChoice = Annotated[
    Annotated[FreeChoice, Tag("<free>")] | Annotated[NamedChoice, Tag("<tool>")] | Annotated[NoChoice, Tag("<none>")],
    _by("type", {"auto": "<free>", "any": "<free>", "tool": "<tool>", "none": "<none>"}),
]
Display = Annotated[Literal["summarized", "omitted", "updates"] | None, Field(description="Accepted and ignored.")]


class EnabledThinking(_Closed):
    """The model reasons first."""

    type: Literal["enabled"]
    budget_tokens: Annotated[int, Field(ge=1024), BeforeValidator(_integral)]
    display: Display = None


class AdaptiveThinking(_Closed):
    """The model decides how much it reasons first."""

    type: Literal["adaptive"]
    display: Display = None


class DisabledThinking(_Closed):
    """The model answers at once."""

    type: Literal["disabled"]


Thinking = Annotated[
    Annotated[EnabledThinking, Tag("<enabled>")]
    | Annotated[AdaptiveThinking, Tag("<adaptive>")]
    | Annotated[DisabledThinking, Tag("<disabled>")],
    _by_type("enabled", "adaptive", "disabled"),
]


class CountTokensRequest(_Closed):
    """The input of a Messages request. Any other parameter is `400 unsupported_parameter`."""

    model: Annotated[str, Field(min_length=1, max_length=256)]
    messages: Annotated[Items[Message], Field(min_length=1)]
    system: Annotated[
        Annotated[
            Annotated[str, Tag("<string>")] | Annotated[Items[TextBlock], Tag("<array>")],
            _STRING_OR_ARRAY,
        ]
        | None,
        Field(description="The system prompt; text blocks are joined with a blank line between them."),
    ] = None
    tools: Items[Tool] | None = None
    tool_choice: ToolChoice | None = None
    thinking: Annotated[
        Thinking | None, Field(description="Whether the model reasons first; `disabled` where nothing is said.")
    ] = None


SCHEMA_NAMES = frozenset(name for model in _Closed.__subclasses__() for name in model.model_fields)

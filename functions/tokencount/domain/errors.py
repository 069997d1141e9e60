"""Everything that can be wrong with a request, or with us while answering it.

An error knows its words and the place in the body it is about; its status and shape are the answers' business.
"""

import re
from collections.abc import Sequence

QUOTED_CHARACTERS = 200
# Good or not: one that was mistyped is nearly the good one.
_CREDENTIAL = re.compile(r"(b3os_(?:sk|pat|ses)_)[^\s\"'\\]*", re.IGNORECASE)


class CountError(Exception):
    """Base of all answers that are not a success.

    Args:
        message: what was sent and what is accepted, for the person who sent it.
        param: dotted path into the request body, such as `messages.2.content.0.text`.
        retry_after: whole seconds to wait, at least 1, where waiting helps.

    Attributes:
        endpoint_failure: why the endpoint, which should have counted the request, gave no answer; for the log.
    """

    endpoint_failure: str | None = None

    def __init__(self, message: str, *, param: str | None = None, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after = retry_after


class InvalidRequest(CountError):
    """The request is malformed or breaks a rule of the schema."""


class UnsupportedParameter(CountError):
    """The request holds a key, a block type or a tool type that is not served."""


class ContextLengthExceeded(CountError):
    """The prompt has more tokens than the model's context length."""


class UnsupportedImage(CountError):
    """The image's bytes are no PNG, JPEG, WebP or GIF, or not of the declared type."""


class Unauthorized(CountError):
    """No credential, or one that is not valid."""


class Forbidden(CountError):
    """A valid credential that may not do this."""


class EgressDenied(CountError):
    """An image's url that the egress guard does not let us fetch."""


class ModelNotAvailable(CountError):
    """The model is not served here."""


class NotFound(CountError):
    """No such path, or no such record in this project."""


class MethodNotAllowed(CountError):
    """The path exists, the method does not.

    Args:
        allowed: the methods that do, for the `Allow` header.
    """

    def __init__(self, message: str, allowed: Sequence[str]) -> None:
        super().__init__(message)
        self.allowed = tuple(allowed)


class PayloadTooLarge(CountError):
    """The body is larger than the model accepts."""


class UnsupportedMediaType(CountError):
    """The body is not declared as JSON."""


class RateLimited(CountError):
    """The minute's limit is used up."""


class ConcurrencyLimited(CountError):
    """Every place for a request in flight is taken."""


class Internal(CountError):
    """A fault of ours."""


class BackendUnavailable(CountError):
    """The endpoint, which should count this request, gives no answer."""


class NodeUnavailable(CountError):
    """What the edge needs (the counter, the credentials' table) does not answer."""


def quote(value: object) -> str:
    """`value` as JSON-like text for a message, cut at 200 characters, without a credential that may stand in it."""
    text = (value or '""') if isinstance(value, str) else _plain(value)
    cut = text if len(text) <= QUOTED_CHARACTERS else text[: QUOTED_CHARACTERS - 1] + "…"
    return redact(cut)


def and_more(faults: int, *, at_least: bool = False) -> str:
    """What a message ends with where there are further faults."""
    if not faults:
        return ""
    return f" (and {'at least ' if at_least else ''}{faults} more {'fault' if faults == 1 else 'faults'})"


def redact(text: str) -> str:
    """`text` with every credential in it, good or not, cut down to its kind."""
    return _CREDENTIAL.sub(r"\1…", text)


def _plain(value: object) -> str:
    names = {type(None): "null", bool: str(value).lower(), list: "an array", dict: "an object"}
    return names.get(type(value)) or f"{value}"[: QUOTED_CHARACTERS + 1]

"""What every list takes in its query string: a page's length and where it begins."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tokencount.domain.cursors import read_cursor
from tokencount.domain.errors import InvalidRequest, UnsupportedParameter, quote

PAGE_PARAMETERS = ("limit", "cursor")
MAX_LIMIT = 100
# Anthropic's SDKs add it to paths, where it changes nothing.
_IGNORED = {"beta"}
_LIMIT = re.compile(r"[0-9]{1,3}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Page:
    """At most `limit` items, from the one after that of the id `after` on."""

    limit: int
    after: str | None


def read_parameters(sent: Mapping[str, Sequence[str]], accepted: Sequence[str]) -> dict[str, str]:
    """The one value of each parameter.

    Args:
        sent: the values by name.

    Raises:
        InvalidRequest: a parameter was sent twice.
        UnsupportedParameter: the list has no such parameter.
    """
    return {name: _only(name, values, accepted) for name, values in sent.items() if name not in _IGNORED}


def read_page(given: Mapping[str, str], kind: str, project: str) -> Page:
    """The page of a project's items, whose ids begin with `kind`, that is asked for.

    Raises:
        InvalidRequest: the limit is no such number, the cursor none of this list.
    """
    after = _after(given["cursor"], kind, project) if "cursor" in given else None
    return Page(_limit(given.get("limit", "20")), after)


def refusal(name: str, accepted: str, sent: str) -> InvalidRequest:
    """The error of a parameter with a value that is not accepted."""
    return InvalidRequest(f"{name} must be {accepted}; {quote(sent) or 'nothing'} was sent", param=name)


def _only(name: str, values: Sequence[str], accepted: Sequence[str]) -> str:
    if name not in accepted:
        message = f"{quote(name)} is not a parameter of this list; accepted: {', '.join(accepted)}"
        raise UnsupportedParameter(message, param=quote(name))
    if len(values) != 1:
        raise InvalidRequest(f"{name} was sent {len(values)} times; it is accepted once", param=name)
    return values[0]


def _limit(text: str) -> int:
    if not _LIMIT.fullmatch(text) or not 1 <= int(text) <= MAX_LIMIT:
        raise refusal("limit", f"a whole number from 1 to {MAX_LIMIT}", text)
    return int(text)


def _after(text: str, kind: str, project: str) -> str:
    try:
        return read_cursor(text, kind, project)
    except ValueError:
        raise refusal("cursor", "the next_cursor of a page of this list", text) from None

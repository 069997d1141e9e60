"""Reads the query string of the list of records; what it does not understand is refused by name."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tokencount.domain.checks import MAX_MODEL_ID
from tokencount.domain.cursors import read_cursor
from tokencount.domain.errors import InvalidRequest, UnsupportedParameter, quote
from tokencount.domain.ids import first_id
from tokencount.domain.records import RecordQuery

PARAMETERS = ("model", "status", "since", "limit", "cursor")
MAX_LIMIT = 100
# Anthropic's SDKs add it to paths, where it changes nothing.
_IGNORED = {"beta"}
_STATUS = re.compile(r"([1-5])(xx|[0-9]{2})", re.IGNORECASE | re.ASCII)
_LIMIT = re.compile(r"[0-9]{1,3}", re.ASCII)


def read_record_query(parameters: Mapping[str, Sequence[str]], project: str) -> RecordQuery:
    """What a query string asks for.

    Args:
        parameters: the values sent, by name.

    Raises:
        InvalidRequest: a value is not one of its parameter's, or sent twice.
        UnsupportedParameter: the list has no such parameter.
    """
    given = {name: _only(name, values) for name, values in parameters.items() if name not in _IGNORED}
    return RecordQuery(
        project=project,
        model=_model(given["model"]) if "model" in given else None,
        statuses=_statuses(given["status"]) if "status" in given else None,
        since=first_id("req", _moment(given["since"])) if "since" in given else None,
        after=_after(given["cursor"], project) if "cursor" in given else None,
        limit=_limit(given.get("limit", "20")),
    )


def _only(name: str, values: Sequence[str]) -> str:
    if name not in PARAMETERS:
        message = f"{quote(name)} is not a parameter of this list; accepted: {', '.join(PARAMETERS)}"
        raise UnsupportedParameter(message, param=quote(name))
    if len(values) != 1:
        raise InvalidRequest(f"{name} was sent {len(values)} times; it is accepted once", param=name)
    return values[0]


def _model(text: str) -> str:
    if not 1 <= len(text) <= MAX_MODEL_ID:
        raise _refusal("model", f"a model's id of 1 to {MAX_MODEL_ID} characters", text)
    return text


def _statuses(text: str) -> tuple[int, int]:
    if not (found := _STATUS.fullmatch(text)):
        raise _refusal("status", "a status like 429 or a class of them like 4xx", text)
    if found[2].isdecimal():
        return int(text), int(text)
    lowest = int(found[1]) * 100
    return lowest, lowest + 99


def _moment(text: str) -> datetime:
    """A time of ISO 8601, UTC where it does not say; a plus that was not escaped arrives as a space."""
    try:
        moment = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    except ValueError:
        raise _refusal("since", "a time of ISO 8601 like 2026-07-26T12:00:00Z", text) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _limit(text: str) -> int:
    if not _LIMIT.fullmatch(text) or not 1 <= int(text) <= MAX_LIMIT:
        raise _refusal("limit", f"a whole number from 1 to {MAX_LIMIT}", text)
    return int(text)


def _after(text: str, project: str) -> str:
    try:
        return read_cursor(text, "req", project)
    except ValueError:
        raise _refusal("cursor", "the next_cursor of a page of this list", text) from None


def _refusal(name: str, accepted: str, sent: str) -> InvalidRequest:
    return InvalidRequest(f"{name} must be {accepted}; {quote(sent) or 'nothing'} was sent", param=name)

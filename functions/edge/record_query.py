"""Reads the query string of the list of records; what it does not understand is refused by name."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from edge.paging import PAGE_PARAMETERS, read_page, read_parameters, refusal
from tokencount.domain.checks import MAX_MODEL_ID
from tokencount.domain.ids import first_id
from tokencount.domain.moments import read_moment
from tokencount.domain.records import RecordQuery

PARAMETERS = ("model", "status", "since", *PAGE_PARAMETERS)
_STATUS = re.compile(r"([1-5])(xx|[0-9]{2})", re.IGNORECASE | re.ASCII)


def read_record_query(parameters: Mapping[str, Sequence[str]], project: str) -> RecordQuery:
    """What a query string asks for.

    Args:
        parameters: the values sent, by name.

    Raises:
        InvalidRequest: a value is not one of its parameter's, or sent twice.
        UnsupportedParameter: the list has no such parameter.
    """
    given = read_parameters(parameters, PARAMETERS)
    page = read_page(given, "req", project)
    return RecordQuery(
        project=project,
        model=_model(given["model"]) if "model" in given else None,
        statuses=_statuses(given["status"]) if "status" in given else None,
        since=first_id("req", _moment(given["since"])) if "since" in given else None,
        after=page.after,
        limit=page.limit,
    )


def _model(text: str) -> str:
    if not 1 <= len(text) <= MAX_MODEL_ID:
        raise refusal("model", f"a model's id of 1 to {MAX_MODEL_ID} characters", text)
    return text


def _statuses(text: str) -> tuple[int, int]:
    if not (found := _STATUS.fullmatch(text)):
        raise refusal("status", "a status like 429 or a class of them like 4xx", text)
    if found[2].isdecimal():
        return int(text), int(text)
    lowest = int(found[1]) * 100
    return lowest, lowest + 99


def _moment(text: str) -> datetime:
    """A time of ISO 8601; a plus that was not escaped arrives as a space."""
    try:
        return read_moment(text.replace(" ", "+") if "T" in text else text)
    except ValueError:
        raise refusal("since", "a time of ISO 8601 like 2026-07-26T12:00:00Z", text) from None

"""Identifiers: a prefix that tells the kind, and a ULID, so that they sort by time."""

import re
from datetime import UTC, datetime, timedelta

from ulid import ULID

_ID = re.compile(r"[a-z]+_[0-9a-hjkmnp-tv-z]{26}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def is_id(text: str) -> bool:
    """Whether `text` can be an identifier at all; what cannot needs no look-up."""
    return _ID.fullmatch(text) is not None


def new_id(kind: str, at: datetime | None = None) -> str:
    """Such as `req_01m5t4yg394wegr3j4y01qb363`: lower-case Crockford base32, of this moment if of no other."""
    milliseconds = ((at or datetime.now(UTC)) - _EPOCH) // _MILLISECOND
    return _id(kind, ULID.from_timestamp(milliseconds))


def first_id(kind: str, since: datetime) -> str:
    """The lowest identifier of the first whole millisecond from `since` on."""
    milliseconds = -((_EPOCH - since) // _MILLISECOND)
    return _id(kind, ULID(max(milliseconds, 0).to_bytes(6) + bytes(10)))


def _id(kind: str, ulid: ULID) -> str:
    return f"{kind}_{str(ulid).lower()}"

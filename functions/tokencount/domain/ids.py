"""Identifiers: a prefix that tells the kind, and a ULID, so that they sort by time."""

import re

from ulid import ULID

_ID = re.compile(r"[a-z]+_[0-9a-hjkmnp-tv-z]{26}")


def is_id(text: str) -> bool:
    """Whether `text` can be an identifier at all; what cannot needs no look-up."""
    return _ID.fullmatch(text) is not None


def new_id(kind: str) -> str:
    """Such as `req_01m5t4yg394wegr3j4y01qb363`: lower-case Crockford base32."""
    return f"{kind}_{str(ULID()).lower()}"

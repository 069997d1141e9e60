"""Identifiers: a prefix that tells the kind, and a ULID, so that they sort by time."""

from ulid import ULID


def new_id(kind: str) -> str:
    """Such as `req_01m5t4yg394wegr3j4y01qb363`: lower-case Crockford base32."""
    return f"{kind}_{str(ULID()).lower()}"

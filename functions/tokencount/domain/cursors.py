"""Where a list goes on: an opaque text, good in one project alone.

It opens nothing: a list is of the caller's own project whatever the cursor says. Its mark tells one that was cut,
changed or taken from another project, so that it is refused instead of giving a page of somewhere.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b

from ulid import ULID

_CURSOR = re.compile(r"[A-Za-z0-9_-]{32}")
_ID_BYTES, _MARK_BYTES = 16, 8


def to_cursor(last: str, project: str) -> str:
    """The cursor for what comes after the item of that id."""
    ulid = ULID.from_str(last.rpartition("_")[2].upper()).bytes
    return urlsafe_b64encode(ulid + _mark(last, project)).decode()


def read_cursor(cursor: str, kind: str, project: str) -> str:
    """The id of the item after which to go on, of that kind.

    Raises:
        ValueError: `to_cursor` made no such cursor for this project.
    """
    if not _CURSOR.fullmatch(cursor):
        raise ValueError("not of a cursor's form")
    data = urlsafe_b64decode(cursor)
    last = f"{kind}_{str(ULID(data[:_ID_BYTES])).lower()}"
    if data[_ID_BYTES:] != _mark(last, project):
        raise ValueError("not a cursor of this project")
    return last


def _mark(last: str, project: str) -> bytes:
    return blake2b(f"{project} {last}".encode(), digest_size=_MARK_BYTES).digest()

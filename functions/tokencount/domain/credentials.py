"""Credentials: what they look like, what they may do, and how they keep from being printed.

A credential is recognised, and a mistyped one refused, without a look-up.
"""

import hashlib
import hmac
import re
import secrets
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tokencount.domain.errors import Forbidden, Unauthorized

# Crockford's alphabet in lower case.
BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
INFER_RUN = "infer:run"
KEYS_MANAGE = "keys:manage"
# All of a project's: what a user's token and session may do.
SCOPES = (INFER_RUN, KEYS_MANAGE)
_SECRET = re.compile(rf"b3os_(?:sk|pat|ses)_[{BASE32}]{{32}}_[{BASE32}]{{7}}")

Kind = Literal["api_key", "pat", "session"]
SecretKind = Literal["sk", "pat", "ses"]
_NOUNS: dict[Kind, str] = {"api_key": "API key", "pat": "token", "session": "session"}


class Secret:
    """A whole credential, which its `repr` and `str` do not show."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        """Never the credential."""
        return "Secret(…)"

    def reveal(self) -> str:
        """The credential itself, for the one place that must show it."""
        return self._text

    @property
    def kind(self) -> str:
        """`sk` of an API key, `pat` of a user's token, `ses` of a session."""
        return self._text.split("_")[1]

    @property
    def prefix(self) -> str:
        """Enough to recognise a key in a list, too little to use it: the kind and the first four characters."""
        kind, random, _ = self._text.rsplit("_", 2)
        return f"{kind}_{random[:4]}"

    @property
    def digest(self) -> str:
        """SHA-256 of the whole credential in hex: all of it that is stored."""
        return hashlib.sha256(self._text.encode()).hexdigest()

    @property
    def csrf_token(self) -> str:
        """What a page that holds the session sends beside its cookie: made of the secret, so that nothing is stored."""
        return hmac.digest(self._text.encode(), b"x-b3os-csrf", "sha256").hex()


@dataclass(frozen=True, slots=True)
class Credential:
    """What is known of whoever holds a secret.

    Args:
        id: of the credential, safe to show and to log.
        expires_at, revoked_at: None where it does not or was not.
        user: for whom a token or a session acts; None of an API key.
        spend_cap: shown and never reached, since counting is free.
    """

    id: str
    kind: Kind
    organization: str
    project: str
    scopes: Sequence[str]
    name: str
    prefix: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    user: str | None = None
    spend_cap: float | None = None

    def require_valid(self, now: datetime) -> None:
        """Raises Unauthorized where the credential is revoked or expired at `now`."""
        noun = _NOUNS[self.kind]
        if self.revoked_at is not None:
            raise Unauthorized(f"This {noun} has been revoked")
        if self.expires_at is not None and self.expires_at <= now:
            raise Unauthorized(f"This {noun} expired at {self.expires_at.isoformat(timespec='seconds')}")

    def require_scope(self, scope: str) -> None:
        """Raises Forbidden where the credential lacks `scope`."""
        if scope not in self.scopes:
            raise Forbidden(f"This credential lacks the scope {scope}")


def new_secret(kind: SecretKind) -> Secret:
    """A fresh credential: 160 random bits and their checksum."""
    body = f"b3os_{kind}_" + "".join(secrets.choice(BASE32) for _ in range(32))
    return Secret(f"{body}_{checksum(body)}")


def parse_secret(text: str) -> Secret:
    """The credential in `text`.

    Raises:
        Unauthorized: it is none of this service, or its checksum shows that it was not copied whole.
    """
    if not _SECRET.fullmatch(text):
        if text.startswith("b3os_"):
            raise Unauthorized("API key checksum does not match; check that the whole key was copied")
        raise Unauthorized(
            "This is no credential of this service: an API key starts with b3os_sk_, a token with b3os_pat_"
        )
    body, _, check = text.rpartition("_")
    if not secrets.compare_digest(check, checksum(body)):
        raise Unauthorized("API key checksum does not match; check that the whole key was copied")
    return Secret(text)


def checksum(body: str) -> str:
    """CRC32 of `body` as seven base32 characters."""
    value = zlib.crc32(body.encode())
    return "".join(BASE32[value >> shift & 31] for shift in range(30, -1, -5))

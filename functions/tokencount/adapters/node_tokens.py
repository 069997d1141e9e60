"""Node tokens: 60 seconds of the edge's word, in place of the caller's credential (JWT, HMAC-SHA256).

The secret names the key that signs and may hold a second one that is still accepted, so that keys rotate without a gap.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import jwt

from tokencount.domain.errors import Unauthorized
from tokencount.domain.ports import Caller

LIFETIME = timedelta(seconds=60)
# A key that became the current one signs from then on, at the latest.
KEYS_AGE = timedelta(seconds=60)
# Between two readings of the secret, however many tokens name an unknown key or need a new signer.
READ_PAUSE = timedelta(seconds=5)
# As long as the digest (RFC 2104, section 3).
SHORTEST_KEY = 32
_ALGORITHM = "HS256"
_CLAIMS = ["exp", "organization", "project", "scopes", "request_id"]


class KeysUnavailable(Exception):
    """The secret with the keys cannot be read, or holds none."""


@dataclass(frozen=True, slots=True, repr=False)
class NodeKeys:
    """The live signing keys by their ids, and which of them signs."""

    current: str
    keys: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> "NodeKeys":
        """The keys of a secret's text, `{"current": "<id>", "<id>": "<key>", …}`.

        Raises:
            KeysUnavailable: it is not of this form.
        """
        try:
            keys = json.loads(text)
        except ValueError:
            keys = None  # the error itself holds the text
        if not isinstance(keys, dict) or not all(isinstance(value, str) for value in keys.values()):
            raise KeysUnavailable("the node-token secret must be a JSON object of strings")
        current = keys.pop("current", None)
        if current not in keys:
            raise KeysUnavailable("the node-token secret must name one of its keys as `current`")
        if any(len(key) < SHORTEST_KEY for key in keys.values()):
            raise KeysUnavailable(f"every key of the node-token secret must have at least {SHORTEST_KEY} characters")
        return cls(current, keys)


def utc_now() -> datetime:
    """The clock of the composition roots."""
    return datetime.now(UTC)


class NodeTokens:
    """Signs and checks node tokens.

    Args:
        keys: the keys known from the start.
        read: the keys as they are now; raises KeysUnavailable.
        now: the clock. No monotonic one: that of a restored snapshot knows nothing of the time in between.
    """

    def __init__(self, keys: NodeKeys, read: Callable[[], NodeKeys], now: Callable[[], datetime] = utc_now) -> None:
        self._keys = keys
        self._read = read
        self._now = now
        self._known_since = now()
        self._asked_at: datetime | None = None

    def sign(self, caller: Caller) -> str:
        """A token that speaks for `caller` for 60 seconds, by the key that is the current one or was 60 seconds ago."""
        now = self._now()
        if _passed(self._known_since, now, KEYS_AGE):
            self._renew_at_times()
        claims = {
            "organization": caller.organization,
            "project": caller.project,
            "scopes": list(caller.scopes),
            "request_id": caller.request_id,
            "exp": now + LIFETIME,
        }
        key = self._keys.current
        return jwt.encode(claims, self._keys.keys[key], _ALGORITHM, headers={"kid": key})

    def verify(self, token: str, request_id: str) -> Caller:
        """Whom the token speaks for.

        Raises:
            Unauthorized: it is missing, forged, expired, or made for another request.
        """
        try:
            # The library would judge the time by another clock.
            options = {"require": _CLAIMS, "verify_exp": False}
            claims = jwt.decode(token, self._key(token), algorithms=[_ALGORITHM], options=options)  # type: ignore[arg-type]
        except jwt.InvalidTokenError as error:
            raise _refusal() from error
        if claims["exp"] <= self._now().timestamp():
            raise _refusal()
        if claims["request_id"] != request_id:
            raise Unauthorized("The node token was made for another request")
        return Caller(claims["organization"], claims["project"], tuple(claims["scopes"]), request_id)

    def renew(self) -> bool:
        """Reads the keys again; whether another key is the current one since.

        For an edge whose token a counter refused: it may have read them a second before they were changed, and no
        stranger brings that about. Where they cannot be read the ones that are known stay good.
        """
        now, before = self._now(), self._keys.current
        self._asked_at = now
        try:
            self._keys = self._read()
        except KeysUnavailable:
            return False
        self._known_since = now
        return self._keys.current != before

    def _renew_at_times(self) -> None:
        """Reads the keys again, if that was not done just now."""
        if not self._asked_at or _passed(self._asked_at, self._now(), READ_PAUSE):
            self.renew()

    def _key(self, token: str) -> str:
        kid = str(jwt.get_unverified_header(token).get("kid"))
        if kid not in self._keys.keys:
            self._renew_at_times()
        if kid not in self._keys.keys:
            raise jwt.InvalidTokenError("no such key")
        return self._keys.keys[kid]


def _passed(since: datetime, now: datetime, time: timedelta) -> bool:
    """Whether that time has passed, or the clock was set back."""
    return not timedelta(0) <= now - since < time


def _refusal() -> Unauthorized:
    return Unauthorized("A counter answers the edge alone: the node token is missing, forged or expired")

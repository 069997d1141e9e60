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
_ALGORITHM = "HS256"


@dataclass(frozen=True, slots=True, repr=False)
class NodeKeys:
    """The live signing keys by their ids, and which of them signs."""

    current: str
    keys: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> "NodeKeys":
        """The keys of a secret's text, `{"current": "<id>", "<id>": "<key>", …}`.

        Raises:
            ValueError: it is not of this form.
        """
        keys = json.loads(text)
        if not isinstance(keys, dict) or keys.pop("current", None) not in keys:
            raise ValueError("the node-token secret must be an object whose `current` names one of its keys")
        return cls(json.loads(text)["current"], keys)


class NodeTokens:
    """Signs and checks node tokens.

    Args:
        keys: the keys known from the start.
        refresh: reads the keys again, for a token whose key id is not known.
    """

    def __init__(self, keys: NodeKeys, refresh: Callable[[], NodeKeys]) -> None:
        self._keys = keys
        self._refresh = refresh

    def sign(self, caller: Caller, now: datetime) -> str:
        """A token that speaks for `caller` until 60 seconds after `now`."""
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
            options = {"require": ["exp", "organization", "project", "scopes", "request_id"]}
            claims = jwt.decode(token, self._key(token), algorithms=[_ALGORITHM], options=options)  # type: ignore[arg-type]
        except jwt.InvalidTokenError as error:
            raise Unauthorized(
                "A counter answers the edge alone: the node token is missing, forged or expired"
            ) from error
        if claims["request_id"] != request_id:
            raise Unauthorized("The node token was made for another request")
        return Caller(claims["organization"], claims["project"], tuple(claims["scopes"]), request_id)

    def _key(self, token: str) -> str:
        kid = str(jwt.get_unverified_header(token).get("kid"))
        if kid not in self._keys.keys:
            self._keys = self._refresh()
        if kid not in self._keys.keys:
            raise jwt.InvalidTokenError("no such key")
        return self._keys.keys[kid]


def utc_now() -> datetime:
    """The clock of the composition roots."""
    return datetime.now(UTC)

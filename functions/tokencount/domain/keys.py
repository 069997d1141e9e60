"""What may be said of a new API key, and how a key is shown."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tokencount.domain.credentials import SCOPES, Credential
from tokencount.domain.errors import InvalidRequest, and_more, quote
from tokencount.domain.moments import read_moment, show_moment

MAX_NAME = 100
# What readers of JSON hold a number in.
MAX_SPEND_CAP = sys.float_info.max


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """What an API key is asked to be."""

    name: str
    scopes: list[str]
    expires_at: datetime | None
    spend_cap: float | None


def read_key_request(body: Any, now: datetime) -> KeyRequest:
    """The key that a body of JSON asks for.

    Raises:
        InvalidRequest: the first fault in the fields' order, and how many more there are.
    """
    if not isinstance(body, dict):
        raise InvalidRequest("The body must be a JSON object")
    values, faults = {}, []
    for name, read in _READERS.items():
        try:
            values[name] = read(body, now)
        except InvalidRequest as fault:
            faults.append(fault)
    faults += [_unknown(name) for name in body if name not in _READERS]
    if faults:
        raise _first_of(faults)
    return KeyRequest(**values)


def show_key(key: Credential) -> dict[str, Any]:
    """A key as plain JSON types, without its secret."""
    return {
        "id": key.id,
        "object": "key",
        "name": key.name,
        "prefix": key.prefix,
        "project": key.project,
        "scopes": list(key.scopes),
        "spend_cap": key.spend_cap,
        "expires_at": show_moment(key.expires_at),
        "created_at": show_moment(key.created_at),
        "revoked_at": show_moment(key.revoked_at),
    }


def _name(body: Mapping[str, Any], _now: datetime) -> str:
    name = body.get("name")
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME:
        raise _refusal("name", f"a string of 1 to {MAX_NAME} characters", body)
    return name


def _scopes(body: Mapping[str, Any], _now: datetime) -> list[str]:
    scopes, accepted = body.get("scopes"), " or ".join(SCOPES)
    if not isinstance(scopes, list) or not scopes:
        raise _refusal("scopes", f"an array that holds {accepted}", body)
    for index, scope in enumerate(scopes):
        if scope not in SCOPES:
            message = f"scopes.{index} must be {accepted}; {quote(scope)} was sent"
            raise InvalidRequest(message, param=f"scopes.{index}")
        if scope in scopes[:index]:
            raise InvalidRequest(f"scopes.{index} is {scope} for a second time", param=f"scopes.{index}")
    return scopes


def _expires_at(body: Mapping[str, Any], now: datetime) -> datetime | None:
    sent = body.get("expires_at")
    if sent is None:
        return None
    try:
        moment = read_moment(sent) if isinstance(sent, str) else None
    except ValueError:
        moment = None
    if moment is None:
        raise _refusal("expires_at", "a time of ISO 8601 like 2026-07-26T12:00:00Z, or null", body)
    if moment <= now:
        raise _refusal("expires_at", "in the future", body)
    return moment


def _spend_cap(body: Mapping[str, Any], _now: datetime) -> float | None:
    sent = body.get("spend_cap")
    if sent is None:
        return None
    if isinstance(sent, bool) or not isinstance(sent, int | float) or not 0 <= sent <= MAX_SPEND_CAP:
        raise _refusal("spend_cap", f"a number from 0 to {MAX_SPEND_CAP}, or null", body)
    return sent


_READERS: dict[str, Callable[[Mapping[str, Any], datetime], Any]] = {
    "name": _name,
    "scopes": _scopes,
    "expires_at": _expires_at,
    "spend_cap": _spend_cap,
}


def _refusal(name: str, accepted: str, body: Mapping[str, Any]) -> InvalidRequest:
    sent = quote(body[name]) if name in body else "nothing"
    return InvalidRequest(f"{name} must be {accepted}; {sent} was sent", param=name)


def _unknown(name: str) -> InvalidRequest:
    message = f"{quote(name)} is not a field of a new key; accepted: {', '.join(_READERS)}"
    return InvalidRequest(message, param=quote(name))


def _first_of(faults: list[InvalidRequest]) -> InvalidRequest:
    return InvalidRequest(faults[0].message + and_more(len(faults) - 1), param=faults[0].param)

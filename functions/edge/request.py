"""What the edge reads of an API Gateway event."""

import base64
import binascii
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from edge.routing import path_of
from tokencount.domain.credentials import Secret, parse_secret
from tokencount.domain.errors import Unauthorized

NO_CREDENTIAL = "No credential was sent; send an API key as Authorization: Bearer b3os_sk_…"


class EdgeRequest:
    """A request as the edge sees it; nothing is decoded before it is asked for."""

    def __init__(self, event: Mapping[str, Any]) -> None:
        self._event = event
        self._headers = _values(event, "headers", "multiValueHeaders", str.lower)
        self.method: str = str(event.get("httpMethod") or "").upper()
        self.path = path_of(event)

    @property
    def query(self) -> dict[str, list[str]]:
        """The values of the query string by name."""
        return _values(self._event, "queryStringParameters", "multiValueQueryStringParameters", str)

    def header(self, name: str) -> str | None:
        """The last value of a header, its name in lower case, or None."""
        values = self._headers.get(name)
        return values[-1] if values else None

    def secret(self) -> Secret:
        """The credential of the request, from `Authorization: Bearer` or `x-api-key`.

        Raises:
            Unauthorized: there is none, it is malformed, or there are two that differ.
        """
        found = {value.strip() for value in self._headers.get("x-api-key", ())}
        for value in self._headers.get("authorization", ()):
            scheme, _, token = value.strip().partition(" ")
            if scheme.lower() != "bearer":
                raise Unauthorized("The Authorization header must be of the form: Bearer b3os_sk_…")
            found.add(token.strip())
        found.discard("")
        if not found:
            raise Unauthorized(NO_CREDENTIAL)
        if len(found) > 1:
            raise Unauthorized("Two credentials that differ were sent, as Authorization and as x-api-key; send one")
        return parse_secret(found.pop())

    @property
    def is_json(self) -> bool:
        """Whether the body is declared as JSON, whatever the charset and case."""
        media_type = (self.header("content-type") or "").partition(";")[0]
        return media_type.strip().lower() == "application/json"

    @cached_property
    def body(self) -> bytes:
        """The body's bytes; what no UTF-8 can hold is left for the JSON reader to refuse."""
        text = self._event.get("body") or ""
        if self._event.get("isBase64Encoded"):
            with suppress(binascii.Error):
                return base64.b64decode(text, validate=True)
        return str(text).encode("utf-8", "surrogatepass")


def _values(event: Mapping[str, Any], single: str, multi: str, named: Callable[[str], str]) -> dict[str, list[str]]:
    """Values by their names; the single-value form serves where the multi-value one is missing."""
    found: dict[str, list[str]] = {}
    for name, values in (event.get(multi) or {}).items():
        found.setdefault(named(name), []).extend(values or ())
    for name, value in (event.get(single) or {}).items():
        if named(name) not in found and value is not None:
            found[named(name)] = [value]
    return found

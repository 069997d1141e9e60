"""What the edge reads of an API Gateway event."""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from edge.routing import path_of


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

    def headers(self, name: str) -> Sequence[str]:
        """Every value of a header, its name in lower case."""
        return self._headers.get(name, ())

    def cookies(self) -> Iterator[tuple[str, str]]:
        """The name and value of each cookie, as it was sent."""
        for header in self.headers("cookie"):
            for pair in header.split(";"):
                name, _, value = pair.partition("=")
                yield name.strip(), value.strip()

    @property
    def host(self) -> str:
        """The host that was asked, without a port; API Gateway's own word for it goes before the client's."""
        name = (self._event.get("requestContext") or {}).get("domainName") or self.header("host") or ""
        return str(name).lower().partition(":")[0]

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

"""What the edge needs from outside, in the domain's words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tokencount.domain.credentials import Credential, Secret
from tokencount.domain.records import RequestRecord


class Credentials(Protocol):
    """Knows who holds a secret."""

    def find(self, secret: Secret) -> Credential | None:
        """Raises NodeUnavailable where it cannot be looked up."""


class RequestLog(Protocol):
    """Keeps one record a request, readable by its id at once."""

    def put(self, record: RequestRecord) -> None:
        """Keeps `record`."""

    def get(self, request_id: str) -> dict[str, Any] | None:
        """The record of that id as plain JSON types, or None."""


@dataclass(frozen=True, slots=True)
class Caller:
    """For whom a counter works, proven by a node token instead of the caller's own credential."""

    organization: str
    project: str
    scopes: tuple[str, ...]
    request_id: str


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """What a counter answered, its headers' names in lower case."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)


class Nodes(Protocol):
    """The counters."""

    def count(self, model: str, body: str, caller: Caller) -> NodeAnswer:
        """Raises NodeUnavailable where the counter gives no answer, PayloadTooLarge where it could not be sent."""

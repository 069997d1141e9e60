"""What the edge and the counters need from outside, in the domain's words."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from tokencount.domain.credentials import Credential, Secret
from tokencount.domain.limits import Allowance, Usage, Window
from tokencount.domain.recordings import Recording
from tokencount.domain.records import RecordPage, RecordQuery, RequestRecord


class Credentials(Protocol):
    """Knows who holds a secret."""

    def find(self, secret: Secret) -> Credential | None:
        """Raises NodeUnavailable where it cannot be looked up."""


@dataclass(frozen=True, slots=True)
class KeyPage:
    """Some API keys.

    Args:
        last: the id after which the next page begins; None at the end.
    """

    keys: Sequence[Credential]
    last: str | None


class Keys(Protocol):
    """A project's API keys; every method raises NodeUnavailable where they cannot be reached."""

    def add(self, secret: Secret, credential: Credential) -> None:
        """Keeps a new key."""

    def page(self, project: str, limit: int, after: str | None = None) -> KeyPage:
        """Keys of a project, the newest first, from the one after `after` on."""

    def revoke(self, key_id: str, project: str, at: datetime) -> Credential | None:
        """The key once it is revoked, since `at` or earlier; None where the project has none of that id."""


class RequestLog(Protocol):
    """Keeps one record a request, readable by its id at once."""

    def put(self, record: RequestRecord) -> None:
        """Keeps `record`."""

    def get(self, request_id: str) -> dict[str, Any] | None:
        """The record of that id as plain JSON types, or None where there is none or its time is over."""

    def find(self, query: RecordQuery) -> RecordPage:
        """The records that a query asks for; one written just now may not be among them yet."""


class Recordings(Protocol):
    """Keeps recordings, readable by the id of their request."""

    def put(self, recording: Recording, seconds: Callable[[], float]) -> None:
        """Keeps a recording.

        Args:
            seconds: how long that may be waited for, asked once all is ready to be sent.

        Raises:
            NotRecorded: it cannot be kept, or not in that time.
        """

    def get(self, request_id: str) -> str | None:
        """The text of a recording, or None where there is none. Raises RecordingsUnavailable."""


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

    def count(self, model: str, body: str, caller: Caller, seconds: float) -> NodeAnswer:
        """Raises NodeUnavailable where the counter gives no answer, PayloadTooLarge where it could not be sent."""


class Limits(Protocol):
    """Holds callers to their limits."""

    def take_request(self, caller: Caller) -> Allowance | None:
        """Counts a request of the caller's project; None where that cannot be done and the request goes on without."""

    def in_flight(self, caller: Caller) -> AbstractContextManager[None]:
        """Holds a place of the caller's organization. Raises ConcurrencyLimited where there is none."""


class Windows(Protocol):
    """Counts what is used of a limit a minute. Every method raises LimitsUnavailable where it cannot."""

    def reserve(self, key: str, window: Window, units: int, limit: int) -> Usage:
        """Takes `units` of the window's `limit`, or none of them."""

    def settle(self, key: str, window: Window, unused: int) -> None:
        """Gives back units that were reserved and not needed."""


class Leases(Protocol):
    """Counts an organization's requests in flight. Every method raises LimitsUnavailable where it cannot."""

    def acquire(self, organization: str, request_id: str, limit: int, now: datetime) -> bool:
        """Whether the request has one of `limit` places, for 30 seconds at most."""

    def release(self, organization: str, request_id: str) -> None:
        """Gives the place back, if it is still held."""


class LimitSettings(Protocol):
    """What is allowed to whom. Every method raises LimitsUnavailable where it cannot be read."""

    def requests_per_minute(self, project: str) -> int:
        """How many requests a project may send a minute."""

    def requests_in_flight(self, organization: str) -> int:
        """How many requests of an organization may be answered at a time."""


class ImageLimits(Protocol):
    """What may be fetched for whom."""

    def remote_image_bytes_per_minute(self, project: str) -> int:
        """How many bytes of images by url a project may have fetched a minute. Raises LimitsUnavailable."""

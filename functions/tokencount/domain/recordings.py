"""The recording of a count request: the one thing that holds content, kept only where an operator asked for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class NotRecorded(Exception):
    """A recording could not be kept, or not in time."""


class RecordingsUnavailable(Exception):
    """Recordings cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A count request that can be sent again.

    Args:
        record: the request's record, which tells its answer.
        event: what API Gateway sent, without any credential.
    """

    record: Mapping[str, Any]
    event: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The request's."""
        return str(self.record["id"])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"record": self.record, "event": self.event}

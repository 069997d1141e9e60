"""The record of a request: who asked, what came of it and how long it took; never what was in it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self

# Who counted: the function, the endpoint, or the function in the endpoint's place.
CountedBy = Literal["function", "endpoint", "fallback"]


@dataclass(slots=True)
class ImageTotals:
    """What the images of a request came to."""

    count: int = 0
    bytes: int = 0
    remote_bytes: int = 0
    pixels: int = 0


@dataclass(slots=True, kw_only=True)
class RequestRecord:
    """One request, as `GET /v1/requests/{id}` shows it, its fields in the contract's order.

    Args:
        created_at: ISO 8601, UTC.
        credential: kind and id of the credential used.
        route: who counted; None where nothing was counted.
        timing: milliseconds a phase.
        error: type, code and param; None for a success.
        expires_at: seconds since the epoch, when the record may go.
    """

    id: str
    created_at: str
    method: str
    path: str
    status: int = 0
    model: str | None = None
    organization: str
    project: str
    credential: Mapping[str, str]
    input_tokens: int | None = None
    route: CountedBy | None = None
    images: ImageTotals = field(default_factory=ImageTotals)
    request_bytes: int
    response_bytes: int = 0
    timing: Mapping[str, float] = field(default_factory=dict)
    error: Mapping[str, str | None] | None = None
    tokenizer_revision: str | None = None
    user_agent: str | None
    expires_at: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The record that `to_dict` gave.

        Raises:
            KeyError, TypeError: a field is missing or one too many.
        """
        return cls(**{**data, "images": ImageTotals(**data["images"])})


FIELDS = tuple(item.name for item in fields(RequestRecord))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordQuery:
    """Which of a project's records are wanted, the newest first.

    Args:
        statuses: the lowest and the highest.
        since: the lowest id, as ids sort by time.
        after: the id of the last record of the page before.
        limit: records a page.
    """

    project: str
    model: str | None = None
    statuses: tuple[int, int] | None = None
    since: str | None = None
    after: str | None = None
    limit: int = 20


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Some records, each with every field as plain JSON types.

    Args:
        last: the id after which the next page begins, which need not be one of `records`; None at the end.
    """

    records: list[dict[str, Any]]
    last: str | None

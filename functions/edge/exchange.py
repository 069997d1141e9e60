"""A request while it is answered, and the answer that leaves."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from edge.request import EdgeRequest
from tokencount.domain.credentials import Credential
from tokencount.domain.records import RequestRecord
from tokencount.domain.timing import Phases


@dataclass(slots=True)
class Answer:
    """A status, a JSON body and headers beside those of every answer."""

    status: int
    body: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Exchange:
    """A request of a known caller, and the record of it that the routes fill in.

    Args:
        seconds_left: until the function is ended.
        headers: for the answer, whether it is a success or an error.
    """

    id: str
    request: EdgeRequest
    phases: Phases
    seconds_left: Callable[[], float]
    credential: Credential
    record: RequestRecord
    headers: dict[str, str]


# What a route does with an exchange and the parameters of its path.
Route = Callable[..., Answer]


def json_answer(body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer with this body as compact JSON."""
    return Answer(status, json.dumps(body, ensure_ascii=False, separators=(",", ":")), dict(headers or {}))

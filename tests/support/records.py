"""Records of requests that never were."""

from typing import Any

from tests.support.edge import NOW
from tokencount.domain.records import RequestRecord


def record(**rest: Any) -> RequestRecord:
    """A record with the fields that every request gives."""
    known: dict[str, Any] = {
        "id": "req_1",
        "created_at": NOW.isoformat(timespec="milliseconds"),
        "method": "POST",
        "path": "/x",
        "organization": "o",
        "project": "p",
        "credential": {"kind": "api_key", "id": "key_1"},
        "request_bytes": 5,
        "user_agent": None,
        "expires_at": 4_000_000_000,
    }
    return RequestRecord(**known | rest)

"""Requests in flight as leases in the limits table, which end by themselves where a function crashed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tokencount.adapters.limits import KEPT_SECONDS, LimitsTable, Update
from tokencount.domain.limits import LEASE_SECONDS

# Whoever loses a race learns what the winner left, so two or three do; after these the organization is taken for full.
_ATTEMPTS = 5
# An expression holds at most 4 KB and 300 operators.
_SWAPPED_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class _Lease:
    """A lease by its request's id, with its times in seconds since 1970."""

    id: str
    start: int

    @property
    def end(self) -> int:
        return self.start + LEASE_SECONDS


class DynamoLeases:
    """Leases of an organization in one row: a map from request ids to the second in which each ends."""

    def __init__(self, table: LimitsTable) -> None:
        self._table = table

    def acquire(self, organization: str, request_id: str, limit: int, now: datetime) -> bool:
        """Whether the request has one of `limit` places. Raises LimitsUnavailable."""
        own = _Lease(request_id, int(now.timestamp()))
        known: Mapping[str, int] | None = {}
        for _ in range(_ATTEMPTS):
            update = _next_update(own, known, limit)
            if update is None:
                return False
            done, row = self._table.update(_row(organization), update)
            known = row.get("leases")
            if done and known and own.id in known:
                return True
        return False

    def release(self, organization: str, request_id: str) -> None:
        """Gives the place back, if it is still held. Raises LimitsUnavailable."""
        update = Update("REMOVE leases.#own", "attribute_exists(leases.#own)", names={"#own": request_id})
        self._table.update(_row(organization), update)


def _next_update(own: _Lease, known: Mapping[str, int] | None, limit: int) -> Update | None:
    """What to try, given the leases last seen (None: there was no row); None where every place is taken."""
    if known is None:
        return _first(own)
    ended = [lease for lease, end in known.items() if end <= own.start]
    if len(known) - len(ended) >= limit:
        return None
    swapped = ended[:_SWAPPED_AT_ONCE]
    # Not so only where the limit was lowered and more have crashed than one update can hold.
    fits = len(known) - len(swapped) < limit
    return _swap(own, swapped, limit) if fits else _clear(own, swapped)


def _first(own: _Lease) -> Update:
    values = {":leases": {own.id: own.end}, ":ttl": own.end + KEPT_SECONDS}
    return Update("SET leases = :leases, #ttl = :ttl", "attribute_not_exists(leases)", values, {"#ttl": "ttl"})


def _swap(own: _Lease, ended: list[str], limit: int) -> Update:
    """A place taken, and those that have ended given up; each must still be there, or the sum is wrong."""
    taken = Update(
        "SET leases.#own = :end, #ttl = :ttl",
        "size(leases) <= :room",
        {":end": own.end, ":ttl": own.end + KEPT_SECONDS, ":room": limit - 1 + len(ended)},
        {"#own": own.id, "#ttl": "ttl"},
    )
    if not ended:
        return taken
    cleared = _clear(own, ended)
    return Update(
        f"{taken.expression} {cleared.expression}",
        f"{taken.condition} AND {cleared.condition}",
        {**taken.values, **cleared.values},
        {**taken.names, **cleared.names},
    )


def _clear(own: _Lease, ended: list[str]) -> Update:
    """Those given up that have ended by the clock of who asks."""
    names = {f"#ended{index}": lease for index, lease in enumerate(ended)}
    return Update(
        "REMOVE " + ", ".join(f"leases.{name}" for name in names),
        " AND ".join(f"leases.{name} <= :now" for name in names),
        {":now": own.start},
        names,
    )


def _row(organization: str) -> str:
    return f"leases#{organization}"

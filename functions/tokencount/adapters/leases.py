"""Requests in flight as leases in the limits table, which end by themselves where a function crashed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tokencount.adapters.limits import KEPT_SECONDS, LimitsTable, Update
from tokencount.domain.limits import LEASE_SECONDS

# Whoever loses a race learns what the winner left, so two or three do; after these the organization is taken for full.
_ATTEMPTS = 8
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
    if len(known) < limit:
        return _take(own, limit)
    ended = [lease for lease, end in known.items() if end <= own.start]
    if len(known) - len(ended) >= limit:
        return None
    swapped = ended[:_SWAPPED_AT_ONCE]
    if len(known) - len(swapped) >= limit:
        # Only where the limit was lowered and more have crashed than one update can hold.
        return _clear(own, swapped)
    return _together(_take(own, limit + len(swapped)), _clear(own, swapped))


def _first(own: _Lease) -> Update:
    values = {":leases": {own.id: own.end}, ":ttl": own.end + KEPT_SECONDS}
    return Update("SET leases = :leases, #ttl = :ttl", "attribute_not_exists(leases)", values, {"#ttl": "ttl"})


def _take(own: _Lease, limit: int) -> Update:
    values = {":end": own.end, ":ttl": own.end + KEPT_SECONDS, ":limit": limit}
    names = {"#own": own.id, "#ttl": "ttl"}
    # DynamoDB takes the size of what is not there for a condition that fails; moto, in `make run`, for an error.
    condition = "attribute_exists(leases) AND size(leases) < :limit"
    return Update("SET leases.#own = :end, #ttl = :ttl", condition, values, names)


def _clear(own: _Lease, ended: list[str]) -> Update:
    """Gives up those that have ended; each must still be there, or they make less room than was reckoned."""
    names = {f"#ended{index}": lease for index, lease in enumerate(ended)}
    removal = "REMOVE " + ", ".join(f"leases.{name}" for name in names)
    return Update(removal, " AND ".join(f"leases.{name} <= :now" for name in names), {":now": own.start}, names)


def _together(one: Update, other: Update) -> Update:
    return Update(
        f"{one.expression} {other.expression}",
        f"{one.condition} AND {other.condition}",
        {**one.values, **other.values},
        {**one.names, **other.names},
    )


def _row(organization: str) -> str:
    return f"leases#{organization}"

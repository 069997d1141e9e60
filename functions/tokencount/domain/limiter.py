"""Holds callers to their limits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from tokencount.domain.limits import Allowance, LimitsUnavailable, Window, too_many_in_flight
from tokencount.domain.ports import Caller, Leases, LimitSettings, Windows


class Limiter:
    """The limits of the count route. Where they cannot be reached, a request goes on without them: counting is free.

    Args:
        now: the clock, UTC.
        unavailable: told for whom and why the limits could not be reached.
    """

    def __init__(
        self,
        windows: Windows,
        leases: Leases,
        settings: LimitSettings,
        *,
        now: Callable[[], datetime],
        unavailable: Callable[[Caller, LimitsUnavailable], None],
    ) -> None:
        self._windows = windows
        self._leases = leases
        self._settings = settings
        self._now = now
        self._unavailable = unavailable

    def take_request(self, caller: Caller) -> Allowance | None:
        """Counts a request of the project's minute; None where that cannot be done."""
        now = self._now()
        window = Window.at(now)
        try:
            limit = self._settings.requests_per_minute(caller.project)
            usage = self._windows.reserve(f"requests#{caller.project}", window, 1, limit)
        except LimitsUnavailable as error:
            self._unavailable(caller, error)
            return None
        return Allowance(usage.granted, limit, max(0, limit - usage.used), window.seconds_left(now))

    @contextmanager
    def in_flight(self, caller: Caller) -> Iterator[None]:
        """Holds a place among the organization's requests in flight, given back at the end of the block.

        Raises:
            ConcurrencyLimited: every place is taken.
        """
        held = self._acquire(caller)
        try:
            yield
        finally:
            if held:
                self._release(caller)

    def _acquire(self, caller: Caller) -> bool:
        """Whether there is a lease to give back."""
        try:
            limit = self._settings.requests_in_flight(caller.organization)
            held = self._leases.acquire(caller.organization, caller.request_id, limit, self._now())
        except LimitsUnavailable as error:
            self._unavailable(caller, error)
            return False
        if not held:
            raise too_many_in_flight(limit)
        return True

    def _release(self, caller: Caller) -> None:
        try:
            self._leases.release(caller.organization, caller.request_id)
        except LimitsUnavailable as error:
            # It ends by itself.
            self._unavailable(caller, error)

"""What a project or an organization may do: rows of the limits table, over the template's defaults."""

from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools import Logger

from tokencount.adapters.limits import LimitsTable
from tokencount.adapters.minute_cache import MinuteCache

MAX_LIMIT = 1_000_000_000
_IMAGE_BYTES = "remote_image_bytes_per_minute"


def ignored_settings(logger: Logger) -> Callable[[str, str], None]:
    """What a function does where a setting is no limit: its log names the row and the attribute."""

    def ignored(row: str, attribute: str) -> None:
        logger.warning("a setting is no limit: the default holds", extra={"row": row, "attribute": attribute})

    return ignored


class _TableSettings:
    """Limits by row, remembered for at most 60 seconds.

    A limit is a whole number up to MAX_LIMIT, 0 for nothing at all. Without such a number the default holds.
    """

    def __init__(
        self,
        table: LimitsTable,
        defaults: Mapping[str, int],
        clock: Callable[[], float],
        ignored: Callable[[str, str], None],
    ) -> None:
        self._table = table
        self._defaults = defaults
        self._ignored = ignored
        self._known = MinuteCache[int](clock)

    def _limit(self, key: str, name: str) -> int:
        return self._known.get(key, lambda: self._read(key, name))

    def _read(self, key: str, name: str) -> int:
        value: Any = self._table.get(key).get(name)
        if type(value) is int and 0 <= value <= MAX_LIMIT:
            return value
        if value is not None:
            self._ignored(key, name)
        return self._defaults[name]


class TableLimitSettings(_TableSettings):
    """Limits of the count route.

    A row is `settings#project#<id>` with `requests_per_minute`, or `settings#organization#<id>` with
    `requests_in_flight`.

    Args:
        requests_per_minute, requests_in_flight: the defaults.
        clock: seconds that also pass while the function is frozen, as those of the wall's clock do.
        ignored: told the row's key and attribute where a value is no such number.
    """

    def __init__(
        self,
        table: LimitsTable,
        *,
        requests_per_minute: int,
        requests_in_flight: int,
        clock: Callable[[], float],
        ignored: Callable[[str, str], None],
    ) -> None:
        defaults = {"requests_per_minute": requests_per_minute, "requests_in_flight": requests_in_flight}
        super().__init__(table, defaults, clock, ignored)

    def requests_per_minute(self, project: str) -> int:
        """Raises LimitsUnavailable."""
        return self._limit(f"settings#project#{project}", "requests_per_minute")

    def requests_in_flight(self, organization: str) -> int:
        """Raises LimitsUnavailable."""
        return self._limit(f"settings#organization#{organization}", "requests_in_flight")


class TableImageLimits(_TableSettings):
    """Limits of what is fetched: a row is `settings#project#<id>` with `remote_image_bytes_per_minute`.

    Args:
        remote_image_bytes_per_minute: the default.
        clock, ignored: as those of the count route's limits.
    """

    def __init__(
        self,
        table: LimitsTable,
        *,
        remote_image_bytes_per_minute: int,
        clock: Callable[[], float],
        ignored: Callable[[str, str], None],
    ) -> None:
        super().__init__(table, {_IMAGE_BYTES: remote_image_bytes_per_minute}, clock, ignored)

    def remote_image_bytes_per_minute(self, project: str) -> int:
        """Raises LimitsUnavailable."""
        return self._limit(f"settings#project#{project}", _IMAGE_BYTES)

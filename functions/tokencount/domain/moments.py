"""Moments as text: ISO 8601, in UTC and to the millisecond where we write them."""

from datetime import UTC, datetime


def read_moment(text: str) -> datetime:
    """A time of ISO 8601 in UTC, which is meant where no zone stands.

    What lies outside the years 1 to 9999 there is the end of them that is nearest.

    Raises:
        ValueError: it is none.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        nearest = datetime.min if moment.year == 1 else datetime.max
        return nearest.replace(tzinfo=UTC)


def show_moment(moment: datetime | None) -> str | None:
    """Such as `2026-07-26T12:00:00.000+00:00`; None stays None."""
    return None if moment is None else moment.isoformat(timespec="milliseconds")

"""The date of a run's data, which is not the time of the run; a backfill runs today for a day long ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from dpdb.errors import ParameterError

__all__ = ["date_in", "in_utc", "parse_date"]

_DATE = re.compile(
    r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?(?![0-9])"
)


def in_utc(time: datetime) -> datetime:
    """Return a time in UTC; one that names no zone is in UTC already."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def date_in(run_id: str) -> datetime | None:
    """Return the first date or time that a run id names, in UTC; None if it names none.

    Examples
    --------
    >>> date_in("scheduled__2026-11-21T06:00:00+01:00").isoformat(), date_in("first")
    ('2026-11-21T05:00:00+00:00', None)
    """
    for found in _DATE.finditer(run_id):
        try:
            return in_utc(datetime.fromisoformat(found[0]))
        except (ValueError, OverflowError):  # 2026-13-45
            continue
    return None


def parse_date(text: str) -> datetime:
    """Read a date that the caller states.

    Raises
    ------
    ParameterError
        The text is no date.
    """
    found = date_in(text) if _DATE.fullmatch(text) else None
    if found is None:
        raise ParameterError(f"--date {text!r}: expected a date or time such as 2026-11-21 or 2026-11-21T06:00Z")
    return found

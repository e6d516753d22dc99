"""Dates and times as PostgreSQL's text (ISO), for all that DuckDB has: also before our era and after the year 9999."""

from __future__ import annotations

import numpy as np

__all__ = [
    "EPOCH", "EPOCH_DAYS", "INFINITE_DAYS", "INFINITE_MICROSECONDS", "date_text", "time_text", "timestamp_text",
]  # fmt: skip

INFINITE_DAYS, INFINITE_MICROSECONDS = 2**31 - 1, 2**63 - 1
_DAY = 86_400_000_000
EPOCH_DAYS = 10_957  # from 1970 to 2000, where PostgreSQL begins to count
EPOCH = EPOCH_DAYS * _DAY


def date_text(days: int) -> str:
    """Return a date by its days since 1970.

    Examples
    --------
    >>> date_text(0), date_text(-719_163), date_text(INFINITE_DAYS)
    ('1970-01-01', '0001-12-31 BC', 'infinity')
    """
    if abs(days) == INFINITE_DAYS:
        return "infinity" if days > 0 else "-infinity"
    date, era = _civil(days)
    return date + era


def timestamp_text(microseconds: int, zone: str = "") -> str:
    """Return a time by its microseconds since 1970."""
    if abs(microseconds) == INFINITE_MICROSECONDS:
        return "infinity" if microseconds > 0 else "-infinity"
    days, rest = divmod(microseconds, _DAY)
    date, era = _civil(days)
    return f"{date} {time_text(rest)}{zone}{era}"


def time_text(microseconds: int) -> str:
    """Return a time of the day, or a longer time."""
    seconds, part = divmod(microseconds, 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{part:06}".rstrip("0") if part else text


def _civil(days: int) -> tuple[str, str]:
    """Return the date of the Gregorian calendar, and the era where it is not ours; numpy counts 1 BC as year 0."""
    text = str(np.datetime64(days, "D"))
    year = int(text[:-6])
    return f"{year if year > 0 else 1 - year:04}{text[-6:]}", "" if year > 0 else " BC"

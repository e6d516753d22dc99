"""The period of an allowance: any 30 days, a calendar month or year, or the days between two dates; in UTC."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from dpdb.errors import ParameterError

_ANY = re.compile(r"([1-9][0-9]{0,3})([hdw])", re.ASCII)
_DATES = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})\.\.([0-9]{4}-[0-9]{2}-[0-9]{2})", re.ASCII)
_UNITS = {"h": ("hour", timedelta(hours=1)), "d": ("day", timedelta(days=1)), "w": ("week", timedelta(weeks=1))}
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Period:
    """A period as it is written: ``30d`` (also ``h``, ``w``), ``month``, ``year``, or ``2026-12-01..2026-12-31``."""

    text: str

    @property
    def words(self) -> str:
        """The period in words, to stand behind "within"."""
        if self.text in ("month", "year"):
            return f"a calendar {self.text} (UTC)"
        if matched := _ANY.fullmatch(self.text):
            unit, number = _UNITS[matched[2]][0], int(matched[1])
            return f"any {unit}" if number == 1 else f"any {number} {unit}s"
        first, last = self._dates()
        return f"the days {first} to {last} (UTC)"

    @property
    def length(self) -> timedelta | None:
        """How long a debit counts; None for a period that begins at fixed times."""
        found = _ANY.fullmatch(self.text)
        return None if found is None else int(found[1]) * _UNITS[found[2]][1]

    @property
    def is_once(self) -> bool:
        """Whether it does not come again: the days between two dates."""
        return ".." in self.text

    def begin(self, now: datetime) -> datetime | None:
        """Return the earliest time whose debits count together with `now`; None outside the dates of a period."""
        if self.length is not None:
            return now - self.length
        if self.text == "month":
            return datetime(now.year, now.month, 1, tzinfo=UTC)
        if self.text == "year":
            return datetime(now.year, 1, 1, tzinfo=UTC)
        first, last = map(_midnight, self._dates())
        return first if first <= now < last + _DAY else None

    def end(self, now: datetime) -> datetime:
        """Return when the period that `now` lies in is over: of any 30 days, when a debit made now no longer counts."""
        if self.length is not None:
            return now + self.length
        if self.text == "month":
            return datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC)
        if self.text == "year":
            return datetime(now.year + 1, 1, 1, tzinfo=UTC)
        return _midnight(self._dates()[1]) + _DAY

    def _dates(self) -> tuple[date, date]:
        first, _, last = self.text.partition("..")
        return date.fromisoformat(first), date.fromisoformat(last)


def parse_period(text: str) -> Period:
    """Read a period.

    Examples
    --------
    >>> parse_period("30d").words, parse_period("month").words
    ('any 30 days', 'a calendar month (UTC)')
    """
    if isinstance(text, str) and (text in ("month", "year") or _ANY.fullmatch(text) or _are_dates(text)):
        return Period(text)
    raise ParameterError(
        f"a period is a number of hours, days or weeks (12h, 30d, 4w), month, year, or two dates "
        f"(2026-12-01..2026-12-31), got {text!r}"
    )


def _are_dates(text: str) -> bool:
    found = _DATES.fullmatch(text)
    try:
        return found is not None and date.fromisoformat(found[1]) <= date.fromisoformat(found[2]) < date.max
    except ValueError:
        return False


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)

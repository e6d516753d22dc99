"""`Freshness`: how many rows are newer than some age. Public: a column, an age, and a moment as a literal."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dpdb.errors import ParameterError
from dpdb.names import quoted_name

_NAIVE = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
_ZONED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")


@dataclass(frozen=True)
class Freshness:
    """What a line such as `freshness(updated_at) < 2 days` says.

    Attributes
    ----------
    column : str
        Of dates or moments.
    age : timedelta
        Rows that are younger are counted.
    inclusive : bool
        Whether rows of exactly this age are, too: `<=`.
    zone : str or None
        Where clocks show what dates and moments without a zone say; None is UTC.
    rows : int or None
        How many rows are so young at least whenever the table is fresh: what a run must be able to tell from none.
    where : str or None
        A condition that rows must meet besides.
    """

    column: str
    age: timedelta
    inclusive: bool = False
    zone: str | None = None
    rows: int | None = None
    where: str | None = None

    def __str__(self) -> str:
        zone = "" if self.zone is None else f", '{self.zone}'"
        seconds = int(self.age.total_seconds())
        rows = "" if self.rows is None else f" WITH {self.rows} ROWS"
        where = "" if self.where is None else f" WHERE {self.where}"
        sign = "<=" if self.inclusive else "<"
        return f"freshness({quoted_name(self.column)}{zone}) {sign} {seconds} seconds{rows}{where}"

    def condition(self, declared_type: str, now: datetime) -> str:
        """Return which rows are counted, as SQL: one comparison of the column with a literal.

        A date is the midnight with which it begins. A row without a value is not counted; one that lies in the future
        is, as no age is above its.

        Parameters
        ----------
        declared_type
            Of the column.
        now
            The moment of the run, with its zone.

        Raises
        ------
        ParameterError
            If the column has no dates or moments, has a zone of its own beside one that is given, or the age ends
            before the calendar begins.
        """
        naive = declared_type in _NAIVE or declared_type == "DATE"
        if not naive and declared_type not in _ZONED:
            raise ParameterError(
                f"freshness: {self.column!r} is {declared_type}, and ages are of a DATE or TIMESTAMP; of text declare "
                "the type (--schema)"
            )
        if not naive and self.zone is not None:
            raise ParameterError(
                f"freshness: values of {self.column!r} ({declared_type}) have a zone of their own; leave out "
                f"{self.zone!r}"
            )
        since, inclusive = self._since(now), self.inclusive
        if declared_type == "DATE":
            literal = f"DATE '{since.date().isoformat()}'"
            inclusive &= since.time() == time()
        else:
            kind = "TIMESTAMP" if naive else "TIMESTAMPTZ"
            literal = f"{kind} '{since.replace(tzinfo=None).isoformat(' ')}{'' if naive else '+00:00'}'"
        own = f"{quoted_name(self.column)} {'>=' if inclusive else '>'} {literal}"
        return own if self.where is None else f"({self.where}) AND {own}"

    def _since(self, now: datetime) -> datetime:
        """Return the moment before which a row is too old, as clocks of the zone show it."""
        try:
            return (now - self.age).astimezone(UTC if self.zone is None else zone_named(self.zone))
        except OverflowError:
            raise ParameterError(
                f"freshness: an age of {self.age.days:,} days ends before the calendar begins"
            ) from None


def zone_named(name: str) -> ZoneInfo:
    """Return a time zone of the IANA's list, such as `Europe/Berlin`; `ParameterError` if it is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ParameterError(
            f"freshness: {name!r} is no time zone that is known here (such as 'Europe/Berlin')"
        ) from None

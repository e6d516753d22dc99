"""Terms of DQD's files: limits of values, and the columns that hold what a concept was mapped from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

from dpdb.errors import ParameterError
from dpdb.rules.limits import number
from dpdb.rules.texts import value

__all__ = ["LimitTerm", "limit_term", "source_column"]

_DAY = re.compile(r"'?(\d{4})-?(\d{2})-?(\d{2})'?")
_FROM_TODAY = re.compile(r"DATEADD\((?:dd|d|day),(-?\d{1,5}),GETDATE\(\)\)|GETDATE\(\)", re.IGNORECASE)
_YEAR = re.compile(r"YEAR\(GETDATE\(\)\)(?:\+(\d{1,4}))?", re.IGNORECASE)


@dataclass(frozen=True)
class LimitTerm:
    """A limit as SQL writes it, and whether it is a day."""

    text: str
    is_day: bool = False


def limit_term(said: str, datatype: str, today: date | None, *, next_day: bool = False) -> LimitTerm:
    """Return a limit: a number, a day, or what is counted from today.

    Parameters
    ----------
    said
        As the file says it.
    datatype
        Of the field.
    today
        What GETDATE() stands for.
    next_day
        Whether a day stands for the one after it.

    Raises
    ------
    ParameterError
        If it is none of these, or is counted from today and no day is given.
    """
    text = said.replace(" ", "")
    ahead = timedelta(days=1 if next_day else 0)
    is_time = datatype.lower() in ("date", "datetime")
    if "GETDATE" in text.upper() and today is None:
        raise ParameterError("it is counted from today: give --today")
    if is_time and today is not None and (found := _FROM_TODAY.fullmatch(text)):
        return _day(today, timedelta(days=int(found[1] or 0)) + ahead)
    if is_time and (found := _DAY.fullmatch(text)):
        try:
            return _day(date(*map(int, found.groups())), ahead)
        except ValueError:
            raise ParameterError(f"{said!r} is no day") from None
    if not is_time and today is not None and (found := _YEAR.fullmatch(text)):
        return LimitTerm(str(today.year + int(found[1] or 0)))
    if not is_time and number(text) is not None and "%" not in text:
        return LimitTerm(text)
    raise ParameterError(f"dpdb does not know the limit {said!r} of a {datatype}")


def _day(start: date, ahead: timedelta) -> LimitTerm:
    try:
        return LimitTerm(f"DATE {value(start + ahead)}", is_day=True)
    except OverflowError:
        raise ParameterError("its limit is no day of the calendar") from None


_SOURCES = {
    "admitting_source_concept_id": "admitting_source_value",
    **{
        f"{stem}_concept_id": f"{stem}_source_value"
        for stem in (
            "unit", "admitted_from", "discharged_to", "discharge_to", "condition_status", "route", "modifier",
            "qualifier", "cause", "anatomic_site", "disease_status", "country", "place_of_service", "specialty",
            "payer", "plan", "sponsor", "stop_reason",
        )
    },
    **{
        f"{stem}_source_concept_id": f"{stem}_source_value"
        for stem in ("unit", "cause", "specialty", "payer", "plan", "sponsor", "stop_reason")
    },
}  # fmt: skip


def source_column(table: str, field: str) -> str | None:
    """Return the column of a value that a concept which may be missing was mapped from; None if it may not be."""
    if table == "provider" and field in ("gender_concept_id", "gender_source_concept_id"):
        return "gender_source_value"
    if table == "dose_era" and field.startswith("unit_"):
        return None
    return _SOURCES.get(field)

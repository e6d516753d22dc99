"""The three CSV files of DQD: found by their names, and read once their columns are those that are known.

Their terms are limits of values, and the columns that hold what a concept was mapped from.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TypeAlias

from dpdb.errors import ParameterError
from dpdb.names import listed_names
from dpdb.rules.limits import number
from dpdb.rules.texts import value

Row: TypeAlias = dict[str, str]
"""The cells of a line by column, without blanks around them; names of tables and fields in small letters."""

_VERSIONS = ("5.3", "5.4")
_NAMES = ("cdmTableName", "cdmFieldName")
_FURTHER = {
    "Table": ("cdmTableName",),
    "Field": (
        *_NAMES, "cdmDatatype", "fkTableName", "fkFieldName", "plausibleTemporalAfterTableName",
        "plausibleTemporalAfterFieldName", "plausibleStartBeforeEndFieldName",
    ),
    "Concept": (*_NAMES, "conceptId", "unitConceptId"),
}  # fmt: skip


@dataclass(frozen=True)
class CheckFiles:
    """The lines of the three files."""

    tables: tuple[Row, ...]
    fields: tuple[Row, ...]
    concepts: tuple[Row, ...]


def read_check_files(
    folder: Path, version: str, text_of: Callable[[Path], str], checks: Mapping[str, Iterable[str]]
) -> CheckFiles:
    """Read the files of a version of OMOP's common data model.

    Parameters
    ----------
    version
        Such as ``5.4``.
    checks
        The checks of each file, which has a column and a threshold for each.
    """
    if version not in _VERSIONS:
        raise ParameterError(f"cdm {version!r} is none of the versions whose checks dpdb knows: {', '.join(_VERSIONS)}")
    found = []
    for level, further in _FURTHER.items():
        needed = [*further, *checks[level], *(f"{check}Threshold" for check in checks[level])]
        found.append(_rows(folder / f"OMOP_CDMv{version}_{level}_Level.csv", needed, text_of))
    return CheckFiles(*found)


def _rows(path: Path, needed: Sequence[str], text_of: Callable[[Path], str]) -> tuple[Row, ...]:
    if not path.is_file():
        raise ParameterError(f"{path} is missing (in DQD's repository the files stand in inst/csv)")
    try:
        lines = list(csv.reader(text_of(path).removeprefix("\ufeff").splitlines(keepends=True), strict=True))
    except csv.Error as error:
        raise ParameterError(f"{path} is no CSV: {error}") from None
    header = lines[0] if lines else []
    lacking = [name for name in needed if name not in header]
    if lacking:
        raise ParameterError(f"{path} lacks {listed_names(lacking)}: it is of another version of DQD")
    if len(set(header)) < len(header):
        raise ParameterError(f"{path} has two columns of one name")
    return tuple(_row(header, line, number, path) for number, line in enumerate(lines[1:], 2) if any(line))


def _row(header: list[str], line: list[str], number: int, path: Path) -> Row:
    if len(line) != len(header):
        raise ParameterError(f"{path}: record {number} has {len(line)} cells, its header {len(header)}")
    row = {name: _cell(cell) for name, cell in zip(header, line, strict=True)}
    return row | {name: row[name].lower() for name in _NAMES if name in row}


def _cell(cell: str) -> str:
    cell = cell.strip()
    return "" if cell == "NA" else cell  # as R reads it


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
    today
        What GETDATE() stands for.
    next_day
        Whether a day stands for the one after it.
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

"""The three CSV files of DQD: found by their names, and read once their columns are those that are known."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dpdb.errors import ParameterError
from dpdb.names import listed_names

__all__ = ["CheckFiles", "Row", "read_check_files"]

Row: TypeAlias = dict[str, str]
"""The cells of a line by column, without blanks around them; names of tables and fields in small letters."""

_VERSIONS = ("5.3", "5.4")
_NAMES = ("cdmTableName", "cdmFieldName")
_WITH_THRESHOLD = {
    "Table": ("measurePersonCompleteness", "measureConditionEraCompleteness", "measureObservationPeriodOverlap"),
    "Field": (
        "isRequired", "isPrimaryKey", "isForeignKey", "fkDomain", "fkClass", "isStandardValidConcept",
        "measureValueCompleteness", "standardConceptRecordCompleteness", "sourceConceptRecordCompleteness",
        "sourceValueCompleteness", "plausibleValueLow", "plausibleValueHigh", "plausibleTemporalAfter",
        "plausibleDuringLife", "plausibleStartBeforeEnd", "plausibleAfterBirth", "plausibleBeforeDeath",
        "withinVisitDates",
    ),
    "Concept": (
        "plausibleValueLow", "plausibleValueHigh", "plausibleGender", "plausibleGenderUseDescendants",
        "plausibleUnitConceptIds",
    ),
}  # fmt: skip
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


def read_check_files(folder: Path, version: str, text_of: Callable[[Path], str]) -> CheckFiles:
    """Read the files of a version of OMOP's common data model.

    Parameters
    ----------
    folder
        Where they are.
    version
        Such as ``5.4``.
    text_of
        Reads a file.

    Raises
    ------
    ParameterError
        If the version is unknown, or a file is missing, is no CSV or lacks a column.
    """
    if version not in _VERSIONS:
        raise ParameterError(f"cdm {version!r} is none of the versions whose checks dpdb knows: {', '.join(_VERSIONS)}")
    return CheckFiles(*(_rows(folder / f"OMOP_CDMv{version}_{level}_Level.csv", level, text_of) for level in _FURTHER))


def _rows(path: Path, level: str, text_of: Callable[[Path], str]) -> tuple[Row, ...]:
    if not path.is_file():
        raise ParameterError(f"{path} is missing (in DQD's repository the files stand in inst/csv)")
    try:
        lines = list(csv.reader(text_of(path).removeprefix("\ufeff").splitlines(keepends=True), strict=True))
    except csv.Error as error:
        raise ParameterError(f"{path} is no CSV: {error}") from None
    header = lines[0] if lines else []
    needed = [*_FURTHER[level], *_WITH_THRESHOLD[level], *(f"{check}Threshold" for check in _WITH_THRESHOLD[level])]
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

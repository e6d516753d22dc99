"""The checks of OHDSI's DataQualityDashboard (DQD), which its three CSV files set for the tables of an OMOP set.

A row violates where DQD counts it, unless the comment beside a line says otherwise. Checks that only the schema
decides, and those whose threshold is 100%, are left out: no private row decides them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from datetime import date
from typing import NamedTuple

from dpdb.constraints import ROWS_IN_DUPLICATES
from dpdb.errors import ParameterError
from dpdb.rules.found import Found
from dpdb.rules.importers.dqd_files import CheckFiles, Row
from dpdb.rules.importers.dqd_statements import CONCEPT_CHECKS, FIELD_CHECKS, TABLE_CHECKS, Known, Write
from dpdb.rules.limits import Allowed, Bound, Counted, Severity, number
from dpdb.rules.options import Options

__all__ = ["import_checks"]

_SCHEMA = "the schema decides it, which is public"
_NEVER = "its threshold of 100% cannot be exceeded"
_FAILS = frozenset(
    [
        "measureObservationPeriodOverlap", "isRequired", "isPrimaryKey", "isForeignKey", "measurePersonCompleteness",
        "measureConditionEraCompleteness", "fkDomain", "fkClass", "isStandardValidConcept",
        "standardConceptRecordCompleteness", "sourceConceptRecordCompleteness",
    ]
)  # fmt: skip
"""What DQD calls fatal or a convention; what only characterizes data warns."""


def import_checks(files: CheckFiles, today: date | None, found: Found) -> None:
    """Read the checks of all tables.

    Parameters
    ----------
    files
        The three files.
    today
        What GETDATE() stands for; without it checks about today are left out.
    found
        Takes rules, by table.
    """
    known = Known.of(files, today)
    for row in files.tables:
        for check, (table, write) in TABLE_CHECKS.items():
            if row[check] == "Yes":
                _take(found, table, _Check(row, "TABLE", check, write), known)
        _leave_unknown(found, row, "TABLE", TABLE_CHECKS)
    for level, rows, checks in (("FIELD", files.fields, FIELD_CHECKS), ("CONCEPT", files.concepts, CONCEPT_CHECKS)):
        for row in rows:
            for check, (applies, write) in checks.items():
                if applies(row):
                    _take(found, row["cdmTableName"], _Check(row, level, check, write), known)
            _leave_unknown(found, row, level, {*checks, "cdmDatatype"})
    _leave_schema(files, found)


def _leave_schema(files: CheckFiles, found: Found) -> None:
    """List how many checks of each table its schema decides."""
    counts = Counter((row["cdmTableName"], "cdmTable") for row in files.tables)
    for row in files.fields:
        counts[row["cdmTableName"], "cdmField"] += 1
        counts[row["cdmTableName"], "cdmDatatype"] += row["cdmDatatype"].lower() == "integer"
    for (table, check), count in counts.items():
        if count:
            found.table(table).leave(f"{check} ({count})", _SCHEMA)


class _Check(NamedTuple):
    """One check of a line."""

    row: Row
    level: str
    check: str
    write: Write

    @property
    def severity(self) -> Severity:
        """Whether it fails or warns."""
        return "fail" if self.check in _FAILS else "warn"


def _take(found: Found, table: str, check: _Check, known: Known) -> None:
    rules, name = found.table(table), _check_id(check.row, check.level, check.check)
    threshold = check.row[f"{check.check}Threshold"] or "0"
    percent = number(threshold)
    if percent is None or percent < 0:
        rules.leave(name, f"its threshold {threshold!r} is no percentage")
        return
    if percent >= 100:
        rules.leave(name, _NEVER)
        return
    try:
        text, counted, note = check.write(check.row, known)
    except ParameterError as error:
        rules.leave(name, str(error))
        return
    if check.check == "isPrimaryKey" and percent:
        counted = Counted(ROWS_IN_DUPLICATES, "share")  # at 0% the cheaper statistic has the same verdict
    allowed = Allowed((Bound(check.severity, percent / 100),), counted, percent=True, words=f"{threshold}%")
    rules.take(lambda: text, name, Options({}), note, name=name, allowed=allowed)


def _check_id(row: Row, level: str, check: str) -> str:
    """Return DQD's id of a check."""
    parts = (row.get(name, "") for name in ("cdmTableName", "cdmFieldName", "conceptId", "unitConceptId"))
    return "_".join(filter(None, (part.replace(" ", "") for part in (level, check, *parts)))).lower()


def _leave_unknown(found: Found, row: Row, level: str, known: Container[str]) -> None:
    """List the checks of a line that this version of dpdb does not know."""
    for column in row:
        check = column.removesuffix("Threshold")
        if check != column and check not in known and row.get(check) not in ("", "No", None):
            found.table(row["cdmTableName"]).leave(_check_id(row, level, check), "dpdb does not know this check")

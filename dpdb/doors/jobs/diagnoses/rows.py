"""The table of diagnoses beside the results: one row per slice that a job has named; all public."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from dpdb.diagnosis import DIAGNOSIS_SCHEMA
from dpdb.doors.jobs.stored import DIAGNOSES_FOLDER, ResultsTable, filled, open_stored, read_beside, rows_beside

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis

__all__ = ["DiagnosisRow", "diagnosis_rows", "open_diagnoses", "read_diagnoses"]

# Job columns, then those of a diagnosis; one row per named slice, or one without a slice.
_DIAGNOSIS_ROWS = pa.schema(
    [
        pa.field("time", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("job", pa.string(), nullable=False),
        pa.field("run", pa.string(), nullable=False),
        pa.field("diagnosis", pa.string(), nullable=False),
        pa.field("place", pa.int64(), nullable=False),
        pa.field("day", pa.date32(), nullable=False),
        pa.field("where", pa.string()),
        *(field.with_nullable(True) for field in DIAGNOSIS_SCHEMA),
    ]
)
_DIAGNOSES = rows_beside(_DIAGNOSIS_ROWS, ("job", "run", "diagnosis", "place"), DIAGNOSES_FOLDER)


@dataclass(frozen=True)
class DiagnosisRow:
    """One row of a table of diagnoses: a named slice, or none where only a rule was asked for.

    Attributes
    ----------
    time : datetime
        In UTC, the time of the run, which its releases have, too.
    job, run, diagnosis : str
        Together the run id in the ledger.
    place : int
        Number of the slice among those named, from 1.
    day : date
        The day of the run's data; that of the run, if its run id names none.
    where : str or None
        The rows that were looked at.
    by_column, key, lower, upper, slices, worst_column, worst_key, rule, rule_lower, rule_upper, statistic, expected
        See `dpdb.diagnosis.Diagnosis`.
    confidence, epsilon, guarantee
        They hold for the whole diagnosis.
    """

    time: datetime
    job: str
    run: str
    diagnosis: str
    place: int
    day: date
    where: str | None
    by_column: str | None
    key: str | None
    lower: float | None
    upper: float | None
    slices: int
    worst_column: str | None
    worst_key: str | None
    rule: str | None
    rule_lower: float | None
    rule_upper: float | None
    statistic: str
    expected: str | None
    confidence: float
    epsilon: float
    guarantee: str


def open_diagnoses(path: Path, table: str | None = None) -> ResultsTable:
    """Return the table of diagnoses beside a results table, as `open_results` does, with its errors."""
    return open_stored(path, table, _DIAGNOSES)


def diagnosis_rows(
    found: Diagnosis, *, time: datetime, job: str, run_id: str, name: str, day: date, where: str | None
) -> pa.Table:
    """Return a diagnosis as rows of its table; for the parameters see `DiagnosisRow`."""
    common = {"time": time, "job": job, "run": run_id, "diagnosis": name, "day": day, "where": where}
    rows = [{**row, **common, "place": place} for place, row in enumerate(found.to_arrow().to_pylist(), 1)]
    return pa.Table.from_pylist(rows, schema=_DIAGNOSIS_ROWS)


def read_diagnoses(path: Path, table: str | None = None) -> tuple[DiagnosisRow, ...]:
    """Read the diagnoses beside a results table, by day, run and place; none if no job has appended any.

    Raises
    ------
    ParameterError
        The table is none of diagnoses.
    """
    needed = [field.name for field in fields(DiagnosisRow) if "None" not in str(field.type)]
    found = read_beside(path, table, _DIAGNOSES, "diagnoses", needed)
    rows: list[DiagnosisRow] = [filled(DiagnosisRow, values) for values in found]
    return tuple(sorted(rows, key=lambda row: (row.day, row.time, row.job, row.run, row.diagnosis, row.place)))

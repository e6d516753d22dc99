"""The table of diagnoses beside the results: one row per slice that a job has named; all public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpdb.diagnosis import DIAGNOSIS_SCHEMA
from dpdb.doors.jobs.stored import DIAGNOSES_FOLDER, ResultsTable, StoredRows, open_stored
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis

__all__ = ["DiagnosisRow", "diagnosis_rows", "open_diagnoses", "read_diagnoses"]

# Job columns, then those of a diagnosis; one row per named slice, or one without a slice.
_SCHEMA = pa.schema(
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
_ROW_KEY = ("job", "run", "diagnosis", "place")
_STORED = StoredRows(_SCHEMA, _ROW_KEY, _ROW_KEY, suffix="_diagnoses", folder=DIAGNOSES_FOLDER)


@dataclass(frozen=True)
class DiagnosisRow:
    """One row of a table of diagnoses: a named slice, or none where only a rule was asked for.

    Attributes
    ----------
    time : datetime
        UTC, of the run, as of its releases.
    job, run, diagnosis : str
        Together the run id in the ledger.
    place : int
        Of the slice among those named, from 1.
    day : date
        Of the run's data; of the run, if its run id names none.
    where : str or None
        The rows that were looked at.
    by_column, key, lower, upper, slices, worst_column, worst_key, rule, rule_lower, rule_upper, statistic, expected
        See `dpdb.diagnosis.Diagnosis`.
    confidence, epsilon, guarantee
        Of the whole diagnosis.
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
    return open_stored(path, table, _STORED)


def diagnosis_rows(
    found: Diagnosis, *, time: datetime, job: str, run_id: str, name: str, day: date, where: str | None
) -> pa.Table:
    """Return a diagnosis as rows of its table; for the parameters see `DiagnosisRow`."""
    common = {"time": time, "job": job, "run": run_id, "diagnosis": name, "day": day, "where": where}
    rows = [{**row, **common, "place": place} for place, row in enumerate(found.to_arrow().to_pylist(), 1)]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def read_diagnoses(path: Path, table: str | None = None) -> tuple[DiagnosisRow, ...]:
    """Read the diagnoses beside a results table, by day, run and place; none if no job has appended any.

    Raises
    ------
    ParameterError
        The table is none of diagnoses.
    """
    if path.is_file() and path.suffix == ".parquet":
        return ()
    rows = [_row(values, path) for values in open_diagnoses(path, table).read(optional=True).to_pylist()]
    return tuple(sorted(rows, key=lambda row: (row.day, row.time, row.job, row.run, row.diagnosis, row.place)))


_OPTIONAL = {field.name for field in fields(DiagnosisRow) if "None" in str(field.type)}


def _row(values: Mapping[str, Any], path: Path) -> DiagnosisRow:
    found: dict[str, Any] = {field.name: values.get(field.name) for field in fields(DiagnosisRow)}
    missing = [name for name, value in found.items() if value is None and name not in _OPTIONAL]
    if missing or not isinstance(found["time"], datetime) or not isinstance(found["day"], date):
        wrong = missing[0] if missing else "time"
        raise ParameterError(f"{path}: not a table of diagnoses of dpdb: the column {wrong!r} is missing or NULL")
    time = found["time"]
    found["time"] = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return DiagnosisRow(**found)

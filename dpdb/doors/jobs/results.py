"""The results table and the tables beside it, of verdicts and of diagnoses; all public.

One row per release of a job, with its time, its run and the result of its gate; one per check of a suite; one per slice
that a diagnosis has named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, time
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpdb.diagnosis import DIAGNOSIS_SCHEMA
from dpdb.doors.jobs.placeholders import date_in, in_utc
from dpdb.doors.jobs.stored import (
    CHECKS_FOLDER,
    DIAGNOSES_FOLDER,
    ParquetResults,
    ResultsTable,
    StoredRows,
    filled,
    open_stored,
    read_beside,
    rows_beside,
)
from dpdb.errors import ParameterError
from dpdb.release import RELEASE_SCHEMA, Release, releases_table
from dpdb.suites import CheckResult, CheckResults

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis

# Job columns, then one column per field of `Release`, then columns of later versions.
RESULT_SCHEMA = pa.schema(
    [
        pa.field("time", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("job", pa.string(), nullable=False),
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("release", pa.string(), nullable=False),
        pa.field("gate_threshold", pa.float64()),
        pa.field("gate", pa.string()),
        pa.field("constraint_texts", pa.list_(pa.string())),
        pa.field("ledger_parameter", pa.string()),
        pa.field("ledger_budget", pa.float64()),
        pa.field("ledger_spent", pa.float64()),
        pa.field("ledger_remaining", pa.float64()),
        *RELEASE_SCHEMA,
        pa.field("run_date", pa.timestamp("us", tz="UTC")),
        pa.field("where_template", pa.string()),
        pa.field("warn_threshold", pa.float64()),
        pa.field("warned", pa.bool_()),
    ]
)
_RESULTS = StoredRows(RESULT_SCHEMA, ("job", "run_id", "release", "release_id"), distinct=("release_id",))
_NEEDED = tuple(field.name for field in RESULT_SCHEMA if not field.nullable)


@dataclass(frozen=True)
class ResultRow:
    """One row of a results table.

    Attributes
    ----------
    time : datetime
        UTC, when the run first spent; the same for all of its releases and retries.
    job, run_id, release_name : str
        Together the ledger's run id, ``job/run_id/release_name``.
    gate_threshold, gate
        The gate of this measure and ``"passed"`` or ``"failed"``; None without a gate.
    constraint_texts : tuple of str
        The constraints that were measured, or empty if the writer did not keep them.
    ledger_parameter, ledger_budget, ledger_spent, ledger_remaining
        Public figures of the ledger after the release; None if the writer did not keep them.
    run_date : datetime or None
        UTC, the given date of the run, or the date in its run id; None if there is none.
    where_template : str or None
        The slice as the job has it, if it has placeholders; None if not: the slice is then that of the release.
    warn_threshold, warned
        The threshold of the warning, and whether the value is above it; None without a warning.
    """

    time: datetime
    job: str
    run_id: str
    release_name: str
    gate_threshold: float | None
    gate: str | None
    constraint_texts: tuple[str, ...]
    ledger_parameter: str | None
    ledger_budget: float | None
    ledger_spent: float | None
    ledger_remaining: float | None
    release: Release
    run_date: datetime | None = None
    where_template: str | None = None
    warn_threshold: float | None = None
    warned: bool | None = None

    @property
    def where(self) -> str | None:
        """The slice, in the form that is the same in every run."""
        return self.where_template or self.release.where

    @property
    def verdict(self) -> str:
        """The result of gate and warning in a word or two; empty without either."""
        words = [] if self.gate is None else [self.gate]
        return ", ".join([*words, "warned"] if self.warned else words)

    @property
    def date(self) -> datetime:
        """The run's own date, by which rows are sorted: a backfill stands where its data belong.

        For a day without a time, it is the time of the run if that was on the same day.
        """
        named = self.run_date or date_in(self.run_id)
        is_today = named is not None and named.time() == time() and named.date() == self.time.date()
        return self.time if named is None or is_today else named


@dataclass(frozen=True)
class Results:
    """The rows of a results table, in the order of their runs' dates; a notebook shows them as a table.

    Attributes
    ----------
    rows : tuple of ResultRow
        Releases.
    verdicts : tuple of VerdictRow
        Of suites of checks, by day, run and place in the suite.
    diagnoses : tuple of DiagnosisRow
        Named slices and rules, by day, run and place.
    """

    rows: tuple[ResultRow, ...]
    verdicts: tuple[VerdictRow, ...] = ()
    diagnoses: tuple[DiagnosisRow, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        columns = ("time (UTC)", "job", "run", "release", "gate")
        return releases_table(
            [row.release for row in self.rows],
            columns,
            [(f"{row.time:%Y-%m-%d %H:%M}", row.job, row.run_id, row.release_name, row.verdict) for row in self.rows],
        )


def open_results(path: Path, table: str | None = None) -> ResultsTable:
    """Return the results table at a path; see `open_stored`."""
    return open_stored(path, table, _RESULTS)


def result_table(rows: Iterable[ResultRow]) -> pa.Table:
    """Return rows in the layout `RESULT_SCHEMA`."""
    flat = []
    for row in rows:
        values = {field.name: getattr(row, field.name) for field in fields(row) if field.name != "release"}
        values["release"] = values.pop("release_name")
        values["constraint_texts"] = list(row.constraint_texts)
        flat.append(values | row.release.to_dict())
    return pa.Table.from_pylist(flat, schema=RESULT_SCHEMA)


def read_results(path: str | Path, table: str | None = None) -> Results:
    """Read a results table: a DuckDB file, a folder of Parquet files, or one Parquet file. Opens no private source.

    Raises
    ------
    ParameterError
        There is no results table at `path`, or a column is missing.

    Examples
    --------
    >>> import shutil, tempfile
    >>> import dpdb
    >>> from dpdb.doors.jobs.run_job import run_job
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copied = shutil.copytree("examples/jobs", f"{folder}/jobs")
    ...     data = shutil.copytree("examples/data", f"{folder}/data")
    ...     dpdb.ledger.Ledger.create(f"{folder}/jobs/hospital.ledger", 5).close()
    ...     outcomes = list(run_job(dpdb.jobs.load_job(f"{copied}/hospital.toml"), "first"))
    ...     results = dpdb.jobs.read_results(f"{copied}/results.duckdb")
    >>> len(results), {row.run_id for row in results.rows}, results.rows[-1].release.measure
    (7, {'first'}, 'count')
    """
    path = Path(path)
    if not path.exists():
        raise ParameterError(f"{path}: no results there; `dpdb run JOB.toml` writes them")
    kept: ResultsTable
    if path.is_file() and path.suffix == ".parquet":
        kept = ParquetResults(path, RESULT_SCHEMA, _RESULTS.key[:3])
    else:
        kept = open_results(path, table)
    beside = any((path / folder).is_dir() for folder in (CHECKS_FOLDER, DIAGNOSES_FOLDER))
    rows = [_result_row(values, path) for values in kept.read(optional=beside).to_pylist()]
    return Results(tuple(sorted(rows, key=_place)), read_verdicts(path, table), read_diagnoses(path, table))


def several_results(tables: Mapping[str, Results]) -> Results:
    """Join results tables; a job name that occurs in several gets the path of its file beside it."""
    files: dict[str, set[str]] = {}
    for path, table in tables.items():
        jobs = (
            [row.job for row in table.rows],
            [row.job for row in table.verdicts],
            [row.job for row in table.diagnoses],
        )
        for job_name in chain(*jobs):
            files.setdefault(job_name, set()).add(path)

    def job(row: ResultRow | VerdictRow | DiagnosisRow, path: str) -> str:
        return f"{row.job} ({path})" if len(files[row.job]) > 1 else row.job

    rows = [replace(row, job=job(row, path)) for path, table in tables.items() for row in table.rows]
    verdicts = [replace(row, job=job(row, path)) for path, table in tables.items() for row in table.verdicts]
    diagnoses = [replace(row, job=job(row, path)) for path, table in tables.items() for row in table.diagnoses]
    return Results(
        tuple(sorted(rows, key=_place)),
        tuple(sorted(verdicts, key=lambda row: (row.day, row.time))),
        tuple(sorted(diagnoses, key=lambda row: (row.day, row.time))),
    )


def _place(row: ResultRow) -> tuple[datetime, datetime, str, str, str]:
    return row.date, row.time, row.job, row.run_id, row.release_name


def _result_row(values: dict[str, Any], path: Path) -> ResultRow:
    missing = [name for name in _NEEDED if values.get(name) is None]
    if missing:
        raise ParameterError(f"{path}: not a results table of dpdb: the column {missing[0]!r} is missing or NULL")
    own = {
        "time": _time(values, "time", path),
        "run_date": None if values.get("run_date") is None else _time(values, "run_date", path),
        "constraint_texts": tuple(values.get("constraint_texts") or ()),
        "release_name": values["release"],
        "release": filled(Release, values),
    }
    row: ResultRow = filled(ResultRow, values, **own)
    return row


def _time(values: dict[str, Any], column: str, path: Path) -> datetime:
    found = values[column]
    if not isinstance(found, datetime):
        raise ParameterError(f"{path}: not a results table of dpdb: the column {column!r} holds no times")
    return in_utc(found)


# Job columns, then one column per field of `CheckResult`, then what holds for all checks of the run.
VERDICT_SCHEMA = pa.schema(
    [
        pa.field("time", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("job", pa.string(), nullable=False),
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("suite", pa.string(), nullable=False),
        pa.field("place", pa.int64(), nullable=False),
        pa.field("day", pa.date32(), nullable=False),
        *(pa.field(name, pa.string()) for name in ("name", "rule", "verdict", "severity")),
        pa.field("limit", pa.float64()),
        *(pa.field(name, pa.string()) for name in ("direction", "unit", "statistic")),
        pa.field("lower", pa.float64()),
        pa.field("upper", pa.float64()),
        pa.field("level", pa.int64()),
        pa.field("since", pa.string()),
        pa.field("key", pa.string()),
        pa.field("where", pa.string()),
        pa.field("confidence", pa.float64()),
        pa.field("epsilon_reserved", pa.float64()),
        pa.field("epsilon", pa.float64()),
        pa.field("kept", pa.string()),
        pa.field("guarantee", pa.string()),
    ]
)
_VERDICTS = rows_beside(VERDICT_SCHEMA, ("job", "run_id", "suite", "place"), CHECKS_FOLDER)
_NEEDED_OF_VERDICTS = (
    *(field.name for field in VERDICT_SCHEMA if not field.nullable), "name", "verdict", "severity", "limit",
)  # fmt: skip


@dataclass(frozen=True)
class VerdictRow:
    """One row of a table of verdicts.

    Attributes
    ----------
    time : datetime
        In UTC, the time of the run, which its releases have, too.
    job, run_id, suite : str
        Together the run id in the ledger; `suite` is the name of the job's `[[check]]`.
    place : int
        Number of the check in its suite, from 1.
    day : date
        The day of the run's data; that of the run, if its run id names none.
    check : CheckResult
    where : str or None
        The rows that were checked.
    confidence, epsilon_reserved, epsilon, guarantee
        They hold for all checks of this run together; see `CheckResults`.
    kept : str or None
        The name under which the suite is kept.
    """

    time: datetime
    job: str
    run_id: str
    suite: str
    place: int
    day: date
    check: CheckResult
    where: str | None
    confidence: float
    epsilon_reserved: float
    epsilon: float
    kept: str | None
    guarantee: str


def open_verdicts(path: Path, table: str | None = None) -> ResultsTable:
    """Return the table of verdicts beside a results table, as `open_results` does, with its errors."""
    return open_stored(path, table, _VERDICTS)


def verdict_table(
    results: CheckResults, *, time: datetime, job: str, run_id: str, suite: str, day: date, where: str | None
) -> pa.Table:
    """Return the verdicts of a run in the layout `VERDICT_SCHEMA`; for the parameters see `VerdictRow`."""
    common = {
        "time": time, "job": job, "run_id": run_id, "suite": suite, "day": day, "where": where,
        "confidence": results.confidence, "epsilon_reserved": results.epsilon_reserved, "epsilon": results.epsilon,
        "kept": results.name, "guarantee": results.guarantee,
    }  # fmt: skip
    rows = [
        {**common, "place": place, **check.to_dict(), "key": None if check.key is None else str(check.key)}
        for place, check in enumerate(results, 1)
    ]
    return pa.Table.from_pylist(rows, schema=VERDICT_SCHEMA)


def read_verdicts(path: Path, table: str | None = None) -> tuple[VerdictRow, ...]:
    """Read the verdicts beside a results table, by day, run and place; none if no job has appended any.

    Raises
    ------
    ParameterError
        The table is none of verdicts.
    """
    found = read_beside(path, table, _VERDICTS, "verdicts", _NEEDED_OF_VERDICTS)
    rows: list[VerdictRow] = [filled(VerdictRow, values, check=filled(CheckResult, values)) for values in found]
    return tuple(sorted(rows, key=lambda row: (row.day, row.time, row.job, row.run_id, row.suite, row.place)))


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

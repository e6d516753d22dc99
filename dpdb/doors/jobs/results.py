"""The results table and the tables beside it, of verdicts and of diagnoses; all public.

One row per release of a job, with its time, its run and the result of its gate; one per check of a suite; one per slice
that a diagnosis has named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpdb.diagnosis import DIAGNOSIS_SCHEMA, DiagnosisLine
from dpdb.doors.jobs.placeholders import date_in, in_utc
from dpdb.doors.jobs.stored import (
    ParquetResults,
    ResultsTable,
    StoredRows,
    filled,
    open_stored,
    read_beside,
    rows_beside,
)
from dpdb.errors import ParameterError
from dpdb.release import RELEASE_SCHEMA, Release, arrow_fields, html_table, releases_table
from dpdb.suites import CheckResult, CheckResults, how_many, limit_words, verdict_words

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis


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
        The gate of this measure and ``"passed"``, ``"failed"`` or ``"not shown"``; None without a gate.
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
    release_name: str = field(metadata={"column": "release"})
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
        tables = [self._releases_html()] if self.rows or not (self.verdicts or self.diagnoses) else []
        if self.verdicts:
            tables.append(html_table(_VERDICT_HEADS, map(_verdict_cells, self.verdicts)))
        if self.diagnoses:
            tables.append(html_table(_DIAGNOSIS_HEADS, map(_diagnosis_cells, self.diagnoses)))
        return "".join(tables)

    def _releases_html(self) -> str:
        columns = ("time (UTC)", "job", "run", "release", "gate")
        return releases_table(
            [row.release for row in self.rows],
            columns,
            [(f"{row.time:%Y-%m-%d %H:%M}", row.job, row.run_id, row.release_name, row.verdict) for row in self.rows],
        )


_VERDICT_HEADS = ("day", "job", "run", "suite", "verdict", "check", "slice", "how many", "limit")
_DIAGNOSIS_HEADS = ("day", "job", "run", "diagnosis", "rank", "slice", "rule")


def _verdict_cells(row: VerdictRow) -> tuple[str, ...]:
    check = row.check
    shown = (verdict_words(check), check.name, check.key or "", how_many(check), limit_words(check))
    return f"{row.day}", row.job, row.run_id, row.suite, *shown


def _diagnosis_cells(row: DiagnosisRow) -> tuple[str, ...]:
    named = "" if row.by_column is None else f"{row.by_column} = {row.key}"
    return f"{row.day}", row.job, row.run, row.diagnosis, f"{row.rank or ''}", named, row.rule or ""


# Job columns, with one column per field of `Release`, then columns of later versions.
RESULT_SCHEMA = pa.schema(arrow_fields(ResultRow, release=RELEASE_SCHEMA))
RESULTS = StoredRows(
    RESULT_SCHEMA,
    ("job", "run_id", "release", "release_id"),
    distinct=("release_id",),
    what="results",
    needed=tuple(column.name for column in RESULT_SCHEMA if not column.nullable),
)


def result_table(rows: Iterable[ResultRow]) -> pa.Table:
    """Return rows in the layout `RESULT_SCHEMA`."""
    flat = [vars(row) | row.release.to_dict() | {"release": row.release_name} for row in rows]
    return pa.Table.from_pylist(flat, schema=RESULT_SCHEMA)


def read_results(path: str | Path, table: str | None = None) -> Results:
    """Read a results table: a DuckDB file, a folder of Parquet files, or one Parquet file. Opens no private source.

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
        kept = ParquetResults(path, RESULTS)
    else:
        kept = open_stored(path, table, RESULTS)
    beside = any((path / stored.beside).is_dir() for stored in (VERDICTS, DIAGNOSES))
    rows = [_result_row(values, path) for values in kept.read(optional=beside).to_pylist()]
    checks, named = (read_beside(path, table, stored) for stored in (VERDICTS, DIAGNOSES))
    return Results(
        tuple(sorted(rows, key=_place)),
        tuple(filled(VerdictRow, values, check=filled(CheckResult, values)) for values in checks),
        tuple(filled(DiagnosisRow, values) for values in named),
    )


def several_results(tables: Mapping[str, Results]) -> Results:
    """Join results tables; a job name that occurs in several gets the path of its file beside it."""
    every: list[tuple[str, Any]] = []
    for path, table in tables.items():
        every += [(path, row) for rows in (table.rows, table.verdicts, table.diagnoses) for row in rows]
    files: dict[str, set[str]] = {}
    for path, row in every:
        files.setdefault(row.job, set()).add(path)
    renamed = [replace(row, job=f"{row.job} ({path})") if len(files[row.job]) > 1 else row for path, row in every]
    return Results(
        tuple(sorted((row for row in renamed if isinstance(row, ResultRow)), key=_place)),
        tuple(sorted((row for row in renamed if isinstance(row, VerdictRow)), key=lambda row: (row.day, row.time))),
        tuple(sorted((row for row in renamed if isinstance(row, DiagnosisRow)), key=lambda row: (row.day, row.time))),
    )


def _place(row: ResultRow) -> tuple[datetime, datetime, str, str, str]:
    return row.date, row.time, row.job, row.run_id, row.release_name


def _result_row(values: dict[str, Any], path: Path) -> ResultRow:
    missing = [name for name in RESULTS.needed if values.get(name) is None]
    if missing:
        raise ParameterError(f"{path}: not a results table of dpdb: the column {missing[0]!r} is missing or NULL")
    times = {name: values[name] for name in ("time", "run_date") if values.get(name) is not None}
    for name, found in times.items():
        if not isinstance(found, datetime):
            raise ParameterError(f"{path}: not a results table of dpdb: the column {name!r} holds no times")
        times[name] = in_utc(found)
    texts = tuple(values.get("constraint_texts") or ())
    row: ResultRow = filled(ResultRow, values, **times, constraint_texts=texts, release=filled(Release, values))
    return row


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
    confidence, epsilon_reserved, epsilon, guarantee, rho_reserved, rho
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
    epsilon_reserved: float | None
    epsilon: float | None
    kept: str | None
    guarantee: str
    rho_reserved: float | None = None
    rho: float | None = None


# Job columns, with one column per field of `CheckResult`, then what holds for all checks of the run.
VERDICTS = rows_beside(
    "_checks",
    "verdicts",
    arrow_fields(VerdictRow, check=arrow_fields(CheckResult)),
    ("job", "run_id", "suite", "place"),
    ("name", "verdict", "severity", "limit"),
)
VERDICT_SCHEMA = VERDICTS.schema


def verdict_table(results: CheckResults, common: Mapping[str, Any]) -> pa.Table:
    """Return the verdicts of a run as rows of their table; `common` has its fields that name the run."""
    of_all = {"kept": results.name, **{name: getattr(results, name) for name in _OF_ALL}}
    return _numbered(VERDICTS, [check.to_dict() for check in results], {**common, **of_all})


_OF_ALL = ("confidence", "epsilon_reserved", "epsilon", "guarantee", "rho_reserved", "rho")


def _numbered(stored: StoredRows, rows: Sequence[Mapping[str, Any]], common: Mapping[str, Any]) -> pa.Table:
    numbered = [{**row, **common, "place": place} for place, row in enumerate(rows, 1)]
    return pa.Table.from_pylist(numbered, schema=stored.schema)


@dataclass(frozen=True)
class DiagnosisRow(DiagnosisLine):
    """One row of a table of diagnoses: a named slice, or none where only a rule was asked for.

    Attributes
    ----------
    time : datetime
        In UTC, the time of the run, which its releases have, too.
    place : int
        Number of the slice among those named, from 1.
    day : date
        The day of the run's data; that of the run, if its run id names none.
    where : str or None
        The rows that were looked at.
    """

    time: datetime
    job: str
    run: str
    diagnosis: str
    place: int
    day: date
    where: str | None


# Job columns, then those of a diagnosis; one row per named slice, or one without a slice.
DIAGNOSES = rows_beside(
    "_diagnoses",
    "diagnoses",
    [*arrow_fields(DiagnosisRow, *DiagnosisRow.__annotations__), *DIAGNOSIS_SCHEMA],
    ("job", "run", "diagnosis", "place"),
)


def diagnosis_rows(found: Diagnosis, common: Mapping[str, Any]) -> pa.Table:
    """Return a diagnosis as rows of its table; `common` has its fields that name the run."""
    return _numbered(DIAGNOSES, found.to_arrow().to_pylist(), common)

"""The table of verdicts beside the results: one row per check of a suite that a job has run; all public."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa

from dpdb.doors.jobs.stored import CHECKS_FOLDER, ResultsTable, filled, open_stored, read_beside, rows_beside
from dpdb.suites import CheckResult, CheckResults

__all__ = ["VERDICT_SCHEMA", "VerdictRow", "open_verdicts", "read_verdicts", "verdict_table"]

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

"""Where results are kept: a table of a DuckDB file, or a folder of Parquet files, by the name of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from dpdb.doors.jobs.results_duckdb import DuckDBResults
from dpdb.doors.jobs.results_parquet import ParquetResults
from dpdb.doors.jobs.run_date import in_utc
from dpdb.errors import ParameterError

__all__ = [
    "CHECKS_FOLDER", "DEFAULT_TABLE", "DIAGNOSES_FOLDER", "ResultsTable", "StoredRows", "filled", "open_stored",
    "read_beside", "rows_beside",
]  # fmt: skip

DEFAULT_TABLE = "dpdb_results"
CHECKS_FOLDER = "_checks"
"""The folder of the verdicts within a folder of results; readers of Parquet folders leave out what begins with `_`."""
DIAGNOSES_FOLDER = "_diagnoses"


@dataclass(frozen=True)
class StoredRows:
    """What a table of results holds.

    Attributes
    ----------
    schema : pyarrow.Schema
    key : tuple of str
        Columns by which a row is known. The first three name what is appended at once: all of it or nothing.
    distinct : tuple of str
        Columns of the key in which no two rows are ever alike: a key of the table on these refuses no row.
    suffix, folder : str
        The end of the name of the DuckDB table, and the folder within the folder of Parquet files.
    """

    schema: pa.Schema
    key: tuple[str, str, str, str]
    distinct: tuple[str, ...]
    suffix: str = ""
    folder: str = ""


def rows_beside(schema: pa.Schema, key: tuple[str, str, str, str], folder: str) -> StoredRows:
    """Return a table beside the results, named by its folder; no two of its rows have the same key."""
    return StoredRows(schema, key, distinct=key, suffix=folder, folder=folder)


class ResultsTable(Protocol):
    """A table that stores results."""

    def prepare(self) -> None:
        """Make the table, or check that rows can be appended to it, before anything is spent."""

    def append(self, rows: pa.Table) -> None:
        """Add the rows of one release or suite of one run, all or none, unless the table has them already."""

    def read(self, *, optional: bool = False) -> pa.Table:
        """Return all rows, in any order; none if there is no such table and it is optional."""


def open_stored(path: Path, table: str | None, stored: StoredRows) -> ResultsTable:
    """Choose by the file at `path`, or by its name: a DuckDB file (`.duckdb`, `.db`), else a folder of Parquet files.

    Raises
    ------
    ParameterError
        The file or its name is of another kind, or a table name is given for Parquet.
    """
    if path.is_file():
        with path.open("rb") as file:
            is_duckdb = file.read(12)[8:] == b"DUCK"
        if not is_duckdb:
            raise ParameterError(
                f"{path}: jobs append to a DuckDB file or to a folder of Parquet files; two jobs at once would lose "
                "rows of a single file"
            )
    elif path.is_dir():
        is_duckdb = False
    elif path.suffix in ("", ".parquet", ".duckdb", ".db"):
        is_duckdb = path.suffix in (".duckdb", ".db")
    else:
        raise ParameterError(f"{path}: results are kept in a DuckDB file (.duckdb) or a folder of Parquet files")
    if is_duckdb:
        return DuckDBResults(
            path, f"{table or DEFAULT_TABLE}{stored.suffix}", stored.schema, stored.key, stored.distinct
        )
    if table is not None:
        raise ParameterError(f"{path}: a table name applies to DuckDB files only")
    return ParquetResults(path / stored.folder, stored.schema, stored.key[:3])


def read_beside(
    path: Path, table: str | None, stored: StoredRows, what: str, needed: Sequence[str]
) -> list[dict[str, Any]]:
    """Read the rows of a table beside the results, with times in UTC; none if no job has appended any.

    Parameters
    ----------
    path, table, stored
        As of `open_stored`; `path` may also be one Parquet file of results, which has none beside it.
    what
        What the rows are, for messages.
    needed
        The columns that no row may lack.

    Raises
    ------
    ParameterError
        It is no such table.
    """
    if path.is_file() and path.suffix == ".parquet":
        return []
    rows: list[dict[str, Any]] = open_stored(path, table, stored).read(optional=True).to_pylist()
    for row in rows:
        missing = [name for name in needed if row.get(name) is None]
        if missing or not isinstance(row["time"], datetime) or not isinstance(row["day"], date):
            wrong = missing[0] if missing else "time"
            raise ParameterError(f"{path}: not a table of {what} of dpdb: the column {wrong!r} is missing or NULL")
        row["time"] = in_utc(row["time"])
    return rows


def filled(kind: Any, values: Mapping[str, Any], **own: Any) -> Any:
    """Return a value of a dataclass: `own` fields, and of each other field what `values` have, or None."""
    return kind(**{field.name: values.get(field.name) for field in fields(kind) if field.name not in own}, **own)

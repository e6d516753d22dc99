"""Writing the result of a query to a new file: complete or not at all."""

from __future__ import annotations

from pathlib import Path

from sqlglot import exp

from dpdb.database import WRITTEN
from dpdb.engine import LocalSlice
from dpdb.errors import ParameterError
from dpdb.files.new_file import new_file

__all__ = ["check_ending", "write_query"]

_INTEGERS = [f"{u}{name}" for u in ("", "U") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")]
_PLAIN = {"VARCHAR", "BOOLEAN", "FLOAT", "DOUBLE", *_INTEGERS}
_TIMES = {
    "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"
}  # fmt: skip
_HELD = {".csv": _PLAIN, ".parquet": _PLAIN | _TIMES | {"BLOB"}}
"""Types that a file of each format stores exactly, beside DECIMAL; others are written as the text DuckDB shows."""


def check_ending(path: str | Path) -> Path:
    """Return a path whose ending chooses the format.

    Raises
    ------
    ParameterError
        If it is none of .parquet, .csv and .duckdb.
    """
    target = Path(path)
    if target.suffix not in WRITTEN:
        raise ParameterError(f"{target}: the file must end in .parquet, .csv or .duckdb")
    return target


def write_query(part: LocalSlice, query: str, path: str | Path, table: str) -> None:
    """Write a query's result to a new file, readable by its owner only.

    Parameters
    ----------
    part
        The slice whose database runs the query.
    query
        The query, in DuckDB's SQL.
    path
        The file to make; its ending chooses the format.
    table
        Name of the table in a DuckDB file.

    Raises
    ------
    ParameterError
        If the file exists, its directory does not, or the ending is unknown.
    """
    target = check_ending(path)
    with new_file(target, private=True) as partial:
        held = _HELD.get(target.suffix)
        written = query if held is None else _as_held(part, query, held)
        part.database.write_query(written, partial, target.suffix, table)


def _as_held(part: LocalSlice, query: str, held: set[str]) -> str:
    """Cast to text what the file would change: bits, intervals, numbers of 128 bits, infinite days in CSV."""
    columns = [
        exp.column(name, quoted=True)
        if kind in held or kind.startswith("DECIMAL(")
        else exp.alias_(exp.cast(exp.column(name, quoted=True), "VARCHAR", dialect="duckdb"), name, quoted=True)
        for name, kind in part.database.describe(query)
    ]
    return f"SELECT {', '.join(column.sql('duckdb') for column in columns)} FROM ({query})"

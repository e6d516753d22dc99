"""Lists of rows for an owner: conflicts, a smallest set of rows to delete, values to change. Not private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from dpdb.database import WRITTEN
from dpdb.engine import (
    LocalSlice,
    LocalTable,
    Progress,
    comparable_column,
    listed_rows,
    source_rows,
    suggestions,
    violating_pairs,
)
from dpdb.errors import ParameterError
from dpdb.files.new_file import new_file

_INTEGERS = [f"{u}{name}" for u in ("", "U") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")]
_PLAIN = {"VARCHAR", "BOOLEAN", "FLOAT", "DOUBLE", *_INTEGERS}
_TIMES = {
    "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"
}  # fmt: skip
_HELD = {".csv": _PLAIN, ".parquet": _PLAIN | _TIMES | {"BLOB"}}
"""Types that a file of each format stores exactly, beside DECIMAL; others are written as the text DuckDB shows."""


def write_query(part: LocalSlice, query: str, path: str | Path, table: str) -> None:
    """Write a query's result to a new file, readable by its owner only.

    Parameters
    ----------
    path
        The file to make; its ending chooses the format.

    Raises
    ------
    ParameterError
        If the file exists, or its directory does not.
    """
    target = Path(path)
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


@dataclass(frozen=True)
class Listing:
    """New files, each .csv, .parquet or .duckdb, and the columns that they show of each row."""

    violations: str | Path | None = None
    repair_rows: str | Path | None = None
    suggestions: str | Path | None = None
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for path in map(Path, self._paths):
            if path.suffix not in WRITTEN:
                raise ParameterError(f"{path}: the file must end in .parquet, .csv or .duckdb")
        if len({Path(path).absolute() for path in self._paths}) < len(self._paths):
            raise ParameterError("two lists cannot go into one file")
        if self.columns and not self._paths:
            raise ParameterError(
                "columns are shown in the files of violations, rows to delete or suggestions: name one"
            )

    @property
    def _paths(self) -> list[str | Path]:
        named = (self.violations, self.repair_rows, self.suggestions)
        return [path for path in named if path is not None]

    @property
    def is_asked(self) -> bool:
        """True if there is a file to write."""
        return bool(self._paths)

    def kept(self, table: LocalTable) -> Sequence[str]:
        """Find the columns to show, as the table spells them; `*` means all comparable columns.

        Raises
        ------
        UnknownColumnError, PredicateError
            If a column does not exist, or its values cannot be compared.
        """
        if self.columns == ("*",):
            return table.schema.usable
        return tuple(dict.fromkeys(comparable_column(name, table.schema, "columns").name for name in self.columns))

    def write_conflicts(self, part: LocalSlice, written: Sequence[tuple[str, int]], progress: Progress) -> None:
        """Write the files of violations and of suggestions, if they are requested.

        Parameters
        ----------
        written
            (text, position in `part.constraints`) of each constraint; repeated pairs are listed once.
        progress
            Gets the name of each step.
        """
        if self.violations is not None:
            progress("writing violations")
            write_query(part, violating_pairs(part, tuple(dict.fromkeys(written))), self.violations, "violations")
        if self.suggestions is not None:
            progress("writing suggestions")
            write_query(part, suggestions(part), self.suggestions, "suggestions")

    def write_repair(self, part: LocalSlice, cover: NDArray[np.bool_] | None, progress: Progress) -> None:
        """Write the rows to delete: those that conflict with themselves, and a vertex cover of the others.

        Parameters
        ----------
        cover
            True for each row of the graph that is in the vertex cover, in the order of `source_rows`; or None.
        """
        if self.repair_rows is None:
            return
        if cover is None:
            raise ParameterError("there are too many conflicts to choose the rows of a repair; see --where")
        progress("writing rows to delete")
        rows = source_rows(part)[cover]
        if part.self_conflicts:
            found = part.database.rows(f'SELECT "source_row" FROM {part.table("self_conflict").sql("duckdb")}')
            rows = np.concatenate([rows, np.array(found, np.int64).ravel()])
        deleted = part.table("deleted_row")
        with part.database.arrow_table("listed", pa.table({"row": np.sort(rows)})):
            part.database.execute(exp.select("*").from_("listed").ctas(deleted.copy()))
        write_query(part, listed_rows(part, deleted), self.repair_rows, "repair_rows")

"""What changes when the rows of a source may have changed. Private: a ledger keeps it under its own key only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlglot import exp

from dpdb.engine.database import Database
from dpdb.engine.file_source import parquet_files
from dpdb.engine.schema import comparison_type
from dpdb.engine.source import Source
from dpdb.errors import SourceError

__all__ = ["rows_digest", "source_content"]


def source_content(database: Database, source: Source) -> str:
    """Describe the state of a source's rows.

    Files: sizes and times of last change, which cost nothing to read again; a copied or touched file counts as changed.
    Rows that were copied into our database: their number and two order-free digests.

    Raises
    ------
    SourceError
        If a file is no longer there.
    """
    if source.path is None:
        return _digest(database, source)
    try:
        # DuckDB keeps what was written last in a file beside the table's.
        files = [Path(file) for file in [*parquet_files(source.path), f"{source.path}.wal"]]
        found = [file.stat() for file in files if file.suffix != ".wal" or file.exists()]
    except OSError as error:
        raise SourceError(f"{source.path}: {(error.strerror or 'cannot be read').lower()}") from None
    return ";".join(f"{stat.st_size},{stat.st_mtime_ns}" for stat in found)


def _digest(database: Database, source: Source) -> str:
    names = [column.name for column in source.schema.columns if comparison_type(column.declared_type)]
    return ",".join(str(value) for value in database.rows(rows_digest(names).from_(source.scan))[0])


def rows_digest(names: Sequence[str]) -> exp.Select:
    """Select the number of rows and two order-free digests of the named columns; it lacks a FROM."""
    row = exp.Anonymous(this="hash", expressions=[exp.column(name, quoted=True) for name in names])
    return exp.select(
        exp.Count(this=exp.Star()),
        exp.Anonymous(this="bit_xor", expressions=[row]),
        exp.Sum(this=exp.cast(row.copy(), "HUGEINT", dialect="duckdb")),
    )

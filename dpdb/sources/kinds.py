"""`SOURCES`: the kinds of sources, in the order in which they are asked whether they read what the user gave.

Each is named by its module in this folder and its class there, and loaded when it is asked: who measures a Parquet file
loads no reader of CSV.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpdb.sources.file_source import FileSource
    from dpdb.sources.source import SourceKind

__all__ = ["FILES", "SOURCES", "file_kinds", "kind_of"]

# What reads a path: `FileSource`s.
FILES = (
    "parquet.ParquetFiles",
    "csv.files.CsvFiles",
    "cells.json_lines.JsonLines",
    "cells.excel.ExcelFile",
    "arrow_file.ArrowFile",
    "cells.sqlite_file.SQLiteFile",
    "duckdb_file.DuckDBFile",
)

SOURCES = (
    *FILES,
    "lakes.DeltaTable",
    "lakes.IcebergTable",
    "duckdb_connection.DuckDBConnection",
    "duckdb_connection.DuckDBRelation",
    "data_frame.DataFrame",
    "adbc_connection.AdbcConnection",
    "arrow.ArrowStream",  # the last one: it refuses what is no source
)


def file_kinds() -> Iterator[FileSource]:
    """Load the kinds of files, one after the other."""
    return map(_loaded, FILES)


def kind_of(target: object) -> SourceKind:
    """Return the first kind that reads a target; see `SourceKind.reads`."""
    kinds: Iterator[SourceKind] = map(_loaded, SOURCES)
    return next(kind for kind in kinds if kind.reads(target))


@cache
def _loaded(name: str) -> Any:
    module, _, known_as = name.rpartition(".")
    return getattr(import_module(f"dpdb.sources.{module}"), known_as)()

"""`SOURCES`: the kinds of sources, in the order in which they are asked whether they read what the user gave."""

from __future__ import annotations

from dpdb.engine.sources.arrow import ArrowStream
from dpdb.engine.sources.csv_file import CsvFiles
from dpdb.engine.sources.data_frame import DataFrame
from dpdb.engine.sources.duckdb_connection import DuckDBConnection
from dpdb.engine.sources.duckdb_file import DuckDBFile
from dpdb.engine.sources.duckdb_relation import DuckDBRelation
from dpdb.engine.sources.parquet import ParquetFiles
from dpdb.engine.sources.source import SourceKind

__all__ = ["SOURCES"]

SOURCES: tuple[SourceKind, ...] = (
    ParquetFiles(),
    CsvFiles(),
    DuckDBFile(),
    DuckDBConnection(),
    DuckDBRelation(),
    DataFrame(),
    ArrowStream(),  # the last one: it refuses what is no source
)

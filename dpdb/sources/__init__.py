"""Kinds of sources, one file each: where their rows are and how they become rows of one scan or stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.sources.addresses.fetching import has_tables
    from dpdb.sources.addresses.urls import STANDARD_INPUT, is_address, refuse_url
    from dpdb.sources.cells.json_lines import member_names
    from dpdb.sources.content import is_changed, opened_content, rows_digest
    from dpdb.sources.csv.lines import Faults
    from dpdb.sources.duckdb_connection import are_of_one_database
    from dpdb.sources.extras import needed
    from dpdb.sources.files import Files
    from dpdb.sources.kinds import kind_of
    from dpdb.sources.open import declared_schema, open_source
    from dpdb.sources.parquet import parquet_columns, parquet_scan
    from dpdb.sources.places import find_files
    from dpdb.sources.source import Reading, Rows, Source, SourceLike, presence, unreadable, without_rows
    from dpdb.sources.text_columns import column_definition, typed

__all__ = [
    "STANDARD_INPUT",
    "Faults",
    "Files",
    "Reading",
    "Rows",
    "Source",
    "SourceLike",
    "are_of_one_database",
    "column_definition",
    "declared_schema",
    "find_files",
    "has_tables",
    "is_address",
    "is_changed",
    "kind_of",
    "member_names",
    "needed",
    "open_source",
    "opened_content",
    "parquet_columns",
    "parquet_scan",
    "presence",
    "refuse_url",
    "rows_digest",
    "typed",
    "unreadable",
    "without_rows",
]

if not TYPE_CHECKING:  # type checkers know the names above, and should know no others
    __getattr__ = lazy_names(
        __name__,
        {
            "addresses.fetching": "has_tables",
            "addresses.urls": "STANDARD_INPUT is_address refuse_url",
            "cells.json_lines": "member_names",
            "content": "is_changed opened_content rows_digest",
            "csv.lines": "Faults",
            "duckdb_connection": "are_of_one_database",
            "extras": "needed",
            "files": "Files",
            "kinds": "kind_of",
            "open": "declared_schema open_source",
            "parquet": "parquet_columns parquet_scan",
            "places": "find_files",
            "source": "Reading Rows Source SourceLike presence unreadable without_rows",
            "text_columns": "column_definition typed",
        },
    )

"""Kinds of sources, one file each: where their rows are and how they become rows of one scan or stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.sources.csv_lines import Faults
    from dpdb.sources.duckdb_connection import are_of_one_database
    from dpdb.sources.files import Files
    from dpdb.sources.json_lines import member_names
    from dpdb.sources.kinds import kind_of
    from dpdb.sources.open import (
        STANDARD_INPUT,
        declared_schema,
        find_files,
        has_tables,
        is_address,
        is_changed,
        open_source,
        opened_content,
        refuse_url,
        rows_digest,
    )
    from dpdb.sources.parquet import parquet_columns, parquet_scan
    from dpdb.sources.source import (
        Reading,
        Rows,
        Source,
        SourceLike,
        column_definition,
        needed,
        presence,
        reason_in_log,
        typed,
        unreadable,
        without_rows,
    )
else:
    __getattr__, __all__ = lazy_names(__name__)

"""Kinds of sources, one file each: where their rows are and how they become rows of one scan or stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.sources.cells.faults import Faults as Faults
    from dpdb.sources.cells.typed import typed as typed
    from dpdb.sources.cells.writing import ALL_CELLS as ALL_CELLS, split_writing as split_writing
    from dpdb.sources.files.json_lines import member_names as member_names
    from dpdb.sources.files.likely_writing import likely_writing as likely_writing
    from dpdb.sources.files.parquet import parquet_columns as parquet_columns, parquet_scan as parquet_scan
    from dpdb.sources.kinds import kind_of as kind_of, with_presence as with_presence
    from dpdb.sources.objects.duckdb_connection import are_of_one_database as are_of_one_database
    from dpdb.sources.open import (
        STANDARD_INPUT as STANDARD_INPUT,
        declared_schema as declared_schema,
        find_files as find_files,
        has_tables as has_tables,
        is_address as is_address,
        is_changed as is_changed,
        open_source as open_source,
        opened_content as opened_content,
        refuse_url as refuse_url,
        rows_digest as rows_digest,
        state_of as state_of,
    )
    from dpdb.sources.paths import Files as Files
    from dpdb.sources.source import (
        Reading as Reading,
        Rows as Rows,
        Source as Source,
        SourceLike as SourceLike,
        column_definition as column_definition,
        needed as needed,
        presence as presence,
        reason_in_log as reason_in_log,
        without_rows as without_rows,
    )
else:
    __getattr__, __all__ = lazy_names(__name__)

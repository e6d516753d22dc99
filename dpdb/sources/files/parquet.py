"""Parquet files as one scan: the same columns in every file, and those that stand in names of folders."""

from __future__ import annotations

import base64
import glob
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

import pyarrow as pa
from sqlglot import exp

from dpdb.database import Database
from dpdb.errors import OWNER_LOG, SourceError
from dpdb.schema import TableSchema, TypeOrigin, refuse_duplicate_names
from dpdb.sources.kinds import FileSource
from dpdb.sources.paths import FileColumns, Files
from dpdb.sources.source import (
    Source,
    Wanted,
    declared_column,
    declared_types,
    has_ordered_categories,
    refuse_table_name,
    scanned,
    text_column,
)

_FILE_NUMBER = "file_index"


class ParquetFiles(FileSource):
    """A Parquet file, or a folder or glob of them; columns in names of folders are text until they get a type."""

    kind = "parquet"
    title = "Parquet"

    def begins(self, head: bytes) -> bool:
        """Say whether these are the first bytes of a Parquet file."""
        return head[:4] == b"PAR1"

    def is_named(self, path: str) -> bool:
        """Say whether the name ends in .parquet."""
        return path.lower().endswith(".parquet")

    def describe(self, database: Database, files: Files, wanted: Wanted) -> Source:
        """Read the files' columns; see `FileSource`."""
        refuse_table_name(files.place, wanted.table)
        named = parquet_columns(database, files)
        kinds = declared_types(database, files.place, named.folders, wanted.types)
        source = scanned(database, files.place, parquet_scan(files, named, kinds, wanted.types))
        lost = _categories(database, files)
        columns = (text_column(c.name, kinds) if c.name in named.folders else c for c in source.schema.columns)
        ordered = (replace(c, origin=TypeOrigin.CATEGORIES) if c.name in lost else c for c in columns)
        reading = _reading(kinds, wanted.types)
        return replace(source, schema=TableSchema(tuple(ordered)), reading=reading, by_column=True)

    def mended(self, database: Database, source: Source, files: Files) -> Source:
        """Copy files of which some text is no UTF-8, with NULL in its place; see `FileSource`."""
        from dpdb.sources.files.parquet_text import copied_with_nulls

        return copied_with_nulls(database, source, files)


def parquet_columns(database: Database, files: Files) -> FileColumns:
    """Read the files' columns.

    Raises
    ------
    SourceError
        If the files differ in their columns, or a file's columns cannot be told apart.
    """
    return files.columns(_own_columns(database, files))


def parquet_scan(
    files: Files, names: FileColumns, kinds: Mapping[str, str], types: Mapping[str, str] = MappingProxyType({})
) -> exp.Expr:
    """Scan the files.

    A type would otherwise be guessed from the folders that there are, which is from the rows.

    Parameters
    ----------
    names
        Names of their own columns, and of those that folders name.
    kinds
        Declared types of the columns that folders name, in DuckDB's spelling; the others are VARCHAR.
    types
        All that is declared of them. Default: nothing but that.
    """
    option = exp.PropertyEQ(this=exp.to_identifier("hive_partitioning"), expression=exp.false())
    scan = exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[_paths(files), option]))
    if not names.folders:
        return scan
    if _FILE_NUMBER in map(str.casefold, names.own):
        raise SourceError(f"{files.place}: rename the column {_FILE_NUMBER}, which stands for the file here")
    number = exp.cast(exp.column(_FILE_NUMBER), "BIGINT") + 1
    columns: list[exp.Expr] = [exp.column(name, quoted=True) for name in names.own]
    for key in names.folders:
        values = exp.Array(
            expressions=[
                _key(found[files.keys.index(key)], kinds.get(key), types.get(key, "")) for found in files.partitions
            ]
        )
        value = exp.Anonymous(this="list_extract", expressions=[values, number.copy()])
        columns.append(exp.alias_(value, key, quoted=True))
    return exp.select(*columns).from_(scan).subquery("file_row")


def _reading(kinds: Mapping[str, str], types: Mapping[str, str]) -> str:
    """Return how names of folders are read, by `dpdb.sources.cells.typed.reading`; most tables have none of a type."""
    if not kinds:
        return ""
    from dpdb.sources.cells.typed import reading

    return reading(kinds.values(), types)


def _key(text: str | None, kind: str | None, declared: str) -> exp.Expr:
    """Return what the name of a folder says, in its type."""
    from dpdb.sources.cells.typed import typed

    _, written, nulls = declared_column(declared)
    if text is not None and text.strip(" \t") in nulls:
        text = None
    return typed(exp.cast(exp.convert(text), "VARCHAR", dialect="duckdb"), kind, written)


def _paths(files: Files) -> exp.Expr:
    """Name the files themselves: a link may lead elsewhere for one query, and back before anybody looks."""
    return exp.Array(expressions=[exp.Literal.string(glob.escape(os.path.realpath(path))) for path in files.paths])


def _own_columns(database: Database, files: Files) -> tuple[str, ...]:
    """Return the top-level column names as the files spell them; refuse files of different columns.

    DuckDB reads all files by the first one's columns: it leaves out what others have besides, and converts their types,
    which may fail on a value.
    """
    paths = _paths(files).sql("duckdb")
    entries = (
        "SELECT file_name, list(row(name, duckdb_type, num_children) ORDER BY column_id) AS entries "
        f"FROM parquet_schema({paths}) GROUP BY file_name"
    )
    kinds = f"SELECT entries, min(file_name) FROM ({entries}) GROUP BY entries"
    found = [(_top_level(rows), file) for rows, file in database.rows(kinds)]
    for columns, _ in found:
        refuse_duplicate_names(name for name, _ in columns)  # DuckDB would rename the second to name_1
    if len({tuple(sorted(columns)) for columns, _ in found}) > 1:
        OWNER_LOG.error("%s: columns differ: %s", files.place, sorted(file for _, file in found))
        raise SourceError(
            f"{files.place}: its files differ in their columns or types (which ones is in the owner's log); write them "
            "again with the same columns, or name those that belong together"
        )
    return tuple(name for name, _ in found[0][0])


def _categories(database: Database, files: Files) -> set[str]:
    """Return the columns of categories that Arrow called ordered: which is above which, the files nowhere say."""
    paths = _paths(files).sql("duckdb")
    schemas = f"SELECT DISTINCT value FROM parquet_kv_metadata({paths}) WHERE key = 'ARROW:schema'"
    found: set[str] = set()
    for (written,) in database.rows(schemas):
        with suppress(pa.ArrowException, ValueError, OSError):  # another writer's, or damaged: it has no say then
            fields = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(written)))
            found |= {field.name for field in fields if has_ordered_categories(field.type)}
    return found


def _top_level(entries: list[tuple[str, str | None, int | None]]) -> list[tuple[str, str]]:
    """Return (name, type with all below it) of the top-level columns."""
    columns: list[tuple[str, list[str]]] = []
    pending = 0  # descendants of the current column still to come
    for name, kind, children in entries[1:]:  # the first entry is the root
        if pending:
            pending -= 1
        else:
            columns.append((str(name), []))
        columns[-1][1].append(f"{name} {kind} {children}")
        pending += children or 0
    return [(name, "; ".join(below)) for name, below in columns]

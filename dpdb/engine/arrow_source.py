"""Sources that live in this process, read through Arrow: DuckDB connections and relations, pyarrow, pandas, Polars."""

from __future__ import annotations

import sys
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from dpdb.engine.database import BATCH_ROWS, OWNER_LOG
from dpdb.engine.file_source import choose_table
from dpdb.engine.schema import refuse_duplicate_names
from dpdb.errors import SourceError

__all__ = ["reader_of", "schema_of"]

# Of the current database and of the temporary one, whose tables lie in a schema that we call temp.
_CONNECTION_TABLES = """
    SELECT if(database_name = 'temp', 'temp', schema_name), name, is_view
    FROM (
        SELECT database_name, schema_name, table_name AS name, false AS is_view FROM duckdb_tables() WHERE NOT internal
        UNION ALL
        SELECT database_name, schema_name, view_name, true FROM duckdb_views() WHERE NOT internal
    )
    WHERE database_name IN (current_database(), 'temp')
    ORDER BY ALL
"""


def reader_of(source: Any, table: str | None) -> tuple[str, pa.RecordBatchReader]:
    """Return what the source is called in messages and a reader of all its rows.

    Raises
    ------
    SourceError
        If the object offers no Arrow stream, two columns have one name, or the table does not exist.
    """
    kind = type(source).__name__
    if isinstance(source, duckdb.DuckDBPyConnection):
        description, relation = _connection_table(source, table)
        reader = _run(description, relation)
    elif table is not None:
        raise SourceError(f"{kind}: a table name applies to DuckDB files and connections only")
    elif isinstance(source, duckdb.DuckDBPyRelation):
        description, reader = "DuckDB relation", _run("DuckDB relation", source)
    else:
        description, reader = kind, _arrow_stream(source, kind)
    if not reader.schema.names:
        raise SourceError(f"{description}: the table has no columns")
    refuse_duplicate_names(reader.schema.names)
    return description, reader


def schema_of(source: Any, table: str | None) -> tuple[str, pa.Schema]:
    """Return what the source is called and its schema; no row is read, a query is run with LIMIT 0.

    Raises
    ------
    SourceError
        As `reader_of`.
    """
    description = type(source).__name__
    if isinstance(source, duckdb.DuckDBPyConnection):
        description, relation = _connection_table(source, table)
        source, table = relation.limit(0), None
    elif isinstance(source, duckdb.DuckDBPyRelation):
        source = source.limit(0)
    elif "pandas" in sys.modules and isinstance(source, sys.modules["pandas"].DataFrame):
        source = source.iloc[:0]
    elif isinstance(getattr(source, "schema", None), pa.Schema):
        source = source.schema.empty_table()
    return description, reader_of(source, table)[1].schema


def _connection_table(connection: duckdb.DuckDBPyConnection, table: str | None) -> tuple[str, duckdb.DuckDBPyRelation]:
    try:
        [(database, current)] = connection.execute("SELECT current_database(), current_schema()").fetchall()
        found = connection.execute(_CONNECTION_TABLES).fetchall()
        # A name without schema means what it means in the connection's own SQL: the temporary table first.
        schema, name, _ = choose_table("DuckDB connection", found, table, preferred=("temp", current, "main"))
        catalog, schema = ("temp", "main") if schema == "temp" else (database, schema)
        query = exp.select("*").from_(exp.table_(name, db=schema, catalog=catalog, quoted=True))
        relation = connection.sql(query.sql("duckdb"))
    except duckdb.Error as error:
        raise SourceError(f"DuckDB connection: {str(error).splitlines()[0]}") from None
    return f"table {name!r} of a DuckDB connection", relation


def _run(description: str, relation: duckdb.DuckDBPyRelation) -> pa.RecordBatchReader:
    try:
        return relation.to_arrow_reader(BATCH_ROWS)
    except duckdb.Error as error:  # its message may print values of rows
        OWNER_LOG.error("%s: %s", description, error)
        raise SourceError(f"{description}: running its query failed; the reason is in the owner's log") from None


def _arrow_stream(source: Any, kind: str) -> pa.RecordBatchReader:
    if isinstance(source, pa.RecordBatchReader):
        return source
    if hasattr(source, "scanner"):  # pyarrow.dataset.Dataset
        return source.scanner().to_reader()
    if "pandas" in sys.modules and isinstance(source, sys.modules["pandas"].DataFrame):
        source = _with_text_for_objects(source)
    if not hasattr(source, "__arrow_c_stream__"):
        raise SourceError(
            f"{kind}: not a source; give a path, a DuckDB connection or relation, or an object with an Arrow stream "
            "(pyarrow, pandas, Polars)"
        )
    try:
        return pa.RecordBatchReader.from_stream(source)
    except pa.ArrowException:
        # The exception prints values of the column that did not convert.
        raise SourceError(f"{kind}: cannot be read as an Arrow stream; give every column one type") from None


def _with_text_for_objects(frame: Any) -> Any:
    """Turn object columns to text: their type would otherwise be guessed from private rows."""
    if not frame.columns.is_unique:
        raise SourceError("DataFrame: two columns have one name; rename one")
    objects = [name for name in frame.columns if frame[name].dtype == object]
    text = {name: frame[name].map(str, na_action="ignore").astype("string") for name in objects}
    return frame.assign(**text) if text else frame

"""Sources that live in this process, read through Arrow: DuckDB connections and relations, pyarrow, pandas, Polars."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from dpdb.engine.duckdb.database import BATCH_ROWS
from dpdb.engine.schema import refuse_duplicate_names
from dpdb.engine.sources.duckdb_file import choose_table
from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG

__all__ = ["Stream", "schema_of", "stream_of"]

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


@dataclass(frozen=True)
class Stream:
    """A source as a stream that can be read once.

    Attributes
    ----------
    description : str
        What the source is called in messages.
    reader : pyarrow.RecordBatchReader
        All its rows. What fails while it is read may print values.
    untyped : frozenset of str
        Columns that are text because Python objects became text.
    """

    description: str
    reader: pa.RecordBatchReader
    untyped: frozenset[str] = frozenset()

    def of(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """Return the reader with these of its columns only."""
        schema = self.reader.schema
        if list(columns) == schema.names:
            return self.reader
        kept = pa.schema([schema.field(name) for name in columns])
        return pa.RecordBatchReader.from_batches(kept, (batch.select(columns) for batch in self.reader))


def stream_of(source: Any, table: str | None) -> Stream:
    """Return the stream of a source.

    Raises
    ------
    SourceError
        If the object offers no Arrow stream, two columns have one name, or the table does not exist.
    """
    kind = type(source).__name__
    if isinstance(source, duckdb.DuckDBPyConnection):
        description, relation = _connection_table(source, table)
        stream = Stream(description, _run(description, relation))
    elif table is not None:
        raise SourceError(f"{kind}: a table name applies to DuckDB files and connections only")
    elif isinstance(source, duckdb.DuckDBPyRelation):
        stream = Stream("DuckDB relation", _run("DuckDB relation", source))
    elif "pandas" in sys.modules and isinstance(source, sys.modules["pandas"].DataFrame):
        frame, objects = _with_text_for_objects(source)
        stream = Stream(kind, _validated(_arrow_stream(frame, kind)), objects)
    else:
        stream = Stream(kind, _validated(_arrow_stream(source, kind)))
    if not stream.reader.schema.names:
        raise SourceError(f"{stream.description}: the table has no columns")
    refuse_duplicate_names(stream.reader.schema.names)
    return stream


def schema_of(source: Any, table: str | None) -> Stream:
    """Return a stream of a source's columns without rows; none is read, a query is run with LIMIT 0.

    Raises
    ------
    SourceError
        As `stream_of`.
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
        source = pa.RecordBatchReader.from_batches(source.schema, [])
    stream = stream_of(source, table)
    return Stream(description, pa.RecordBatchReader.from_batches(stream.reader.schema, []), stream.untyped)


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
    if not hasattr(source, "__arrow_c_stream__"):
        raise SourceError(
            f"{kind}: not a source; give a path, a DuckDB connection or relation, or an object with an Arrow stream "
            "(pyarrow, pandas, Polars)"
        )
    try:
        return pa.RecordBatchReader.from_stream(source)
    except Exception as error:  # it prints values of the column that did not convert
        OWNER_LOG.error("%s: %s", kind, error)
        raise SourceError(f"{kind}: cannot be read as an Arrow stream; give every column one type") from None


def _validated(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Check what Arrow takes on trust, such as that text is UTF-8: nothing behind this is made for anything else."""

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            batch.validate(full=True)
            yield batch

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _with_text_for_objects(frame: Any) -> tuple[Any, frozenset[str]]:
    """Turn object columns to text: their type would otherwise be guessed from private rows."""
    if not frame.columns.is_unique:
        raise SourceError("DataFrame: two columns have one name; rename one")
    objects = [name for name in frame.columns if frame[name].dtype == object]
    text = {name: frame[name].map(_text, na_action="ignore").astype("string") for name in objects}
    return (frame.assign(**text) if text else frame), frozenset(map(str, objects))


def _text(value: object) -> str | None:
    """Return the text of an object, or None if it has none in UTF-8."""
    try:
        text = str(value)
        text.encode()
    except Exception:
        return None
    return text

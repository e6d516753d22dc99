"""Tables and views of an open DuckDB connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from dpdb.database import BATCH_ROWS
from dpdb.errors import SourceError
from dpdb.predicates import is_enum
from dpdb.schema import refuse_duplicate_names
from dpdb.sources.source import choose_table, reason_in_log, refuse_table_name
from dpdb.sources.stream import Stream, StreamSource


class DuckDBRelation(StreamSource):
    """A relation of the owner's connection."""

    def reads(self, target: object) -> bool:
        """Say whether it is a DuckDB relation."""
        return isinstance(target, duckdb.DuckDBPyRelation)

    def stream(self, source: Any, table: str | None, *, rows: bool) -> Stream:
        """Run the relation; see `StreamSource`."""
        refuse_table_name(type(source).__name__, table)
        return run_relation("DuckDB relation", source, rows=rows)


# What an Arrow stream of DuckDB gives as another type, most of it with other values: HUGEINT as decimals of 38 digits,
# of which it has more, times without their zone, bits as bytes, intervals with nanoseconds of 64 bits, which wrap.
_FORGOTTEN = ("HUGEINT", "UHUGEINT", "UUID", "BIT", "TIME WITH TIME ZONE", "INTERVAL")


def run_relation(description: str, relation: duckdb.DuckDBPyRelation, *, rows: bool) -> Stream:
    """Run a relation, with LIMIT 0 where no rows are wanted; see `stream_of`."""
    wanted = relation if rows else relation.limit(0)

    def read(shown: str) -> pa.RecordBatchReader:
        return (wanted.project(shown) if shown else wanted).to_arrow_reader(BATCH_ROWS)

    return stream_of(description, list(zip(relation.columns, map(str, relation.types), strict=True)), read)


def stream_of(
    description: str, columns: Sequence[tuple[str, str]], read: Callable[[str], pa.RecordBatchReader]
) -> Stream:
    """Stream what DuckDB reads, which forgets enumerations, and the types of `_FORGOTTEN`, which so come as texts.

    Parameters
    ----------
    read
        Returns the rows of a list of columns in SQL; of all columns for an empty text.
    """
    refuse_duplicate_names([name for name, _ in columns])
    kinds = dict(columns)
    forgotten = {name for name, kind in kinds.items() if kind in _FORGOTTEN}
    texts = {name: kind for name, kind in kinds.items() if name in forgotten or is_enum(kind)}
    shown = ", ".join(_shown(name, is_text=name in forgotten) for name in kinds) if forgotten else ""
    with reason_in_log(f"{description}: running its query failed", duckdb.Error):
        return Stream(description, read(shown), texts=texts)


def _shown(name: str, *, is_text: bool) -> str:
    cell: exp.Expr = exp.column(name, quoted=True)
    shown = exp.alias_(exp.cast(cell, "VARCHAR", dialect="duckdb"), name, quoted=True) if is_text else cell
    return shown.sql("duckdb")


_FILE = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"

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


class DuckDBConnection(StreamSource):
    """The owner's connection; one of its tables or views is read."""

    def reads(self, target: object) -> bool:
        """Say whether it is a DuckDB connection."""
        return isinstance(target, duckdb.DuckDBPyConnection)

    def stream(self, source: Any, table: str | None, *, rows: bool) -> Stream:
        """Read the table; see `StreamSource`."""
        return run_relation(*_connection_table(source, table), rows=rows)


def are_of_one_database(one: object, other: object) -> bool:
    """Return whether two DuckDB connections may see the same tables, as those do that `cursor` makes.

    Databases in memory cannot be told apart: tables of one name in them count as one table.
    """
    if not (isinstance(one, duckdb.DuckDBPyConnection) and isinstance(other, duckdb.DuckDBPyConnection)):
        return False
    return _file_of(one) == _file_of(other)


def _file_of(connection: duckdb.DuckDBPyConnection) -> str | None:
    """Return the file of a connection's database; None in memory, and of a connection that was closed."""
    with suppress(duckdb.Error):
        [(path,)] = connection.execute(_FILE).fetchall()
        return None if path is None else str(path)
    return None


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

"""Tables of the owner's connection, read while one of its statements waits for our answer.

That connection is busy then, so everything goes through a sibling cursor. It sees what is committed; temporary tables,
registered data frames and what an open transaction has changed belong to the connection alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.database.database import interruptible
from dpdb.errors import OWNER_LOG, ParameterError, SourceError
from dpdb.schema import comparison_type
from dpdb.sources import rows_digest

_TABLES = """
    SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE NOT internal
    UNION ALL
    SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal
    ORDER BY ALL
"""


@dataclass(frozen=True)
class OwnerTable:
    """A table or view as of one moment.

    Attributes
    ----------
    cursor
        In a transaction, with the table's schema as its current one: every look at the table sees the same rows.
    """

    cursor: duckdb.DuckDBPyConnection
    database: str
    schema: str
    name: str

    @property
    def spellings(self) -> tuple[str, str, str]:
        """Its names, from the full one to the bare one."""
        return f"{self.database}.{self.schema}.{self.name}", f"{self.schema}.{self.name}", self.name

    def beside(self, text: str) -> OwnerTable:
        """Find another table of the same moment by its name. Errors as `owner_table`."""
        return _chosen(self.cursor, text, (self.database, self.schema))

    def state(self) -> tuple[object, ...]:
        """Columns, types and order-free digests of the rows: changes when they change. Private.

        Raises
        ------
        SourceError
            If the rows cannot be read; the reason is in the owner's log, because it may print values.
        """
        table = exp.table_(self.name, db=self.schema, catalog=self.database, quoted=True)
        try:
            columns = [row[:2] for row in self.cursor.execute(f"DESCRIBE {table.sql('duckdb')}").fetchall()]
            usable = [name for name, kind in columns if comparison_type(kind)]
            tested = [name for name, kind in columns if not comparison_type(kind)]
            query = rows_digest(usable, tested).from_(table).sql("duckdb", normalize_functions=False)
            rows = interruptible(self.cursor, lambda: self.cursor.execute(query).fetchall()) if usable else []
        except duckdb.Error as error:
            OWNER_LOG.error("%s: %s", self.spellings[0], error)
            raise SourceError(
                f"table {self.name!r}: reading its rows failed; the reason is in the owner's log"
            ) from None
        return tuple(columns), *rows


def sibling(connection: duckdb.DuckDBPyConnection | None) -> duckdb.DuckDBPyConnection:
    """Return a new cursor of the connection's database."""
    try:
        if connection is not None:
            return connection.cursor()
    except duckdb.Error:
        pass
    raise ParameterError("the registered connection is closed")


@contextmanager
def owner_table(
    cursor: duckdb.DuckDBPyConnection, text: str, database: str | None, schema: str | None
) -> Iterator[OwnerTable]:
    """Find the table that `text` names where `database` and `schema` are current; hold it still while the block lasts.

    Parameters
    ----------
    cursor
        See `sibling`; it is closed in the end.
    text : str
        ``name``, ``schema.name`` or ``schema.name``, quoted or not.
    database, schema : str or None
        What is current; None asks the cursor.

    Raises
    ------
    SourceError
        If there is no such committed table or view.
    """
    try:
        cursor.execute("SET python_enable_replacements = false")  # a view must not read Python variables
        cursor.execute("BEGIN")
        if database is None or schema is None:
            [(database, schema)] = cursor.execute("SELECT current_database(), current_schema()").fetchall()
        table = _chosen(cursor, text, (database, schema))
        cursor.execute(f"USE {exp.table_(table.schema, db=table.database, quoted=True).sql('duckdb')}")
        yield table
    finally:
        cursor.close()


def _chosen(cursor: duckdb.DuckDBPyConnection, text: str, current: tuple[str, str]) -> OwnerTable:
    """Resolve a name as the connection's own SQL would: current schema, then main, of the current database."""
    tables = [tuple(map(str, row)) for row in cursor.execute(_TABLES).fetchall()]
    database, schema = current
    *parents, name = _parts(text)
    places: list[tuple[str, ...]] = [tuple(parents)]
    if not parents:
        places = [(database, schema), (database, "main")]
    elif len(parents) == 1:  # a schema, or a database
        places = [(database, *parents), (*parents, "main")]
    by_key = {tuple(part.casefold() for part in row): row for row in tables}
    for place in places:
        row = by_key.get(tuple(part.casefold() for part in (*place, name)))
        if row is not None:
            return OwnerTable(cursor, *row)
    known = ", ".join(".".join(row) for row in tables) or "none"
    raise SourceError(
        f"no table or view {text!r} (it has: {known}); temporary tables, registered data frames and tables of an "
        "uncommitted transaction cannot be measured"
    )


def _parts(text: str) -> list[str]:
    """Split `a.b` or `"a"."b c"` as SQL does."""
    try:
        return [part.name for part in exp.to_table(text, dialect="duckdb").parts]
    except SqlglotError:  # a lone quote
        return [text]

"""Our own database as a remote table: asked without a network. What other engines are compared with.

Who imports this makes it an engine of dpdb.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeAlias

import pyarrow as pa
from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.sql import read_columns
from dpdb.remote import engine
from dpdb.remote.table import RemoteSet, new_name
from dpdb.schema import Column, TableSchema
from dpdb.sources import SourceLike, open_source

_ROWS = exp.to_table("remote_row")


@dataclass(frozen=True)
class AskedThere:
    """A source that is to be asked as a remote table in a database of its own, instead of being read."""

    source: SourceLike
    table: str | None = None


Sent: TypeAlias = Callable[[pa.Table], dict[str, Any]]
"""Makes rows a table of another engine; returns what opens it."""


class DuckDBSource:
    """The kind of sources that `AskedThere` names."""

    takes_table = False

    def reads(self, source: SourceLike) -> bool:
        """Say whether the source is an `AskedThere`."""
        return isinstance(source, AskedThere)

    def open(self, source: AskedThere, table: str | None = None) -> DuckDBRemote:
        """Open it."""
        del table
        return DuckDBRemote(source.source, source.table)

    def open_set(self, source: AskedThere, schema: str | None = None) -> DuckDBSet:
        """Open all its tables."""
        del schema
        return DuckDBSet(source.source)


class DuckDBRemote:
    """A table in a DuckDB of its own (implements `dpdb.remote.table.RemoteTable`)."""

    dialect = "duckdb"
    is_fixed = True  # a copy

    def __init__(self, source: SourceLike, table: str | None = None) -> None:
        self._source, self.place = source, table or ""
        self._rows = _ROWS
        self._database = Database()
        try:
            opened = open_source(self._database, source, table=table)
            self.description = opened.description
            self._schema = TableSchema(
                tuple(Column(column.name, column.type or column.declared_type) for column in opened.schema.columns)
            )
            read_columns(self._database, opened, set(opened.schema.usable), self._rows)
        except BaseException:
            self._database.close()
            raise

    def schema(self) -> TableSchema:
        """Names and types."""
        return self._schema

    def rows(self) -> exp.Table:
        """The rows, in the types that dpdb compares in."""
        return self._rows.copy()

    def beside(self, name: str) -> DuckDBRemote:
        """Copy another table of the same source."""
        other = DuckDBRemote(self._source, name)
        try:
            other._rows = self.lend(new_name(), other.ask(exp.select("*").from_(other._rows)))
            return other
        finally:
            other.close()

    def ask(self, tree: exp.Expr) -> pa.Table:
        """Run a query."""
        empty = f"SELECT * FROM ({tree.sql('duckdb', normalize_functions=False)}) LIMIT 0"
        with self._database._errors(empty), closing(self._database._connection.cursor()) as cursor:
            names_and_types = cursor.sql(empty).to_arrow_reader(1).schema
        return pa.Table.from_batches(list(self._database.stream(tree)), names_and_types)

    def lend(self, name: str, table: pa.Table) -> exp.Table:
        """Copy a table."""
        lent = exp.table_(name, quoted=True)
        with self._database.arrow_table("lent_rows", table):
            self._database.execute(exp.select("*").from_("lent_rows").ctas(lent.copy()))
        return lent

    def take_back(self, name: str) -> None:
        """Drop it."""
        self._database.execute(f"DROP TABLE IF EXISTS {exp.table_(name, quoted=True).sql('duckdb')}")

    def server(self) -> str:
        """Name DuckDB."""
        return f"DuckDB {version('duckdb')}"

    def version(self) -> str:
        """Name DuckDB's version, with which its hash may change."""
        return f"duckdb {version('duckdb')}"

    def close(self) -> None:
        """Drop everything."""
        self._database.close()


class DuckDBSet(RemoteSet):
    """The tables and views of a connection (see the base class)."""

    def __init__(self, connection: Any) -> None:
        self._connection, self.description = connection, "DuckDB connection"

    def named(self, name: str) -> Sequence[str]:
        """Return those of a name."""
        found = self._connection.execute("SELECT DISTINCT table_name FROM information_schema.tables ORDER BY 1")
        return [each for (each,) in found.fetchall() if each.casefold() == name.casefold()]

    def table(self, name: str) -> DuckDBRemote:
        """Copy one."""
        return DuckDBRemote(self._connection, name)

    def close(self) -> None:
        """Leave the connection to its owner."""


engine.REMOTE_KINDS = (*engine.REMOTE_KINDS, f"{__name__}.DuckDBSource")

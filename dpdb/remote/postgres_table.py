"""PostgreSQL as a remote table, through a connection of its ADBC driver; and all tables of a schema of it.

A table has a connection of its own (of an open connection a clone, whose transaction is not the user's) with one
transaction, which may only read: every query of every release sees the rows as they were when the table was opened.

One transaction reads all tables of a schema: all of them as they are at one moment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dpdb.errors import OWNER_LOG, EngineError, SourceError
from dpdb.remote.adbc.queries import DefiningTable, stoppable
from dpdb.remote.postgres_catalog import (
    UNORDERED,
    PostgresTransaction,
    columns_query,
    declared_column,
    stored_query,
    table_query,
    total,
)
from dpdb.remote.spelling import with_extremes
from dpdb.remote.table import DefinedRows, RemoteSet
from dpdb.schema import TableSchema
from dpdb.stopping import if_it_fails


def answer(cursor: Any, query: exp.Select) -> pa.Table:
    """Run a query; the exception of a signal handler stops it on the server, too."""
    return stoppable(cursor, lambda: _fetched(cursor, query))


def _fetched(cursor: Any, query: exp.Select) -> pa.Table:
    schema = cursor.adbc_execute_schema(sql_text(query))
    cursor.execute(sql_text(_with_texts(query, schema)))
    rows: pa.Table = cursor.fetch_arrow_table()
    return rows


def _with_texts(query: exp.Select, schema: pa.Schema) -> exp.Select:
    """Let values come as texts that Arrow has not: endless times, and numbers that it has as extensions."""
    lacking = [pa.types.is_temporal(kind) or isinstance(kind, pa.BaseExtensionType) for kind in schema.types]
    columns = [exp.column(name, quoted=True) for name in schema.names]
    selected = [
        exp.alias_(exp.cast(column, "TEXT"), name, quoted=True) if as_text else column
        for column, name, as_text in zip(columns, schema.names, lacking, strict=True)
    ]
    return query.select(*selected, append=False)


def sql_text(query: exp.Select) -> str:
    """Write a query; names are quoted, so that their case stays."""
    return query.sql("postgres", identify=True)


_LONGEST_NAME = 63
_RELATIONS = "rpvmf"
"""In the catalog: tables, partitioned ones, views, materialized ones, foreign tables."""


class PostgresTable(DefiningTable):
    """A table or view that is asked in a transaction of its own (implements `RemoteTable`).

    Parameters
    ----------
    connection
        Which this one closes.
    table : str
        ``"name"`` or ``"schema.name"``, as the catalog spells them.
    transaction : PostgresTransaction, optional
        One that other tables are read in, too, instead of a connection.
    """

    dialect = "postgres"

    def __init__(self, connection: Any, place: str, table: str, transaction: PostgresTransaction | None = None) -> None:
        super().__init__()
        self.is_fixed = True
        self.description = f"{place}: table {table!r}"
        self._of_set = transaction is not None
        self._transaction = transaction or PostgresTransaction(connection, self.description)
        with if_it_fails(self.close):
            with self._transaction.describing():
                found = self._found(table, self.description)
            self.place, self._folder, self._schema, self._select = found

    def _found(self, table: str, shown: str) -> tuple[str, str, TableSchema, exp.Select]:
        """Find a table: its name with its schema, its schema, columns and rows.

        From then on no name is looked up on the user's search path.
        """
        found = self._transaction.rows(table_query(table))
        if not found:
            raise SourceError(f"{shown}: there is no such table or view (names are spelled as they are)")
        if len(found) > 1:
            raise SourceError(f"{shown}: that is the name of two tables")
        ((number, schema, name, kind),) = found
        if kind not in _RELATIONS:
            raise SourceError(f"{shown}: that is no table or view")
        self._transaction.run("SET LOCAL search_path = pg_catalog")
        (is_fixed,) = self._transaction.row(stored_query(number))
        self.is_fixed = self.is_fixed and is_fixed
        described = self._transaction.rows(columns_query(number))
        columns = TableSchema(tuple(declared_column(*each) for each in described))
        if not any(readable for *_, readable in described):
            raise SourceError(f"{shown}: the user may read no column of it")
        read = [total(column, each[1]) for column, each in zip(columns.columns, described, strict=True) if column.type]
        if not read:
            raise SourceError(f"{shown}: no column has a type that constraints can compare")
        rows = exp.select(*read).from_(exp.table_(name, db=schema, quoted=True))
        if is_fixed:
            # Locks that are taken behind the savepoint end with a query that fails. Then others might TRUNCATE the
            # table, which empties it for every snapshot.
            self._transaction.rows(sql_text(rows.limit(0)))
        return f"{schema}.{name}", schema, columns, rows

    def schema(self) -> TableSchema:
        """Names and types."""
        return self._schema

    def beside(self, name: str) -> DefinedRows:
        """Find another table of the same schema, or of the one that its name says, in the same transaction."""
        shown = f"{self.description}: table {name!r} beside it"
        with self._transaction.describing():
            place, _, schema, select = self._found(name if "." in name else f"{self._folder}.{name}", shown)
        self._others.append(DefinedRows(shown, place, schema, f"beside_{len(self._others)}", select))
        return self._others[-1]

    def ask(self, tree: exp.Expr) -> pa.Table:
        """Run a query. One that fails leaves the transaction, and so the rows that are seen, as they were."""
        query = self._query(tree)
        with self._transaction.lock:
            try:
                with closing(self._transaction.connection.cursor()) as cursor:
                    return answer(cursor, query)
            except BaseException as error:
                self._transaction.go_back()
                if not isinstance(error, Exception):
                    raise
                OWNER_LOG.error("%s\n%s", error, sql_text(query))  # it may print values
                raise EngineError(
                    f"{self.description}: a query failed in PostgreSQL; the reason is in the owner's log"
                ) from None

    def _query(self, tree: exp.Expr) -> exp.Select:
        read = [column for table in (self._schema, *(o.columns for o in self._others)) for column in table.columns]
        tree = with_extremes(tree, {column.name for column in read if column.type in UNORDERED})
        for each in list(tree.find_all(exp.Identifier)):
            if len(each.name.encode()) > _LONGEST_NAME:  # of a computed column; cut, it might be that of another one
                each.set("this", f"c_{hashlib.sha256(each.name.encode()).hexdigest()[:40]}")
        return self._defining(tree, self._select, materialized=False)

    def server(self) -> str:
        """Name the server."""
        return f"PostgreSQL {self._transaction.server // 10_000}"

    def version(self) -> str:
        """Name PostgreSQL's hash, which a new major version might change."""
        return f"postgresql {self._transaction.server // 10_000} hash_record_extended"

    def close(self) -> None:
        """End the transaction and the connection, unless other tables of a set are read by them."""
        if not self._of_set:
            self._transaction.close()


class PostgresSet(RemoteSet):
    """A schema.

    Parameters
    ----------
    connection
        Which this one closes.
    schema : str, optional
        As the catalog spells it. Default: the one in which the user's new tables would be made (`current_schema`).
    """

    def __init__(self, connection: Any, place: str, schema: str | None) -> None:
        self.description = place if schema is None else f"{place}: schema {schema!r}"
        self._place = place
        self._transaction = PostgresTransaction(connection, self.description)
        with if_it_fails(self.close):
            self._schema = self._found(schema)

    def _found(self, schema: str | None) -> str:
        if schema is None:
            (current,) = self._transaction.row("SELECT current_schema()::text")
            if current is None:
                raise SourceError(
                    f"{self.description}: no schema of the search path exists: name one, --table 'SCHEMA.*'"
                )
            return str(current)
        name = exp.Literal.string(schema).sql("postgres")
        if not self._transaction.rows(f"SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = {name}"):
            raise SourceError(f"{self._place}: there is no schema {schema!r} (names are spelled as they are)")
        return schema

    def named(self, name: str) -> Sequence[str]:
        """Return the relations of the schema that have a name; see the base class."""
        schema, wanted = (exp.Literal.string(text).sql("postgres") for text in (self._schema, name.casefold()))
        found = self._transaction.rows(
            "SELECT c.relname::text FROM pg_catalog.pg_class c "
            f"JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = {schema} "
            f"WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND lower(c.relname::text) = {wanted} ORDER BY 1"
        )
        return [each for (each,) in found]

    def table(self, name: str) -> PostgresTable:
        """Find a table in the transaction of the set."""
        return PostgresTable(None, self._place, f"{self._schema}.{name}", self._transaction)

    def close(self) -> None:
        """End the transaction and the connection."""
        self._transaction.close()

"""The tables of a schema of PostgreSQL, which one transaction reads: all of them as they are at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from dpdb.errors import SourceError
from dpdb.remote.adbc import PostgresTable
from dpdb.remote.postgres_transaction import PostgresTransaction
from dpdb.remote.table import RemoteSet

__all__ = ["PostgresSet"]


class PostgresSet(RemoteSet):
    """A schema.

    Parameters
    ----------
    connection
        Which this one closes.
    place : str
        The database, for messages.
    schema : str, optional
        As the catalog spells it. Default: the one in which the user's new tables would be made (`current_schema`).
    """

    def __init__(self, connection: Any, place: str, schema: str | None) -> None:
        self.description = place if schema is None else f"{place}: schema {schema!r}"
        self._place = place
        self._transaction = PostgresTransaction(connection, self.description)
        try:
            self._schema = self._found(schema)
        except BaseException:
            self.close()
            raise

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

"""A table that is asked by an ADBC driver. Nothing is made there.

There is no transaction over several queries: digests of the rows are computed before and after a release
(`dpdb.remote.opened`), so that an answer is of one state of them or is not published.
"""

from __future__ import annotations

from contextlib import closing, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dpdb.errors import OWNER_LOG, EngineError, SourceError
from dpdb.remote.adbc.queries import DefiningTable, stoppable
from dpdb.remote.adbc.vendors import AdbcAddress, with_lists
from dpdb.remote.table import DefinedRows
from dpdb.schema import TableSchema
from dpdb.stopping import if_it_fails

if TYPE_CHECKING:
    import pyarrow as pa


class AdbcSession:
    """A connection of a driver, in which queries run one at a time.

    Parameters
    ----------
    connection
        Which this one closes.
    """

    def __init__(self, connection: Any, address: AdbcAddress) -> None:
        self.address, self.vendor, self._connection, self._lock = address, address.vendor, connection, Lock()
        try:
            for statement in self.vendor.begin:
                self.run(statement)
        except Exception as error:
            self.close()
            raise self.problem(error, "a setting of the session is refused") from None

    def problem(self, error: Exception, what: str, shown: str | None = None) -> SourceError:
        """Return what is said of an error, which goes to the owner's log; `shown` is what failed (the address)."""
        OWNER_LOG.error("%s", self.address.without_secrets(str(error)))
        return SourceError(f"{shown or self.address.shown}: {what}; the reason is in the owner's log")

    def run(self, statement: str) -> None:
        """Run a statement without an answer."""
        with self._lock, closing(self._connection.cursor()) as cursor:
            cursor.execute(statement)

    def commit(self) -> None:
        """Let others see what was made."""
        with suppress(Exception):  # of drivers that commit each statement
            self._connection.commit()

    def asked(self, text: str) -> pa.Table:
        """Run a query; a signal stops it there, too."""
        with self._lock, closing(self._connection.cursor()) as cursor:
            return stoppable(cursor, lambda: _fetched(cursor, text))

    def catalog(self, query: exp.Select | str, shown: str) -> list[tuple[Any, ...]]:
        """Ask for what is public: names, types.

        Raises
        ------
        SourceError
            If that fails; the reason is in the owner's log.
        """
        text = query if isinstance(query, str) else query.sql(self.vendor.dialect)
        try:
            columns = [column.to_pylist() for column in self.asked(text).columns]
        except Exception as error:
            raise self.problem(error, "cannot be described", shown) from None
        return list(zip(*columns, strict=True))

    def close(self) -> None:
        """Close the connection. May be called twice."""
        with suppress(Exception):
            self._connection.close()


def _fetched(cursor: Any, text: str) -> pa.Table:
    cursor.execute(text)
    answer: pa.Table = cursor.fetch_arrow_table()
    return answer


class AdbcTable(DefiningTable):
    """A table or view (implements `RemoteTable`).

    Parameters
    ----------
    session
        Which this one closes.
    table : str
        ``"name"`` or ``"schema.name"``, as they are spelled there.
    """

    is_fixed = False

    def __init__(self, session: AdbcSession, table: str) -> None:
        super().__init__()
        self._session, self._vendor = session, session.vendor
        self.dialect = session.vendor.dialect
        self.description = f"{session.address.shown}: table {table!r}"
        with if_it_fails(self.close):
            found = self._found(table, self.description, self.rows().name)
            self.place, self._schema, self._select = found.place, found.columns, found.select
            ((version,),) = session.catalog(self._vendor.version, self.description)
        self._server = f"{self._vendor.name} {str(version).removeprefix('v')}"

    def _found(self, table: str, shown: str, name: str) -> DefinedRows:
        """Find a table, its columns and rows."""
        place = self._vendor.place(self._session.address, table)
        described = self._session.catalog(self._vendor.columns(place), shown)
        if not described:
            raise SourceError(f"{shown}: there is no such table or view (names are spelled as they are)")
        columns = [(self._vendor.declared(column, kind, *sizes), kind) for column, kind, *sizes in described]
        schema = TableSchema(tuple(column for column, _ in columns))
        read = [self._vendor.read(column, kind) for column, kind in columns if column.name in schema.usable]
        if not read:
            raise SourceError(f"{shown}: no column has a type that constraints can compare")
        return DefinedRows(shown, f"{place.db}.{place.name}", schema, name, exp.select(*read).from_(place))

    def schema(self) -> TableSchema:
        """Names and types."""
        return self._schema

    def beside(self, name: str) -> DefinedRows:
        """Find another table of the same schema, or of the one that its name says."""
        shown = f"{self.description}: table {name!r} beside it"
        folder = self.place.rpartition(".")[0]
        found = self._found(name if "." in name else f"{folder}.{name}", shown, f"beside_{len(self._others)}")
        self._others.append(found)
        return found

    def ask(self, tree: exp.Expr) -> pa.Table:
        """Run a query."""
        text = sql_text(self._defining(tree, self._select), self.dialect)
        try:
            answer = self._session.asked(text)
            return with_lists(answer) if self._vendor.arrays_are_texts else answer
        except Exception as error:  # it may print values
            OWNER_LOG.error("%s\n%s", self._session.address.without_secrets(str(error)), text)
            problem = f"{self.description}: a query failed in {self._vendor.name}; the reason is in the owner's log"
            raise EngineError(problem) from None

    def server(self) -> str:
        """Name the server, and the driver that asks it."""
        return f"{self._server} by ADBC"

    def version(self) -> str:
        """Name the server, whose hash may change with it."""
        return f"{self._server} hash"

    def close(self) -> None:
        """Close the connection."""
        self._session.close()


def sql_text(query: exp.Expr, dialect: str) -> str:
    """Write a query; names are quoted, so that their case stays. Functions keep the case that they have."""
    return query.sql(dialect, identify=True, normalize_functions=False)

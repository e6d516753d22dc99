"""The one transaction in which tables of a PostgreSQL database are found and read, as they are at one moment.

It may only read. What the catalog says is asked outside the savepoint that queries of rows go back to if they fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from threading import Lock
from typing import Any

from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG

__all__ = ["PostgresTransaction"]

_ASKED = "asked"
_OLDEST = 140_000
# Texts, and those of times among them, are written and read in one way, whatever the settings of server and user.
_BEGIN = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL client_encoding = 'UTF8'",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL standard_conforming_strings = on",
)


class PostgresTransaction:
    """A transaction of a connection of its own.

    It is begun by a statement: in one that the driver begins itself, the driver refuses to go back to a savepoint.

    Parameters
    ----------
    connection
        Of ADBC's driver, which this one closes.
    description : str
        The database or table, for messages.

    Attributes
    ----------
    server : int
        Version of the server, as the server writes it.
    lock : Lock
        Held while a query of rows runs.
    """

    def __init__(self, connection: Any, description: str) -> None:
        self.connection, self.lock, self._description = connection, Lock(), description
        self._is_saved = False
        try:
            self.server = self._begun()
        except BaseException:
            self.close()
            raise

    def _begun(self) -> int:
        self.connection.adbc_connection.set_autocommit(True)
        for statement in _BEGIN:
            self.run(statement)
        server, encoding = self.row(
            "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')"
        )
        if not isinstance(server, int):  # the driver found no type by its name
            raise SourceError(f"{self._description}: the setting quote_all_identifiers has to be off")
        if server < _OLDEST:
            raise SourceError(f"{self._description}: the server is older than PostgreSQL 14")
        if encoding != "UTF8":
            raise SourceError(f"{self._description}: the encoding of the database is {encoding}, which has to be UTF8")
        return int(server)

    @contextmanager
    def describing(self) -> Iterator[None]:
        """Find and lock tables: what is done in the block stays when a query fails later."""
        if self._is_saved:
            self.run(f"RELEASE SAVEPOINT {_ASKED}")
            self._is_saved = False
        yield
        self.run(f"SAVEPOINT {_ASKED}")
        self._is_saved = True

    def go_back(self) -> None:
        """Leave what a failed query has left: rows that are seen are as they were."""
        with suppress(Exception):  # the server may be gone
            self.run(f"ROLLBACK TO SAVEPOINT {_ASKED}")

    def run(self, statement: str) -> None:
        """Run a statement that says nothing private."""
        with closing(self.connection.cursor()) as cursor:
            cursor.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Ask the catalog: nothing private.

        Raises
        ------
        SourceError
            If that fails; the reason is in the owner's log.
        """
        try:
            with closing(self.connection.cursor()) as cursor:
                cursor.execute(query)
                found: list[tuple[Any, ...]] = cursor.fetchall()
                return found
        except Exception as error:
            OWNER_LOG.error("%s", error)
            raise SourceError(f"{self._description}: cannot be described; the reason is in the owner's log") from None

    def row(self, query: str) -> tuple[Any, ...]:
        """Ask the catalog what has one row."""
        (row,) = self.rows(query)
        return row

    def close(self) -> None:
        """End the transaction and the connection."""
        with suppress(Exception):  # the server may be gone
            self.connection.close()

"""`RemoteTable` and `RemoteSet`: what dpdb needs of another engine. It answers queries; nothing else runs there.

A new one is a file of its table, a file of its spelling, what makes its made tables in `scratch`, and a line in each of
`REMOTE_KINDS` of `engine`, `SPELLINGS` of `spelling` and the servers of `tried`.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlglot import exp

    from dpdb.schema import TableSchema

_numbers = count()


def new_name() -> str:
    """Return a name for what is made in another engine, which no other session of its has: of this process, now."""
    return f"dpdb_{os.getpid()}_{time.time_ns()}_{next(_numbers)}"


class BesideTable(Protocol):
    """A table beside a remote table, whose rows the queries of that one can read."""

    description: str
    place: str

    def schema(self) -> TableSchema:
        """Return names and types, in the types of our own DuckDB; what it lacks keeps the engine's name. Public."""

    def rows(self) -> exp.Table:
        """Name the rows for a FROM clause: the columns that dpdb can compare, in the types of `schema`.

        Reading them is total: text is UTF-8, times lie in the calendar, and what is neither is NULL.
        """


@dataclass
class DefinedRows:
    """A table whose rows a query defines under a name, in each query that reads them (implements `BesideTable`).

    Attributes
    ----------
    name : str
        Under which `select` is defined.
    """

    description: str
    place: str
    columns: TableSchema
    name: str
    select: exp.Select

    def schema(self) -> TableSchema:
        """Names and types."""
        return self.columns

    def rows(self) -> exp.Table:
        """Name the rows, which the query that reads them defines."""
        from sqlglot import exp

        return exp.to_table(self.name)


class RemoteTable(BesideTable, Protocol):
    """One table in another engine.

    Attributes
    ----------
    dialect : str
        Sqlglot's name of the engine's SQL, by which its `ForeignSpelling` is found, too.
    description : str
        The table as the user named it, for messages.
    place : str
        The name by which it lies beside others; empty for a frame without one.
    is_fixed : bool
        Whether all queries see the same rows for certain. Else rows are compared with those of the opening before an
        answer is published: a view may call ``random()``, and others may write to the table.
    """

    dialect: str
    is_fixed: bool

    def beside(self, name: str) -> BesideTable:
        """Open another table, whose rows the queries of this one can read, at the same moment, under its name.

        Raises
        ------
        SourceError
            If there is none.
        """

    def ask(self, tree: exp.Expr) -> pa.Table:
        """Run a query.

        Raises
        ------
        EngineError
            If it fails, whatever the reason; the reason is in the owner's log.
        """

    def lend(self, name: str, table: pa.Table) -> exp.Table:
        """Make a small table readable for queries, until `take_back`."""

    def take_back(self, name: str) -> None:
        """Drop a table that was lent."""

    def server(self) -> str:
        """Name the server and its version, as a record of conformance does."""

    def version(self) -> str:
        """Name what decides the engine's hash of a row: with another one, other rows of a unit would be chosen."""

    def close(self) -> None:
        """Drop everything that was made in the engine. May be called twice."""


class WithoutRows:
    """A table in another engine whose queries see none of its rows, and none of the tables beside it.

    It implements `RemoteTable`. What is lent has its rows: it is ours.
    """

    def __init__(self, remote: RemoteTable) -> None:
        self._remote = remote
        self.dialect, self.is_fixed = remote.dialect, remote.is_fixed
        self.description, self.place = remote.description, remote.place
        self._lent: set[str] = set()

    def schema(self) -> TableSchema:
        """Names and types."""
        return self._remote.schema()

    def rows(self) -> exp.Table:
        """Name the rows, of which queries see none."""
        return self._remote.rows()

    def beside(self, name: str) -> BesideTable:
        """Open another table."""
        return self._remote.beside(name)

    def ask(self, tree: exp.Expr) -> pa.Table:
        """Run a query over no rows. Errors as the table itself."""
        from sqlglot import exp

        asked = exp.Paren(this=tree.copy())
        ours = self._lent | {each.alias for each in asked.find_all(exp.CTE)}
        for table in [each for each in asked.find_all(exp.Table) if each.name not in ours]:
            bare = table.copy()
            bare.set("alias", None)
            table.replace(exp.select("*").from_(bare).where(exp.false()).subquery(table.alias_or_name))
        return self._remote.ask(asked.this)

    def lend(self, name: str, table: pa.Table) -> exp.Table:
        """Lend a table, with its rows."""
        self._lent.add(name)
        return self._remote.lend(name, table)

    def take_back(self, name: str) -> None:
        """Drop a table that was lent."""
        self._lent.discard(name)
        self._remote.take_back(name)

    def server(self) -> str:
        """Name the server."""
        return self._remote.server()

    def version(self) -> str:
        """Name the engine's hash."""
        return self._remote.version()

    def close(self) -> None:
        """Leave the table open, which is not this one's."""


class RemoteSet(ABC):
    """A schema of a database, or a folder: tables that lie beside one another.

    Attributes
    ----------
    description : str
        For messages: without a password.
    """

    description: str

    @abstractmethod
    def named(self, name: str) -> Sequence[str]:
        """Return the tables and views that have a name in letters of any case, as they are spelled there.

        Parameters
        ----------
        name
            Without the place.
        """

    @abstractmethod
    def table(self, name: str) -> RemoteTable:
        """Open a table as it is spelled there; what it needs of the connection ends with the set.

        Raises
        ------
        SourceError
            If it cannot be described.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the connection or session. May be called twice."""


class SetSource:
    """The kind of sources that are open sets; the caller names a table of one."""

    takes_table = True

    def reads(self, source: object) -> bool:
        """Say whether the source is an open set."""
        return isinstance(source, RemoteSet)

    def open(self, source: RemoteSet, table: str | None) -> RemoteTable:
        """Open a table of it."""
        assert table is not None, "who opens a table of a set names it"
        return source.table(table)

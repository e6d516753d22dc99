"""What tables that an ADBC driver asks have in common: queries that define what they read, and that can be stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import pyarrow as pa
from sqlglot import exp

from dpdb.database.database import interruptible
from dpdb.remote.spelling import written_table
from dpdb.remote.table import DefinedRows

Found = TypeVar("Found")
_ROWS, _ASKED = exp.to_table("remote_row"), "asked"


class DefiningTable:
    """A table in whose queries everything that they read is defined, because nothing may be made there."""

    def __init__(self) -> None:
        self._lent: dict[str, exp.Query] = {}
        self._others: list[DefinedRows] = []

    def rows(self) -> exp.Table:
        """Name the rows, which `ask` defines."""
        return _ROWS.copy()

    def lend(self, name: str, table: pa.Table) -> exp.Table:
        """Write a table into every query."""
        self._lent[name] = written_table(table)
        return exp.table_(name, quoted=True)

    def take_back(self, name: str) -> None:
        """Leave it out of queries."""
        self._lent.pop(name, None)

    def _defining(self, tree: exp.Expr, rows: exp.Select, *, materialized: bool | None = None) -> exp.Select:
        """Return a query with what it reads: these rows, those of tables beside, and what is lent.

        Parameters
        ----------
        materialized
            Whether rows are computed before the query that reads them. Default: the engine's own choice.
        """
        assert isinstance(tree, exp.Query)
        asked = exp.select("*").from_(tree.subquery(_ASKED))
        for name, lent in self._lent.items():
            asked = asked.with_(exp.to_identifier(name, quoted=True), as_=lent)
        read: Sequence[tuple[str, exp.Select]] = [*((o.name, o.select) for o in self._others), (_ROWS.name, rows)]
        for name, select in read:
            asked = asked.with_(name, as_=select, materialized=materialized)
        return asked


class _Running:
    """A query that can be stopped (implements `Interrupted`)."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def interrupt(self) -> None:
        with suppress(Exception):  # it may have ended, or the server
            self._cursor.adbc_cancel()


def stoppable(cursor: Any, query: Callable[[], Found]) -> Found:
    """Run a query of a cursor; the exception of a signal handler stops it on the server, too."""
    return interruptible(_Running(cursor), query)

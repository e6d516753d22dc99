"""`ReleaseFunction`: the Python function behind the SQL macros."""

from __future__ import annotations

import contextvars
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpdb.connection.call import Call
from dpdb.connection.memo import Memo
from dpdb.connection.tables import Tables
from dpdb.engine.owner_table import owner_table, sibling
from dpdb.errors import ParameterError
from dpdb.session import Session

__all__ = ["ReleaseFunction"]


class ReleaseFunction:
    """Answers the calls of one registration, one at a time, each once per transaction.

    DuckDB calls it from its own threads, and keeps only the text of an exception: `errors` keeps the last few
    themselves. It holds the connection weakly, because the connection holds it.
    """

    def __init__(self, connection: Any, tables: Tables) -> None:
        self._connection = weakref.ref(connection)
        self._tables = tables
        self._memo = Memo()
        self.lock = threading.Lock()
        # DuckDB's threads have contexts of their own: releases run in the one of whoever registered.
        self._context = contextvars.copy_context()
        self.errors: deque[BaseException] = deque(maxlen=16)

    def __call__(  # noqa: PLR0917 - SQL functions have no named arguments
        self, one_row: bool, function: str, table: str | None, measure: str, epsilon: float, where: str | None,
        by: str | None, keys: list[str] | None, mechanism: str | None, confidence: float, max_degree: int | None,
        run_id: str | None, database: str, schema: str, transaction: int,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Return the rows of a call, as the macros of `release_macros.sql` pass it."""
        try:
            if table is None:
                raise ParameterError("table_name is NULL: name the table to measure")
            call = Call(
                function, table, measure, epsilon, where, by, None if keys is None else tuple(keys), mechanism,
                confidence, max_degree, run_id,
            )  # fmt: skip
            if one_row:
                call.refuse_several()
            with self.lock:
                return self._context.run(self._once, call, database, schema, transaction)
        except BaseException as error:
            self.errors.append(error)
            raise

    def _once(self, call: Call, database: str, schema: str, transaction: int) -> list[dict[str, Any]]:
        rows = self._memo.find(transaction, call)
        if rows is None:
            self._memo.reserve(transaction)
            with self._opened(call.table, database, schema) as session:
                rows = [release.to_dict() for release in call.answer(session)]
            self._memo.keep(transaction, call, rows)
        return rows

    @contextmanager
    def session(self, table: str) -> Iterator[Session]:
        """Yield the session of a table, to read its account."""
        with self.lock, self._opened(table, None, None) as session:
            yield session

    @contextmanager
    def _opened(self, table: str, database: str | None, schema: str | None) -> Iterator[Session]:
        with owner_table(sibling(self._connection()), table, database, schema) as found:
            yield self._tables.session(found)

"""`ReleaseFunction`: the Python function behind the SQL macros."""

from __future__ import annotations

import contextvars
import weakref
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from dpdb.doors.duckdb_functions.call import Call, read_call
from dpdb.doors.duckdb_functions.memo import Memo
from dpdb.doors.duckdb_functions.tables import CLOSED, Tables
from dpdb.engine.owner_table import OwnerTable, owner_table, sibling
from dpdb.errors import ParameterError
from dpdb.release import Session
from dpdb.suites import SuiteAsk

__all__ = ["ReleaseFunction"]

T = TypeVar("T")


class ReleaseFunction:
    """Answers the calls of one registration, one at a time, each once per transaction.

    DuckDB calls it from any of its threads, but sessions belong to one thread: all their work is done in `worker`.
    DuckDB keeps only the text of an exception: `errors` keeps the last few exceptions. The connection is held weakly,
    because it holds the function.
    """

    def __init__(self, connection: Any, tables: Tables) -> None:
        self._connection = weakref.ref(connection)
        self._tables = tables
        self._memo = Memo()
        self.worker = ThreadPoolExecutor(1, thread_name_prefix="dpdb")
        # Other threads have contexts of their own: releases run in that of the thread that registered.
        self._context = contextvars.copy_context()
        self.errors: deque[BaseException] = deque(maxlen=16)

    def __call__(  # noqa: PLR0917 - SQL functions have no named arguments
        self, one_row: bool, function: str, table: str | None, constraints: str | None, options: dict[str, Any],
        database: str, schema: str, transaction: int,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Return the rows of a call, as the macros pass it."""
        try:
            call = read_call(function, table, options, one_row=one_row, constraints=constraints)
            return self._once(transaction, call, lambda: self._released(call, database, schema))
        except BaseException as error:
            self.errors.append(error)
            raise

    def check(
        self, options: dict[str, Any], table: str | None, database: str, schema: str, transaction: int
    ) -> list[dict[str, Any]]:
        """Return the verdicts of a suite, as the macro passes the call."""
        try:
            if options["suite"] is None:
                raise ParameterError("suite is NULL: name a suite that was registered")
            ask = SuiteAsk(**options)
            return self._once(transaction, (ask, table), lambda: self._checked(ask, table, database, schema))
        except BaseException as error:
            self.errors.append(error)
            raise

    def with_session(self, table: str, use: Callable[[Session], T]) -> T:
        """Return the result of `use` for the session of a table."""
        return self._work(lambda: self._used(table, None, None, lambda found: use(self._tables.session(found))))

    def _once(
        self, transaction: int, call: Hashable, answer: Callable[[], list[dict[str, Any]]]
    ) -> list[dict[str, Any]]:
        def first() -> list[dict[str, Any]]:
            rows = self._memo.find(transaction, call)
            if rows is None:
                self._memo.reserve(transaction)
                rows = answer()
                self._memo.keep(transaction, call, rows)
            return rows

        rows = self._memo.find(transaction, call)  # DuckDB repeats a scalar call for every row
        return self._work(first) if rows is None else rows

    def _released(self, call: Call, database: str, schema: str) -> list[dict[str, Any]]:
        who, constraints = self._tables.settings.who, call.constraints
        releases = self._used(
            call.table, database, schema, lambda found: call.answer(self._tables.session(found, constraints), who)
        )
        return [release.to_dict() for release in releases]

    def _checked(self, ask: SuiteAsk, expected: str | None, database: str, schema: str) -> list[dict[str, Any]]:
        table = self._tables.settings.table_of(ask.suite)

        def run(found: OwnerTable) -> list[dict[str, Any]]:
            if expected is not None and found.beside(expected).spellings != found.spellings:
                raise ParameterError(f"suite {ask.suite!r} is of table {found.name!r}, not of {expected}")
            suite = self._tables.suite(found, ask.suite, ask.date)
            rows: list[dict[str, Any]] = (
                suite.run(suite.prepare(ask, who=self._tables.settings.who)).to_arrow().to_pylist()
            )
            return rows

        return self._used(table, database, schema, run)

    def _used(self, table: str, database: str | None, schema: str | None, use: Callable[[OwnerTable], T]) -> T:
        with owner_table(sibling(self._connection()), table, database, schema) as found:
            return use(found)

    def _work(self, work: Callable[[], T]) -> T:
        try:
            future = self.worker.submit(self._context.run, work)
        except RuntimeError:  # shut down
            raise ParameterError(CLOSED) from None
        return future.result()

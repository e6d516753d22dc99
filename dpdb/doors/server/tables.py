"""`OpenTable`: a served table: the private session, a planner beside it that reads no row, and the SQL entry point."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from dpdb.constraints import DenialConstraint
from dpdb.doors.server.configuration import ServedTable
from dpdb.doors.sql import FrontEnd, Planner, PublicTables
from dpdb.release import Session
from dpdb.stopping import Closing
from dpdb.suites import RegisteredSuite, register_suite


class OpenTable(Closing):
    """Opens a table twice: with its rows, and without, for plans that wait for nobody's private work.

    Parameters
    ----------
    seconds : float
        For the SQL of one statement.

    Attributes
    ----------
    columns : tuple of (str, str)
        Names and types, which are public.

    Raises
    ------
    DpdbError
        The table, a suite or the ledger cannot be used, or they do not fit together.
    """

    def __init__(self, served: ServedTable, public: PublicTables, seconds: float) -> None:
        self.name = served.name
        self._served = served
        self._opened = ExitStack()
        self._lock, self._users, self._is_retired = threading.Lock(), 0, False
        with self._opened as opened:
            session, suites = self._sessions(rows=True)
            planner, planned = self._sessions(rows=False)
            plans = Planner(planner, {suite.name: suite for suite in planned})
            self.columns = tuple((one.name, one.declared_type) for one in session.public.opened.schema.columns)
            self.constraints = tuple(str(rule) for rule in session.constraints)
            self.front_end = opened.enter_context(
                FrontEnd(session, served.name, public, seconds=seconds, suites=suites, planner=plans)
            )
            self.suites = self.front_end.suites
            self._opened = opened.pop_all()

    def _sessions(self, *, rows: bool) -> tuple[Session, list[RegisteredSuite]]:
        spec = self._served.table
        ledgers: dict[str, Any] = {"ledger": self._served.ledger, "parent_ledgers": self._served.parent_ledgers}

        def opened(rules: Sequence[DenialConstraint] | None) -> Session:
            return Session(replace(spec, constraints=rules), **ledgers, rows=rows)

        session = self._opened.enter_context(Session(spec, **ledgers, rows=rows))
        _ = session.notion  # refused now where a private parent has no ledger
        suites = []
        for name, path in self._served.suites.items():
            suites.append(register_suite(name, path, opened))
            self._opened.enter_context(suites[-1].session)
        return session, suites

    def has_changed(self) -> bool:
        """Whether somebody who opens the table now finds other rows; False while a release is being made."""
        return self.front_end.has_changed()

    def has_old_parents(self) -> bool:
        """Whether he finds other rows in its public parents; False while a release is being made."""
        return self.front_end.has_old_parents()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the table open while the block lasts, also if another is opened in its place."""
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
            self._close_if_unused()

    def retire(self) -> None:
        """Close once nobody uses it any more."""
        self._is_retired = True
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        with self._lock:
            is_over = self._is_retired and not self._users
        if is_over:
            self.close()

    def close(self) -> None:
        """End all processes and close the sessions."""
        self._opened.close()

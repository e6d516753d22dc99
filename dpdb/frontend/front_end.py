"""`FrontEnd`: answer an analyst's statements over one session.

For each statement, in this order: parse, decide on the tree, let the session check every release, run everything over
empty answers, ask the budget for all releases together, make them, run the statement over the answers. Only the last
two steps spend or read anything, and up to them every error leaves the budget as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pyarrow as pa
from sqlglot import exp

from dpdb.errors import ParameterError, StatementRefusedError
from dpdb.frontend.call import ReleaseCall, read_call
from dpdb.frontend.check import check_statement
from dpdb.frontend.clean_database import CleanDatabase
from dpdb.frontend.names import folded
from dpdb.frontend.parse import Statement, parse_statement
from dpdb.frontend.rewrite import rewritten
from dpdb.privacy.epsilon import as_float
from dpdb.session import Release, Session
from dpdb.session.account import Charge
from dpdb.session.release_table import release_table

__all__ = ["FrontEnd", "Result"]

# What makes two calls one release: everything public that is asked, with the defaults filled in, and the run.
_Identity = tuple[str, str | None]


@dataclass(frozen=True)
class Result:
    """What a statement gave.

    Attributes
    ----------
    table : pyarrow.Table
    releases : tuple of Release
        The releases that were made for it, in the order of the text.
    """

    table: pa.Table
    releases: tuple[Release, ...]


@dataclass(frozen=True)
class _Plan:
    """A checked statement: the SQL that runs, and the releases it needs under the names of their tables."""

    statement: Statement
    query: str
    calls: Mapping[_Identity, tuple[str, ReleaseCall, Charge]]


class FrontEnd:
    """The SQL door of one session.

    Parameters
    ----------
    session : Session
        Makes every release; the front end never sees its table.
    table : str
        The name by which statements call the private table.
    public : mapping of name to path, optional
        Parquet and CSV files that statements may read by name.
    seconds : float
        How long one statement may run over the answers.

    Raises
    ------
    ParameterError, SourceError
        If a public table has the private one's name or cannot be read.
    """

    def __init__(
        self, session: Session, table: str, public: Mapping[str, str | Path] | None = None, *, seconds: float = 60.0
    ) -> None:
        public = public or {}
        if any(folded(name) == folded(table) for name in public):
            raise ParameterError(f"public table {table!r} has the private table's name; choose another")
        self.session = session
        self.table_name = table
        self._clean = CleanDatabase(public, seconds=seconds)
        self.public = tuple(public)
        self._kept: dict[_Identity, tuple[Release, ...]] = {}

    def check(self, text: str) -> None:
        """Check one statement: everything except the budget. Reads no private row, draws nothing, spends nothing.

        Raises
        ------
        StatementRefusedError
            If the statement is not admitted; the message has the reason and what to write instead.
        DpdbError
            If the session does not admit a release: an unknown column, a predicate outside the grammar, ...
        """
        self._plan(text)

    def run(self, text: str) -> Result:
        """Answer one statement. Every release in its text is made, once; calls that ask for the same are one release.

        A release is made whether or not the statement comes to use its answer (a CASE never taken, an empty FROM).

        Raises
        ------
        StatementRefusedError, DpdbError
            As `check`; nothing was spent.
        BudgetExceededError
            If the budget does not suffice for all releases of the statement; nothing was spent.
        EngineError
            If a release or the statement fails after the debit. Answers that were made by then are in `kept`, and the
            next statement that asks for the same gets them for nothing.
        """
        plan = self._plan(text)
        tables = [table for table, _, _ in plan.calls.values()]
        if plan.statement.kind != "query":
            with self._clean.answers(tables):
                table = self._clean.run(plan.query, plan.statement.kind)
            return Result(_with_cost(table, plan) if plan.statement.kind == "explain" else table, ())
        new = {identity: call for identity, call in plan.calls.items() if identity not in self._kept}
        if len(new) > 1:  # one release alone is decided by its own debit
            self.session.check_together([charge for _, _, charge in new.values()])
        for identity, (_, call, _) in new.items():
            self._kept[identity] = call.make(self.session)
        with self._clean.answers(tables):
            for identity, (table_name, _, _) in plan.calls.items():
                self._clean.fill(table_name, release_table(self._kept[identity]))
            table = self._clean.run(plan.query)
        releases = tuple(release for identity in plan.calls for release in self._kept.pop(identity))
        return Result(table, releases)

    @property
    def kept(self) -> tuple[Release, ...]:
        """Answers of statements that failed after the debit: paid for, and not yet part of a result."""
        return tuple(release for releases in self._kept.values() for release in releases)

    def _plan(self, text: str) -> _Plan:
        statement = parse_statement(text)
        nodes = check_statement(statement.tree, self.table_name, self._clean.public)
        calls: dict[_Identity, tuple[str, ReleaseCall, Charge]] = {}
        placed: list[tuple[exp.Anonymous, ReleaseCall, str]] = []
        for node in nodes:
            call = read_call(node, self.table_name)
            charge = self.session.rehearse(call.make)
            identity = charge.request_text, call.run_id
            table = calls.setdefault(identity, (f"release_{len(calls) + 1}", call, charge))[0]
            placed.append((node, call, table))
        _refuse_shared_runs(call for _, call, _ in calls.values())
        query = rewritten(statement.tree, placed)
        with self._clean.answers([table for table, _, _ in calls.values()]):
            self._clean.refuse_unrunnable(query)
        return _Plan(statement, query, calls)

    def close(self) -> None:
        """Drop the public tables and answers; the session stays open. May be called twice."""
        self._clean.close()

    def __enter__(self) -> FrontEnd:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _refuse_shared_runs(calls: Iterable[ReleaseCall]) -> None:
    seen = set()
    for call in calls:
        if call.run_id is not None and call.run_id in seen:
            raise StatementRefusedError(f"run id {call.run_id!r} names two different releases: give each its own")
        seen.add(call.run_id)


def _with_cost(plan_rows: pa.Table, plan: _Plan) -> pa.Table:
    """Add a row to an EXPLAIN: what the statement would spend."""
    charges = [charge.epsilon for _, _, charge in plan.calls.values()]
    counted = "1 release" if len(charges) == 1 else f"{len(charges)} releases"
    words = f"epsilon {as_float(sum(charges)):.9g} by {counted}"
    cost = pa.Table.from_pydict({"explain_key": ["privacy_cost"], "explain_value": [words]}, schema=plan_rows.schema)
    return pa.concat_tables([cost, plan_rows])

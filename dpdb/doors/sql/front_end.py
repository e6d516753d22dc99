"""`FrontEnd`: answer an analyst's statements over one session.

For each statement, in this order: parse, decide on the tree, let the session check every release, run everything over
empty answers, ask the budget for all releases together, make them, run the statement over the answers. An error before
the debit leaves the budget unchanged. The statement's SQL itself runs in a process of its own (`dpdb.doors.sql.child`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pyarrow as pa
from sqlglot import exp

from dpdb.doors.sql.call import read_call
from dpdb.doors.sql.check import check_statement
from dpdb.doors.sql.child.limits import Limits
from dpdb.doors.sql.child.remote_database import RemoteDatabase, RemoteStatement
from dpdb.doors.sql.paid_answers import Identity, PaidAnswers
from dpdb.doors.sql.parse import Statement, parse_statement, placed
from dpdb.doors.sql.refusal_words import one_line
from dpdb.doors.sql.rewrite import rewritten
from dpdb.errors import DpdbError, EngineError, ParameterError, StatementRefusedError
from dpdb.names import folded
from dpdb.owner_log import OWNER_LOG
from dpdb.privacy import as_float, format_rho
from dpdb.release import Ask, Charge, Release, Session, release_table

__all__ = ["FrontEnd", "Result"]

_MOST_CALLS = 100


@dataclass(frozen=True)
class Result:
    """The result of a statement.

    Attributes
    ----------
    table : pyarrow.Table
    releases : tuple of Release
        The releases of the statement, in the order of the text.
    """

    table: pa.Table
    releases: tuple[Release, ...]


@dataclass(frozen=True)
class _Checked:
    """A checked statement: the SQL that runs, and its releases by the names of their tables."""

    statement: Statement
    query: str
    releases: Mapping[Identity, tuple[str, Ask, Charge]]


class FrontEnd:
    """The SQL door of one session.

    Several threads may use it at once. They wait for each other while releases are checked, charged and drawn, and not
    while statements run.

    Parameters
    ----------
    session : Session
        Makes every release; the front end never sees its table.
    table : str
        The name by which statements call the private table.
    public : mapping of name to path, optional
        Parquet and CSV files that statements may read by name.
    seconds : float
        How long one statement may run, over empty answers and again over the answers.
    who : str, optional
        Who asks, for the ledger's history.

    Raises
    ------
    ParameterError, SourceError
        If a public table has the private table's name or cannot be read.
    """

    def __init__(
        self,
        session: Session,
        table: str,
        public: Mapping[str, str | Path] | None = None,
        *,
        seconds: float = 60.0,
        who: str | None = None,
    ) -> None:
        public = public or {}
        if any(folded(name) == folded(table) for name in public):
            raise ParameterError(f"public table {table!r} has the private table's name; choose another")
        self.session = session
        self.table_name = table
        self._who = who
        self._remote = RemoteDatabase(public, Limits(seconds=seconds))
        self.public = tuple(public)
        self._session_lock = threading.Lock()
        self._paid = PaidAnswers()

    def check(self, text: str) -> None:
        """Check one statement: everything except the budget. Reads no private row, draws nothing, spends nothing.

        Raises
        ------
        StatementRefusedError
            If the statement is not admitted; the message has the reason and what to write instead.
        DpdbError
            If the session does not admit a release: an unknown column, a predicate outside the grammar, ...
        """
        with self._admitted(text) as (checked, statement):
            if checked.statement.kind == "query":
                statement.rehearse()
            else:
                statement.show()

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
            next statement with the same request gets them at no cost.
        """
        with self._admitted(text) as (checked, statement):
            if checked.statement.kind != "query":
                table = statement.show()
                return Result(_with_cost(table, checked) if checked.statement.kind == "explain" else table, ())
            statement.rehearse()
            with self._answers(checked) as answers:
                table = statement.run(
                    {name: release_table(answers[identity]) for identity, (name, _, _) in checked.releases.items()}
                )
        return Result(table, tuple(release for identity in checked.releases for release in answers[identity]))

    @property
    def kept(self) -> tuple[Release, ...]:
        """Answers of statements that failed after the debit: paid for, and not yet part of a result."""
        with self._session_lock:
            return tuple(self._paid)

    @contextmanager
    def _admitted(self, text: str) -> Iterator[tuple[_Checked, RemoteStatement]]:
        """Check a statement and start its process; error messages in the block and before it have one line."""
        try:
            checked = self._checked(text)
            tables = [table for table, _, _ in checked.releases.values()]
            with self._remote.statement(checked.query, tables, checked.statement.kind) as statement:
                yield checked, statement
        except DpdbError as error:
            error.args = (one_line(str(error)), *error.args[1:])
            raise

    def _checked(self, text: str) -> _Checked:
        try:
            return self._placed(parse_statement(text))
        except StatementRefusedError as error:
            raise placed(error, text) from None
        except DpdbError:
            raise
        except Exception:  # a tree that the checks did not foresee is not run
            OWNER_LOG.exception("statement refused")
            raise StatementRefusedError("the statement is not understood") from None

    def _placed(self, statement: Statement) -> _Checked:
        nodes = check_statement(statement.tree, self.table_name, self._remote.public)
        if len(nodes) > _MOST_CALLS:
            raise StatementRefusedError(f"the statement has more than {_MOST_CALLS} calls of releases; split it")
        releases: dict[Identity, tuple[str, Ask, Charge]] = {}
        placed: list[tuple[exp.Anonymous, Ask, str]] = []
        for node in nodes:
            ask = read_call(node, self.table_name)
            with self._session_lock:
                charge = self.session.prepare(ask, who=self._who).charge
            identity = charge.request_text, ask.run_id
            table, known, _ = releases.setdefault(identity, (f"release_{len(releases) + 1}", ask, charge))
            _refuse_second_label(known, ask)
            placed.append((node, ask, table))
        _refuse_shared_runs(ask for _, ask, _ in releases.values())
        return _Checked(statement, rewritten(statement.tree, placed), releases)

    @contextmanager
    def _answers(self, checked: _Checked) -> Iterator[Mapping[Identity, tuple[Release, ...]]]:
        """Charge and draw the releases of a statement; after any later failure they are kept."""
        answers: dict[Identity, tuple[Release, ...]] = {}
        try:
            with self._session_lock:
                answers |= self._paid.take(checked.releases)
                new = {identity: one for identity, one in checked.releases.items() if identity not in answers}
                if len(new) > 1:  # one release alone is decided by its own debit
                    self.session.check_together([charge for _, _, charge in new.values()])
                for identity, (_, ask, _) in new.items():
                    answers[identity] = self.session.release(ask, who=self._who)
            yield answers
        except BaseException:
            with self._session_lock:
                self._paid.put(answers)
            raise

    def close(self) -> None:
        """End all processes and drop the public tables; the session stays open. May be called twice."""
        self._remote.close()

    def __enter__(self) -> FrontEnd:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _refuse_shared_runs(asks: Iterable[Ask]) -> None:
    seen = set()
    for ask in asks:
        if ask.run_id is not None and ask.run_id in seen:
            raise StatementRefusedError(f"run id {ask.run_id!r} names two different releases: give each its own")
        seen.add(ask.run_id)


def _refuse_second_label(one: Ask, other: Ask) -> None:
    """Refuse two calls of one release with different labels: the history keeps only one."""
    if one.label != other.label:
        raise StatementRefusedError(
            f"two calls that ask for the same are one release, which has one label: not {one.label!r} and "
            f"{other.label!r}"
        )


def _with_cost(plan_rows: pa.Table, checked: _Checked) -> pa.Table:
    """Add a row to an EXPLAIN: the budget that the statement would spend."""
    charges = [charge for _, _, charge in checked.releases.values()]
    counted = "1 release" if len(charges) == 1 else f"{len(charges)} releases"
    rho = sum(charge.rho or 0 for charge in charges)
    also = f" and rho {format_rho(rho)}" if rho else ""
    words = f"epsilon {as_float(sum(charge.epsilon for charge in charges)):.9g}{also} by {counted}"
    cost = pa.table({"explain_key": ["privacy_cost"], "explain_value": [words]})
    if plan_rows.schema != cost.schema:
        raise EngineError("the plan is damaged")
    return pa.concat_tables([cost, plan_rows])

"""`FrontEnd`: answer an analyst's statements over one session.

For each statement, in this order: parse, decide on the tree, let the session check every release, run everything over
empty answers, ask the budget for all releases together, make them, run the statement over the answers. An error before
the debit leaves the budget unchanged. The statement's SQL itself runs in a process of its own (`dpdb.doors.sql.child`).
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dpdb.doors.sql.admitted import Admitted, Answer, Checked, Identity, PaidAnswers, PlannedCall, Planner, Result
from dpdb.doors.sql.asked_errors import AskedErrors
from dpdb.doors.sql.call import read_call
from dpdb.doors.sql.check import check_statement
from dpdb.doors.sql.child.messages import Limits
from dpdb.doors.sql.child.public_tables import PublicTables
from dpdb.doors.sql.child.remote_database import RemoteDatabase
from dpdb.doors.sql.parse import Spoken, Statement, one_line, parse_statement, placed
from dpdb.doors.sql.postgres_computing import compute_as_postgres, without_inner_names
from dpdb.doors.sql.rewrite import rewritten
from dpdb.errors import DpdbError, EngineError, ParameterError, StatementRefusedError
from dpdb.names import folded
from dpdb.release import Ask, Release, Session, new_run_id
from dpdb.stopping import Closing
from dpdb.suites import CheckResults, CheckRun, RegisteredSuite, SuiteAsk

if TYPE_CHECKING:
    from dpdb.diagnosis import DiagnosisAsk, PreparedDiagnosis
    from dpdb.privacy import Notion

_ERRORS = AskedErrors("statements that are not understood")
_MOST_CALLS = 100


class FrontEnd(Closing):
    """The SQL entry point of one session.

    Several threads may use it at once. They wait for each other while releases are checked, charged and drawn, and not
    while statements run.

    Parameters
    ----------
    session : Session
        Makes every release; the front end never sees its table.
    table : str
        The name by which statements call the private table.
    public : mapping of name to path, or PublicTables, optional
        Parquet and CSV files that statements may read by name; see `RemoteDatabase`.
    seconds : float
        How long one statement may run, over empty answers and again over the answers.
    suites : sequence of RegisteredSuite
        Suites of checks that statements may run by their names; their sessions share the session's account.
    planner : Planner, optional
        Where statements are planned; by default the session itself, which others may be waiting for.

    Raises
    ------
    ParameterError, SourceError
        If a public table has the private table's name or cannot be read.
    """

    def __init__(
        self,
        session: Session,
        table: str,
        public: PublicTables | Mapping[str, str | Path] | None = None,
        *,
        seconds: float = 60.0,
        who: str | None = None,
        suites: Sequence[RegisteredSuite] = (),
        planner: Planner | None = None,
    ) -> None:
        public = {} if public is None else public
        if any(folded(name) == folded(table) for name in public):
            raise ParameterError(f"public table {table!r} has the private table's name; choose another")
        self.session = session
        self.table_name = table
        self._who = who
        self._remote = RemoteDatabase(public, Limits(seconds=seconds))
        self.public = tuple(public)
        self.suites = {suite.name: suite for suite in suites}
        self._session_lock = threading.Lock()
        self._checking = threading.Lock()  # reading a statement takes one thread of its asker, not many
        self._planner = planner or Planner(session, self.suites, self._session_lock)
        self._runs_of = ""
        self._paid = PaidAnswers()
        self._unfinished: dict[Identity, str] = {}

    def of_analyst(self, who: str) -> FrontEnd:
        """Return the same entry point for another asker, with kept answers and run ids (`WHO:ID`) of his own.

        It ends with this one.
        """
        other = copy.copy(self)
        other._who, other._runs_of = who, f"{who}:"
        other._paid, other._unfinished = PaidAnswers(), {}
        other._checking = threading.Lock()
        return other

    def take_over(self, other: FrontEnd) -> None:
        """Take what another one of the same asker has kept: answers that are paid for, and runs to be finished."""
        self._paid, self._unfinished = other._paid, other._unfinished

    def has_changed(self) -> bool:
        """Whether somebody who opens the table now finds other rows; False while a release is being made."""
        return self._while_idle(self.session.has_changed)

    def has_old_parents(self) -> bool:
        """Whether he finds other rows in its public parents; False while a release is being made."""
        return self._while_idle(self.session.has_old_parents)

    def _while_idle(self, found: Callable[[], bool]) -> bool:
        if not self._session_lock.acquire(blocking=False):
            return False
        try:
            return found()
        finally:
            self._session_lock.release()

    def check(self, text: str) -> None:
        """Check one statement: everything except the budget. Reads no private row, draws nothing, spends nothing.

        Raises
        ------
        StatementRefusedError
            If the statement is not admitted; the message has the reason and what to write instead.
        DpdbError
            If the session does not admit a release: an unknown column, a predicate outside the grammar, ...
        """
        with self.admitted(text) as statement:
            if statement.kind == "query":
                statement.rehearse()
            else:
                statement.result()

    def run(self, text: str, dialect: Spoken = "duckdb") -> Result:
        """Answer one statement in the SQL of `dialect`. Every release in its text is made, once.

        Calls that ask for the same are one release.

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
        with self.admitted(text, dialect=dialect) as statement:
            statement.rehearse()
            return statement.result()

    @property
    def kept(self) -> tuple[Release, ...]:
        """Answers of statements that failed after the debit: paid for, and not yet part of a result."""
        with self._session_lock:
            return self._paid.releases()

    @property
    def kept_checks(self) -> tuple[CheckResults, ...]:
        """Verdicts of such statements."""
        with self._session_lock:
            return self._paid.checks()

    @contextmanager
    def admitted(
        self,
        text: str,
        run_id: str | None = None,
        most: Mapping[str, Any] | None = None,
        dialect: Spoken = "duckdb",
        *,
        behind: bool = False,
    ) -> Iterator[Admitted]:
        """Check a statement and start its process; error messages in the block and before it have one line.

        With `run_id` every call that names no run of its own has one: the first this, the next `run_id/2`, and so on.
        `most` and `behind` are as `RemoteDatabase.statement` has them. It is read in the SQL of `dialect`, and
        computes as that does.
        """
        try:
            checked = self._checked(text, run_id, dialect)
            tables = {call.table: call.schema for call in checked.calls.values()}
            with self._remote.statement(
                checked.query, tables, checked.statement.kind, macros=checked.macros, most=most, behind=behind
            ) as statement:
                yield Admitted(checked, statement, self._answers)
        except DpdbError as error:
            error.args = (one_line(without_inner_names(str(error))), *error.args[1:])
            raise

    def _checked(self, text: str, run_id: str | None, dialect: Spoken) -> Checked:
        try:
            with self._checking:
                return self._placed(parse_statement(text, dialect), run_id)
        except StatementRefusedError as error:
            raise placed(error, text) from None
        except DpdbError:
            raise
        except Exception as error:  # a tree that the checks did not foresee is not run
            _ERRORS.tell("statement refused", error)
            raise StatementRefusedError("the statement is not understood") from None

    def _placed(self, statement: Statement, run_id: str | None) -> Checked:
        nodes = check_statement(statement.tree, self.table_name, self._remote.public)
        if len(nodes) > _MOST_CALLS:
            raise StatementRefusedError(f"the statement has more than {_MOST_CALLS} calls of releases; split it")
        calls: dict[Identity, PlannedCall] = {}
        placed: list[tuple[exp.Anonymous, Ask | SuiteAsk | DiagnosisAsk, str]] = []
        runs: dict[str, str] = {}
        for node in nodes:
            ask = read_call(node, self.table_name, self.suites)
            if ask.run_id is not None:
                ask = replace(ask, run_id=self._own_run(ask.run_id))
            with self._planner.lock:
                identity, call = self._planned(ask, f"release_{len(calls) + 1}")
                if run_id is not None and ask.run_id is None:
                    name = runs.setdefault(identity[0], run_id if not runs else f"{run_id}/{len(runs) + 1}")
                    identity, call = self._planned(replace(ask, run_id=self._own_run(name)), call.table)
            known = calls.setdefault(identity, call)
            _refuse_second_label(known.ask, ask)
            placed.append((node, ask, known.table))
        _refuse_shared_runs(call.ask for call in calls.values())
        macros = compute_as_postgres(statement.tree) if statement.dialect == "postgres" else ""
        return Checked(statement, rewritten(statement.tree, placed), calls, macros)

    def _planned(self, ask: Ask | SuiteAsk | DiagnosisAsk, table: str) -> tuple[Identity, PlannedCall]:
        if isinstance(ask, Ask):
            charge = self._planner.session.prepare(ask, who=self._who).charge
            planned = PlannedCall(table, ask, charge, False, self._notion, partial(self._release, ask))
            return (charge.request_text, ask.run_id), planned
        if not isinstance(ask, SuiteAsk):
            charge = self._diagnosis(self._planner.session, ask).charge
            identity = charge.request_text, ask.run_id
            if ask.run_id is None and self._runs_of:  # its asker finds it again, as a run of his own
                ask = replace(ask, run_id=self._own_run(new_run_id("diagnose")))
                charge = replace(charge, run_id=ask.run_id)
            return identity, PlannedCall(table, ask, charge, False, self._notion, partial(self._diagnose, ask))
        suite = self._planner.suites[ask.suite].on(ask.date)
        run = suite.prepare(ask, who=self._who)
        identity = run.charge.request_text, ask.run_id
        name = self._unfinished.get(identity)
        if name is None and ask.run_id is None and self._runs_of:  # its asker finds it again, as a run of his own
            name = self._own_run(str(run.charge.run_id))
        if name is not None:
            run = suite.prepare(replace(ask, run_id=name), who=self._who)
        own = run if self._planner.suites is self.suites else None
        make_run = partial(self._run_suite, ask, own, run.charge.run_id, identity)
        is_free = not suite.session.opens_suite(run)
        return identity, PlannedCall(table, ask, run.charge, is_free, self._notion, make_run)

    @property
    def _notion(self) -> Notion:
        return self._planner.session.notion

    def _diagnosis(self, session: Session, ask: DiagnosisAsk) -> PreparedDiagnosis:
        from dpdb.diagnosis import prepare_diagnosis  # few statements diagnose

        return prepare_diagnosis(session, ask, who=self._who, names_run=False)

    def _release(self, ask: Ask) -> tuple[Answer, bool]:
        return self.session.release(ask, who=self._who), self.session.has_debited

    def _diagnose(self, ask: DiagnosisAsk) -> tuple[Answer, bool]:
        from dpdb.diagnosis import run_diagnosis

        return run_diagnosis(self.session, self._diagnosis(self.session, ask)), self.session.has_debited

    def _own_run(self, run_id: str) -> str:
        """Return the ledger's name of an asker's run: also where he gives that name, as verdicts have it."""
        return run_id if run_id.startswith(self._runs_of) else self._runs_of + run_id

    def _run_suite(
        self, ask: SuiteAsk, run: CheckRun | None, name: str | None, identity: Identity
    ) -> tuple[Answer, bool]:
        """Run a suite; where that fails after the debit, the next call that asks for the same finishes the run."""
        suite = self.suites[ask.suite].on(ask.date)
        run = run or suite.prepare(replace(ask, run_id=name), who=self._who)
        run_id = str(run.charge.run_id)
        try:
            results = suite.run(run)
        except BaseException as error:
            if suite.session.has_ledger:
                self._unfinished[identity] = run_id
            if isinstance(error, EngineError) and suite.session.has_ledger:
                own = run_id.removeprefix(self._runs_of)
                raise EngineError(f"{error}; run_id := {own!r} finishes this run") from None
            raise
        self._unfinished.pop(identity, None)
        return results, suite.session.has_debited

    @contextmanager
    def _answers(self, checked: Checked) -> Iterator[tuple[Mapping[Identity, Answer], set[Identity]]]:
        """Charge and draw the answers to a statement's calls, and say which were debited now.

        After any later failure they are kept.
        """
        answers: dict[Identity, Answer] = {}
        debited: set[Identity] = set()
        needed = self._session_lock if checked.calls else nullcontext()
        try:
            with needed:
                answers |= self._paid.take(checked.calls)
                new = {identity: call for identity, call in checked.calls.items() if identity not in answers}
                if len(new) > 1:  # one release alone is decided by its own debit
                    self.session.check_together([call.charge for call in new.values() if not call.is_free])
                for identity, call in new.items():
                    answers[identity], is_new = call.make()
                    debited |= {identity} if is_new else set()
            yield answers, debited
        except BaseException:
            with needed:
                self._paid.put(answers)
            raise

    def close(self) -> None:
        """End all processes and drop the public tables; the session stays open. May be called twice."""
        self._remote.close()


def _refuse_shared_runs(asks: Iterable[Ask | SuiteAsk | DiagnosisAsk]) -> None:
    seen = set()
    for ask in asks:
        if ask.run_id is not None and ask.run_id in seen:
            raise StatementRefusedError(f"run id {ask.run_id!r} names two different releases: give each its own")
        seen.add(ask.run_id)


def _refuse_second_label(one: Ask | SuiteAsk | DiagnosisAsk, other: Ask | SuiteAsk | DiagnosisAsk) -> None:
    """Refuse two calls of one release with different labels: the history keeps only one."""
    if one.label != other.label:
        raise StatementRefusedError(
            f"two calls that ask for the same are one release, which has one label: not {one.label!r} and "
            f"{other.label!r}"
        )

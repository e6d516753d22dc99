"""A statement on its way: as it was checked, as its process runs it, and its result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from dpdb.doors.sql.child.remote_database import RemoteStatement
from dpdb.doors.sql.paid_answers import Answer, Identity
from dpdb.doors.sql.parse import Statement
from dpdb.doors.sql.planned_call import (
    PlannedCall,
    answer_table,
    checks_of,
    cost_words,
    diagnoses_of,
    releases_of,
    spent_words,
)
from dpdb.errors import EngineError
from dpdb.release import Release, Session
from dpdb.suites import CheckResults, RegisteredSuite, SuiteAsk

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis

__all__ = ["Admitted", "Checked", "Planner", "Result"]


@dataclass(frozen=True)
class Result:
    """The result of a statement.

    Attributes
    ----------
    table : pyarrow.Table
    releases : tuple of Release
        The releases of the statement, in the order of the text.
    checks : tuple of CheckResults
        The verdicts of its suites, in the order of the text.
    diagnoses : tuple of Diagnosis
        What was named, in the order of the text.
    spent : str
        What it has spent now, in words: nothing for runs that were debited before.
    debited : int
        The same in nano-epsilon, without what suites gave back.
    """

    table: pa.Table
    releases: tuple[Release, ...]
    checks: tuple[CheckResults, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    spent: str = "nothing"
    debited: int = 0


@dataclass(frozen=True)
class Planner:
    """Where statements are planned: a session and suites that read no row, so that no plan waits for private work.

    Attributes
    ----------
    session : Session
        Of the same table and account, opened with ``rows=False``.
    suites : mapping of str to RegisteredSuite
        The same suites, with such sessions.
    """

    session: Session
    suites: Mapping[str, RegisteredSuite]
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class Checked:
    """A checked statement: the SQL that runs, and what it calls."""

    statement: Statement
    query: str
    calls: Mapping[Identity, PlannedCall]


# Charges and draws the answers to a statement's calls, and says what was debited now; after a failure in the block the
# answers are kept.
Answers: TypeAlias = "Callable[[Checked], AbstractContextManager[tuple[Mapping[Identity, Answer], set[Identity]]]]"


class Admitted:
    """A checked statement and its process; `FrontEnd.admitted` makes it. Rehearse it, then ask for its result.

    Attributes
    ----------
    charges : tuple of Charge
        What its calls are debited, without those that are free.
    makes_releases : bool
        Whether its result needs the private session.
    words : str
        What it would spend.
    epsilon, release_epsilon : int
        Nano-epsilon that its calls are debited, and those of its releases alone, which suites do not lower.
    """

    def __init__(self, checked: Checked, statement: RemoteStatement, answers: Answers) -> None:
        self._checked, self._statement, self._answers = checked, statement, answers
        self.charges = tuple(call.charge for call in checked.calls.values() if not call.is_free)
        self.makes_releases = checked.statement.kind == "query" and bool(checked.calls)
        self.words = cost_words([*checked.calls.values()])
        self.epsilon = sum(charge.epsilon for charge in self.charges)
        self.release_epsilon = sum(
            call.charge.epsilon for call in checked.calls.values() if not isinstance(call.ask, SuiteAsk)
        )

    @property
    def kind(self) -> str:
        """``"query"``, ``"explain"`` or ``"describe"``."""
        return self._checked.statement.kind

    def rehearse(self) -> None:
        """Run a query over empty answers. Errors as `FrontEnd.check`."""
        if self.kind == "query":
            self._statement.rehearse()

    def result(self) -> Result:
        """Answer the rehearsed statement. Errors as `FrontEnd.run`."""
        checked = self._checked
        if checked.statement.kind != "query":
            table = self._statement.show()
            return Result(_with_cost(table, self.words) if checked.statement.kind == "explain" else table, ())
        with self._answers(checked) as (answers, debited):
            rows = {call.table: answer_table(answers[identity]) for identity, call in checked.calls.items()}
            table = self._statement.run(rows)
        made = [answers[identity] for identity in checked.calls]
        spent, cost = spent_words(checked.calls, debited), 0
        for identity in debited:
            answer, most = answers[identity], checked.calls[identity].charge.epsilon
            cost += round(answer.epsilon * 1e9) if isinstance(answer, CheckResults) else most
        return Result(table, releases_of(made), checks_of(made), diagnoses_of(made), spent, cost)


def _with_cost(plan_rows: pa.Table, words: str) -> pa.Table:
    """Add a row to an EXPLAIN: the budget that the statement would spend."""
    cost = pa.table({"explain_key": ["privacy_cost"], "explain_value": [words]})
    if plan_rows.schema != cost.schema:
        raise EngineError("the plan is damaged")
    return pa.concat_tables([cost, plan_rows])

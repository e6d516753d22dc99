"""A statement on its way: its calls as they were planned, their answers, the statement in its process, and its result.

Answers that are paid for and not yet part of a result are never lost and never given twice (`PaidAnswers`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from dpdb.doors.sql.child.remote_database import RemoteStatement
from dpdb.doors.sql.parse import Statement
from dpdb.errors import EngineError
from dpdb.privacy import PURE, Notion
from dpdb.release import RELEASE_SCHEMA, Ask, Charge, Cost, Release, Session, release_table
from dpdb.suites import CHECK_SCHEMA, CheckResults, RegisteredSuite, SuiteAsk

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis, DiagnosisAsk

# Two calls with the same identity are one release: the whole public request, with defaults filled in, and the run.
Identity: TypeAlias = tuple[str, str | None]

# Of a call: releases, the verdicts of one run of a suite, or what was named.
Answer: TypeAlias = "tuple[Release, ...] | CheckResults | Diagnosis"


class PaidAnswers:
    """Answers by request. Two statements with the same request may have failed, so it can have several answers.

    Entry points that share them take them one after the other.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[Identity, list[Answer]] = {}

    def take(self, wanted: Iterable[Identity]) -> dict[Identity, Answer]:
        """Take one answer to each request that has one; the caller must put it back or show it."""
        with self._lock:
            return {identity: kept.pop(0) for identity in wanted if (kept := self._answers.get(identity))}

    def put(self, answers: Mapping[Identity, Answer]) -> None:
        """Keep answers until a statement requests them."""
        with self._lock:
            for identity, answer in answers.items():
                self._answers.setdefault(identity, []).append(answer)

    def releases(self) -> tuple[Release, ...]:
        """Return the releases among them."""
        return releases_of(chain.from_iterable(self._answers.values()))

    def checks(self) -> tuple[CheckResults, ...]:
        """Return the verdicts among them."""
        return checks_of(chain.from_iterable(self._answers.values()))


@dataclass(frozen=True)
class PlannedCall:
    """A call that was checked.

    Attributes
    ----------
    table : str
        The name of the table that will hold its answer.
    charge : Charge
        What is debited at once, unless it is free.
    is_free : bool
        Whether it is a run of a kept suite, which was paid for when its owner opened it.
    make : callable
        Makes the answer, and pays for it; tells whether it pays now, or paid when the run was first requested.
    """

    table: str
    ask: Ask | SuiteAsk | DiagnosisAsk
    charge: Charge
    is_free: bool
    notion: Notion
    make: Callable[[], tuple[Answer, bool]]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer."""
        if isinstance(self.ask, (Ask, SuiteAsk)):
            return RELEASE_SCHEMA if isinstance(self.ask, Ask) else CHECK_SCHEMA
        from dpdb.diagnosis import DIAGNOSIS_SCHEMA

        return DIAGNOSIS_SCHEMA


def answer_table(answer: Answer) -> pa.Table:
    """Return an answer as rows."""
    return release_table(answer) if isinstance(answer, tuple) else answer.to_arrow()


def releases_of(answers: Iterable[Answer]) -> tuple[Release, ...]:
    """Return all releases among answers, in order."""
    return tuple(chain.from_iterable(answer for answer in answers if isinstance(answer, tuple)))


def checks_of(answers: Iterable[Answer]) -> tuple[CheckResults, ...]:
    """Return the verdicts among answers, by run, in order."""
    return tuple(answer for answer in answers if isinstance(answer, CheckResults))


def diagnoses_of(answers: Iterable[Answer]) -> tuple[Diagnosis, ...]:
    """Return what was named among answers, in order."""
    return tuple(answer for answer in answers if not isinstance(answer, (tuple, CheckResults)))


def spent_words(calls: Mapping[Identity, PlannedCall], debited: Collection[Identity]) -> str:
    """Return what a statement has spent now, and what was debited for the same runs before."""
    now = [call for identity, call in calls.items() if call.is_free or identity in debited]
    before = [call for identity, call in calls.items() if not call.is_free and identity not in debited]
    words = cost_words(now) if now else "nothing"
    return f"{words}; {cost_words(before)} was debited before" if before else words


def cost_words(calls: Sequence[PlannedCall]) -> str:
    """Return what a statement would spend: of releases their sum, of suites the most that a run costs."""
    charges = [call.charge for call in calls if not isinstance(call.ask, SuiteAsk)]
    words = []
    if charges or len(charges) == len(calls):
        counted = "1 release" if len(charges) == 1 else f"{len(charges)} releases"
        notion = calls[0].notion if calls else PURE
        words.append(f"{Cost.together(notion, charges).words} by {counted}")
    for call in calls:
        if isinstance(call.ask, SuiteAsk):
            most = f"at most {call.charge.cost(call.notion).words} by suite {call.ask.suite!r}"
            words.append(f"nothing by kept suite {call.ask.suite!r}" if call.is_free else most)
    return "; ".join(words)


_NOTHING = Cost(PURE, 0)


@dataclass(frozen=True)
class Result:
    """The result of a statement.

    Attributes
    ----------
    releases : tuple of Release
        The releases of the statement, in the order of the text.
    checks : tuple of CheckResults
        The verdicts of its suites, in the order of the text.
    diagnoses : tuple of Diagnosis
        What was named, in the order of the text.
    spent : str
        What it has spent now, in words: nothing for runs that were debited before.
    debited : Cost
        The same in the unit of the account, without what suites gave back.
    charged : Cost
        What its releases and checks have cost, once: also where the same run was asked again, which costs nothing.
    """

    table: pa.Table
    releases: tuple[Release, ...]
    checks: tuple[CheckResults, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    spent: str = "nothing"
    debited: Cost = _NOTHING
    charged: Cost = _NOTHING


@dataclass(frozen=True)
class Planner:
    """Where statements are planned: a session and suites that read no row, so that no plan waits for private work.

    Attributes
    ----------
    session : Session
        Of the same table and account, opened with ``rows=False``.
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
    macros: str = ""


# Charges and draws the answers to a statement's calls, and says what was debited now; after a failure in the block the
# answers are kept.
Answers: TypeAlias = "Callable[[Checked], AbstractContextManager[tuple[Mapping[Identity, Answer], set[Identity]]]]"


class Admitted:
    """A checked statement and its process; `FrontEnd.admitted` makes it. Rehearse it, then ask for its result.

    Attributes
    ----------
    charges : tuple of Charge
        What its calls are debited, without those that are free.
    kind : str
        ``"query"``, ``"explain"`` or ``"describe"``.
    makes_releases : bool
        Whether its result needs the private session.
    cost : Cost
        What its calls are debited at most.
    """

    def __init__(self, checked: Checked, statement: RemoteStatement, answers: Answers) -> None:
        self._checked, self._statement, self._answers = checked, statement, answers
        self.charges = tuple(call.charge for call in checked.calls.values() if not call.is_free)
        self.kind = checked.statement.kind
        self.makes_releases = self.kind == "query" and bool(checked.calls)
        self.words = cost_words([*checked.calls.values()])
        self._notion = next((call.notion for call in checked.calls.values()), PURE)
        self.cost = Cost.together(self._notion, self.charges)

    def rehearse(self) -> None:
        """Run a query over empty answers. Errors as `FrontEnd.check`."""
        if self.kind == "query":
            self._statement.rehearse()

    def result(self) -> Result:
        """Answer the rehearsed statement. Errors as `FrontEnd.run`."""
        checked = self._checked
        if self.kind != "query":
            table = self._statement.show()
            return Result(_with_cost(table, self.words) if self.kind == "explain" else table, ())
        with self._answers(checked) as (answers, debited):
            rows = {call.table: answer_table(answers[identity]) for identity, call in checked.calls.items()}
            table = self._statement.run(rows)
        made = [answers[identity] for identity in checked.calls]
        costs = {identity: self._units(call, answers[identity]) for identity, call in checked.calls.items()}
        now = Cost(self._notion, sum(costs[identity] for identity in debited))
        once = Cost(self._notion, sum(costs.values()))
        spent = spent_words(checked.calls, debited)
        return Result(table, releases_of(made), checks_of(made), diagnoses_of(made), spent, now, once)

    def _units(self, call: PlannedCall, answer: Answer) -> int:
        """Return what a call has cost: of a suite what it has not given back, of a run of a kept one nothing."""
        if not isinstance(answer, CheckResults):
            return call.charge.units(self._notion)
        if answer.name is not None:
            return 0
        amount = answer.epsilon if answer.rho is None else answer.rho
        return round((amount or 0) * self._notion.unit)


def _with_cost(plan_rows: pa.Table, words: str) -> pa.Table:
    """Add a row to an EXPLAIN: the budget that the statement would spend."""
    cost = pa.table({"explain_key": ["privacy_cost"], "explain_value": [words]})
    if plan_rows.schema != cost.schema:
        raise EngineError("the plan is damaged")
    return pa.concat_tables([cost, plan_rows])

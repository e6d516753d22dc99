"""`PlannedCall`: a call of a statement that was checked: its cost, the columns of its answer, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from dpdb.doors.sql.paid_answers import Answer, Identity
from dpdb.privacy import format_epsilon, format_rho
from dpdb.release import RELEASE_SCHEMA, Ask, Charge, Release, release_table
from dpdb.suites import CHECK_SCHEMA, CheckResults, SuiteAsk

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis, DiagnosisAsk

__all__ = ["PlannedCall", "answer_table", "checks_of", "cost_words", "diagnoses_of", "releases_of", "spent_words"]


@dataclass(frozen=True)
class PlannedCall:
    """A call that was checked.

    Attributes
    ----------
    table : str
        The name of the table that will hold its answer.
    ask : Ask, SuiteAsk or DiagnosisAsk
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
        rho = sum(charge.rho or 0 for charge in charges)
        also = f" and rho {format_rho(rho)}" if rho else ""
        words.append(f"epsilon {format_epsilon(sum(charge.epsilon for charge in charges))}{also} by {counted}")
    for call in calls:
        if isinstance(call.ask, SuiteAsk):
            most = f"at most epsilon {format_epsilon(call.charge.epsilon)} by suite {call.ask.suite!r}"
            words.append(f"nothing by kept suite {call.ask.suite!r}" if call.is_free else most)
    return "; ".join(words)

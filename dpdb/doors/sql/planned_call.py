"""`PlannedCall`: a call of a statement that was checked: its cost, the columns of its answer, and how it is made.

`PaidAnswers` are answers that are paid for and not yet part of a result. They are never lost and never given twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from dpdb.privacy import as_float, format_epsilon, format_rho
from dpdb.release import RELEASE_SCHEMA, Ask, Charge, Release, release_table
from dpdb.suites import CHECK_SCHEMA, CheckResults, SuiteAsk

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis, DiagnosisAsk

__all__ = ["Answer", "Identity", "PaidAnswers", "PlannedCall", "answer_table", "checks_of", "cost_words", "releases_of"]

# Two calls with the same identity are one release: the whole public request, with defaults filled in, and the run.
Identity: TypeAlias = tuple[str, str | None]

# Of a call: releases, the verdicts of one run of a suite, or what was named.
Answer: TypeAlias = "tuple[Release, ...] | CheckResults | Diagnosis"


class PaidAnswers:
    """Answers by request. Two statements with the same request may have failed, so it can have several answers."""

    def __init__(self) -> None:
        self._answers: dict[Identity, list[Answer]] = {}

    def take(self, wanted: Iterable[Identity]) -> dict[Identity, Answer]:
        """Take one answer to each request that has one; the caller must put it back or show it."""
        taken = {}
        for identity in wanted:
            kept = self._answers.get(identity)
            if kept:
                taken[identity] = kept.pop(0)
                if not kept:
                    del self._answers[identity]
        return taken

    def put(self, answers: Mapping[Identity, Answer]) -> None:
        """Keep answers until a statement requests them."""
        for identity, answer in answers.items():
            self._answers.setdefault(identity, []).append(answer)

    def __iter__(self) -> Iterator[Answer]:
        return (answer for kept in self._answers.values() for answer in kept)


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
        Makes the answer, and pays for it.
    """

    table: str
    ask: Ask | SuiteAsk | DiagnosisAsk
    charge: Charge
    is_free: bool
    make: Callable[[], Answer]

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


def cost_words(calls: Sequence[PlannedCall]) -> str:
    """Return what a statement would spend: of releases their sum, of suites the most that a run costs."""
    charges = [call.charge for call in calls if not isinstance(call.ask, SuiteAsk)]
    words = []
    if charges or len(charges) == len(calls):
        counted = "1 release" if len(charges) == 1 else f"{len(charges)} releases"
        rho = sum(charge.rho or 0 for charge in charges)
        also = f" and rho {format_rho(rho)}" if rho else ""
        words.append(f"epsilon {as_float(sum(charge.epsilon for charge in charges)):.9g}{also} by {counted}")
    for call in calls:
        if isinstance(call.ask, SuiteAsk):
            most = f"at most epsilon {format_epsilon(call.charge.epsilon)} by suite {call.ask.suite!r}"
            words.append(f"nothing by kept suite {call.ask.suite!r}" if call.is_free else most)
    return "; ".join(words)

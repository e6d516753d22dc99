"""The values that a ledger returns to its readers: the lines of its history, a summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LedgerEntry:
    """One debit of the history: `charge` in the ledger's parameter, `rows` the rows it covers in words.

    `debited` is the original debit if the charge was settled since, else None.

    `analyst` (who asked), `label` and `rule_set` (the digest of the constraints) are None where nobody gave them.
    `answer` has a dict for each published release or verdict, as `to_dict` gives it; None if there is no answer, as
    after a process that was killed between debit and answer. `suite` says of a suite of checks which it is, and None
    of a release.
    """

    number: int
    epoch: int
    reserved: str
    run_id: str | None
    charge: float
    rows: str
    request: dict[str, Any]
    answered: bool
    analyst: str | None = None
    label: str | None = None
    rule_set: str | None = None
    answer: list[dict[str, Any]] | None = None
    debited: float | None = None
    suite: str | None = None


@dataclass(frozen=True)
class LedgerAct:
    """One act of the owner in the history: raised, retired or allowed, by whom, why, and in words.

    Parameters
    ----------
    after
        Number of the debit before it, 0 if there is none: where it stands in the history.
    budget
        The total after a `raise`.
    period, at_most
        Of an `allow`; `at_most` is None where the allowance ended.
    """

    number: int
    after: int
    at: str
    kind: str
    who: str | None
    label: str | None
    words: str
    budget: float | None = None
    period: str | None = None
    at_most: float | None = None


@dataclass(frozen=True)
class UnseenRows:
    """The budget left for rows with a value of `column` that no release has covered, in the ledger's parameter."""

    column: str
    remaining: float


@dataclass(frozen=True)
class Allowance:
    """An allowance that holds now: the most that debits within its period may cost, in the ledger's parameter.

    Parameters
    ----------
    spent
        A safe bound on what any row collected within the period that the present lies in.
    remaining
        The most that this allowance lets a release of every row cost now.
    """

    period: str
    words: str
    at_most: float
    spent: float
    remaining: float


@dataclass(frozen=True)
class RecordedAnswer:
    """The recorded answer of a debit: `answer` and `request`, both as the JSON that was recorded."""

    number: int
    reserved: str
    run_id: str | None
    analyst: str | None
    label: str | None
    request: str
    answer: str


@dataclass(frozen=True)
class RecordedSuite:
    """A suite of checks in a ledger: public, without its secret. Amounts are in units of epsilon.

    Parameters
    ----------
    number
        Among the suites of the ledger, from 1 on.
    entry
        Number of the debit with which it was opened.
    opened, ended
        When it was opened; since when it is closed or, where it is not kept, answered; None while it is open.
    name
        The name of a kept suite; None for another.
    run_id
        The run id of a suite that is not kept; None for a kept one, whose runs have run ids of their own.
    runs
        How many runs have recorded something.
    reserved
        What was debited: at the opening, and for re-armed checks.
    spent
        What the recorded levels cost: the first share and the rings; once it has ended, what it was settled at.
    failed
        Checks that have failed and were not re-armed since: name and time.
    rearmed
        Checks that were re-armed, in order: name and time.
    """

    number: int
    entry: int
    opened: str
    ended: str | None
    name: str | None
    run_id: str | None
    spec: str
    runs: int
    reserved: int
    spent: int
    failed: tuple[tuple[str, str], ...]
    rearmed: tuple[tuple[str, str], ...]

    @property
    def left(self) -> int:
        """What further rings may cost; 0 once it has ended."""
        return self.reserved - self.spent if self.ended is None else 0


@dataclass(frozen=True)
class RecordedLevel:
    """The record of one level of a run, or of level 0 when the run ended; `answer` as it was given."""

    run_id: str
    level: int
    answered: str
    answer: str


@dataclass(frozen=True)
class RecordedRearm:
    """A check of a kept suite that was re-armed, and what was debited for its next rings; 0 if the suite pays."""

    check: str
    charge: int


@dataclass(frozen=True)
class LedgerSummary:
    """The summary of a ledger: its promise, its spending and the budget left, in its own parameter.

    Parameters
    ----------
    spent
        Sum over epochs of a safe bound on what any row collected.
    remaining
        The most of the budget that a release of every row may still cost; a release of fewer rows may cost more.
    sequential
        What the same releases cost without parallel composition.
    epsilon
        The epsilon of (epsilon, delta) that `spent` amounts to; infinite for delta 0 unless the ledger is pure.
    rows_per_person, unit
        What the first release bound it to; see `SourceMark`.
    retired
        Since when nothing is released any more, by whom and why; None of a ledger in use.
    """

    notion: str
    parameter: str
    budget: float
    spent: float
    remaining: float
    sequential: float
    epsilon: float
    delta: float
    append_only: bool
    rows_per_person: int | None
    unit: str | None
    epoch: int
    releases: int
    unanswered: int
    created: str
    retired: str | None = None
    allowances: tuple[Allowance, ...] = ()

    @property
    def may_cost(self) -> float:
        """The most that a release of every row may cost now, by the budget and every allowance; 0 once retired."""
        if self.retired is not None:
            return 0.0
        return min([self.remaining, *(allowance.remaining for allowance in self.allowances)])

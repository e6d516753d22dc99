"""The values that a ledger hands out: a reservation, the lines of its history, a summary."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # who makes no ledger opens no file of one
    from dpdb.ledger.run_lock import RunLock

__all__ = ["LedgerEntry", "LedgerSummary", "RecordedAnswer", "Reservation", "now"]


def now() -> str:
    """The time of a line."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class Reservation:
    """A debit, committed before any noise is drawn; it is never given back.

    Parameters
    ----------
    number
        Its line in the ledger.
    answer
        What the run has already answered; then nothing is drawn or spent again.
    lock
        Keeps other processes from answering the same run id; held until `close`.
    """

    number: int
    answer: str | None = None
    lock: RunLock | None = None

    def close(self) -> None:
        """Let go of the run id. May be called twice."""
        if self.lock is not None:
            self.lock.close()


@dataclass(frozen=True)
class LedgerEntry:
    """One line of the history: `charge` in the ledger's parameter, `rows` the rows it covers in words.

    `analyst`, `label` and `rule_set` (the digest or name of the constraints) are None where nobody gave them.
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


@dataclass(frozen=True)
class RecordedAnswer:
    """The answer that a debit bought: `answer` as it was recorded, for the `request` as it was asked, both as JSON."""

    number: int
    reserved: str
    run_id: str | None
    analyst: str | None
    label: str | None
    request: str
    answer: str


@dataclass(frozen=True)
class LedgerSummary:
    """The summary of a ledger: what it promises and what is left, in its own parameter.

    Parameters
    ----------
    spent
        Sum over epochs of a safe bound on what any row collected.
    remaining
        What a release of every row may still cost; a release of fewer rows may cost more.
    sequential
        What the same releases cost without parallel composition.
    epsilon
        The epsilon of (epsilon, delta) that `spent` amounts to; infinite for delta 0 unless the ledger is pure.
    rows_per_person, unit
        What the first release bound it to; see `SourceMark`.
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

"""`Reservation`: the receipt of a debit, needed to draw. A session without a ledger uses nothing else here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a session without a ledger loads no lock
    from dpdb.ledger.lines import RecordedLevel, RecordedRearm
    from dpdb.ledger.store.file import RunLock


@dataclass(frozen=True)
class Reservation:
    """A debit, committed before any noise is drawn; it is never given back.

    Parameters
    ----------
    answer
        The recorded answer of the run; with it nothing is drawn or spent again.
    lock
        Keeps other processes from answering the same run id; held until `close`.
    is_low
        Whether less than a tenth of the budget, or of an allowance, may be left for its rows.
    is_new
        Whether it was written just now, not by an earlier try of the run.
    """

    number: int
    answer: str | None = None
    lock: RunLock | None = None
    is_low: bool = False
    is_new: bool = False

    def close(self) -> None:
        """Release the lock on the run id. May be called twice."""
        if self.lock is not None:
            self.lock.close()


@dataclass(frozen=True, kw_only=True)
class SuiteReservation(Reservation):
    """The receipt of one run of a suite; with its secret until the run has its answer. Its debit is the suite's.

    Its lock keeps other processes from this run, or from every run of a kept suite.

    Parameters
    ----------
    name
        The name of a kept suite; None for another.
    secret
        The text that `make_secret` returned when the suite was opened; never shown. Empty if the run has its answer.
    levels
        What this run has recorded so far, by level.
    spent
        Units that all recorded levels of the suite cost together, with those of earlier runs; 0 before the first.
    reserved
        Units that were debited for the suite: at most so much may be spent.
    failed
        Checks of the suite that have failed and were not re-armed since, with the time of their failure.
    history
        All that the suite has recorded so far, and which checks were re-armed, in order.
    analyst
        Who asked for this run; None for the owner.
    same_rows
        Whether a run that goes on reads the rows of its debit, as the ledger has compared: what it found quiet before
        a kill is so. Rows may be others in later runs of a kept suite, and more in an append-only ledger.
    """

    suite: int
    run_id: str
    name: str | None
    secret: str = field(repr=False)
    levels: Mapping[int, str]
    spent: int
    reserved: int
    failed: Mapping[str, str]
    history: Sequence[RecordedLevel | RecordedRearm] = ()
    analyst: str | None = None
    same_rows: bool = False

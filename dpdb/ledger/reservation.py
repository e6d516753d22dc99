"""`Reservation`: a debit, for the one who draws after it. All that a session without a ledger needs of this room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # who makes no ledger opens no file of one
    from dpdb.ledger.run_lock import RunLock

__all__ = ["Reservation"]


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
    is_low
        Whether less than a tenth of the budget, or of an allowance, may be left for its rows.
    """

    number: int
    answer: str | None = None
    lock: RunLock | None = None
    is_low: bool = False

    def close(self) -> None:
        """Let go of the run id. May be called twice."""
        if self.lock is not None:
            self.lock.close()

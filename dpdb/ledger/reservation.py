"""`Reservation`: the receipt of a debit, needed to draw. A session without a ledger uses nothing else of this room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a session without a ledger loads no lock
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
        The recorded answer of the run; with it nothing is drawn or spent again.
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
        """Release the lock on the run id. May be called twice."""
        if self.lock is not None:
            self.lock.close()

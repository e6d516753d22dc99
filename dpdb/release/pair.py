"""`PairOfAccounts`: one answer about two tables, paid by the accounts of both before a row of either is read.

**Order.** First both accounts are asked whether they can pay, so that a refusal spends nothing. Then both are debited,
then the noise is drawn, then the answer is recorded in both, and only then it is published. Whatever stops the process
in between, no account has an answer that another one has not paid for: a kill between the debits wastes the first one.
Asked again under its run id the first debit is found, the second is made, and the answer is drawn. Where one account
has recorded the answer before a kill, it is that answer, which the other gets too: nothing is drawn twice.

**Locks.** Each ledger keeps a lock on the run id until the answer is recorded. They are taken in the order of the
ledgers' names, whichever side they are of, so no two processes wait for one another.

**What a debit pays for.** The answer is epsilon-DP for one unit of either table (`dpdb.measures.compared`). As a
function of one table, the other as it is, it is so for a unit of that table; so each ledger's sum holds by itself. A
person with rows of both tables loses at most what both ledgers count together.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from dpdb.errors import ParameterError
from dpdb.ledger import Reservation
from dpdb.stopping import reached

if TYPE_CHECKING:
    from dpdb.engine import Progress, Side
    from dpdb.release.account import Account
    from dpdb.release.costs import Charge
    from dpdb.release.statistics import PrivateSlices


class PairRun(Protocol):
    """One run that asks two tables, and is answered at once."""

    @property
    def charges(self) -> tuple[Charge, Charge]:
        """The cost for the left table, and for the right one."""

    def load(self) -> None:
        """Load the code of the draw. Reads no row."""

    def rehearse(self, side: Side, slices: PrivateSlices) -> None:
        """Ask what the draw will ask of a side, of a table without rows."""

    def draw(self, left: PrivateSlices, right: PrivateSlices, progress: Progress) -> str:
        """Read private rows and draw noise, once; the answer is JSON, and public."""


@dataclass(frozen=True)
class _BothReservations(Reservation):
    """The receipts of both debits."""

    each: tuple[tuple[Account, Reservation], ...] = ()
    held: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        """Release the locks on the run id. May be called twice."""
        self.held.close()


class PairOfAccounts:
    """Two accounts that pay for one answer (implements `dpdb.release.account.Payer`).

    Parameters
    ----------
    sides
        Each account with its charge, the left table's first. One account of both sides, as a budget that sessions
        share, pays once: a unit of either table is charged for, and no unit is charged twice.

    Raises
    ------
    ParameterError
        If one ledger is named for both tables: a ledger counts for the rows of one.
    """

    def __init__(self, sides: Sequence[tuple[Account, Charge]]) -> None:
        (left, _), (right, _) = sides
        if left.place is not None and left.place == right.place:
            raise ParameterError(
                "both tables name one ledger, and a ledger counts for the rows of one table: give each its own; "
                "nothing was spent"
            )
        self._sides = sorted(sides[:1] if left is right else sides, key=lambda side: side[0].place or "")

    def will_draw(self, charge: Charge) -> bool:
        """Return whether neither account has a recorded answer of the run."""
        del charge  # each has its own
        return all(account.will_draw(own) for account, own in self._sides)

    def debit(self, charge: Charge) -> Reservation:
        """Debit both accounts, or give the answer of the run that one of them has recorded.

        Raises
        ------
        DpdbError
            As `Account.debit`. If one refuses, neither has spent anything, unless somebody else has spent between the
            question whether they can pay and the debit.
        """
        del charge
        for account, own in self._sides:
            account.check_together([own])
        with ExitStack() as held:
            each = []
            for account, own in self._sides:
                each.append((account, held.enter_context(closing(account.debit(own)))))
                reached("one side debited")
            answer = next((one.answer for _, one in each if one.answer is not None), None)
            made = _BothReservations(0, answer, each=tuple(each))
            if answer is not None:
                self.record(made, answer)
            return _BothReservations(0, answer, each=made.each, held=held.pop_all())

    def record(self, reservation: Reservation, answer: str) -> None:
        """Keep the answer in each account that has none yet."""
        assert isinstance(reservation, _BothReservations), "it is that of a debit"
        for account, own in reservation.each:
            if own.answer is None:
                account.record(own, answer)
                reached("one side recorded")

"""The account to which a session's releases are charged: in memory (`Budget`) or in a ledger (`LedgerAccount`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dpdb.ledger import Reservation
from dpdb.release.accounts.charge import Charge

__all__ = ["Account", "Reservation"]


class Account(Protocol):
    """Every release of every door goes: `debit`, draw noise, `record`, publish; `Reservation.close` in the end."""

    def will_draw(self, charge: Charge) -> bool:
        """Return whether a debit will be followed by a draw: not for a run that is answered."""

    def debit(self, charge: Charge) -> Reservation:
        """Spend, before any noise is drawn; a reservation with an answer is a run that was answered before.

        Raises
        ------
        BudgetExceededError
            If it is more than what remains; nothing is spent then.
        ParameterError
            If it is paid in rho, which this account does not count.
        """

    def check_together(self, charges: Sequence[Charge], *, new_epoch: bool = False) -> None:
        """Check that releases could be debited one after another now; spend nothing.

        With `new_epoch` an epoch will be opened before if the rows have changed.

        Raises
        ------
        BudgetExceededError
            If they cost more together than what remains.
        ParameterError
            If one of them is paid in rho, which this account does not count.
        LedgerError
            If a run id was used for another request, or by somebody else, or the rows have changed.
        """

    def confirm_rows(self, charges: Sequence[Charge]) -> int | None:
        """Open a new epoch if one of the charges is to be drawn and the rows have changed; return its number."""

    def cost_together(self, charges: Sequence[Charge]) -> float:
        """Bound what releases with these charges cost together, in the account's parameter; spend nothing."""

    def record(self, reservation: Reservation, answer: str) -> None:
        """Keep the answer, before it is published."""

    def spent(self) -> float:
        """Return what was spent so far."""

    def remaining(self) -> float | None:
        """Return what a release of the whole table may still cost; None if that is unlimited."""

    def little_left(self) -> str | None:
        """Say what is left if the newest debit has left little; None otherwise, and where nothing is left behind."""

    def close(self) -> None:
        """Let go of files. May be called twice."""

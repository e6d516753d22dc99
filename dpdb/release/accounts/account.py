"""The account to which a session's releases are charged: in memory (`Budget`) or in a ledger (`LedgerAccount`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from dpdb.ledger import Reservation, SuiteReservation
from dpdb.release.accounts.charge import Charge

if TYPE_CHECKING:
    from dpdb.release.runs import SuiteLevel, SuiteRun

__all__ = ["Account", "Reservation", "SuiteReservation"]


class Account(Protocol):
    """The account of a session. Each release goes: `debit`, draw noise, `record`, publish; `Reservation.close` last."""

    @property
    def has_debited(self) -> bool:
        """Whether the newest `debit` or `open_suite` has spent anything, not an earlier try of its run."""

    def will_draw(self, charge: Charge) -> bool:
        """Return whether a debit will be followed by a draw: not if the run has a recorded answer."""

    def debit(self, charge: Charge) -> Reservation:
        """Debit a charge before any noise is drawn; a run that was answered before gives a reservation with the answer.

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
        """Bound the joint cost of releases with these charges, in the account's parameter; spend nothing."""

    def record(self, reservation: Reservation, answer: str) -> None:
        """Keep the answer, before it is published."""

    def open_suite(self, run: SuiteRun) -> SuiteReservation:
        """Debit all that a suite may cost, with its secret, or go on with a run of it. Errors as `debit`."""

    def opens_suite(self, run: SuiteRun) -> bool:
        """Return whether a run debits its suite: not a later run of a kept one. Runs debited before count as well."""

    def will_test(self, run: SuiteRun) -> bool:
        """Return whether a run will test, as `will_draw`: not if its verdicts are recorded."""

    def kept_suite(self, name: str) -> str | None:
        """Return with what a kept suite of this name was opened, as JSON; None if there is none."""

    def record_level(self, held: SuiteReservation, level: SuiteLevel) -> None:
        """Keep what one level has found, before anything of it is shown."""

    def end_suite(self, held: SuiteReservation, answer: str) -> None:
        """Keep the answer of a run, and lower the charge to what was spent unless the suite is kept."""

    def spent(self) -> float:
        """Return the budget spent so far."""

    def remaining(self) -> float | None:
        """Return the budget left for a release of the whole table; None if that is unlimited."""

    def little_left(self) -> str | None:
        """Say how much budget is left if the newest debit has left little; None otherwise, and in memory."""

    def close(self) -> None:
        """Close its files. May be called twice."""

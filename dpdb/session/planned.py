"""What a release would be charged: every check of the real call, stopped where it would spend."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from dpdb.accounting.ledger_lines import Reservation
from dpdb.session.account import Charge
from dpdb.session.session import Session

__all__ = ["planned_charge"]


def planned_charge(session: Session, release: Callable[[Session], object]) -> Charge:
    """Return what `release`, a call of one of the session's doors, would be charged. Spends nothing, reads no row.

    The call itself runs, as far as its debit: what it would refuse before it spends is refused here.

    Raises
    ------
    DpdbError
        As the call, except `BudgetExceededError`: no budget is asked.
    """
    account = session._account
    session._account = _Asking()
    try:
        release(session)
    except _AskedError as asked:
        return asked.charge
    finally:
        session._account = account
    raise AssertionError("a release that debits nothing")


class _AskedError(Exception):
    def __init__(self, charge: Charge) -> None:
        super().__init__()
        self.charge = charge


class _Asking:
    """An account that tells the charge and ends the call: nothing is drawn."""

    def debit(self, charge: Charge) -> NoReturn:
        raise _AskedError(charge)

    def record(self, reservation: Reservation, answer: str) -> NoReturn:
        raise AssertionError(f"nothing was drawn for {reservation}: {answer}")

    def spent(self) -> float:
        return 0.0

    def remaining(self) -> None:
        return None

    def close(self) -> None:
        """Nothing to let go of."""

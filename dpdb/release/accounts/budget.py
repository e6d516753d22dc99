"""The in-memory budget of a session: debits are checked first and never given back."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from threading import Lock
from typing import TYPE_CHECKING

from dpdb.errors import BudgetExceededError, ParameterError
from dpdb.ledger import Reservation, SuiteReservation
from dpdb.privacy import as_float, format_epsilon, parse_epsilon
from dpdb.release.accounts.charge import Charge

if TYPE_CHECKING:
    from dpdb.release.runs import SuiteLevel, SuiteRun

__all__ = ["Budget", "as_budget"]


class Budget:
    """Total epsilon that the releases of a session may cost together (sequential composition).

    Parameters
    ----------
    total : number or None
        None means unlimited, and `repr` says so.
    """

    has_debited = True  # a budget remembers no runs

    def __init__(self, total: float | int | str | Decimal | None) -> None:
        self._total = None if total is None else parse_epsilon(total, name="budget")
        self._spent = 0
        self._lock = Lock()

    def will_draw(self, charge: Charge) -> bool:
        """Return True: a budget records no answers, so noise is drawn after every debit."""
        del charge
        return True

    def debit(self, charge: Charge) -> Reservation:
        """Debit a charge before any noise is drawn.

        Raises
        ------
        BudgetExceededError
            If it is more than what remains; nothing is spent then.
        ParameterError
            If it is paid in rho.
        """
        self.spend(_epsilon(charge))
        return Reservation(0, is_new=True)

    def spend(self, epsilon: int) -> None:
        """Spend nano-epsilon, or raise as `check`."""
        with self._lock:
            self.check(epsilon)
            self._spent += epsilon

    def check_together(self, charges: Sequence[Charge], *, new_epoch: bool = False) -> None:
        """Raise as `debit` if the charges together exceed the remaining budget or are paid in rho; spend nothing."""
        del new_epoch
        self.check(sum(map(_epsilon, charges)))

    def confirm_rows(self, charges: Sequence[Charge]) -> None:
        """Open nothing: a budget has no epochs."""

    def cost_together(self, charges: Sequence[Charge]) -> float:
        """Return the sum of the charges, in epsilon."""
        return as_float(sum(map(_epsilon, charges)))

    def check(self, epsilon: int) -> None:
        """Raise `BudgetExceededError` if nano-epsilon exceeds the remaining budget; spend nothing."""
        remaining = None if self._total is None else self._total - self._spent
        if remaining is not None and epsilon > remaining:
            raise BudgetExceededError(
                f"budget refused: requested epsilon {format_epsilon(epsilon)}, remaining "
                f"{format_epsilon(remaining)}, short by {format_epsilon(epsilon - remaining)}; nothing was spent",
                requested=as_float(epsilon),
                remaining=as_float(remaining),
            )

    def record(self, reservation: Reservation, answer: str) -> None:
        """Keep nothing: the answer is published at once, and the session ends with its process."""

    def open_suite(self, run: SuiteRun) -> SuiteReservation:
        """Debit all that a suite may cost, and draw its secret; a kept suite needs a ledger."""
        if run.name is not None:
            raise ParameterError("a suite is kept in a ledger; name one with ledger= (--ledger)")
        self.spend(_epsilon(run.charge))
        return SuiteReservation(
            number=0,
            suite=0,
            run_id=run.charge.run_id or "",
            name=None,
            secret=run.make_secret(),
            levels={},
            answer=None,
            spent=0,
            reserved=run.charge.epsilon,
            failed={},
            is_new=True,
        )

    def opens_suite(self, run: SuiteRun) -> bool:
        """Return True: a budget keeps no suites."""
        del run
        return True

    def will_test(self, run: SuiteRun) -> bool:
        """Return True, as `will_draw`."""
        del run
        return True

    def kept_suite(self, name: str) -> None:
        """Return None: a suite is kept in a ledger."""

    def record_level(self, held: SuiteReservation, level: SuiteLevel) -> None:
        """Keep nothing, as `record`."""

    def end_suite(self, held: SuiteReservation, answer: str) -> None:
        """Give back what the suite did not need; sound because budgets are pure (see `dpdb.ledger.suites`)."""
        del answer
        with self._lock:
            self._spent -= held.reserved - held.spent

    def little_left(self) -> None:
        """Return None: a budget is often made for one release only."""

    def close(self) -> None:
        """Do nothing: a budget has no files."""

    def spent(self) -> float:
        """Epsilon spent so far."""
        return as_float(self._spent)

    def remaining(self) -> float | None:
        """Epsilon that may still be spent; None if the budget is unlimited."""
        return None if self._total is None else as_float(self._total - self._spent)

    def __repr__(self) -> str:
        if self._total is None:
            return f"UNLIMITED budget, {format_epsilon(self._spent)} spent"
        return f"budget {format_epsilon(self._total)}, {format_epsilon(self._total - self._spent)} remaining"


def _epsilon(charge: Charge) -> int:
    """Return all nano-epsilon of a charge; refuse a charge in rho."""
    if charge.rho is not None:
        raise ParameterError(
            "rho= needs a ledger that counts in rho (dpdb budget create --notion zcdp); else ask with epsilon="
        )
    return charge.epsilon


def as_budget(budget: Budget | float | int | str | Decimal | None) -> Budget:
    """Return a new budget of a total, or the given budget, which several sessions may share."""
    return budget if isinstance(budget, Budget) else Budget(budget)

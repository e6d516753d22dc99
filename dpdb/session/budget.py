"""The in-memory budget of a session: debits are checked first and never given back."""

from __future__ import annotations

from decimal import Decimal
from threading import Lock

from dpdb.errors import BudgetExceededError
from dpdb.privacy.epsilon import as_float, format_epsilon, parse_epsilon

__all__ = ["Budget"]


class Budget:
    """Total epsilon that the releases of a session may cost together (sequential composition).

    Parameters
    ----------
    total : number or None
        None means unlimited, and `repr` says so.
    """

    def __init__(self, total: float | int | str | Decimal | None) -> None:
        self._total = None if total is None else parse_epsilon(total, name="budget")
        self._spent = 0
        self._lock = Lock()

    def debit(self, epsilon: int) -> None:
        """Spend nano-epsilon, before any noise is drawn.

        Raises
        ------
        BudgetExceededError
            If it is more than what remains; nothing is spent then.
        """
        with self._lock:
            if self._total is not None and epsilon > self._total - self._spent:
                remaining = self._total - self._spent
                raise BudgetExceededError(
                    f"budget refused: requested epsilon {format_epsilon(epsilon)}, remaining "
                    f"{format_epsilon(remaining)}, short by {format_epsilon(epsilon - remaining)}; nothing was spent"
                )
            self._spent += epsilon

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

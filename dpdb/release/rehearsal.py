"""`Rehearsal`: an account that notes what a release would be charged and stops it there.

With it in place of the real account a release runs all its checks and nothing else: the debit comes before any row is
read and before noise is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.release.account import Charge, Reservation

__all__ = ["Rehearsal", "RehearsedError"]


class RehearsedError(Exception):
    """The release has passed its checks; `charge` is what it would have been debited."""

    def __init__(self, charge: Charge) -> None:
        super().__init__()
        self.charge = charge


class Rehearsal:
    """An account in which every debit ends the release, before anything is spent, read or drawn."""

    def will_draw(self, charge: Charge) -> bool:
        """Nothing is ever drawn."""
        del charge
        return False

    def debit(self, charge: Charge) -> Reservation:
        """End the release."""
        raise RehearsedError(charge)

    def check_together(self, charges: Sequence[Charge]) -> None:
        """Everything fits."""

    def cost_together(self, charges: Sequence[Charge]) -> float:
        """Nothing is charged here."""
        del charges
        return 0.0

    def record(self, reservation: Reservation, answer: str) -> None:
        """Nothing is released, so nothing is recorded."""
        del reservation, answer
        raise RuntimeError("a rehearsed release must not be made")

    def spent(self) -> float:
        """Nothing is ever spent."""
        return 0.0

    def remaining(self) -> float | None:
        """Nothing is ever spent."""
        return None

    def close(self) -> None:
        """Nothing to let go of."""

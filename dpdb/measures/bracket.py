"""`Bracket`: an exact number that is computed only where what is known of it does not decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Bracket"]


@dataclass(frozen=True)
class Bracket:
    """An exact number between two known ones. What it decides is what the number itself would.

    Attributes
    ----------
    low, high : int
        The number is neither below nor above. Private, like the number.
    compute : function to int
        The number itself.
    """

    low: int
    high: int
    compute: Callable[[], int]

    def exact(self) -> Bracket:
        """Return the same number, known."""
        if self.low == self.high:
            return self
        value = self.compute()
        return Bracket(value, value, lambda: value)

    def passes(self, test: Callable[[int], bool]) -> bool:
        """Return what `test` says of the number; as the number grows, its answer changes once at most."""
        at_high = test(self.high)
        return at_high if test(self.low) == at_high else test(self.exact().high)

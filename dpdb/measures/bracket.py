"""`Bracket`: an exact number that is computed only if its known bounds do not decide a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Bracket"]


@dataclass(frozen=True)
class Bracket:
    """An exact number between two known bounds. Tests on it give the same results as on the number itself.

    Attributes
    ----------
    low, high : int
        The number is at least `low` and at most `high`. Private, like the number.
    compute : function to int
        The number itself.
    """

    low: int
    high: int
    compute: Callable[[], int]

    def exact(self) -> Bracket:
        """Return the number, computed, as a bracket."""
        if self.low == self.high:
            return self
        value = self.compute()
        return Bracket(value, value, lambda: value)

    def passes(self, test: Callable[[int], bool]) -> bool:
        """Return `test` of the number; the result of `test` may change at most once as the number grows."""
        at_high = test(self.high)
        return at_high if test(self.low) == at_high else test(self.exact().high)

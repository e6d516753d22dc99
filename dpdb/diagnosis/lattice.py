"""`Lattice`: what is compared, as whole steps: rows to delete, or their excess over a public rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Lattice"]


@dataclass(frozen=True)
class Lattice:
    """Scores tau - p n as integers: tau the fewest rows to delete of a slice of n rows, p = r/s public.

    Sensitivity
    -----------
    One more row raises tau by 0 to 1 (in steps of 1/parts: tau is monotone, and the row itself may go) and n by 1, in
    its own slice only. In steps of 1/(parts s) that slice's score changes by -parts r to parts (s - r), every other
    score by 0: `low` and `high` for any number of slices, of any number of columns, and for the slices of one column,
    which are disjoint, `greatest` is the sum of all changes.

    Attributes
    ----------
    parts : int
        1 where tau is a whole number, 2 where it is a fractional vertex cover: 2 tau is an integer.
    rate : Fraction
        p, at least 0 and below 1.
    """

    parts: int
    rate: Fraction = Fraction(0)

    @property
    def row(self) -> int:
        """Steps of one row."""
        return self.parts * self.rate.denominator

    @property
    def low(self) -> int:
        """Least change of a score by one more row."""
        return -self.parts * self.rate.numerator

    @property
    def high(self) -> int:
        """Greatest change of a score by one more row."""
        return self.row + self.low

    @property
    def greatest(self) -> int:
        """Greatest absolute change of all scores of one column together."""
        return max(self.high, -self.low)

    def score(self, parts: int, rows: int) -> int:
        """Return the score of a slice of `rows` rows whose tau is `parts` steps of tau."""
        return self.rate.denominator * parts + self.low * rows

    def at_least(self, steps: int) -> float:
        """Return rows that a number of steps is at least, and that are whole or a half."""
        return _plain(Fraction(math.floor(Fraction(self.parts * steps, self.row)), self.parts))

    def at_most(self, steps: int) -> float:
        """Return rows that a number of steps is at most, and that are whole or a half."""
        return _plain(Fraction(math.ceil(Fraction(self.parts * steps, self.row)), self.parts))


def _plain(number: Fraction) -> float:
    return int(number) if number.denominator == 1 else float(number)

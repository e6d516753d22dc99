"""`SuitePlan`: all that is public about how a suite is tested."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from dpdb.suites.mechanism.banks import Bank, Tested, oriented_range

__all__ = ["Certain", "SuitePlan"]

Certain = Literal["fail", "pass"]


@dataclass(frozen=True)
class SuitePlan:
    """All that is public about how a suite is tested.

    Statistics, limits and thresholds of checks that fail below their limits are negated here ("oriented"), so that
    every test asks whether a number is large. Steps are those of the lattice.

    Attributes
    ----------
    tests : tuple of Tested
        In the order of the file.
    epsilon : int
        Nano-epsilon reserved.
    confidence : Fraction
        That no check within its limit fails (or, for `certain="pass"`, none over it passes), all together.
    certain : str
        `fail`: the threshold is limit + s. `pass`: it is limit - ln(n / beta) / e1.
    runs, keys : int
        How many runs s is meant for, and how many slices have a threshold noise each.
    lattice : int
        Steps per row.
    banks : tuple of Bank
        With a threshold noise each, per key.
    first_share : int
        Nano-epsilon that the threshold noises cost.
    first_reach : int
        Steps that a shift of all threshold noises adds up to at most: the larger of the sums of b and of -a.
    levels : tuple of int
        Nano-epsilon of a ring at each level, for a test whose statistic one unit moves by R; increasing.
    offsets : tuple of tuple of int
        By bank and level, in steps; the last is 0.
    margins : tuple of int
        s by bank, in steps.
    known : int
        The most, in steps, by which a statistic is above the threshold plus offset of a test that was quiet.
    thresholds : tuple of int
        By test, oriented, in steps.
    """

    tests: tuple[Tested, ...]
    epsilon: int
    confidence: Fraction
    certain: Certain
    runs: int
    keys: int
    lattice: int
    banks: tuple[Bank, ...]
    first_share: int
    first_reach: int
    levels: tuple[int, ...]
    offsets: tuple[tuple[int, ...], ...]
    margins: tuple[int, ...]
    known: int
    thresholds: tuple[int, ...]

    @cached_property
    def bank_of(self) -> dict[int, int]:
        """By test, the place of its bank."""
        return {test: place for place, bank in enumerate(self.banks) for test in bank.tests}

    def ring_cost(self, test: int, level: int) -> int:
        """Return the nano-epsilon that a ring of a test at a level (from 1) costs, rounded up.

        It is max(b - a_i, b_i - a) of R times the level's amount, which buys noise for a shift by R (Theorem 5).
        """
        bank = self.banks[self.bank_of[test]]
        low, high = oriented_range(self.tests[test], self.lattice)
        reach = max(bank.high - low, high - bank.low)
        return -(-self.levels[level - 1] * reach // bank.reach)

    def steps(self, test: int, count: int | Fraction, counted: int = 0) -> int:
        """Return the statistic of a test in steps: its count, for a share less the share of the rows counted.

        Parameters
        ----------
        test : int
            Its place in the suite.
        count : int or Fraction
            Of violations, or of rows.
        counted : int
            The rows that a share is of.
        """
        rate = self.tests[test].rate
        steps = (count - (0 if rate is None else rate * counted)) * self.lattice
        if steps != int(steps):
            raise ValueError("a statistic lies between two steps of its lattice")
        return int(steps)

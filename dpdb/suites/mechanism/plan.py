"""`SuitePlan`: all that is public about how a suite is tested: its tests and their banks.

Tests whose statistics one row moves the same way are a bank and share a threshold noise.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

from dpdb.errors import ParameterError

Direction = Literal["above", "below"]
Severity = Literal["warn", "fail"]

_SHARES = 10**6  # steps per row where there are shares: they are written with at most 4 decimals of a percent


@dataclass(frozen=True)
class Tested:
    """One limit of one check, as its test needs it.

    Attributes
    ----------
    low, high : Fraction
        What one unit more changes the statistic by, in rows: at least `low` <= 0, at most `high` >= 0.
    direction : str
        Whether the check fails `above` its limit or `below` it.
    limit : Fraction
        In rows: of a share, what the statistic f - p n (violations less p times the rows counted) is compared with, 0.
    severity : str
        `fail` is tested before `warn` within a level.
    rate : Fraction or None
        The share p, if the limit is one.
    bits : bool
        Whether the statistic is in bits, each of which is one row here, of steps of 10^-6.
    halves : bool
        Whether the statistic is the fractional cover, which moves by half rows. It is a lower bound of the fewest rows
        to delete, and at least half of them: a check fails by it, and passes by twice as much.
    name : str
        Of the check, for messages.
    both_ways : bool
        Whether one unit more may raise the statistic or lower it by as much: it lies in a bank of such.
    halved : bool
        Whether `limit` and `rate` are half of the check's own (`for_certain_pass`).
    """

    low: Fraction
    high: Fraction
    direction: Direction
    limit: Fraction
    severity: Severity = "fail"
    rate: Fraction | None = None
    halves: bool = False
    bits: bool = False
    name: str = ""
    halved: bool = False
    both_ways: bool = False

    @property
    def sign(self) -> int:
        """1 if the check fails above its limit, -1 if below: what the statistic and the limit are multiplied by."""
        return 1 if self.direction == "above" else -1

    @property
    def is_shown(self) -> bool:
        """Whether a pass of the check is certain, whatever is of others: it fails below its limit.

        What is to arrive has not until it is seen. With a certain failure a small limit would pass on an empty table:
        no count is far below it.
        """
        return self.direction == "below"

    def for_certain_pass(self) -> Tested:
        """Return what is tested where a pass shall be certain: of a fractional cover f against half the limit.

        The fewest rows to delete are at most 2 f, so f <= limit / 2 shows that they are within the limit; likewise
        f <= p n / 2. A share is rounded down to the lattice, so that twice it is at most p.

        Sensitivity: of a unit of k rows f changes by 0 to k, and f - q n by -q k to k; where it is at most k (1 - p)
        for p (every row in f is in n), it is at most k (1 - q) for q < p.
        """
        if not self.halves or self.halved:
            return self
        if self.rate is None or self.rate == 0:
            return replace(self, limit=self.limit / 2, halved=True)
        rate, rows = Fraction(int(self.rate * _SHARES) // 2, _SHARES), -self.low / self.rate
        high = min(rows, self.high + (self.rate - rate) * rows)
        return replace(self, rate=rate, low=-rate * rows, high=high, halved=True)

    def unit(self, lattice: int) -> int:
        """Return how many steps of the lattice lie between two values that the statistic may have."""
        return 1 if self.rate is not None or self.bits else lattice // 2 if self.halves else lattice


@dataclass(frozen=True)
class Bank:
    """Tests that share one threshold noise.

    Attributes
    ----------
    tests : tuple of int
        Their places in the suite.
    low, high : int
        a and b of the whole bank, in steps, of the statistics times their signs.
    """

    tests: tuple[int, ...]
    low: int
    high: int

    @property
    def reach(self) -> int:
        """R = b - a in steps: the most that a ring's argument rises by when the threshold noise is shifted."""
        return self.high - self.low


def steps_per_row(tests: Sequence[Tested]) -> int:
    """Return the lattice: steps of 10^-6 rows if there is a share, or bits, else halves if there are any, else rows."""
    if any(test.rate is not None or test.bits for test in tests):
        return _SHARES
    return 2 if any(test.halves for test in tests) else 1


def banks_of(tests: Sequence[Tested], lattice: int) -> tuple[Bank, ...]:
    """Return the banks of a suite: by direction and by the sign of what a row changes.

    Opposite signs in one bank would add up in R (orphans [-k, 0] and look-ups [0, k]: 2 k instead of k), while noises
    of two banks are independent: a transcript's probability factorises by bank. So are keys on which two tables do not
    agree ([-k, k]) apart from others, whose R they would double.

    Raises
    ------
    ParameterError
        If a limit or a share is not on the lattice, or no row can change a statistic.
    """
    members: dict[tuple[int, bool, bool], list[int]] = {}
    for place, test in enumerate(tests):
        _check(test, lattice)
        members.setdefault((test.sign, test.high >= -test.low, test.both_ways), []).append(place)
    banks = []
    for places in members.values():
        ranges = [oriented_range(tests[place], lattice) for place in places]
        banks.append(Bank(tuple(places), min(low for low, _ in ranges), max(high for _, high in ranges)))
    return tuple(banks)


def oriented_range(test: Tested, lattice: int) -> tuple[int, int]:
    """Return a_i and b_i in steps, rounded outward, of the statistic times its sign."""
    low, high = test.low * lattice, test.high * lattice
    if test.sign < 0:
        low, high = -high, -low
    return low.__floor__(), high.__ceil__()


def _check(test: Tested, lattice: int) -> None:
    name = f" of {test.name}" if test.name else ""
    if not test.low <= 0 <= test.high or test.low == test.high:
        raise ParameterError(f"one row must be able to change the statistic{name}")
    if (test.limit * lattice).denominator != 1 or (test.rate is not None and (test.rate * lattice).denominator != 1):
        raise ParameterError(f"the limit{name} has more digits than a suite can test: shares have at most six decimals")


Certain = Literal["fail", "pass"]


@dataclass(frozen=True)
class ShareRows:
    """The rows that shares are of, each set of them once. Public.

    Attributes
    ----------
    of : tuple of (int or None)
        By test, the place of what its share is of; None if its limit is none. Empty where nothing is known of them.
    moved : tuple of int
        By place, how many of these rows one unit has at most, in all slices together.
    """

    of: tuple[int | None, ...] = ()
    moved: tuple[int, ...] = ()

    @classmethod
    def among(cls, asked: Sequence[tuple[Hashable, int] | None]) -> ShareRows:
        """Return them from what each test's share is of, and how many of these rows one unit has at most."""
        moved = {each[0]: each[1] for each in asked if each is not None}
        places = {rows: place for place, rows in enumerate(moved)}
        return cls(tuple(None if each is None else places[each[0]] for each in asked), tuple(moved.values()))


NO_SHARES = ShareRows()


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
        `fail`: the threshold is limit + s. `pass`: it is limit - ln(n / beta) / e1; so it always is of checks that fail
        below their limits (`Tested.is_shown`).
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
    row_local : tuple of tuple of int
        By statistic that may get a capped number after the levels (`dpdb.suites.mechanism.capped`), its tests. Empty
        where no numbers follow.
    unit_reach : int
        K: by how much one unit changes one of these statistics.
    owned : bool
        Whether a unit may have rows in several slices, whose numbers are then drawn together.
    apart : bool
        Whether numbers follow only where they are bought, as of a kept suite: the levels keep nothing for them and have
        all of the doubt, and numbers have as much of their own.
    shares : ShareRows
        What shares are of, which gets numbers beside those of the statistics.
    shows_below : bool
        Whether a pass of a check that fails below its limit is certain; not of a suite that was kept before it was.
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
    row_local: tuple[tuple[int, ...], ...] = ()
    unit_reach: int = 1
    owned: bool = False
    apart: bool = False
    shares: ShareRows = NO_SHARES
    shows_below: bool = True

    @property
    def doubt(self) -> Fraction:
        """What the levels may be wrong with: beta, or half of it where numbers may follow, which have the other."""
        return (1 - self.confidence) / (2 if self.row_local and not self.apart else 1)

    @property
    def kept(self) -> int:
        """Nano-epsilon that the levels leave for numbers: a quarter, while a row-local test has not rung."""
        return self.epsilon // 4 if self.row_local and not self.apart else 0

    def level_of(self, record: int) -> int:
        """Return the level of a record: those after the levels and the numbers are of a second sweep."""
        return record if record <= len(self.levels) else record - len(self.levels) - 1

    @cached_property
    def bank_of(self) -> dict[int, int]:
        """By test, the place of its bank."""
        return {test: place for place, bank in enumerate(self.banks) for test in bank.tests}

    @cached_property
    def statistic_of(self) -> dict[int, int]:
        """By row-local test, the place of its statistic in `row_local`."""
        return {test: place for place, tests in enumerate(self.row_local) for test in tests}

    def rows_of(self, statistics: Iterable[int]) -> list[int]:
        """Return the rows that shares of some row-local statistics are of, by place, each once."""
        of = [self.shares.of[test] for place in statistics for test in self.row_local[place]] if self.shares.of else []
        return list(dict.fromkeys(place for place in of if place is not None))

    def ring_cost(self, test: int, level: int) -> int:
        """Return the nano-epsilon that a ring of a test at a level (from 1) costs, rounded up.

        It is max(b - a_i, b_i - a) of R times the level's amount, which buys noise for a shift by R (Theorem 5).
        """
        reach, whole = self._reaches[test]
        return -(-self.levels[level - 1] * reach // whole)

    @cached_property
    def _reaches(self) -> list[tuple[int, int]]:
        """By test, max(b - a_i, b_i - a) and the R of its bank."""
        banks = [self.banks[self.bank_of[place]] for place in range(len(self.tests))]
        ranges = [oriented_range(test, self.lattice) for test in self.tests]
        return [
            (max(bank.high - low, high - bank.low), bank.reach) for bank, (low, high) in zip(banks, ranges, strict=True)
        ]

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

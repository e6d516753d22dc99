"""`draw_numbers`: one number for each open check, however many fail. The mechanism, with its proof.

A check is **row-local** if its statistic is a sum over units u of v_i(u) in 0..K, v_i a function of u's own rows (and
of public parents) alone. A(u) is the sum of v_i(u) over the m statistics that are drawn together. For a public whole
k, w(u) = min(1, k / A(u)), rounded down to a multiple of 1/64: a unit counts in at most k checks. Then

    g_i = sum over u of w(u) v_i(u),        J_k = sum over u of (1 - w(u)) max_i v_i(u),

and g_i <= f_i <= g_i + J_k for the exact statistic f_i, because 0 <= (1 - w) v_i <= (1 - w) max_i v_i.

**Theorem 6.** With one unit more, (g_i) changes by at most k in l1 and by at most min(k, sqrt(K k)) in l2, and J_k by
0 to K, however many checks there are and however many fail. So independent discrete Laplace noise of scale k / e on
all g_i is e-DP, and discrete Gaussian noise of sensitivity min(k, sqrt(K k)) is zCDP.

Proof. v_i and w depend on u alone, so g(D + u) - g(D) = w(u) (v_i(u))_i. In l1 this is w A <= k. In l2, squared,
w^2 sum of v_i^2 <= w^2 K A <= K k because w <= 1 and w A <= k; and l2 <= l1. J_k changes by (1 - w(u)) max_i v_i(u),
which is in [0, K]. QED

All is in steps of 1/64 rows: of (g_i) the sensitivity is 64 k steps in l1, ceil(64 min(k, sqrt(K k))) in l2, of J_k
64 K. It is individual accounting (Feldman and Zrnic 2021) in closed form.

**Beside them** other statistics f_j may be drawn, which one unit changes by at most r_j, in all slices together: of
dependencies, keys, rules between rows, counts of rows.

**Corollary.** With one unit more, (g, f) changes by at most k + sum of r_j in l1 and by at most sqrt(min(k^2, K k) +
sum of r_j^2) in l2. Proof. The changes of g are those of Theorem 6, that of f_j over all slices is at most r_j in l1,
so in l2; l1 adds them up, l2 their squares. QED  The same noise on all of them is e-DP (or zCDP) at that sensitivity.
Steps of f_j are rounded down: a change by r <= r_j moves a rounded number by at most 64 r_j rounded up, since
floor(x + r) - floor(x) <= ceil(r).

A share p of n rows asks for f - p n. The rows n_d of all distinct shares are drawn by themselves, in rows: one unit
changes all of them by at most the sum of its own r_d in l1 and the root of the sum of squares in l2.

The draws compose one after another, each at a share that is fixed by what was published before:

1. k, by a noisy maximum over a public list of minus (public width of the bounds at k, plus J_k): every score changes by
   -64 K to 0, so its range is 64 K (`dpdb.privacy.noisy_max`). With one candidate nothing is drawn.
2. J_k with noise. At k = m K nothing is capped, so J_k is 0 by definition, and its share goes to the numbers.
3. The m numbers, with those beside them.
4. The rows that shares are of.

**Bounds.** Let beta be the doubt. Each noise exceeds its tail M at beta / m, M' at beta / (2 m), t at beta / 2 with at
most these probabilities. So but for beta no number is above g_i + M, and then y_i - M > T proves f_i >= g_i > T: no
false fail. But for another beta, f_i <= y_i + M' + max(0, J + t) for all of them (M for M' and nothing for J where k is
m K). Both hold together at 2 beta.

In general a fail needs one side of each number (m is the count of these sides) and, of shares, one of the rows: beta
is halved between the two kinds. A bound needs the other sides, and J: another beta, in as many equal parts as there
are kinds. A check that fails below its limit has the sides exchanged; one side of a number may be of both kinds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from dpdb.errors import ParameterError
from dpdb.privacy import (
    bounded_range_max,
    discrete_gaussian,
    discrete_gaussians,
    discrete_laplace,
    discrete_laplaces,
    format_epsilon,
    format_rho,
    gaussian_scale,
    gaussian_tail,
    laplace_scale,
    laplace_tail,
    noisy_max,
    split,
)

STEPS = 64
"""Steps in a row: weights are multiples of 1 / 64."""

_SHARES = (5, 25, 70)  # percent for the choice of k, for J_k, for the numbers
_OF_ROWS = 10  # of those 70, for the rows that shares are of
_MOST = 2**60  # steps between the bounds of a number; samplers take 64 bits
Paid = Literal["epsilon", "rho"]

Cell = tuple[int, int]
"""A statistic in a slice: the places of the slice and of the line."""


@dataclass(frozen=True)
class CappedSums:
    """What one scan gives: everything by A, the sum of v_i(u) of a unit. Private.

    Attributes
    ----------
    tops : mapping of int to int
        By A >= 1, the sum of max_i v_i(u) over the units that have it.
    counts : sequence of mapping of int to int
        By statistic, by A, the sum of v_i(u).
    """

    tops: Mapping[int, int]
    counts: Sequence[Mapping[int, int]]

    def capped(self, statistic: int, most: int) -> int:
        """Return g_i in steps, where a unit counts in at most `most` checks."""
        return sum(weight(most, a) * count for a, count in self.counts[statistic].items())

    def lost(self, most: int) -> int:
        """Return J_k in steps."""
        return sum((STEPS - weight(most, a)) * top for a, top in self.tops.items())


def weight(most: int, broken: int) -> int:
    """Return w = min(1, k / A), rounded down, in steps.

    Examples
    --------
    >>> weight(3, 2), weight(3, 3), weight(3, 4), weight(1, 100)
    (64, 64, 48, 0)
    """
    return STEPS if broken <= most else STEPS * most // broken


@dataclass(frozen=True)
class Beside:
    """Numbers that are drawn as they are, without a cap. Public.

    Attributes
    ----------
    moved : tuple of int
        By statistic, how many steps (of `rows`: rows) one unit changes it by at most, in all slices together.
    numbers : int
        How many numbers there are: of each statistic one in each slice that is drawn.
    sides : int
        How many ends of them can make a check fail: both of a number that has limits in both directions.
    """

    moved: tuple[int, ...] = ()
    numbers: int = 0
    sides: int = 0

    def sensitivity(self, paid: Paid) -> int:
        """Return how much one unit changes all of them: in l1, or in l2, rounded up, where rho is paid."""
        return sum(self.moved) if paid == "epsilon" else _root(sum(each * each for each in self.moved))


@dataclass(frozen=True)
class CappedPlan:
    """All that is public about the numbers of some statistics that are drawn together.

    Attributes
    ----------
    reach : int
        K, by how much one unit may change one of them.
    amount : int
        What all draws together may cost: nano-epsilon, or pico-rho.
    beta : float
        The doubt of the fails, and once more of the bounds.
    paid : str
        `epsilon` (discrete Laplace) or `rho` (discrete Gaussian).
    others : Beside
        Numbers that are drawn with these, without a cap; their changes are in steps.
    rows : Beside
        Numbers of the rows that shares are of; their changes are in rows.
    """

    count: int
    reach: int
    amount: int
    beta: float
    paid: Paid = "epsilon"
    others: Beside = Beside()
    rows: Beside = Beside()

    def refuse_too_small(self) -> None:
        """Raise `ParameterError` if the amount cannot be split, or the noise is beyond all whole numbers. Public.

        To be called before the debit: what is drawn after it must not fail.
        """
        found = f"rho {format_rho(self.amount)}" if self.paid == "rho" else f"epsilon {format_epsilon(self.amount)}"
        try:
            fits = max(map(self.width, self.candidates)) < _MOST
        except ParameterError:
            fits = False
        if not fits:
            raise ParameterError(f"{found} is too small for numbers of {self.count + self.others.numbers:,} statistics")

    @cached_property
    def candidates(self) -> tuple[int, ...]:
        """The public list of k: 1, 2, 3, 4, 6, 8, 12, ... and m K; 0 alone where nothing is capped."""
        return candidates_of(self.count * self.reach) if self.count else (0,)

    @cached_property
    def shares(self) -> tuple[int, int, int, int]:
        """The amounts for the choice of k, for J_k, for the numbers and for the rows; the sum is `amount`."""
        of_choice, of_lost, of_numbers = _SHARES if len(self.candidates) > 1 else (0, 0, _SHARES[2])
        of_rows = _OF_ROWS if self.rows.numbers else 0
        asked = (of_choice, of_lost, of_rows, of_numbers - of_rows)  # what rounding leaves is the numbers'
        found = iter(split(self.amount, [each for each in asked if each]))
        choice, lost, rows, numbers = (next(found) if each else 0 for each in asked)
        return choice, lost, numbers, rows

    def of_numbers(self, most: int) -> int:
        """Return the amount for the numbers: with that for J_k where nothing is capped."""
        _, lost, numbers, _ = self.shares
        return numbers + lost if self.caps_nothing(most) else numbers

    def caps_nothing(self, most: int) -> bool:
        """Whether no unit can break more than k checks."""
        return most >= self.count * self.reach

    def sensitivity(self, most: int) -> int:
        """Return how much one unit changes all numbers, in steps: in l1, or in l2 where rho is paid."""
        if self.paid == "epsilon":
            return STEPS * most + self.others.sensitivity(self.paid)
        squared = STEPS**2 * min(most * most, self.reach * most)
        return _root(squared + sum(each * each for each in self.others.moved))

    def scale(self, most: int) -> float:
        """Return the scale of the noise of one number, in steps."""
        return self._scale(self.sensitivity(most), self.of_numbers(most))

    def tail(self, most: int, chance: float) -> int:
        """Return the steps that the noise of one number exceeds with at most this probability."""
        return self._tail(self.scale(most), chance)

    def _scale(self, sensitivity: int, amount: int) -> float:
        return (laplace_scale if self.paid == "epsilon" else gaussian_scale)(sensitivity, amount)

    def _tail(self, scale: float, chance: float) -> int:
        return (laplace_tail if self.paid == "epsilon" else gaussian_tail)(scale, chance)

    @property
    def _sides(self) -> int:
        return self.count + self.others.sides

    def _kinds(self, most: int) -> int:
        """Return of how many kinds the noises of bounds are: numbers, J_k, rows."""
        return 1 + (not self.caps_nothing(most)) + (self.rows.numbers > 0)

    @cached_property
    def lost_tail(self) -> int:
        """t: the steps that the noise of J_k exceeds with at most its part of beta, a half without shares."""
        return self._tail(self._scale(STEPS * self.reach, self.shares[1]), self.beta / (2 + (self.rows.numbers > 0)))

    def below(self, most: int) -> int:
        """M in steps: how far a number may be above the capped statistic, all together, for fails."""
        return self.tail(most, self.beta / ((1 + (self.rows.numbers > 0)) * self._sides))

    def above(self, most: int) -> int:
        """M' in steps: how far the capped statistic may be above a number, all together, for bounds."""
        return self.tail(most, self.beta / (self._kinds(most) * self._sides))

    @cached_property
    def rows_scale(self) -> float:
        """The scale of the noise of the rows that shares are of, in rows."""
        return self._scale(self.rows.sensitivity(self.paid), self.shares[3])

    def rows_off(self, most: int | None) -> int:
        """Return by how many rows those that shares are of may be off, all together: for bounds; None: for fails."""
        kinds = 2 if most is None else self._kinds(most)
        return self._tail(self.rows_scale, self.beta / (kinds * self.rows.sides)) if self.rows.numbers else 0

    def width(self, most: int) -> int:
        """Return how wide the bounds are in steps, but for J_k."""
        lost = 0 if self.caps_nothing(most) else self.lost_tail
        return self.below(most) + self.above(most) + lost


def candidates_of(largest: int) -> tuple[int, ...]:
    """Return the public list of k up to m K.

    Examples
    --------
    >>> candidates_of(7), candidates_of(1)
    ((1, 2, 3, 4, 6, 7), (1,))
    """
    found, base = [1], 2
    while base < largest:
        found += [each for each in (base, base + base // 2) if each < largest and each > found[-1]]
        base *= 2
    return (*(each for each in found if each < largest), largest)


@dataclass(frozen=True)
class Numbers:
    """The published numbers of some statistics; to be recorded before anything of them is shown.

    Attributes
    ----------
    level : int
        The place of this record among those of the run's levels.
    cells : tuple of (int, int)
        The statistics, by slice and line.
    most : int
        k: a unit counts in at most so many of these checks.
    lost : int or None
        J_k with its noise, in steps; None where nothing is capped.
    values : tuple of int
        The number of each statistic, in steps.
    rows : tuple of int
        The numbers of the rows that shares are of, in rows.
    """

    level: int
    cells: tuple[Cell, ...]
    amount: int
    most: int
    lost: int | None
    values: tuple[int, ...]
    rows: tuple[int, ...] = ()

    def to_json(self) -> str:
        """Return the record; without `rows` where there are none, as versions before them wrote it."""
        fields = {name: value for name, value in vars(self).items() if name != "rows" or value}
        return json.dumps({"kind": "numbers", **fields}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Numbers:
        """Return what was recorded."""
        try:
            record = json.loads(text)
            lost = record["lost"]
            return cls(
                level=int(record["level"]),
                cells=tuple((int(key), int(line)) for key, line in record["cells"]),
                amount=int(record["amount"]),
                most=int(record["most"]),
                lost=None if lost is None else int(lost),
                values=tuple(map(int, record["values"])),
                rows=tuple(map(int, record.get("rows", ()))),
            )
        except (KeyError, TypeError, ValueError):
            raise ParameterError("recorded numbers of the suite cannot be read") from None


def draw_numbers(
    plan: CappedPlan,
    sums: CappedSums,
    cells: Sequence[Cell],
    level: int,
    *,
    others: Sequence[int] = (),
    rows: Sequence[int] = (),
) -> Numbers:
    """Choose k, then draw J_k, all numbers and the rows of shares. Costs `plan.amount`, whatever is chosen.

    Parameters
    ----------
    sums : CappedSums
        Private.
    cells : sequence of (int, int)
        What the statistics are, for the record: those of `sums`, then the others.
    level : int
        The place of the record.
    others : sequence of int
        Statistics that are not capped, in steps. Private.
    rows : sequence of int
        The rows that shares are of. Private.
    """
    if (len(sums.counts), len(others), len(rows)) != (plan.count, plan.others.numbers, plan.rows.numbers):
        raise ValueError("a number for each statistic, and none besides")
    if len(cells) != plan.count + plan.others.numbers:
        raise ValueError("a cell for each number")
    most = _choose(plan, sums)
    lost = None if plan.caps_nothing(most) else _lost(plan, sums.lost(most))
    exact = [*(sums.capped(place, most) for place in range(plan.count)), *others]
    values = tuple(f + noise for f, noise in zip(exact, _noises(plan, most), strict=True))
    return Numbers(level, tuple(cells), plan.amount, most, lost, values, _rows(plan, rows))


def _choose(plan: CappedPlan, sums: CappedSums) -> int:
    if len(plan.candidates) == 1:
        return plan.candidates[0]
    scores = [-(plan.width(most) + sums.lost(most)) for most in plan.candidates]
    choose = noisy_max if plan.paid == "epsilon" else bounded_range_max
    return plan.candidates[choose(scores, -STEPS * plan.reach, 0, plan.shares[0])]


def _lost(plan: CappedPlan, lost: int) -> int:
    add = discrete_laplace if plan.paid == "epsilon" else discrete_gaussian
    return add(lost, STEPS * plan.reach, plan.shares[1])[0]


def _noises(plan: CappedPlan, most: int) -> list[int]:
    draw = discrete_laplaces if plan.paid == "epsilon" else discrete_gaussians
    return draw(plan.count + plan.others.numbers, plan.sensitivity(most), plan.of_numbers(most))


def _rows(plan: CappedPlan, rows: Sequence[int]) -> tuple[int, ...]:
    if not rows:
        return ()
    draw = discrete_laplaces if plan.paid == "epsilon" else discrete_gaussians
    noises = draw(len(rows), plan.rows.sensitivity(plan.paid), plan.shares[3])
    return tuple(n + noise for n, noise in zip(rows, noises, strict=True))


def _root(squared: int) -> int:
    """Return the square root, rounded up."""
    root = math.isqrt(squared)
    return root + (root * root < squared)


@dataclass(frozen=True)
class NumberBounds:
    """What a number says of its statistic, in rows: of f, or, for a share p of n rows, of f - p n.

    Attributes
    ----------
    lower, upper : Fraction
        It is at least `lower`, certainly beyond a limit below it; and at most `upper`.
    """

    lower: Fraction
    upper: Fraction
    number: Fraction


def bounds_of_number(plan: CappedPlan, numbers: Numbers, place: int) -> NumberBounds:
    """Return the bounds of a statistic: all lower ones hold but for beta, all upper ones but for another beta."""
    value = numbers.values[place]
    lower = -((plan.below(numbers.most) - value) // STEPS)
    upper = (value + plan.above(numbers.most) + most_lost(plan, numbers)) // STEPS
    least = max(0, lower)
    return NumberBounds(Fraction(least), Fraction(max(least, upper)), Fraction(value, STEPS))


def less_share(
    plan: CappedPlan, numbers: Numbers, of: NumberBounds, rate: Fraction, rows: int, *, sign: int
) -> NumberBounds:
    """Return the bounds of f - p n from those of f and the number of the n rows.

    n is at least 0. A fail needs the end of n that speaks for the check, a bound the other one.

    Parameters
    ----------
    of
        The bounds of f.
    rows
        The place of n among `numbers.rows`.
    sign
        1 of a check that fails above its limit, -1 of one that fails below it.
    """
    counted, for_fails, for_bounds = numbers.rows[rows], plan.rows_off(None), plan.rows_off(numbers.most)
    up, down = (for_fails, for_bounds) if sign > 0 else (for_bounds, for_fails)
    return NumberBounds(
        of.lower - rate * max(0, counted + up), of.upper - rate * max(0, counted - down), of.number - rate * counted
    )


def short_rows(plan: CappedPlan, numbers: Numbers) -> int:
    """Return the most rows that a number misses because of the cap, with the confidence of the bounds."""
    return most_lost(plan, numbers) // STEPS


def most_lost(plan: CappedPlan, numbers: Numbers) -> int:
    """Return the most steps that a number misses because of the cap."""
    return 0 if numbers.lost is None else max(0, numbers.lost + plan.lost_tail)

"""`DiagnosisPlan`: what a diagnosis would name on a table of a public size, before anything is spent."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpdb.diagnosis.prepare import PreparedDiagnosis
from dpdb.errors import ParameterError
from dpdb.privacy import as_float, as_fraction, laplace_scale
from dpdb.release import population_words

_WIDEST = 10_000.0  # scales in steps beyond it are made coarser: only the quotient of lead and scale counts
_CUT = 45  # scales beyond which noise has probability below 1e-19
_POINTS = 20_000


def chance_of_largest(leads: Mapping[int, int], scale: float) -> float:
    """Return the chance that one of several noisy scores is the largest, all with discrete Laplace noise.

    Exact but for rounding: the sum over its noise of the product of the others' distribution functions. A tie is lost.

    Parameters
    ----------
    leads : mapping of int to int
        By how many steps its score exceeds others: how many there are of each lead.
    scale : float
        Of the noise, in steps.
    """
    coarser = max(1.0, scale / _WIDEST)
    scale /= coarser
    end = math.ceil(_CUT * scale)
    q = math.exp(-1 / scale)
    x = np.arange(-end, end + 1)
    mass = (1 - q) / (1 + q) * q ** np.abs(x).astype(float)
    below = np.concatenate([[0.0], np.cumsum(mass)])  # below[i]: noise < x[i]
    product = np.ones(len(x))
    for lead, count in leads.items():
        place = np.clip(x + math.floor(lead / coarser) + end, 0, len(x))
        product *= below[place] ** count
    return float(min(1.0, (mass * product).sum()))


def chance_of_noisy_max(leads: Mapping[int, int], scale: float) -> float:
    """Return the chance that `noisy_max` picks a score, with exponential noise of a scale: a mean over its quantiles.

    Parameters as `chance_of_largest`.
    """
    u = (np.arange(_POINTS) + 0.5) / _POINTS  # exp(-noise / scale) of the one
    product = np.ones(_POINTS)
    for lead, count in leads.items():
        product *= np.clip(1 - u * math.exp(min(700.0, -lead / scale)), 0, None) ** count
    return float(product.mean())


def smallest_lead(chance: Callable[[Fraction], float], wanted: float) -> int:
    """Return the fewest rows of lead for which a chance is at least as wanted; the chance grows with the lead."""
    most = 1
    while chance(Fraction(most)) < wanted:
        most *= 2
    return bisect_left(range(most), True, lo=most // 2 + 1, key=lambda rows: chance(Fraction(rows)) >= wanted)


DIRT = Fraction(1, 100)
"""The share of one slice's rows that must go, in the example that a plan computes with."""

_MOST_ROWS = 2**40


class DiagnosisPlan:
    """The chances of a prepared diagnosis where one slice has `DIRT` and the others none, all of equal size.

    With several columns the slice is one of the column with the most keys, and its dirt lies evenly in the slices of
    the other columns. All of it is public: it hangs on what is asked and on `rows`. Nothing is read or spent.

    Attributes
    ----------
    rows : int or None
        The public number of rows; None if none was given.
    """

    def __init__(self, prepared: PreparedDiagnosis, rows: int | None = None) -> None:
        if rows is not None and (isinstance(rows, bool) or not 1 <= rows <= _MOST_ROWS):
            raise ParameterError(f"rows must be a whole number from 1 to {_MOST_ROWS:,}, got {rows!r}")
        self.prepared, self.rows = prepared, rows
        self._keys = [len(own.predicates) for _, own in prepared.columns]

    @property
    def in_slice(self) -> int:
        """Rows of one slice of the column with the most keys, of `rows`."""
        return (self.rows or 0) // max(self._keys)

    @property
    def dirty(self) -> int:
        """Rows to delete of the slice that has `DIRT`, or bits, rounded down."""
        return math.floor(self.in_slice * DIRT)

    @cached_property
    def chance(self) -> float | None:
        """The chance that this slice is named first; None without `rows` or slices."""
        if self.rows is None or not self._keys:
            return None
        return self.chance_of(Fraction(self.dirty), self.in_slice)

    @property
    def too_small(self) -> bool:
        """Whether the slice would be named less often than not."""
        return self.chance is not None and self.chance < 0.5

    def chance_of(self, dirty: Fraction, in_slice: int = 0) -> float:
        """Return the chance to be named of a slice of so many rows with so many to delete, beside clean ones."""
        lattice, shares = self.prepared.lattice, self.prepared.shares
        if len(self._keys) == 1:
            leads = {math.floor(dirty * lattice.row): self._keys[0] - 1}
            return chance_of_largest(leads, laplace_scale(lattice.greatest, shares.slices))
        most, rate, leads = max(self._keys), self.prepared.ask.rate, Counter[int]()
        place = self._keys.index(most)
        for column, keys in enumerate(self._keys):
            rows = Fraction(in_slice * most, keys)
            there = Fraction(0) if column == place else dirty / keys
            lead = dirty - there + rate * (rows - in_slice)
            leads[math.floor(lead * lattice.row)] += keys - (column == place)
        return chance_of_noisy_max(leads, float(lattice.row / as_fraction(shares.worst)))

    def lead(self, wanted: float) -> int:
        """Return the rows to delete, or bits, by which a slice must lead its column to be named with a chance."""
        lattice = self.prepared.lattice
        scale = laplace_scale(lattice.greatest, self.prepared.shares.slices)
        return smallest_lead(_of_rows(lattice.row, max(self._keys), scale), wanted)

    def rule_lead(self, wanted: float) -> int:
        """Return the rows to delete, or bits, by which a rule must lead to be named with a chance, at least."""
        parts = self.prepared.rule_parts
        scale = laplace_scale(parts, self.prepared.shares.rules)
        return smallest_lead(_of_rows(parts, len(self.prepared.each), scale), wanted)

    @property
    def half_width(self) -> float:
        """How far the bounds of the widest column are from a noisy count, in rows."""
        return self.prepared.lattice.at_most(self.prepared.half_width(max(self._keys)))

    @property
    def words(self) -> list[str]:
        """What can be told apart, in sentences."""
        slices = self._slice_words() if self._keys else []
        return [*slices, *self._rule_words(), *population_words(self.prepared.table.unit.population)]

    def _slice_words(self) -> list[str]:
        columns, ask, shares = self.prepared.columns, self.prepared.ask, self.prepared.shares
        unit = self.prepared.table.unit.rows
        names = ", ".join(name for name, _ in columns)
        what, some = self._what, self._some
        if ask.expected is not None:
            what += f" beyond {100 * float(ask.rate):g}% of its rows"
        found = [
            f"{sum(self._keys):,} slices of {names} are compared by {what}, for epsilon "
            f"{as_float(self.prepared.charge.epsilon):.12g} in all; the worst {min(ask.top, max(self._keys))} are named"
        ]
        if len(columns) > 1:
            worst, rest = (float(as_fraction(each * unit)) for each in (shares.worst, shares.slices))
            found.append(
                f"the worst column and key are named with epsilon {worst:g}, the slices of that column with {rest:g}"
            )
        found.append(
            f"a slice is named before the others of its column if it leads by {some(self.lead(0.5))} (an even chance) "
            f"or {some(self.lead(0.99))} (99%); its bounds are about {self._half_width} {self._unit}s to either "
            f"side, all together at {100 * ask.confidence:.12g}% confidence"
        )
        if self.chance is not None:
            verdict = ": too small to tell" if self.too_small else ""
            rows = f"{self.rows:,} rows in {max(self._keys):,} slices of {self.in_slice:,}"
            found.append(
                f"{rows}: a slice {self._example} beside clean ones is named first with "
                f"probability {_percent(self.chance)}{verdict}"
            )
        found.append(unseen_words([(name, len(own.predicates)) for name, own in columns]))
        return found

    def _rule_words(self) -> list[str]:
        if not self.prepared.each:
            return []
        return [
            f"which of {len(self.prepared.each)} rules has the most {self._what} is named; it must lead by "
            f"{self._some(self.rule_lead(0.5))} for an even chance, by {self._some(self.rule_lead(0.99))} for 99%"
        ]

    @property
    def _half_width(self) -> str:
        return f"{self.half_width:,.3g}" if self.prepared.ask.in_bits else f"{self.half_width:,.0f}"

    @property
    def _unit(self) -> str:
        return "bit" if self.prepared.ask.in_bits else "row"

    @property
    def _what(self) -> str:
        return "decisions to clean (bits)" if self.prepared.ask.in_bits else "rows to delete"

    @property
    def _example(self) -> str:
        dirty = self._some(self.dirty)
        return (
            f"with a decision for 1% of its rows ({dirty})" if self._unit == "bit" else f"of which 1% must go ({dirty})"
        )

    def _some(self, count: int) -> str:
        return f"{count:,} {self._unit}{'' if count == 1 else 's'}"


def unseen_words(columns: list[tuple[str, int]]) -> str:
    """Say what is not looked at: `columns` are names with their numbers of keys."""
    named = " and ".join(f"{name} is none of its {keys:,} keys" for name, keys in columns)
    return f"rows whose {named} are not seen"


def _of_rows(row: int, candidates: int, scale: float) -> Callable[[Fraction], float]:
    return lambda lead: chance_of_largest({math.floor(lead * row): candidates - 1}, scale)


def _percent(chance: float) -> str:
    return "over 99.9%" if chance > 0.999 else "below 1%" if chance < 0.01 else f"{100 * chance:.3g}%"

"""RNoise: random changes of cells (paper A, section 6.1)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpdb.constraints import DenialConstraint, load_constraints
from dpdb.owner.dirt.cell import Value
from dpdb.owner.dirt.column import Column, constrained_columns, with_columns
from dpdb.owner.dirt.parameters import Purpose, check_real, check_seed, generator

__all__ = [
    "ZipfDomain",
    "change_count",
    "rnoise",
]


class ZipfDomain:
    """An active domain whose value of frequency rank r is drawn with probability proportional to 1 / r**skew.

    Parameters
    ----------
    values
        Distinct values, ascending; of equally frequent ones the smaller has the smaller rank.
    counts
        How often each occurs.
    skew
        0 is uniform.
    """

    def __init__(self, values: list[Value], counts: npt.NDArray[np.int64], skew: float) -> None:
        self._values = [values[k] for k in np.argsort(-counts, kind="stable")]
        self._rank = {value: rank for rank, value in enumerate(self._values)}
        weights = np.arange(1, len(values) + 1, dtype=float) ** -skew
        # Summed from the rare end: there, sums from the frequent end would lose all precision to cancellation.
        self._tails: list[float] = np.cumsum(weights[::-1]).tolist()

    def draw_other(self, current: Value | None, rng: np.random.Generator) -> Value | None:
        """Draw a value other than the current one; return the current one if there is no other."""
        count = len(self._values)
        own = -1 if current is None else self._rank.get(current, -1)
        if count == 0 or (count == 1 and own == 0):
            return current
        if own < 0:
            return self._values[self._at(rng.random() * self._tail(0))]
        rarer, kept = self._tail(own + 1), self._tail(own)
        commoner = self._tail(0) - kept
        mass = rng.random() * (rarer + commoner)
        rank = self._at(mass if mass < rarer else kept + mass - rarer)
        if rank == own:  # rounding at a border
            rank = own + 1 if own + 1 < count else own - 1
        return self._values[rank]

    def _tail(self, rank: int) -> float:
        """Return the weight of this rank and all higher ones."""
        return self._tails[-1 - rank] if rank < len(self._tails) else 0.0

    def _at(self, mass: float) -> int:
        """Return the highest rank whose tail exceeds `mass`."""
        return max(0, len(self._tails) - 1 - bisect_right(self._tails, mass))


def rnoise(
    table: pa.Table,
    constraints: Sequence[DenialConstraint],
    *,
    alpha: float,
    typo: float = 0.5,
    skew: float = 0.0,
    seed: int | None = None,
) -> pa.Table:
    """Change cells of constrained columns at random, as paper A describes RNoise (its published code differs).

    Makes ``round(alpha * rows * columns)`` changes, where `columns` counts all columns. Each takes a random row and a
    random column among those that occur in a constraint, and puts there a typo or another value of the column's
    active domain, which is that of `table`. A cell may be hit more than once.

    Parameters
    ----------
    table : pyarrow.Table
        Not changed.
    constraints : sequence of DenialConstraint
        Only their columns matter.
    alpha : float
        Noise level, above 0 and at most 1.
    typo : float
        Probability of a typo: an edited character, a changed digit, a date some days off, a flipped truth value. NULL
        cells get a domain value instead.
    skew : float
        Zipf skew beta: a domain value of frequency rank r is drawn with probability proportional to 1 / r**beta, given
        that it differs from the current one; 0 is uniform. A column with one value keeps it.
    seed : int, optional
        The same seed and version give the same table.

    Returns
    -------
    pyarrow.Table
        Same schema and row order; unconstrained columns are those of `table`.

    Raises
    ------
    ParameterError, UnknownColumnError, ConstraintTypeError
        For parameters out of range, no constraints, unknown columns, and columns of types that noise cannot change.
    """
    check_real("alpha", alpha, low=0, high=1, above_low=True)
    typo = check_real("typo", typo, low=0, high=1)
    skew = check_real("skew", skew, low=0)
    rng = generator(check_seed(seed), Purpose.RNOISE)
    columns = constrained_columns(table, load_constraints(list(constraints), table.column_names))
    changes = change_count(table, alpha)
    if not changes:
        return table
    rows = rng.integers(table.num_rows, size=changes)
    chosen = rng.integers(len(columns), size=changes, dtype=np.uint16)
    typos = rng.random(changes) < typo
    changed = {}
    for k, column in enumerate(columns):
        hit = chosen == k
        changed[column.name] = _dirtied(column, rows[hit], typos[hit], skew, rng)
    return with_columns(table, changed)


def change_count(table: pa.Table, alpha: float) -> int:
    """Return how many changes RNoise makes."""
    return round(alpha * int(table.num_rows) * int(table.num_columns))


def _dirtied(
    column: Column,
    rows: npt.NDArray[np.int64],
    typos: npt.NDArray[np.bool_],
    skew: float,
    rng: np.random.Generator,
) -> pa.ChunkedArray:
    """Change one column, in the order of the changes."""
    if not len(rows):
        return column.result({})
    domain = ZipfDomain(*column.counted_domain, skew)
    touched, position = np.unique(rows, return_inverse=True)
    values: list[Value | None] = column.values_at(touched)
    make_typo = column.cell.typo
    for at, is_typo in zip(position.tolist(), typos.tolist(), strict=True):
        old = values[at]
        values[at] = make_typo(old, rng) if is_typo and old is not None else domain.draw_other(old, rng)
    return column.result(dict(zip(touched.tolist(), values, strict=True)))

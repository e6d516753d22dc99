"""The generators of noise of paper A, section 6.1: `rnoise` changes random cells, `conoise` violates constraints."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpdb.constraints import ColumnRef, DenialConstraint, Operator, Predicate, load_constraints
from dpdb.errors import ConstraintTypeError, ParameterError
from dpdb.owner.dirt.cell import FloatCell, Key, Value, pick
from dpdb.owner.dirt.column import Column, constrained_columns, with_columns
from dpdb.owner.dirt.parameters import Purpose, check_count, check_real, check_seed, generator


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
    column: Column, rows: npt.NDArray[np.int64], typos: npt.NDArray[np.bool_], skew: float, rng: np.random.Generator
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


# Predicates on one cell may undo each other; then all are tried again, at most this often altogether.
PASSES = 20


def conoise(
    table: pa.Table, constraints: Sequence[DenialConstraint], *, iterations: int = 200, seed: int | None = None
) -> pa.Table:
    """Make random pairs of tuples violate random constraints, as paper A describes CONoise.

    Each iteration takes a random constraint and two random tuples (one, for a single-tuple constraint) and goes
    through its predicates. One that does not hold is made to hold by a change of one side, chosen at random: for
    =, <= and >= to the other side's value; for <, > and != to another value of the active domain of `table` with
    which it holds, or, where the domain has none, to a random value just beyond the other side.

    Where the paper is silent: a constant is never changed; if the chosen side can take no suitable value (its type or
    range has none) the other side is tried, then the other kind of change; a NULL first gets a random value of its
    domain; if a later predicate undoes an earlier one, the predicates are gone through again, now with changes that
    undo none where they are found. So after its iteration
    the pair violates the constraint, unless the predicates contradict each other or a column has NULLs only (or many
    predicates leave one cell so little room that random changes miss it).

    Parameters
    ----------
    table : pyarrow.Table
        Not changed.
    iterations : int
        At least 1.
    seed : int, optional
        The same seed and version give the same table.

    Returns
    -------
    pyarrow.Table
        Same schema and row order; unconstrained columns are those of `table`.

    Raises
    ------
    ParameterError, UnknownColumnError, ConstraintTypeError
        For parameters out of range, no constraints, constraints that compute (`t2.b + 60`, `t1.a IS NULL`), too few
        rows, unknown columns, and types that do not compare or that noise cannot change.
    """
    iterations = check_count("iterations", iterations)
    rng = generator(check_seed(seed), Purpose.CONOISE)
    loaded = load_constraints(list(constraints), table.column_names)
    for dc in loaded:
        if dc.computed:
            raise ParameterError(
                f"conoise changes what is compared, and {dc.label} computes it; leave it out, or use rnoise"
            )
    needed = 1 if all(dc.is_single_tuple for dc in loaded) else 2
    if table.num_rows < needed:
        raise ParameterError(f"conoise needs at least {needed} row(s) to make these constraints violated")
    columns = {column.name: column for column in constrained_columns(table, loaded)}
    compared = [[_Comparison(dc, predicate, columns) for predicate in dc.predicates] for dc in loaded]
    for _ in range(iterations):
        predicates = compared[pick(rng, len(compared))]
        _violate(predicates, _two_rows(table.num_rows, rng), rng)
    return with_columns(table, {name: column.result() for name, column in columns.items()})


def _two_rows(count: int, rng: np.random.Generator) -> tuple[int, int]:
    """Draw two distinct rows; in a table of one row, that row twice."""
    first = pick(rng, count)
    second = pick(rng, count - 1) if count > 1 else first
    return first, second + (second >= first and count > 1)


def _violate(predicates: Sequence[_Comparison], rows: tuple[int, int], rng: np.random.Generator) -> None:
    for attempt in range(PASSES):
        for predicate in predicates:
            if not predicate.holds(rows):
                keep = [other for other in predicates if other.holds(rows)] if attempt else []
                if not (keep and predicate.make_hold(rows, rng, keep)):
                    predicate.make_hold(rows, rng)
        if all(predicate.holds(rows) for predicate in predicates):
            return


@dataclass(frozen=True)
class _Side:
    """One side of a predicate that can be changed, with the operator as seen from it."""

    column: Column
    tuple_index: int
    op: Operator

    def value(self, rows: tuple[int, int]) -> Value | None:
        return self.column[rows[self.tuple_index]]

    def change(self, rows: tuple[int, int], value: Value) -> None:
        self.column[rows[self.tuple_index]] = value


class _Comparison:
    """A predicate over the columns of a table.

    Raises
    ------
    ConstraintTypeError
        If the sides do not compare; the message names the constraint, both sides and their types.
    """

    def __init__(self, dc: DenialConstraint, predicate: Predicate, columns: Mapping[str, Column]) -> None:
        left = columns[predicate.left.column]
        self._signs = predicate.op.signs
        self._left = _Side(left, predicate.left.tuple_index, predicate.op)
        self._right: _Side | Key
        right = predicate.right
        problem = f"{dc.label}: cannot compare {predicate.left.column!r} ({left.cell.arrow}) with"
        if isinstance(right, ColumnRef):
            other = columns[right.column]
            if other.cell.family != left.cell.family:
                raise ConstraintTypeError(f"{problem} {right.column!r} ({other.cell.arrow})")
            self._right = _Side(other, right.tuple_index, predicate.op.flipped)
            # As in the engine, a floating-point side makes both floating-point.
            self._as_float = isinstance(left.cell, FloatCell) != isinstance(other.cell, FloatCell)
        else:
            constant = left.cell.constant(right.value)
            if constant is None:
                raise ConstraintTypeError(f"{problem} the constant {right}")
            self._right = constant
            self._as_float = False

    def holds(self, rows: tuple[int, int]) -> bool:
        """Return whether the two rows satisfy the predicate; with NULL it is not true."""
        left, right = self._key(self._left, rows), self._key(self._right, rows)
        return left is not None and right is not None and (left > right) - (left < right) in self._signs

    def make_hold(self, rows: tuple[int, int], rng: np.random.Generator, keep: Sequence[_Comparison] = ()) -> bool:
        """Change one side so that this predicate holds and those in `keep` still do; return whether that worked."""
        sides = [side for side in (self._left, self._right) if isinstance(side, _Side)]
        for side in sides:
            self._fill_null(side, rows, rng)
        if self.holds(rows):
            return True
        if len(sides) == 2 and rng.random() < 0.5:
            sides.reverse()
        if 0 in self._signs and any(self._try(_copied, side, rows, rng, keep) for side in sides):
            return True
        others = (_from_domain, _from_range, _next_to) if keep else (_from_domain, _from_range)
        return any(self._try(propose, side, rows, rng, keep) for side in sides for propose in others)

    def _try(
        self,
        propose: _Proposal,
        side: _Side,
        rows: tuple[int, int],
        rng: np.random.Generator,
        keep: Sequence[_Comparison],
    ) -> bool:
        """Change a side to the proposed value; take the change back unless all required predicates hold."""
        other = self._key(self._left if side is self._right else self._right, rows)
        before, value = side.value(rows), None if other is None else propose(self, side, other, rng)
        if before is None or value is None:
            return False
        side.change(rows, value)
        if all(predicate.holds(rows) for predicate in (self, *keep)):
            return True
        side.change(rows, before)
        return False

    def _key(self, side: _Side | Key, rows: tuple[int, int]) -> Key | None:
        if not isinstance(side, _Side):
            return side
        value = side.value(rows)
        return None if value is None else self.common(side.column.cell.key(value))

    def common(self, key: Key) -> Key:
        """Return a key as the two sides compare it."""
        return (key[0], float(key[1])) if self._as_float else key

    @staticmethod
    def _fill_null(side: _Side, rows: tuple[int, int], rng: np.random.Generator) -> None:
        if side.value(rows) is not None:
            return
        values, _ = side.column.counted_domain
        if values:
            side.change(rows, values[pick(rng, len(values))])


# -- new values of one side, given the key of the other ---------------------------------------------------------

_Proposal = Callable[[_Comparison, _Side, Key, np.random.Generator], Value | None]


def _copied(_comparison: _Comparison, side: _Side, other: Key, _rng: np.random.Generator) -> Value | None:
    return side.column.cell.nearest(other)


def _from_domain(comparison: _Comparison, side: _Side, other: Key, rng: np.random.Generator) -> Value | None:
    values, _ = side.column.counted_domain

    def key(value: Value) -> Key:
        return comparison.common(side.column.cell.key(value))

    first, last = bisect_left(values, other, key=key), bisect_right(values, other, key=key)
    signs = side.op.signs
    start = 0 if -1 in signs else first if 0 in signs else last
    stop = len(values) if 1 in signs else last if 0 in signs else first
    if side.op is Operator.NE:
        start, stop = last, len(values) + first  # all but first .. last, wrapped around
    return values[(start + pick(rng, stop - start)) % len(values)] if stop > start else None


def _from_range(
    _comparison: _Comparison, side: _Side, other: Key, rng: np.random.Generator, *, close: bool = False
) -> Value | None:
    cell = side.column.cell
    if side.op.is_order:
        return cell.beyond(other, -1 if -1 in side.op.signs else 1, rng, close=close)
    equal = cell.nearest(other)
    return None if equal is None or side.op is Operator.EQ else cell.typo(equal, rng)


_next_to = partial(_from_range, close=True)

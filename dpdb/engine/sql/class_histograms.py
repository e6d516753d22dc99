"""Class histograms: how large the classes of rows are that may not meet within a group, by GROUP BY alone.

A constraint says that rows of one group (equal left-hand sides) belong to one class (equal right-hand sides): two rows
of a group are in conflict iff their classes differ. Of each group only the sizes of its classes matter, so groups with
equal sizes are counted together, and nothing but small integers leaves the engine. The trees are of no dialect, and
hold only what every SQL has: comparisons, GROUP BY, COUNT, array_agg with FILTER. Nothing sorts the sizes of a group,
which takes longer than to aggregate them, so that groups with equal sizes may come as several rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from dpdb.database import Slot, filled_select
from dpdb.engine.sql.bind import BoundConstraint, BoundPredicate, Sides, never_missing, self_conflict
from dpdb.engine.sql.comparison import is_known
from dpdb.schema import TableSchema

CLASS_ROWS = "row"
"""The alias of the rows in these trees: what conditions on them must call them."""

HISTOGRAM = pa.schema({"sizes": pa.list_(pa.int64()), "singles": pa.int64(), "groups": pa.int64()})
"""The columns of an answer."""

BOTH, FIRST, SECOND = 0, 1, 2


@dataclass(frozen=True)
class ClassHistogram:
    """A graph of conflicts as groups of rows, cut into classes: a public fact of constraints and schema.

    A row without a value in one of the columns, or that does not meet the conditions, is in no group. So one row is in
    at most one group, and in one class of it, whatever it holds.

    Attributes
    ----------
    constraints : tuple of BoundConstraint
        What it stands for: a pair of rows is in conflict iff it violates one of these.
    known : tuple of str
        Further columns that must have a value.
    classes : tuple of str
        Columns whose values are the class; none: every row is a class of its own.
    conditions : tuple of BoundPredicate
        All of which a row must meet.
    sides : tuple of (tuple of BoundPredicate, tuple of BoundPredicate) or None
        Conditions of t1 and of t2 where these differ. Then rows that meet the first alone are a class, rows that meet
        the second alone are one, and each row that meets both is a class of its own.
    """

    constraints: tuple[BoundConstraint, ...]
    equal: tuple[str, ...]
    known: tuple[str, ...]
    classes: tuple[str, ...]
    conditions: tuple[BoundPredicate, ...] = ()
    sides: Sides = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, sorted."""
        return tuple(sorted({name for bound in self.constraints for name in bound.columns}))

    @property
    def group(self) -> list[exp.Column]:
        """The columns whose values are the group, of `CLASS_ROWS`."""
        return [of_row(name) for name in self.equal]

    @property
    def is_key(self) -> bool:
        """Whether every row of a group is a class of its own."""
        return not self.classes and self.sides is None


def has_class_histogram(constraint: BoundConstraint) -> bool:
    """Return whether rows of one group are in conflict iff their classes differ. Public: the constraint's shape.

    So it is for functional dependencies and keys, for all rows or for those that meet a condition, and for two
    conditions that rows of a group may not meet together. Not for orders, nor where rows must differ in two ways.
    """
    shape = constraint.shape
    return shape is not None and shape.order is None and shape.differences < 2


def class_histograms(constraints: Sequence[BoundConstraint], schema: TableSchema) -> tuple[ClassHistogram, ...]:
    """Return the histograms of those constraints over two tuples that have one. Reads no row.

    Constraints that compare the same rows, equal on the same columns, share a histogram where one class says the same
    as all of theirs:

    - a key among them says more than all the others;
    - dependencies whose right-hand columns are declared NOT NULL, by the schema or by a constraint: rows differ in one
      of them iff they differ in all of them taken together. With NULL that is not so: a row without a city violates
      `zip -> state` all the same. It is decided from declarations, never from rows: one NULL would cut a histogram in
      two, which changes far more than one row may.

    Everything else is a histogram of its own. A wrong declaration costs accuracy, and no privacy (`ClassHistogram`).
    """
    declared = never_missing(constraints, schema)
    groups: dict[object, list[ClassHistogram]] = {}
    for bound in constraints:
        shape = bound.shape
        if shape is not None and has_class_histogram(bound):
            histogram = ClassHistogram((bound,), shape.equal, shape.known, shape.differing, *bound.row_conditions)
            same_rows = frozenset(p.over((CLASS_ROWS, CLASS_ROWS)).sql() for p in histogram.conditions)
            # Of two different sides no two are alike: equal constraints count once already.
            key = (histogram.equal, histogram.known, same_rows, bound if histogram.sides else None)
            groups.setdefault(key, []).append(histogram)
    return tuple(made for alike in groups.values() for made in _merged(alike, declared))


def _merged(alike: Sequence[ClassHistogram], declared: set[str]) -> list[ClassHistogram]:
    keys = [one for one in alike if one.is_key]
    if keys:
        return [_together(alike, ())]
    merged = [one for one in alike if one.classes and declared.issuperset(one.classes)]
    single: dict[tuple[str, ...], list[ClassHistogram]] = {}
    for one in alike:
        if one not in merged:
            single.setdefault(one.classes, []).append(one)
    found = [_together(same, classes) for classes, same in single.items()]
    if merged:
        found.insert(0, _together(merged, tuple(sorted({name for one in merged for name in one.classes}))))
    return found


def _together(alike: Sequence[ClassHistogram], classes: tuple[str, ...]) -> ClassHistogram:
    one = alike[0]
    bound = tuple(constraint for each in alike for constraint in each.constraints)
    return ClassHistogram(bound, one.equal, one.known, classes, one.conditions, one.sides)


def class_histogram(histogram: ClassHistogram, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> exp.Select:
    """Return the query of a histogram: (sizes, singles, groups), in no order.

    One result row stands for `groups` groups that have classes of these `sizes` (of two rows or more each, in no order;
    NULL if there is none), and besides `singles` classes of one row each. All numbers are BIGINT. Private.

    Parameters
    ----------
    histogram : ClassHistogram
        The columns of a group, its conditions, and the classes that are counted in it.
    rows : exp.Expr
        A table or subquery without alias that has `histogram.columns`, and what the conditions read.
    conditions : sequence of exp.Expr
        Which rows are meant, called `CLASS_ROWS`: those of the slice, and none in conflict with itself.
    """
    names = [f"g{k}" for k in range(len(histogram.equal))]
    slots: dict[str, Slot] = {
        "named": [exp.alias_(column, name) for column, name in zip(histogram.group, names, strict=True)],
        "rows": rows,
        "known": _conditions(_known(histogram), histogram.conditions, conditions),
        "group": [*histogram.equal, *histogram.classes],
    }
    if histogram.is_key:
        return filled_select("key_histogram", **slots)
    if histogram.sides is None:
        return filled_select("class_histogram", names=names, **slots)
    return filled_select("side_histogram", names=names, side=side_of(histogram.sides), **slots)


def histogram_rows(histogram: ClassHistogram, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> exp.Select:
    """Query the rows that are in a group; it lacks what to select."""
    return class_rows(rows, _known(histogram), histogram.conditions, conditions)


def _known(histogram: ClassHistogram) -> tuple[str, ...]:
    return (*histogram.equal, *histogram.known, *histogram.classes)


def class_rows(
    rows: exp.Expr, known: Iterable[str], met: Iterable[BoundPredicate], conditions: Iterable[exp.Expr]
) -> exp.Select:
    """Query rows as `CLASS_ROWS`; it lacks what to select.

    Parameters
    ----------
    rows
        A table or subquery without alias.
    conditions
        What else they meet.
    """
    source = exp.alias_(rows.copy(), CLASS_ROWS, table=True)
    return exp.select().from_(source).where(*_conditions(known, met, conditions))


def _conditions(known: Iterable[str], met: Iterable[BoundPredicate], conditions: Iterable[exp.Expr]) -> list[exp.Expr]:
    where = [is_known(of_row(name)) for name in known]
    where += [predicate.over((CLASS_ROWS, CLASS_ROWS)) for predicate in met]
    return [*where, *(each.copy() for each in conditions)]


def self_conflict_count(
    constraints: Sequence[BoundConstraint], rows: exp.Expr, conditions: Sequence[exp.Expr] = ()
) -> exp.Select:
    """Return the query of how many rows violate a constraint on one tuple. Private."""
    alone = exp.paren(self_conflict(constraints, CLASS_ROWS))
    return class_rows(rows, (), (), [*conditions, alone]).select(exp.Count(this=exp.Star()))


def of_row(name: str) -> exp.Column:
    """Name a column of the rows."""
    return exp.column(name, table=CLASS_ROWS, quoted=True)


def all_of(predicates: Sequence[BoundPredicate]) -> exp.Expr:
    """Condition that a row meets all predicates, which read one tuple."""
    met = [predicate.over((CLASS_ROWS, CLASS_ROWS)) for predicate in predicates]
    return exp.paren(exp.and_(*met)) if met else exp.true()


def side_of(sides: tuple[Sequence[BoundPredicate], Sequence[BoundPredicate]]) -> exp.Case:
    """Return which of two conditions a row meets: both, the first alone, the second alone, none (NULL)."""
    first, second = map(all_of, sides)
    met = [(exp.and_(first.copy(), second.copy()), BOTH), (first, FIRST), (second, SECOND)]
    return exp.Case(ifs=[exp.If(this=condition, true=exp.convert(side)) for condition, side in met])

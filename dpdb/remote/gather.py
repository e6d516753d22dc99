"""The rows in conflict, as one query: what has to come here for a conflict graph.

More rows than those in conflict may come: a row without a conflict changes no statistic of the graph, and the order of
the others is the same with it or without it (see `dpdb.engine.sql.coded_rows`). So every condition here may be wider
than the constraint, never narrower:

- Rows equal in X = X conflict only if their group of X has what a conflict needs: two values of a column that must
  differ, rows that meet the conditions of t1 and rows that meet those of t2, two rows at all.
- Two ordered columns, among rows equal in X: a row conflicts only if some row of a smaller first value has too large a
  second one, or some row of a larger first value too small a one. Extremes of groups of equal (X, first), then windows
  over these, say so for each row.
- One column against another, not(t1.x > t2.y), among rows equal in X: a row conflicts only if its x is above the least
  y of its group, or its y below the greatest x.
- Overlapping intervals, not(t1.s < t2.e & t2.s < t1.e): of two of them one begins first, or both at once. So a row
  conflicts only if an interval that begins before it ends after its beginning, if one that begins after it begins
  before its end, or if another one begins with it; also where rows end before they begin.
- What is equal across two columns (t1.A = t2.B) conflicts only if the value occurs in the other column.
- Where nothing is equal and nothing is known, every row comes.

A group's own condition reads the rows that the constraint can read: NULL in a column that is compared takes no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpdb.constraints import COMPARISONS, BlockShape, Operator, SortedKind, SortedShape, sorted_shape
from dpdb.engine.sql import BoundConstraint, CrossTerm, GroupTerm, degree_terms, is_known, sorted_columns
from dpdb.remote.asking import TUPLES, counted_if

ROW = "row"


@dataclass(frozen=True)
class Join:
    """A query that is joined to every row, and the condition that then says that the row may conflict."""

    query: exp.Expr
    on: exp.Expr
    may_conflict: exp.Expr


def rows_in_conflict(
    tuples: exp.Query, constraints: Sequence[BoundConstraint], columns: Sequence[str], besides: Sequence[exp.Expr] = ()
) -> exp.Select:
    """Select columns of the rows that may be in conflict.

    Parameters
    ----------
    tuples
        The rows of the slice that do not conflict with themselves, with all constrained columns and `columns`.
    besides
        Conditions on rows, called `ROW`, that come in any case.
    """
    pairwise = [dc for dc in constraints if not dc.constraint.is_single_tuple]
    joins = [join for place, dc in enumerate(pairwise) for join in conflict_joins(dc, place)]
    return joined(exp.select(*map(row_column, columns)), joins, tuples, besides)


def joined(
    selected: exp.Select, joins: Sequence[Join], tuples: exp.Query, besides: Sequence[exp.Expr] = ()
) -> exp.Select:
    """Select of the rows that may be in conflict through one of some joins.

    Parameters
    ----------
    selected
        What is selected, of `ROW` and of the joins.
    joins
        Of `ROW`, with what may conflict with it.
    besides
        Conditions on rows that are selected without a join.
    """
    query = selected.from_(exp.alias_(TUPLES.copy(), ROW, table=True))
    for join in joins:
        query = query.join(join.query, on=join.on, join_type="left")
    conditions = [*(join.may_conflict for join in joins), *besides]
    found = exp.or_(*map(exp.paren, conditions)) if conditions else exp.false()
    return query.where(found).with_(TUPLES.name, as_=tuples)


def conflict_joins(dc: BoundConstraint, place: int) -> list[Join]:
    """Return what tells of each row whether it may be in conflict through a constraint, by any of these."""
    shape = dc.shape
    alias = f"group_{place}"
    if shape is not None and shape.order is not None:
        return [order_join(dc, shape, alias)]
    if shape is not None:
        return [_group(shape.equal, _group_conflicts(dc, shape), takes_part(dc, shape), alias)]
    in_order = sorted_shape(dc.constraint)
    if in_order is not None:
        return [_sorted(dc, in_order, alias)]
    (term,) = degree_terms([dc]).terms
    if isinstance(term, CrossTerm):
        return _crossed(term, alias)
    assert isinstance(term, GroupTerm)
    part = _either_side(dc)
    return [_group(term.columns, [counted_if(part) > 1], part, alias)]


# -- groups of rows with equal columns -----------------------------------------------------------------------------


def _group(equal: Sequence[str], conflicts: Sequence[exp.Expr], part: exp.Expr, alias: str) -> Join:
    """Join a row with its group, if that is one of those in which rows conflict."""
    keys = [row_column(name) for name in equal]
    groups = exp.select(*(exp.alias_(key, f"key_{n}") for n, key in enumerate(keys)), exp.alias_("1", "dirty"))
    groups = groups.from_(exp.alias_(TUPLES.copy(), ROW, table=True)).where(*map(is_known, keys))
    groups = groups.group_by(*(key.copy() for key in keys)) if keys else groups
    dirty = groups.having(exp.and_(*conflicts))
    may_conflict = exp.and_(is_known(exp.column("dirty", table=alias)), exp.paren(part))
    return Join(dirty.subquery(alias), equal_keys(keys, alias), may_conflict)


def _group_conflicts(dc: BoundConstraint, shape: BlockShape) -> list[exp.Expr]:
    part = takes_part(dc, shape)
    conflicts: list[exp.Expr] = [counted_if(part) > 1]
    for name in shape.differing:
        value = exp.Case(ifs=[exp.If(this=part.copy(), true=row_column(name))])
        conflicts.append(exp.Min(this=value) < exp.Max(this=value.copy()))
    if not shape.alike:
        for side in (shape.first, shape.second):
            meets = exp.and_(part.copy(), _condition(dc, side))
            conflicts.append(counted_if(meets) > 0)
    return conflicts


def takes_part(dc: BoundConstraint, shape: BlockShape) -> exp.Expr:
    """Condition on a row that can be in a conflict at all: it meets a side's conditions and its values are known."""
    sides = exp.or_(*(exp.paren(_condition(dc, side)) for side in (shape.first, shape.second)))
    return exp.and_(*(is_known(row_column(name)) for name in shape.columns), exp.paren(sides))


def _either_side(dc: BoundConstraint) -> exp.Expr:
    """Condition on a row that can be t1 or t2, as far as the predicates over that tuple alone say."""
    alone: tuple[list[int], list[int]] = ([], [])
    for place, predicate in enumerate(dc.constraint.predicates):
        read = {ref.tuple_index for ref in predicate.columns}
        if len(read) == 1:
            alone[read.pop()].append(place)
    return exp.or_(*(exp.paren(_condition(dc, side)) for side in alone))


def _condition(dc: BoundConstraint, places: Sequence[int]) -> exp.Expr:
    """Condition on one row: predicates over one tuple."""
    return exp.and_(*(dc.predicates[place].over((ROW, ROW)) for place in places)) if places else exp.true()


# -- two ordered columns --------------------------------------------------------------------------------------------


def order_join(dc: BoundConstraint, shape: BlockShape, alias: str) -> Join:
    """Join a row with the extremes of the second column among smaller and among larger first values.

    A conflict of opposite columns is a smaller first value with a larger second one; of columns that must not rise
    together, with a smaller one. What counts as smaller includes equal values where ties count.

    Parameters
    ----------
    shape
        Its columns that must be equal, and the two that are ordered.
    """
    order = shape.order
    assert order is not None
    keys = [row_column(name) for name in (*shape.equal, order.first)]
    names = [f"key_{n}" for n in range(len(keys))]
    part = takes_part(dc, shape)
    second = row_column(order.second)
    ends = _grouped(keys, part, lowest=exp.Min(this=second), highest=exp.Max(this=second.copy()))
    above, below = ("highest", "lowest") if order.opposite else ("lowest", "highest")
    reached = {
        "before": _extreme(above, names, descending=False, ties=order.first_ties, largest=order.opposite),
        "after": _extreme(below, names, descending=True, ties=order.first_ties, largest=not order.opposite),
    }
    windows = exp.select(*names, *(exp.alias_(window, name) for name, window in reached.items()))
    value = row_column(order.second)
    below_it, above_it = (Operator.LE, Operator.GE) if order.second_ties else (Operator.LT, Operator.GT)
    sides = (below_it, above_it) if order.opposite else (above_it, below_it)
    beyond = [
        COMPARISONS[operator](this=value.copy(), expression=exp.column(name, table=alias))
        for operator, name in zip(sides, reached, strict=True)
    ]
    may_conflict = exp.and_(exp.paren(part.copy()), exp.paren(exp.or_(*beyond)))
    return Join(windows.from_(ends.subquery("ends")).subquery(alias), equal_keys(keys, alias), may_conflict)


def _extreme(column: str, names: Sequence[str], *, descending: bool, ties: bool, largest: bool) -> exp.Expr:
    """Extreme of a column over the groups before this one in the order of the first column, and it where ties count."""
    *equal, first = names
    end: dict[str, object] = {"end": "CURRENT ROW"} if ties else {"end": exp.convert(1), "end_side": "PRECEDING"}
    frame = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", **end)
    # No group has NULL here. Said so, an engine that puts NULL first needs not be told to put it last.
    ordered = exp.Ordered(this=exp.column(first), desc=descending, nulls_first=not descending)
    return exp.Window(
        this=(exp.Max if largest else exp.Min)(this=exp.column(column)),
        partition_by=[exp.column(name) for name in equal],
        order=exp.Order(expressions=[ordered]),
        spec=frame,
        over="OVER",
    )


# -- two columns that are compared with each other ------------------------------------------------------------------


def _sorted(dc: BoundConstraint, shape: SortedShape, alias: str) -> Join:
    group, first, second = sorted_columns(dc, shape, ROW)
    met = [dc.predicates[place].over((ROW, ROW)) for place in shape.conditions]
    part = exp.and_(exp.true(), *map(is_known, group), *met)
    of_kind = _of_intervals if shape.kind is SortedKind.INTERVALS else _of_two_columns
    return of_kind(group, first, second, part, alias, ties=shape.first_ties)


def _of_two_columns(
    group: Sequence[exp.Expr], first: exp.Expr, second: exp.Expr, part: exp.Expr, alias: str, *, ties: bool
) -> Join:
    found = _grouped(group, part, greatest=exp.Max(this=first), least=exp.Min(this=second))
    greatest, least = (exp.column(name, table=alias) for name in ("greatest", "least"))
    above, below = _beyond(ties=ties)
    beyond = exp.or_(above(this=first.copy(), expression=least), below(this=second.copy(), expression=greatest))
    may_conflict = exp.and_(exp.paren(part.copy()), exp.paren(beyond))
    return Join(found.subquery(alias), equal_keys(group, alias), may_conflict)


def _of_intervals(
    group: Sequence[exp.Expr], first: exp.Expr, second: exp.Expr, part: exp.Expr, alias: str, *, ties: bool
) -> Join:
    part, keys = exp.and_(part, is_known(first), is_known(second)), [*group, first]
    names = [f"key_{n}" for n in range(len(keys))]
    ends = _grouped(keys, part, last_end=exp.Max(this=second), together=exp.Count(this=exp.Star()))
    reached = {
        "before": _extreme("last_end", names, descending=False, ties=False, largest=True),
        "after": _extreme(names[-1], names, descending=True, ties=False, largest=False),
    }
    windows = exp.select(*names, "together", *(exp.alias_(window, name) for name, window in reached.items()))
    before, after, together = (exp.column(name, table=alias) for name in (*reached, "together"))
    above, below = _beyond(ties=ties)
    overlaps = exp.or_(
        below(this=first.copy(), expression=before), above(this=second.copy(), expression=after), together > 1
    )
    may_conflict = exp.and_(exp.paren(part.copy()), exp.paren(overlaps))
    return Join(windows.from_(ends.subquery("ends")).subquery(alias), equal_keys(keys, alias), may_conflict)


def _beyond(*, ties: bool) -> tuple[type[exp.Binary], type[exp.Binary]]:
    above, below = (Operator.GE, Operator.LE) if ties else (Operator.GT, Operator.LT)
    return COMPARISONS[above], COMPARISONS[below]


# -- equal across two columns ---------------------------------------------------------------------------------------


def _crossed(term: CrossTerm, alias: str) -> list[Join]:
    """Join a row with the values of the other column: whether its own occurs there."""
    joins = []
    for side, (own, other) in enumerate(((term.first, term.second), (term.second, term.first))):
        name = f"{alias}_{side}"
        value = other.over((ROW, ROW))
        values = exp.select(exp.alias_(value, "key_0")).distinct().from_(exp.alias_(TUPLES.copy(), ROW, table=True))
        values = values.where(is_known(value))
        same = equal_keys([own.over((ROW, ROW))], name)
        joins.append(Join(values.subquery(name), same, is_known(exp.column("key_0", table=name))))
    return joins


# -- parts ----------------------------------------------------------------------------------------------------------


def _grouped(keys: Sequence[exp.Expr], part: exp.Expr, **aggregates: exp.Expr) -> exp.Select:
    """Group the rows that meet a condition by keys, which become key_0, ...; without keys all are one group."""
    found = exp.select(*(exp.alias_(key.copy(), f"key_{number}") for number, key in enumerate(keys)))
    found = found.select(*(exp.alias_(value.copy(), name) for name, value in aggregates.items()))
    found = found.from_(exp.alias_(TUPLES.copy(), ROW, table=True)).where(part.copy())
    return found.group_by(*(key.copy() for key in keys)) if keys else found


def row_column(name: str) -> exp.Expr:
    """Name a column of the rows."""
    return exp.column(name, table=ROW, quoted=True)


def equal_keys(keys: Sequence[exp.Expr], alias: str) -> exp.Expr:
    """Join condition; without keys there is one group."""
    pairs = [key.copy().eq(exp.column(f"key_{number}", table=alias)) for number, key in enumerate(keys)]
    return exp.and_(*pairs) if pairs else exp.true()

"""Shapes of denial constraints: dependencies, keys and orders, also in words; and those whose conflicts go unlisted.

A `BlockShape` is a constraint whose conflicts need not be listed, in a normal form: conditions and compared columns. A
pair of rows is in conflict if it violates the constraint in one of its two orders. So few kinds of comparisons of a
column with itself are left; each step says why it changes no conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dpdb.constraints.column_ref import ColumnRef, ComputedRef, RowExpression
from dpdb.constraints.denial import DenialConstraint, Operator, Predicate
from dpdb.names import in_double_quotes, quoted_name


@dataclass(frozen=True, slots=True)
class FunctionalDependency:
    """`lhs -> rhs`: rows equal on all of `lhs` are equal on `rhs`.

    Parameters
    ----------
    lhs
        Sorted distinct names. Empty means that `rhs` must be constant over the whole table.
    rhs
        One name, not in `lhs`.
    """

    lhs: tuple[str, ...]
    rhs: str

    def __str__(self) -> str:
        lhs = ", ".join(map(quoted_name, self.lhs)) or "[]"
        return f"{lhs} -> {quoted_name(self.rhs)}"


@dataclass(frozen=True, slots=True)
class OrderDependency:
    """Two columns that must not move together (or must not move apart) among rows equal on `prefix`.

    A pair of rows equal on `prefix` violates it when one of its two orders (t1, t2) has `t1.first > t2.first` and
    `t1.second < t2.second` (`opposite`, `t1_above`), or both signs the other way round (`opposite`, not `t1_above`), or
    `t1.first > t2.first` and `t1.second > t2.second` (not `opposite`, `t1_above`), or both `<` (neither). Which pairs
    violate it does not depend on `t1_above`; which of the two rows is t1 does, and with it what else they violate.

    Parameters
    ----------
    prefix
        Sorted distinct names, maybe none.
    first, second
        Different names, sorted, neither in `prefix`.
    opposite
        Whether the violating comparisons point in opposite directions.
    t1_above
        Whether t1 is the row that is higher in `first`.
    """

    prefix: tuple[str, ...]
    first: str
    second: str
    opposite: bool
    t1_above: bool


def functional_dependency(dc: DenialConstraint) -> FunctionalDependency | None:
    """Return the dependency X -> Y if the constraint is `t1.X = t2.X and t1.Y != t2.Y`, else None.

    Without any equality the result has an empty `lhs`: the column must be constant. A contradiction (Y in X)
    can never be violated and is not reported as a dependency.
    """
    parts = _parts(dc)
    if parts is None or len(parts.others) != 1:
        return None
    ((column, op),) = parts.others
    if op is not Operator.NE or column in parts.equal:
        return None
    return FunctionalDependency(tuple(sorted(parts.equal)), column)


def key_columns(dc: DenialConstraint) -> tuple[str, ...] | None:
    """Return the sorted columns of a key if the constraint says only that no two rows share their values, else None."""
    parts = _parts(dc)
    return tuple(sorted(parts.equal)) if parts is not None and not parts.others else None


def is_key(dc: DenialConstraint) -> bool:
    """Return whether the constraint says that no two rows share values, of all rows or of those of a condition."""
    pairs = [predicate for predicate in dc.predicates if len({ref.tuple_index for ref in predicate.columns}) == 2]
    equal = all(predicate.op is Operator.EQ and predicate.joins_one_column for predicate in pairs)
    return bool(pairs) and equal and is_symmetric(dc)


def order_dependency(dc: DenialConstraint) -> OrderDependency | None:
    """Return the order dependency if the constraint is one, else None.

    The predicates must be equalities `t1.G = t2.G` (maybe none) and exactly two strict comparisons, such as
    `t1.A < t2.A` and `t1.B > t2.B` (in any direction), of two further columns.
    """
    parts = _parts(dc)
    if parts is None or len(parts.others) != 2:
        return None
    (first, first_op), (second, second_op) = parts.others
    if first == second or not parts.equal.isdisjoint({first, second}):
        return None
    if not (first_op.is_strict_order and second_op.is_strict_order):
        return None
    opposite = first_op is not second_op
    (first, first_op), (second, _) = sorted(parts.others, key=lambda other: other[0])
    return OrderDependency(
        tuple(sorted(parts.equal)), first, second, opposite=opposite, t1_above=first_op is Operator.GT
    )


def equality_columns(dc: DenialConstraint) -> frozenset[str]:
    """Return the columns X with a predicate `t1.X = t2.X`."""
    return frozenset(
        predicate.left.column
        for predicate in dc.predicates
        if predicate.op is Operator.EQ and predicate.joins_one_column
    )


def known_rows(dc: DenialConstraint) -> str:
    """Return the condition, in SQL, of the rows that have a value in every column that a constraint reads of them."""
    return " AND ".join(f"{in_double_quotes(name)} IS NOT NULL" for name in dc.table_columns)


def never_null(dc: DenialConstraint) -> str | None:
    """Return the column if the constraint says only that it is not NULL, as `NOT NULL(city)` does, else None."""
    if not dc.is_single_tuple or len(dc.predicates) != 1:
        return None
    [predicate], ref = dc.predicates, dc.predicates[0].left
    said = ref.expression if isinstance(ref, ComputedRef) else None
    is_null = isinstance(said, RowExpression) and said.pieces == ("", " IS NULL") and not said.members
    return ref.table_columns[0] if is_null and predicate.is_condition else None


def is_symmetric(dc: DenialConstraint) -> bool:
    """Return whether exchanging t1 and t2 gives the same constraint, so that (s, t) violates it iff (t, s) does."""
    return dc.oriented() == dc.swapped().oriented()


def distinct(dcs: Iterable[DenialConstraint]) -> tuple[DenialConstraint, ...]:
    """Return the constraints in order, without those equal to an earlier one up to order, sides and t1/t2."""
    first: dict[DenialConstraint, DenialConstraint] = {}
    for dc in dcs:
        first.setdefault(dc.canonical(), dc)
    return tuple(first.values())


def places_among_distinct(dcs: Iterable[DenialConstraint]) -> tuple[int, ...]:
    """Return, for each constraint, the place of its equal in `distinct` of the constraints."""
    places: dict[DenialConstraint, int] = {}
    return tuple(places.setdefault(dc.canonical(), len(places)) for dc in dcs)


def describe(dc: DenialConstraint) -> str:
    """Return the constraint in words, for reports.

    Examples
    --------
    >>> from dpdb.constraints import parse_constraint
    >>> describe(*parse_constraint("zip -> city"))
    'rows with the same zip must have the same city'
    """
    shown = {ref.column: ref.shown for predicate in dc.predicates for ref in predicate.columns}
    if (fd := functional_dependency(dc)) is not None:
        rows = f"rows with the same {_listed(fd.lhs, shown)}" if fd.lhs else "all rows"
        return f"{rows} must have the same {shown[fd.rhs]}"
    if (key := key_columns(dc)) is not None:
        names = ", ".join(shown[name] for name in key)
        return f"no two rows may share {names if len(key) == 1 else f'({names})'}"
    if (order := order_dependency(dc)) is not None:
        return _describe_order(order, dc, shown)
    if dc.inclusion is not None:
        among = " and ".join(filter(None, [dc.inclusion.among_words, *map(_row_comparison, dc.conditions)]))
        return dc.inclusion.words + (f" where {among}" if among else "")
    if dc.is_single_tuple:
        return f"no row may have {' and '.join(map(_row_comparison, dc.predicates))}"
    return f"no two rows t1, t2 may have {' and '.join(map(_pair_comparison, dc.predicates))}"


@dataclass(frozen=True, slots=True)
class _Parts:
    """A constraint made only of comparisons of t1.c with t2.c, split by operator."""

    equal: frozenset[str]
    others: tuple[tuple[str, Operator], ...]  # distinct, as written, with t1 on the left


def _parts(dc: DenialConstraint) -> _Parts | None:
    if not all(predicate.joins_one_column for predicate in dc.predicates):
        return None
    written = [predicate.canonical() for predicate in dc.predicates]
    others = dict.fromkeys((p.left.column, p.op) for p in written if p.op is not Operator.EQ)
    return _Parts(equality_columns(dc), tuple(others))


def _describe_order(order: OrderDependency, dc: DenialConstraint, shown: Mapping[str, str]) -> str:
    among = f"among rows with the same {_listed(order.prefix, shown)}, " if order.prefix else ""
    compared = [predicate.left.column for predicate in dc.predicates if predicate.op is not Operator.EQ]
    first, second = (shown[name] for name in dict.fromkeys(compared))
    return f"{among}a higher {first} must not come with a {'lower' if order.opposite else 'higher'} {second}"


def _listed(names: tuple[str, ...], shown: Mapping[str, str]) -> str:
    *most, last = (shown[name] for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def _row_comparison(predicate: Predicate) -> str:
    right = predicate.right
    if predicate.is_condition:
        return predicate.left.shown
    return f"{predicate.left.shown} {predicate.op} {right.shown if isinstance(right, ColumnRef) else right}"


def _pair_comparison(predicate: Predicate) -> str:
    return str(predicate) if predicate.is_condition else f"{predicate.left} {predicate.op} {predicate.right}"


_EQUAL, _UNEQUAL = Operator.EQ.signs, Operator.NE.signs


@dataclass(frozen=True, slots=True)
class OrderedColumns:
    """Two columns that must not order two rows in opposite ways (`opposite`), or not in the same way.

    Parameters
    ----------
    first, second
        Different names, sorted.
    first_ties, second_ties
        Whether rows equal in the column count as ordered in either way (`<=`).
    """

    first: str
    second: str
    opposite: bool
    first_ties: bool
    second_ties: bool


@dataclass(frozen=True, slots=True)
class BlockShape:
    """Two rows conflict iff one meets `first` and the other `second`, and what follows holds; NULL meets nothing.

    Parameters
    ----------
    equal
        Sorted columns in which they are equal.
    known
        Sorted columns that have a value in both, whatever it is.
    differing
        At most two sorted columns, in all of which they differ. None if there is an `order`.
    order
        Two columns that order them.
    first, second
        Positions of the constraint's predicates that read t1 alone, and t2 alone.
    alike
        Whether `first` and `second` say the same, so that both rows meet one condition.
    """

    equal: tuple[str, ...]
    known: tuple[str, ...]
    differing: tuple[str, ...]
    order: OrderedColumns | None
    first: tuple[int, ...]
    second: tuple[int, ...]
    alike: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared between the rows."""
        ordered = () if self.order is None else (self.order.first, self.order.second)
        return (*self.equal, *self.known, *self.differing, *ordered)

    @property
    def is_conditional(self) -> bool:
        """Whether rows must meet a condition."""
        return bool(self.first or self.second)

    @property
    def differences(self) -> int:
        """The number of ways in which the rows must differ; conditions that are not alike are one."""
        return len(self.differing) + (not self.alike)

    def __str__(self) -> str:
        if self.order is not None:
            name = "order constraint"
        else:
            name = ("key", "functional dependency", "unequal columns")[len(self.differing)]
        return f"conditional {name}" if self.is_conditional else name


def block_shape(dc: DenialConstraint) -> BlockShape | None:
    """Return the shape of a constraint over two tuples whose conflicts need not be listed, else None.

    Every predicate reads one of the tuples alone, or compares a column with itself. Of the columns:

    - If only one column is ordered, it orders every pair in one way or the other: `<` says that the rows differ, `<=`
      that both have a value.
    - Two ordered columns make an order constraint. Then nothing else may differ, and the conditions must be alike:
      otherwise it would matter which of the two rows is the higher one.
    - Rows may differ in two ways at most; conditions that are not alike count as one.
    """
    if dc.is_single_tuple:
        return None
    if not all(predicate.joins_one_column for predicate in between_tuples(dc)):
        return None
    first_alone, second_alone, alike = row_conditions(dc)
    signs = column_signs(dc)
    if not all(signs.values()):
        return None  # contradictory
    equal = sorted(name for name, found in signs.items() if found == _EQUAL)
    differing = sorted(name for name, found in signs.items() if found == _UNEQUAL)
    ordered = sorted(signs.keys() - {*equal, *differing})
    known: list[str] = []
    order = None
    if ordered and not alike:
        return None
    if len(ordered) == 1:
        (known if 0 in signs[ordered[0]] else differing).extend(ordered)
    elif len(ordered) == 2 and not differing:
        first, second = ordered
        order = OrderedColumns(
            first,
            second,
            opposite=sum(signs[first]) != sum(signs[second]),  # of < and <= negative, of > and >= positive
            first_ties=0 in signs[first],
            second_ties=0 in signs[second],
        )
    elif ordered:
        return None
    shape = BlockShape(tuple(equal), tuple(known), tuple(sorted(differing)), order, first_alone, second_alone, alike)
    return shape if shape.differences <= 2 else None


def between_tuples(dc: DenialConstraint) -> list[Predicate]:
    """Return the predicates that read both tuples."""
    return [predicate for predicate in dc.predicates if {ref.tuple_index for ref in predicate.columns} == {0, 1}]


def row_conditions(dc: DenialConstraint) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Return the positions of the predicates that read t1 alone, of those that read t2 alone, and if both say alike."""
    alone: tuple[list[int], list[int]] = ([], [])
    for place, predicate in enumerate(dc.predicates):
        if len({ref.tuple_index for ref in predicate.columns}) == 1:
            alone[predicate.left.tuple_index].append(place)
    first, second = alone
    alike = _conditions(dc, first, swapped=False) == _conditions(dc, second, swapped=True)
    return tuple(first), tuple(second), alike


def column_signs(dc: DenialConstraint) -> dict[str, frozenset[int]]:
    """For each column that a constraint compares between its tuples: the possible orders of t1's value to t2's."""
    signs: dict[str, frozenset[int]] = {}
    for predicate in dc.predicates:
        if predicate.joins_one_column:
            column = predicate.left.column
            signs[column] = signs.get(column, frozenset({-1, 0, 1})) & predicate.canonical().op.signs  # t1 on the left
    return signs


def _conditions(dc: DenialConstraint, places: list[int], *, swapped: bool) -> set[Predicate]:
    chosen = [dc.predicates[place] for place in places]
    return {(predicate.swapped() if swapped else predicate).canonical() for predicate in chosen}


def compares_every_pair(dc: DenialConstraint) -> bool:
    """Return True if nothing but comparing every row with every other one finds the constraint's violations.

    It has neither an equality nor a range between the two tuples, nor classes of rows that could be counted.
    """
    shape = block_shape(dc)
    if dc.is_single_tuple or (shape is not None and shape.order is None and shape.differences < 2):
        return False
    return all(predicate.op is Operator.NE for predicate in between_tuples(dc))

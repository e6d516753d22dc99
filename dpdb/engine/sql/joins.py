"""The joins for each shape of constraint: a join plan per constraint, all giving the edges of the plain self-join.

The choice reads the constraint only, never the data. Shapes that DuckDB can only run as a nested loop are refused
unless the owner declares a public bound of the number of rows.

An upper bound of the conflict graph's maximum degree that one row changes by a known amount.

Paper A, Lemma 3 and Theorem 3, extended to every kind of constraint: rows in conflict through `t1.X = t2.X` share the
value of X, so a row has at most (largest group of X) - 1 such conflicts. X may be computed (`lower(city)`): its value
depends on the row alone (see `dpdb.engine.sql.input_rows`), so one row still changes one group by 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from dpdb.constraints import Operator, compares_every_pair, functional_dependency, is_symmetric, order_dependency
from dpdb.database import filled_select
from dpdb.engine.sql.bind import BoundConstraint, Operand, PairQuery, plain_pairs
from dpdb.engine.sql.coded_rows import ROW
from dpdb.engine.sql.comparison import is_known
from dpdb.errors import ParameterError
from dpdb.schema import free_name

# Up to this public bound of rows a nested loop is admitted: 10^10 / 2 comparisons take minutes.
NESTED_LOOP_ROWS = 100_000


@dataclass(frozen=True)
class JoinPlan:
    """The join plan of one constraint: how its edges are found.

    Attributes
    ----------
    shape : str
        What the join plan uses of the constraint.
    operator : str
        The DuckDB operator expected at realistic sizes.
    members : exp.Select or None
        Query of a helper table that `edges` reads instead of the tuples.
    edges : exp.Select
        Query of (u, v, dc), each pair once, for the first violated constraint only; in no order.
    """

    shape: str
    operator: str
    members: exp.Select | None
    edges: exp.Select


def join_plan(
    index: int,
    pairwise: Sequence[tuple[int, BoundConstraint]],
    tuples: exp.Table,
    rank: str,
    *,
    members: exp.Table,
    coded: Sequence[str],
    taken: Sequence[str],
) -> JoinPlan:
    """Return the join plan of the edges whose first violated constraint is `pairwise[index]`.

    Parameters
    ----------
    members : exp.Table
        Name of the helper table, if the join plan has one.
    coded : sequence of str
        Columns kept as order-preserving codes; rewrites need them.
    taken : sequence of str
        All columns of the tuples: the helper table's own columns get other names.
    """
    position, dc = pairwise[index]
    earlier = [constraint for _, constraint in pairwise[:index]]
    minor, x, y = (free_name(name, taken) for name in ("minor", "x", "y"))
    if set(dc.columns) <= set(coded):
        dependency, order = functional_dependency(dc.constraint), order_dependency(dc.constraint)
        if dependency is not None and dependency.lhs:
            query = _dependency_members(dependency.lhs, dependency.rhs, tuples, minor)
            pairs = _dependency_pairs(dc, rank, minor)
            return JoinPlan("minority against group", "HASH_JOIN", query, pairs.edges(members, position, earlier))
        if order is not None and order.prefix:
            second = exp.Ordered(this=exp.column(order.second, table="t", quoted=True), desc=not order.opposite)
            query = _order_members(order.prefix, order.first, second, tuples, (x, y))
            pairs = _crossed_pairs(dc, rank, x, y, t1_above=order.t1_above)
            return JoinPlan("composite ranks", "IE_JOIN", query, pairs.edges(members, position, earlier))
    return JoinPlan("plain", expected_operator(dc), None, plain_pairs(dc, rank).edges(tuples, position, earlier))


def expected_operator(dc: BoundConstraint) -> str:
    """Name the operator that DuckDB uses for a plain self-join at realistic sizes."""
    between = [predicate.op for predicate in dc.predicates if not predicate.reads_one_tuple]
    if Operator.EQ in between:
        return "HASH_JOIN"
    ranges = sum(op is not Operator.NE for op in between)
    if ranges >= 2:
        return "IE_JOIN"
    # A symmetric constraint is asked with a.rank < b.rank, which is a range.
    return "PIECEWISE_MERGE_JOIN" if ranges or is_symmetric(dc.constraint) else "NESTED_LOOP_JOIN"


def refuse_nested_loops(constraints: Sequence[BoundConstraint], row_bound: int | None) -> None:
    """Refuse constraints by shape that compare every row with every other one.

    Raises
    ------
    ParameterError
        If a constraint has neither an equality nor a range between its tuples, nor classes, and no public `row_bound`
        of at most `NESTED_LOOP_ROWS` is declared. The data is not looked at.
    """
    if row_bound is not None and row_bound <= NESTED_LOOP_ROWS:
        return
    for dc in constraints:
        if compares_every_pair(dc.constraint):
            raise ParameterError(
                f"{dc.constraint.label}: compares every row with every other one; declare a public bound of the "
                f"number of rows of at most {NESTED_LOOP_ROWS:,} with row_bound (--row-bound) to admit it"
            )


# -- functional dependencies ----------------------------------------------------------------------------------


def _dependency_members(lhs: Sequence[str], rhs: str, tuples: exp.Table, minor: str) -> exp.Select:
    """Rows of groups with more than one class, and whether each is outside its group's largest class.

    No violating pair is lost: two rows of one class agree on the right-hand side.
    """
    same = [exp.column(name, table="t", quoted=True).eq(exp.column(name, table="g", quoted=True)) for name in lhs]
    known = [is_known(exp.column(name, table=ROW, quoted=True)) for name in (*lhs, rhs)]
    size, largest = (free_name(name, [*lhs, rhs]) for name in ("size", "largest"))
    return filled_select(
        "dependency_row",
        rows=tuples,
        keys=lhs,
        value=rhs,
        known=known,
        same=same,
        size=size,
        largest=largest,
        minor=minor,
    )


def _dependency_pairs(dc: BoundConstraint, rank: str, minor: str) -> PairQuery:
    """Join minority rows with their whole group; a pair of two minority rows is asked from its lower row only."""
    pairs = PairQuery(dc, rank)
    conditions = [
        pairs.violated,
        exp.column(minor, table=pairs.first, quoted=True),
        exp.paren(exp.or_(exp.column(minor, table=pairs.second, quoted=True).not_(), pairs.ascending)),
    ]
    return pairs.on(conditions, ordered=False)


# -- order constraints ----------------------------------------------------------------------------------------


def _order_members(
    prefix: Sequence[str], first: str, second: exp.Ordered, tuples: exp.Table, names: Sequence[str]
) -> exp.Select:
    """Rows with their dense ranks, `names`: x over (prefix, first) and y over (prefix, second).

    Rows of different groups are ordered alike by x and y, so x above and y below alone means one group and a violation.
    """
    keys = [exp.column(name, table="t", quoted=True) for name in prefix]
    by_first = exp.column(first, table="t", quoted=True)
    known = [is_known(column) for column in (*keys, by_first, second.this)]
    x, y = names
    return filled_select(
        "order_row", rows=tuples, first=[*keys, by_first], second=[*keys, second], x=x, y=y, known=known
    )


def _crossed_pairs(dc: BoundConstraint, rank: str, x: str, y: str, *, t1_above: bool) -> PairQuery:
    """Join on the two ranks alone. Strict in both, so a pair matches in one orientation only.

    That is the constraint's own, the first row being its t1 (`PairQuery.violated`): what else the pair may violate is
    told from it.
    """
    pairs = PairQuery(dc, rank)
    upper, lower = (pairs.first, pairs.second) if t1_above else (pairs.second, pairs.first)
    above = exp.column(x, table=upper, quoted=True) > exp.column(x, table=lower, quoted=True)
    below = exp.column(y, table=upper, quoted=True) < exp.column(y, table=lower, quoted=True)
    return pairs.on([above, below], ordered=False)


class Groups(Protocol):
    """Rows that can say how large their largest groups are."""

    def largest_group(self, columns: Sequence[str]) -> int:
        """Size of the largest group of rows that agree in some columns and have a value in each; all rows if none."""

    def largest_group_of(self, key: exp.Expr) -> int:
        """Size of the largest group of rows, aliased `ROW`, that agree in a key that is not NULL."""


@dataclass(frozen=True, order=True)
class GroupTerm:
    """max(0, largest group of `columns` - 1); no columns means one group of all rows.

    Sensitivity 1: a row joins or leaves one group, whose size changes by 1.
    """

    columns: tuple[str, ...]
    sensitivity: int = 1

    def within(self, max_group: int) -> int:
        """The greatest value of the term if no group has more than `max_group` rows."""
        return max_group - 1


@dataclass(frozen=True)
class CrossTerm:
    """Largest group of one column + largest group of another, in the type in which the constraint compares them.

    A row s conflicts with rows whose B equals its A, or whose A equals its B. Sensitivity 2: a row changes one group of
    each column by 1.
    """

    first: Operand
    second: Operand
    sensitivity: int = 2

    def within(self, max_group: int) -> int:
        """The greatest value of the term if no group has more than `max_group` rows."""
        return 2 * max_group


@dataclass(frozen=True)
class DegreeTerms:
    """The terms whose sum bounds every degree: a public fact of the constraints."""

    terms: tuple[GroupTerm | CrossTerm, ...]

    @property
    def sensitivity(self) -> int:
        """By how much one row changes the bound at most: the sum over the terms (triangle inequality)."""
        return sum(term.sensitivity for term in self.terms)

    def within(self, max_group: int) -> int:
        """Bound every degree, by at least 1, if no group of rows that a constraint compares has more than `max_group`.

        Reads no row: it is a public fact of the constraints and of a number that the owner declares.
        """
        return max(1, sum(term.within(max_group) for term in self.terms))

    @property
    def covers_all_rows(self) -> bool:
        """True if some constraint has no equality, so that only the number of rows bounds a degree."""
        return GroupTerm(()) in self.terms


def degree_terms(constraints: Sequence[BoundConstraint]) -> DegreeTerms:
    """Choose the terms: distinct inclusion-minimal equality sets, and cross terms where there is no such set.

    Rows that share X share every subset of X, so a smaller set's group already counts a larger set's conflicts.
    """
    groups: set[frozenset[str]] = set()
    crosses: dict[frozenset[tuple[str, str]], CrossTerm] = {}
    for dc in constraints:
        if dc.constraint.is_single_tuple:
            continue
        equalities = [p for p in dc.predicates if p.op is Operator.EQ and not p.reads_one_tuple]
        same = frozenset(p.left.column for p in equalities if p.joins_one_column)
        if same or not equalities:
            groups.add(same)
        else:
            first, second = equalities[0].left, equalities[0].right
            assert isinstance(second, Operand)
            key = frozenset({(first.column, first.compared_as), (second.column, second.compared_as)})
            crosses.setdefault(key, CrossTerm(first, second))
    if frozenset() in groups:
        return DegreeTerms((GroupTerm(()),))
    minimal = [group for group in groups if not any(other < group for other in groups)]
    return DegreeTerms((*sorted(GroupTerm(tuple(sorted(group))) for group in minimal), *crosses.values()))


def evaluate(terms: DegreeTerms, rows: Groups) -> int:
    """Return the exact bound: private, to be released through noise only."""
    return sum(_term_value(term, rows) for term in terms.terms)


def _term_value(term: GroupTerm | CrossTerm, rows: Groups) -> int:
    if isinstance(term, GroupTerm):
        return max(0, rows.largest_group(term.columns) - 1)
    sides = [Operand(0, side.column, side.column_type, side.compared_as) for side in (term.first, term.second)]
    return sum(rows.largest_group_of(side.over([ROW])) for side in sides)

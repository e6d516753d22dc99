"""An upper bound of the conflict graph's maximum degree that one row changes by a known amount.

Paper A, Lemma 3 and Theorem 3, extended to every kind of constraint: rows in conflict through `t1.X = t2.X` share the
value of X, so a row has at most (largest group of X) - 1 such conflicts. X may be computed (`lower(city)`): its value
depends on the row alone (see `dpdb.engine.sql.input_rows`), so one row still changes one group by 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from dpdb.constraints import Operator
from dpdb.engine.sql.bind import BoundConstraint, Operand
from dpdb.engine.sql.coded_rows import ROW
from dpdb.predicates import Literal


class Groups(Protocol):
    """Rows that can say how large their largest groups are."""

    def largest_group(self, columns: Sequence[str]) -> int:
        """Size of the largest group of rows that agree in some columns and have a value in each; all rows if none."""
        ...

    def largest_group_of(self, key: exp.Expr) -> int:
        """Size of the largest group of rows, aliased `ROW`, that agree in a key that is not NULL."""
        ...


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
        equalities = [p for p in dc.predicates if p.op is Operator.EQ and _joins_tuples(p.left, p.right)]
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


def _joins_tuples(left: Operand, right: Operand | Literal) -> bool:
    return isinstance(right, Operand) and left.tuple_index != right.tuple_index


def evaluate(terms: DegreeTerms, rows: Groups) -> int:
    """Return the exact bound: private, to be released through noise only."""
    return sum(_term_value(term, rows) for term in terms.terms)


def _term_value(term: GroupTerm | CrossTerm, rows: Groups) -> int:
    if isinstance(term, GroupTerm):
        return max(0, rows.largest_group(term.columns) - 1)
    sides = [Operand(0, side.column, side.column_type, side.compared_as) for side in (term.first, term.second)]
    return sum(rows.largest_group_of(side.over([ROW])) for side in sides)

"""Denial constraints as values: no two tuples may satisfy all predicates of one.

A predicate compares a column of t1 or t2 with another column or a constant. Its operator stands for a node of SQL
trees, both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from functools import cached_property

from sqlglot import exp

from dpdb.constraints.column_ref import Across, ColumnRef, ComputedRef, Member, RowExpression
from dpdb.constraints.text.lexer import shortened
from dpdb.errors import ParameterError
from dpdb.names import in_double_quotes, is_encodable, is_one_word

MAX_PREDICATES = 64
"""A constraint with more predicates than this is refused."""

_LONGEST_LABEL = 200


@dataclass(frozen=True)
class DenialConstraint:
    """No pair of tuples t1, t2 (or no single tuple) may satisfy all predicates.

    A constraint that mentions one tuple only is normalised to mention t1.

    Parameters
    ----------
    predicates
        1 to 64 predicates, in the order written.
    name, text : str, optional
        What the user calls it, and what was written, on one line and printable; both are for readers only, and equal
        constraints may differ in them.

    Attributes
    ----------
    columns : tuple of str
        The names of all compared columns, sorted; a computed column has a name of its own.
    tuple_indices : tuple of int
        The tuples mentioned: `(0,)` or `(0, 1)`.
    is_single_tuple : bool
        Whether one tuple can violate the constraint alone.

    Raises
    ------
    ParameterError
        If there is no predicate, or more than 64.

    Examples
    --------
    >>> from dpdb.constraints import parse_constraint
    >>> (dc,) = parse_constraint("zip -> city")
    >>> str(dc)
    'not(t1.zip=t2.zip&t1.city!=t2.city)'
    """

    predicates: tuple[Predicate, ...]
    name: str | None = field(default=None, compare=False, repr=False)
    text: str | None = field(default=None, compare=False, repr=False)
    columns: tuple[str, ...] = field(init=False, compare=False, repr=False)
    tuple_indices: tuple[int, ...] = field(init=False, compare=False, repr=False)
    is_single_tuple: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        predicates = tuple(self.predicates)
        if not all(isinstance(predicate, Predicate) for predicate in predicates):
            raise ParameterError("predicates must be Predicate values")
        if not 1 <= len(predicates) <= MAX_PREDICATES:
            raise ParameterError(f"a denial constraint has 1 to {MAX_PREDICATES} predicates, got {len(predicates)}")
        refs = [ref for predicate in predicates for ref in predicate.columns]
        indices = tuple(sorted({ref.tuple_index for ref in refs}))
        if indices == (1,):
            predicates, indices = tuple(predicate.swapped() for predicate in predicates), (0,)
        object.__setattr__(self, "predicates", predicates)
        object.__setattr__(self, "columns", tuple(sorted({ref.column for ref in refs})))
        object.__setattr__(self, "tuple_indices", indices)
        object.__setattr__(self, "is_single_tuple", indices == (0,))

    def __str__(self) -> str:
        return self._predicate_words

    @cached_property
    def _predicate_words(self) -> str:
        if self.inclusion is not None:
            among = " & ".join(filter(None, [self.inclusion.among_words, *map(str, self.conditions)]))
            return self.inclusion.rule + (f" WHERE {among}" if among else "")
        return f"not({(' & ' if self.computed else '&').join(map(str, self.predicates))})"

    @property
    def written(self) -> str:
        """The constraint for readers: with its name, where it has one, as it was written."""
        return self._named(self.text or str(self))

    @property
    def label(self) -> str:
        """The constraint for a line of text: as it was written, cut when it is long."""
        written = self.written
        return written if len(written) <= _LONGEST_LABEL else written[: _LONGEST_LABEL - 3] + "..."

    @property
    def identity(self) -> str:
        """The text that identifies releases of this constraint alone: name and predicates, however they are written."""
        return self._named(str(self))

    def _named(self, words: str) -> str:
        if self.name is None:
            return words
        return f"{self.name if is_one_word(self.name) else in_double_quotes(self.name)}: {words}"

    @cached_property
    def table_columns(self) -> tuple[str, ...]:
        """The names of the table's own columns that are read, sorted."""
        refs = (ref for predicate in self.predicates for ref in predicate.columns)
        return tuple(sorted({name for ref in refs for name in ref.table_columns}))

    @cached_property
    def computed(self) -> tuple[ComputedRef, ...]:
        """The computed columns, in the order written."""
        refs = (ref for predicate in self.predicates for ref in predicate.columns)
        return tuple(ref for ref in refs if isinstance(ref, ComputedRef))

    @cached_property
    def inclusions(self) -> tuple[Across, ...]:
        """All that its predicates say of parents: members before what they are part of."""
        said = [(ref.expression, ref.expression.members) for ref in self.computed]
        return tuple(each for one, members in said for each in (*members, *((one,) if isinstance(one, Across) else ())))

    @cached_property
    def inclusion(self) -> Across | None:
        """The inclusion or look-up that no row may satisfy if this is a rule across tables; None for all others."""
        return next((found for predicate in self.predicates if (found := self._denied_by(predicate))), None)

    @cached_property
    def conditions(self) -> tuple[Predicate, ...]:
        """The other predicates of a rule across tables, which restrict it to some rows."""
        return tuple(predicate for predicate in self.predicates if self._denied_by(predicate) is None)

    def _denied_by(self, predicate: Predicate) -> Across | None:
        found = predicate.left.expression if isinstance(predicate.left, ComputedRef) else None
        is_rule = self.is_single_tuple and predicate.is_condition
        return found if is_rule and isinstance(found, Across) and not isinstance(found, Member) else None

    def swapped(self) -> DenialConstraint:
        """Return the constraint with t1 and t2 exchanged: the same violating unordered pairs."""
        return DenialConstraint(tuple(predicate.swapped() for predicate in self.predicates))

    def renamed(self, names: Mapping[str, str]) -> DenialConstraint:
        """Return the constraint with columns renamed; `names` has every one of `table_columns`."""
        return replace(self, predicates=tuple(predicate.renamed(names) for predicate in self.predicates))

    def kept_as(self, names: Mapping[RowExpression | Across, str]) -> DenialConstraint:
        """Return the constraint with computed columns under the names that they have in the engine."""
        return replace(self, predicates=tuple(predicate.kept_as(names) for predicate in self.predicates))

    def among(self, conditions: tuple[Predicate, ...]) -> DenialConstraint:
        """Return the constraint on the rows that satisfy conditions, which mention t1 only.

        In a rule across tables they stand before the conditions that it has already.
        """
        if self.inclusion is not None:
            rule = tuple(predicate for predicate in self.predicates if predicate not in self.conditions)
            return replace(self, predicates=(*rule, *conditions, *self.conditions))
        second = () if self.is_single_tuple else tuple(condition.swapped() for condition in conditions)
        return replace(self, predicates=(*self.predicates, *conditions, *second))

    def oriented(self) -> DenialConstraint:
        """Return the constraint with its predicates canonical, distinct and sorted.

        Constraints with equal oriented forms have the same violating ordered pairs.
        """
        distinct = {predicate.canonical() for predicate in self.predicates}
        return DenialConstraint(tuple(sorted(distinct, key=lambda predicate: predicate.sort_key)))

    def canonical(self) -> DenialConstraint:
        """Return the smaller of the oriented constraint and its swap.

        Constraints with equal canonical forms have the same violating unordered pairs.
        """
        return self._canonical

    @cached_property
    def _canonical(self) -> DenialConstraint:
        return min(self.oriented(), self.swapped().oriented(), key=_sort_key)


def _sort_key(dc: DenialConstraint) -> list[tuple[int, str, int, str, str]]:
    return [predicate.sort_key for predicate in dc.predicates]


_MAX_DIGITS = 100
_MAX_EXPONENT = 400


class Operator(Enum):
    """A comparison operator; the value is its spelling."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    def __str__(self) -> str:
        return self.value

    @property
    def flipped(self) -> Operator:
        """The operator after exchanging the sides: `a < b` is `b > a`."""
        return _BY_SIGNS[frozenset(-sign for sign in self.signs)]

    @property
    def negated(self) -> Operator:
        """The operator that holds of two values exactly where this one does not."""
        return _BY_SIGNS[_ALL_SIGNS - self.signs]

    @property
    def signs(self) -> frozenset[int]:
        """The orders of its sides that it admits: left below right (-1), equal (0), above (1)."""
        return _SIGNS[self]

    @cached_property
    def is_order(self) -> bool:
        """Return whether this is `<`, `<=`, `>` or `>=`."""
        return self not in {Operator.EQ, Operator.NE}

    @property
    def is_strict_order(self) -> bool:
        """Return whether this is `<` or `>`."""
        return self in {Operator.LT, Operator.GT}


_ALL_SIGNS = frozenset({-1, 0, 1})
_SIGNS = {
    Operator.EQ: frozenset({0}),
    Operator.NE: frozenset({-1, 1}),
    Operator.LT: frozenset({-1}),
    Operator.LE: frozenset({-1, 0}),
    Operator.GT: frozenset({1}),
    Operator.GE: frozenset({0, 1}),
}
_BY_SIGNS = {signs: operator for operator, signs in _SIGNS.items()}


class Moment(str):
    """The text of a date or time that was written as one: `DATE '2020-01-31'`, or `2020-01-31` in a denial constraint.

    It is equal to the same text. Beside a column of text the difference counts: what was meant is no text.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A number, truth value or text that a column is compared with.

    Dates and timestamps are text here (`Moment`): they are cast to the column's type when the constraint is compiled.
    Two constants are equal when they are written alike: `1`, `1.0`, `TRUE` and `'1'` are four constants.

    Parameters
    ----------
    value
        A Decimal without fraction or exponent becomes an int. At most 100 digits, exponent within 400. Text must be
        valid Unicode.
    """

    value: int | Decimal | bool | str

    def __post_init__(self) -> None:
        if not isinstance(self.value, (bool, int, Decimal, str)):
            raise ParameterError(f"a constant must be int, Decimal, bool or str, got {type(self.value).__name__}")
        if isinstance(self.value, Decimal):
            object.__setattr__(self, "value", _bounded_decimal(self.value))
        elif isinstance(self.value, str) and not is_encodable(self.value):
            raise ParameterError(f"the constant {shortened(self.value)} has a character that is not valid Unicode")
        elif isinstance(self.value, int) and abs(self.value) >= 10**_MAX_DIGITS:
            raise ParameterError(f"a number must have at most {_MAX_DIGITS} digits")

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Constant) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return "TRUE" if self.value else "FALSE"
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        return str(self.value)


def _bounded_decimal(value: Decimal) -> Decimal | int:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ParameterError("a number must be finite")
    if len(digits) > _MAX_DIGITS or abs(exponent) > _MAX_EXPONENT:
        raise ParameterError(f"a number must have at most {_MAX_DIGITS} digits and an exponent within {_MAX_EXPONENT}")
    return int(value) if exponent == 0 else value


@dataclass(frozen=True, slots=True)
class Predicate:
    """A comparison whose left side is a column; use `Predicate.of` when the left side may be a constant."""

    left: ColumnRef
    op: Operator
    right: ColumnRef | Constant

    def __post_init__(self) -> None:
        if not isinstance(self.left, ColumnRef) or not isinstance(self.right, (ColumnRef, Constant)):
            raise ParameterError("a predicate compares a column with a column or a constant")
        if not isinstance(self.op, Operator):
            raise ParameterError(f"op must be an Operator, got {self.op!r}")

    @classmethod
    def of(cls, left: ColumnRef | Constant, op: Operator, right: ColumnRef | Constant) -> Predicate:
        """Build a predicate from sides in any order.

        Parameters
        ----------
        left, right
            The sides; at least one is a column.
        op
            The operator between them, in this order.
        """
        if isinstance(left, ColumnRef):
            return cls(left, op, right)
        if isinstance(right, ColumnRef):
            return cls(right, op.flipped, left)
        raise ParameterError(f"a predicate needs a column on at least one side, got {left} and {right}")

    def __str__(self) -> str:
        if self.is_condition:
            return str(self.left)
        gap = " " if any(isinstance(ref, ComputedRef) for ref in self.columns) else ""
        return f"{self.left}{gap}{self.op}{gap}{self.right}"

    @property
    def is_condition(self) -> bool:
        """Return whether the predicate says that a condition over one tuple is true; it is written as such."""
        return self.left.is_condition and self.op is Operator.EQ and self.right == Constant(True)

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The one or two columns compared, left first."""
        return (self.left, self.right) if isinstance(self.right, ColumnRef) else (self.left,)

    @property
    def joins_one_column(self) -> bool:
        """Return whether it compares one column of both tuples (`t1.A op t2.A`)."""
        right = self.right
        return isinstance(right, ColumnRef) and right == self.left.swapped()

    def swapped(self) -> Predicate:
        """Return the predicate with t1 and t2 exchanged."""
        return self._mapped(lambda ref: ref.swapped())

    def renamed(self, names: Mapping[str, str]) -> Predicate:
        """Return the predicate with columns renamed; `names` has every column of the predicate."""
        return self._mapped(lambda ref: ref.renamed(names))

    def kept_as(self, names: Mapping[RowExpression | Across, str]) -> Predicate:
        """Return the predicate with computed columns under the names that they have in the engine."""
        return self._mapped(lambda ref: ref.kept_as(names))

    def _mapped(self, change: Callable[[ColumnRef], ColumnRef]) -> Predicate:
        right = self.right if isinstance(self.right, Constant) else change(self.right)
        return Predicate(change(self.left), self.op, right)

    def canonical(self) -> Predicate:
        """Return the equivalent predicate whose sides are in ascending order of (tuple_index, column)."""
        if isinstance(self.right, Constant):
            return self
        flipped = Predicate(self.right, self.op.flipped, self.left)
        return min(self, flipped, key=lambda predicate: predicate.sort_key)

    @property
    def sort_key(self) -> tuple[int, str, int, str, str]:
        """A total order of predicates: by left side, right side (columns before constants), operator."""
        right = self.right
        if isinstance(right, Constant):
            return self.left.tuple_index, self.left.column, 2, str(right), self.op.value
        return self.left.tuple_index, self.left.column, right.tuple_index, right.column, self.op.value


COMPARISONS: dict[Operator, type[exp.Binary]] = {
    Operator.EQ: exp.EQ,
    Operator.NE: exp.NEQ,
    Operator.LT: exp.LT,
    Operator.LE: exp.LTE,
    Operator.GT: exp.GT,
    Operator.GE: exp.GTE,
}
OPERATORS: dict[type[exp.Expr], Operator] = {node: operator for operator, node in COMPARISONS.items()}

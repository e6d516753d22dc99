"""One comparison of a denial constraint: a column of t1 or t2 against another column or a constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from dpdb.characters import is_encodable
from dpdb.constraints.across import Across
from dpdb.constraints.column_ref import ColumnRef, ComputedRef, RowExpression
from dpdb.constraints.text.source import shortened
from dpdb.errors import ParameterError

__all__ = ["Constant", "Operator", "Predicate"]

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
        return _FLIPPED.get(self, self)

    @property
    def negated(self) -> Operator:
        """The operator that holds of two values exactly where this one does not."""
        return _NEGATED[self]

    @property
    def signs(self) -> frozenset[int]:
        """The orders of its sides that it admits: left below right (-1), equal (0), above (1)."""
        return _SIGNS[self]

    @property
    def is_order(self) -> bool:
        """Return whether this is `<`, `<=`, `>` or `>=`."""
        return self not in {Operator.EQ, Operator.NE}

    @property
    def is_strict_order(self) -> bool:
        """Return whether this is `<` or `>`."""
        return self in {Operator.LT, Operator.GT}


_FLIPPED = {
    Operator.LT: Operator.GT,
    Operator.GT: Operator.LT,
    Operator.LE: Operator.GE,
    Operator.GE: Operator.LE,
}
_NEGATED = {
    Operator.EQ: Operator.NE,
    Operator.NE: Operator.EQ,
    Operator.LT: Operator.GE,
    Operator.LE: Operator.GT,
    Operator.GT: Operator.LE,
    Operator.GE: Operator.LT,
}
_SIGNS = {
    Operator.EQ: frozenset({0}),
    Operator.NE: frozenset({-1, 1}),
    Operator.LT: frozenset({-1}),
    Operator.LE: frozenset({-1, 0}),
    Operator.GT: frozenset({1}),
    Operator.GE: frozenset({0, 1}),
}


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A number, truth value or text that a column is compared with.

    Dates and timestamps are text here: they are cast to the column's type when the constraint is compiled.
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

        Raises
        ------
        ParameterError
            If both sides are constants.
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

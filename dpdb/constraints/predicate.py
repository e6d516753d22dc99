"""One comparison of a denial constraint: a column of t1 or t2 against another column or a constant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from dpdb.constraints.source import shortened
from dpdb.encodable import is_encodable
from dpdb.errors import ParameterError

__all__ = ["ColumnRef", "Constant", "Operator", "Predicate", "quoted_name"]

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_DIGITS = 100
_MAX_EXPONENT = 400


def quoted_name(name: str) -> str:
    """Return a column name as it is written in a constraint: plain if it can be, else in double quotes."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    return '"' + name.replace('"', '""') + '"'


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
    def is_strict_order(self) -> bool:
        """Return whether this is `<` or `>`."""
        return self in {Operator.LT, Operator.GT}


_FLIPPED = {
    Operator.LT: Operator.GT,
    Operator.GT: Operator.LT,
    Operator.LE: Operator.GE,
    Operator.GE: Operator.LE,
}


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column of one of the two tuples.

    Parameters
    ----------
    tuple_index
        0 for t1, 1 for t2.
    column
        The column's name as the table spells it.
    """

    tuple_index: int
    column: str

    def __post_init__(self) -> None:
        if self.tuple_index not in {0, 1}:
            raise ParameterError(f"tuple_index must be 0 (t1) or 1 (t2), got {self.tuple_index!r}")
        if not isinstance(self.column, str) or not self.column:
            raise ParameterError(f"a column name must be a text that is not empty, got {self.column!r}")

    def __str__(self) -> str:
        return f"t{self.tuple_index + 1}.{quoted_name(self.column)}"

    def swapped(self) -> ColumnRef:
        """Return the same column of the other tuple."""
        return ColumnRef(1 - self.tuple_index, self.column)


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
        return f"{self.left}{self.op}{self.right}"

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The one or two columns compared, left first."""
        return (self.left, self.right) if isinstance(self.right, ColumnRef) else (self.left,)

    def swapped(self) -> Predicate:
        """Return the predicate with t1 and t2 exchanged."""
        right = self.right.swapped() if isinstance(self.right, ColumnRef) else self.right
        return Predicate(self.left.swapped(), self.op, right)

    def renamed(self, names: Mapping[str, str]) -> Predicate:
        """Return the predicate with columns renamed; `names` has every column of the predicate."""
        left = ColumnRef(self.left.tuple_index, names[self.left.column])
        if isinstance(self.right, Constant):
            return Predicate(left, self.op, self.right)
        return Predicate(left, self.op, ColumnRef(self.right.tuple_index, names[self.right.column]))

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

"""`Domain`: the values of one synthetic column, ascending, as the constraints on single rows allow them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpdb.constraints import Constant, DenialConstraint, Operator
from dpdb.errors import ParameterError

__all__ = ["Domain", "domain_of"]

_FIRST_DAY = (date(2020, 1, 1) - date(1970, 1, 1)).days
_DAY = 86_400_000_000  # microseconds
_PREFIX = "v"


@dataclass(frozen=True, eq=False)
class Domain:
    """Whole numbers from `low` to `high` (None: no bound), converted to a type; or a list of values.

    Attributes
    ----------
    kind : pyarrow.DataType
        int64, float64, bool, date32, timestamp or string.
    values : pyarrow.Array or None
        The list, ascending.
    is_open : bool
        Whether the list is one of many, of as many values as a table may need.
    """

    kind: pa.DataType
    low: int | None = None
    high: int | None = None
    values: pa.Array | None = None
    is_open: bool = False

    @property
    def size(self) -> int | None:
        """Number of values; None if it is not bounded."""
        if self.values is not None:
            return None if self.is_open else len(self.values)
        return None if self.low is None or self.high is None else self.high - self.low + 1

    def column(self, codes: NDArray[np.int64], count: int) -> pa.Array:
        """Return values for codes from 0 to `count` - 1, in their order."""
        if self.values is not None:
            if count > len(self.values):
                raise ParameterError(f"{count:,} distinct values are more than the {len(self.values):,} that are known")
            return self.values.take(pa.array(codes))
        numbers = codes + self._first(count)
        if pa.types.is_string(self.kind):
            width = len(str(self._first(count) + count))  # of one width, so that text compares as the codes do
            return pa.array([f"{_PREFIX}{number:0{width}d}" for number in numbers.tolist()])
        if pa.types.is_boolean(self.kind):
            return pa.array(numbers.astype(np.bool_))
        if pa.types.is_date32(self.kind):
            return pa.array(numbers.astype(np.int32), pa.date32())
        if pa.types.is_timestamp(self.kind):
            return pa.array((numbers + _FIRST_DAY) * _DAY, self.kind)
        return pa.array(numbers).cast(self.kind)

    def _first(self, count: int) -> int:
        if self.low is not None:
            return self.low
        usual = _FIRST_DAY if pa.types.is_date32(self.kind) else 1
        return usual if self.high is None else min(usual, self.high - count + 1)


def domain_of(column: str, sql_type: str, constraints: Iterable[DenialConstraint]) -> Domain:
    """Choose the values of a column: numbers for numbers, dates for dates, text for other types.

    Constraints of one comparison with a constant (`not(t1.age < 0)`) bound numbers and dates.

    Parameters
    ----------
    column
        The column's name.
    sql_type
        Its SQL type.
    constraints
        The table's constraints; only comparisons of this column with a constant matter.

    Raises
    ------
    ParameterError
        If the constraints leave no value.
    """
    kind = _kind(sql_type)
    if pa.types.is_boolean(kind):
        return Domain(kind, 0, 1)
    low: int | None = None
    high: int | None = None
    for dc in constraints:
        if not dc.is_single_tuple or len(dc.predicates) != 1 or dc.columns != (column,):
            continue
        (predicate,) = dc.predicates
        bound = _number(predicate.right, kind) if isinstance(predicate.right, Constant) else None
        if bound is None:
            continue
        least, most = _allowed(predicate.op, bound)
        low = least if low is None else max(low, least) if least is not None else low
        high = most if high is None else min(high, most) if most is not None else high
    if low is not None and high is not None and low > high:
        raise ParameterError(
            f"no whole number is a value of {column!r} that its constraints allow: nothing to plan with"
        )
    return Domain(kind, low, high)


def _kind(sql_type: str) -> pa.DataType:
    if sql_type.endswith(("INT", "INTEGER")):
        return pa.int64()
    if sql_type in ("FLOAT", "DOUBLE") or sql_type.startswith("DECIMAL"):
        return pa.float64()
    if sql_type.startswith("TIMESTAMP"):
        return pa.timestamp("us", "UTC" if sql_type.endswith("ZONE") else None)
    return {"BOOLEAN": pa.bool_(), "DATE": pa.date32()}.get(sql_type, pa.string())


def _number(constant: Constant, kind: pa.DataType) -> Fraction | None:
    """Convert a constant to the numbers of a domain; None for types whose bounds are ignored."""
    try:
        if pa.types.is_date32(kind):
            return Fraction((date.fromisoformat(str(constant.value)) - date(1970, 1, 1)).days)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return Fraction(Decimal(constant.value))
    except (ValueError, InvalidOperation, OverflowError):
        pass
    return None


def _allowed(forbidden: Operator, bound: Fraction) -> tuple[int | None, int | None]:
    """Return the least and the greatest whole number that a forbidden comparison leaves."""
    allowed: dict[Operator, tuple[int | None, int | None]] = {
        Operator.LT: (math.ceil(bound), None),
        Operator.LE: (math.floor(bound) + 1, None),
        Operator.GT: (None, math.floor(bound)),
        Operator.GE: (None, math.ceil(bound) - 1),
        Operator.NE: (math.ceil(bound), math.floor(bound)),
        Operator.EQ: (None, None),
    }
    return allowed[forbidden]

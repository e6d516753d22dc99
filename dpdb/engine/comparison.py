"""What may be compared with what, and in which type.

Every comparison runs in one type chosen here from public types alone, with total casts (`TRY_CAST`): no row can make a
query fail, and no row changes how two other rows compare.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from dpdb.engine.database import Database
from dpdb.errors import EngineError

__all__ = ["LiteralValue", "bind_literal", "common_type", "in_type"]

LiteralValue = bool | int | Decimal | str

_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")
_DIGITS = dict(zip(_SIGNED + _UNSIGNED, (3, 5, 10, 19, 39, 3, 5, 10, 20, 39), strict=True))
_BITS = dict(zip(_SIGNED, (8, 16, 32, 64, 128), strict=True))
_FLOATS = ("FLOAT", "DOUBLE")
_ZONED = "TIMESTAMP WITH TIME ZONE"
_TIMES = ("DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP", _ZONED)
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_MAX_DIGITS = 38
_MAX_EXPONENT = 1_000


def common_type(left: str, right: str) -> str | None:
    """Return the type in which values of two types compare, or None if they are not comparable.

    Numbers compare with numbers (exactly where a common exact type exists, else as DOUBLE), dates with timestamps;
    everything else only with its own type.
    """
    if left == right:
        return left
    if _is_number(left) and _is_number(right):
        return _common_number(left, right)
    if left in _TIMES and right in _TIMES:
        return _ZONED if _ZONED in (left, right) else "TIMESTAMP"
    return None


def in_type(operand: exp.Expr, current: str, wanted: str) -> exp.Expr:
    """Cast an operand for a comparison; no cast where the type is already right."""
    if current == wanted:
        return operand
    return exp.TryCast(this=operand, to=exp.DataType.build(wanted, dialect="duckdb"))


def bind_literal(database: Database, value: LiteralValue, column_type: str) -> tuple[str, exp.Expr] | None:
    """Cast a literal for comparison with a column, at compile time.

    Returns
    -------
    (type, expression) or None
        The type in which column and literal compare (the column's own unless the literal does not fit in it exactly)
        and the literal in that type; None if the literal cannot be read as a value of the column's kind.
    """
    if isinstance(value, bool):
        return ("BOOLEAN", exp.convert(value)) if column_type == "BOOLEAN" else None
    if column_type == "VARCHAR":
        return "VARCHAR", exp.Literal.string(str(value))
    if _is_number(column_type):
        return _bind_number(database, value, column_type)
    if not isinstance(value, str):
        return None
    if column_type == "DATE" and not _is_midnight(database, value):
        column_type = "TIMESTAMP"
    return _checked(database, value, column_type)


def _bind_number(database: Database, value: int | Decimal | str, column_type: str) -> tuple[str, exp.Expr] | None:
    if column_type in _FLOATS:
        return _checked(database, str(value), column_type)
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > _MAX_EXPONENT:
        return None  # written out, 1e999999999 would take a gigabyte
    kind = common_type(column_type, _number_type(number))
    return None if kind is None else _checked(database, f"{number:f}", kind)


def _checked(database: Database, text: str, kind: str) -> tuple[str, exp.Expr] | None:
    literal = exp.cast(exp.Literal.string(text), exp.DataType.build(kind, dialect="duckdb"))
    try:
        database.rows(exp.select(literal.copy()))
    except EngineError:
        return None
    return kind, literal


def _is_midnight(database: Database, text: str) -> bool:
    stamp = exp.cast(exp.Literal.string(text), "TIMESTAMP")
    try:
        return bool(database.value(exp.select(exp.EQ(this=stamp, expression=exp.cast(stamp.copy(), "DATE")))))
    except EngineError:
        return True  # not a timestamp at all: the cast to DATE says so


# -- numbers --------------------------------------------------------------------------------------------------


def _is_number(kind: str) -> bool:
    return kind in _DIGITS or kind in _FLOATS or _DECIMAL.fullmatch(kind) is not None


def _number_type(number: Decimal) -> str:
    """Return the smallest exact type of a literal, DOUBLE if none is wide enough."""
    if number == number.to_integral_value():
        bits = int(number).bit_length() + 1
        return next((kind for kind in _SIGNED if _BITS[kind] >= bits), "DOUBLE")
    _, digits, exponent = number.as_tuple()
    scale = -int(exponent)
    width = max(len(digits), scale)
    return f"DECIMAL({width},{scale})" if width <= _MAX_DIGITS else "DOUBLE"


def _common_number(left: str, right: str) -> str:
    if left in _FLOATS or right in _FLOATS:
        return "DOUBLE"
    if left in _DIGITS and right in _DIGITS:
        return _common_integer(left, right)
    (whole_l, scale_l), (whole_r, scale_r) = _whole_and_scale(left), _whole_and_scale(right)
    whole, scale = max(whole_l, whole_r), max(scale_l, scale_r)
    return f"DECIMAL({whole + scale},{scale})" if whole + scale <= _MAX_DIGITS else "DOUBLE"


def _common_integer(left: str, right: str) -> str:
    for family in (_SIGNED, _UNSIGNED):
        if left in family and right in family:
            return max(left, right, key=family.index)
    signed, unsigned = (left, right) if left in _SIGNED else (right, left)
    above = _UNSIGNED.index(unsigned) + 1  # the next wider signed type holds every value of an unsigned one
    return max(signed, _SIGNED[above], key=_SIGNED.index) if above < len(_SIGNED) else "DOUBLE"


def _whole_and_scale(kind: str) -> tuple[int, int]:
    match = _DECIMAL.fullmatch(kind)
    return (int(match[1]) - int(match[2]), int(match[2])) if match else (_DIGITS[kind], 0)

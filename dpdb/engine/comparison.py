"""What may be compared with what, and in which type.

Every comparison runs in one type chosen here from public types alone, with total casts (`TRY_CAST`): no row can make a
query fail, and no row changes how two other rows compare.
"""

from __future__ import annotations

import re
import shlex
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from dpdb.engine.database import Database
from dpdb.engine.schema import Column, TypeOrigin
from dpdb.engine.sources.text_columns import column_definition
from dpdb.errors import EngineError

__all__ = ["LiteralValue", "bind_literal", "common_type", "in_type", "typing_advice", "untyped_problem"]

LiteralValue = bool | int | Decimal | str

_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")
_DIGITS = dict(zip(_SIGNED + _UNSIGNED, (3, 5, 10, 19, 39, 3, 5, 10, 20, 39), strict=True))
_BITS = dict(zip(_SIGNED, (8, 16, 32, 64, 128), strict=True))
_FLOATS = ("FLOAT", "DOUBLE")
_ZONED = "TIMESTAMP WITH TIME ZONE"
_TIMES = ("DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP", _ZONED)
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_FRAME_TYPES = {"INTEGER": "Int64", "BIGINT": "Int64", "DOUBLE": "float64", "BOOLEAN": "boolean"}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
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
    if isinstance(value, str) and not value.isascii():
        return None  # Decimal knows the digits of all scripts
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


# -- columns that nobody has given a type ---------------------------------------------------------------------


def untyped_problem(column: Column, value: LiteralValue | None = None, *, ordered: bool = False) -> str | None:
    """Say why a column may not be compared so, with the remedy; None if it may.

    Text that nobody has declared is most likely something else: as text '10' is below '9', and '5' is not '05'. So
    neither its order nor a number or truth value beside it is what the user means. Equal texts are equal cells.

    Parameters
    ----------
    value
        What the column is compared with, if it is a literal.
    ordered : bool
        Whether the comparison is ``<``, ``>``, ``<=``, ``>=`` or BETWEEN.
    """
    if not column.is_untyped or not (ordered or isinstance(value, (bool, int, Decimal))):
        return None
    why = "as text '10' is below '9'" if ordered else f"{value} is no text"
    advice = typing_advice(column, value)
    return f"column {column.name!r} is text because nobody has given it a type, but {why}; {advice}"


def typing_advice(column: Column, value: LiteralValue | None = None) -> str:
    """Say how to give an untyped column a type, such as that of a literal it is compared with."""
    kind = "INTEGER" if value is None else _likely_type(value)
    if column.origin is TypeOrigin.OBJECTS:
        dtype = _FRAME_TYPES.get(kind, "datetime64[us]")
        return f"give it one, such as frame.astype({{{column.name!r}: {dtype!r}}}), or 'string' to compare it as text"
    option = shlex.quote(column_definition(column.name, kind))
    return (
        f"give it one, such as --schema {option} (csv_schema={{{column.name!r}: {kind!r}}}), "
        "or VARCHAR to compare it as text"
    )


def _likely_type(value: LiteralValue) -> str:
    if isinstance(value, bool):
        return "BOOLEAN"
    try:
        number = Decimal(value)
    except InvalidOperation:
        return "DATE" if _DATE.fullmatch(str(value)) else "TIMESTAMP" if _DATE.match(str(value)) else "INTEGER"
    kind = _number_type(number) if number.is_finite() and abs(number.adjusted()) <= _MAX_EXPONENT else "DOUBLE"
    return "INTEGER" if kind in ("TINYINT", "SMALLINT") else kind if kind in ("INTEGER", "BIGINT") else "DOUBLE"


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

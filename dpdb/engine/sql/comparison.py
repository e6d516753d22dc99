"""Comparable types, and the one type in which two of them compare; when values are known, and when they are the same.

Every comparison runs in one type chosen here from public types alone, with total casts (`TRY_CAST`): no row can make a
query fail, and no row changes how two other rows compare.

A column may be text only because nobody has said what it is: which comparisons it bears then is said here, and the
remedy. As a key of groups each value has one text, and two of them are the same or not.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from sqlglot import exp

from dpdb.constraints import Moment
from dpdb.database import Database
from dpdb.errors import EngineError
from dpdb.names import is_encodable
from dpdb.predicates import (
    IN_NANOSECONDS,
    MOMENTS,
    NANOSECONDS,
    ZONED,
    Literal,
    LiteralValue,
    Value,
    data_type,
    equality_type,
    literal_sql,
)
from dpdb.schema import Column, TypeOrigin
from dpdb.sources import column_definition

_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")
_DIGITS = dict(zip(_SIGNED + _UNSIGNED, (3, 5, 10, 19, 39, 3, 5, 10, 20, 39), strict=True))
_BITS = dict(zip(_SIGNED + _UNSIGNED, 2 * (8, 16, 32, 64, 128), strict=True))
_FLOATS = ("FLOAT", "DOUBLE")
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_MAX_DIGITS = 38
_MAX_EXPONENT = 1_000
_MOST_AT_ONCE = 500
MOST_REMEMBERED = 10_000
_LONGEST_REMEMBERED = 100


def common_type(left: str, right: str) -> str | None:
    """Return the type in which values of two types compare, or None if they are not comparable.

    Numbers compare with numbers (exactly where a common exact type exists, else as DOUBLE), dates with timestamps (by
    their count of nanoseconds, where one type has these and the other not; see `dpdb.predicates.in_type`),
    enumerations with text and other enumerations as texts, which have no common order (`orders_alike`); everything else
    only with its own type.
    """
    if left == right:
        return left
    if _is_number(left) and _is_number(right):
        return _common_number(left, right)
    if left in MOMENTS and right in MOMENTS:
        if left in IN_NANOSECONDS or right in IN_NANOSECONDS:
            return NANOSECONDS
        return ZONED if ZONED in (left, right) else "TIMESTAMP"
    return "VARCHAR" if equality_type(left) == equality_type(right) == "VARCHAR" else None


def pattern_problem(database: Database, pattern: str) -> str | None:
    """Say why this database's RE2 reads no regular expression in a text; None if it does.

    Parameters
    ----------
    database
        Its RE2 compiles the pattern, over no row of any table.
    """
    asked = exp.RegexpLike(this=exp.Literal.string(""), expression=exp.Literal.string(pattern))
    if database.value(exp.select(exp.Anonymous(this="TRY", expressions=[asked]))) is not None:
        return None
    from dpdb.predicates import re2_problem  # loads pyarrow's functions

    return re2_problem(pattern) or "this database does not read it"


def bind_literals(database: Database, values: Sequence[LiteralValue], column_type: str) -> list[Literal | None]:
    """Type literals for comparison with a column of a type, before any row is read.

    Parameters
    ----------
    values
        Values as they are written: texts, numbers or booleans.

    Returns
    -------
    list of Literal or None
        For each the type in which column and literal compare (the column's own unless the literal does not fit in it
        exactly) and the value that the engine's own cast gives it; None if it is no value of the column's kind.
    """
    if column_type == "DATE":
        return _bind_dates(database, values)
    written = [_written(value, column_type) for value in values]
    asked = [literal for literal in written if literal is not None]
    shown = iter(_remembered(database, asked, lambda kind, text: (shown_as(kind, _cast(text, kind)),)))
    found = [None if literal is None else _read(*literal, *next(shown)) for literal in written]
    return _beyond_nanoseconds(database, values, found, column_type) if column_type in IN_NANOSECONDS else found


def _beyond_nanoseconds(
    database: Database, values: Sequence[LiteralValue], found: Sequence[Literal | None], column_type: str
) -> list[Literal | None]:
    """Type moments that lie outside the years 1677 to 2262, as 9999-12-31: they compare in microseconds."""
    wider = bind_literals(database, values, "TIMESTAMP" if column_type == "TIMESTAMP_NS" else ZONED)
    return [literal or other for literal, other in zip(found, wider, strict=True)]


def _written(value: LiteralValue, column_type: str) -> tuple[str, str] | None:
    """Choose the type in which a literal is compared and the text that is cast to it."""
    if isinstance(value, bool):
        return ("BOOLEAN", str(value).lower()) if column_type == "BOOLEAN" else None
    if isinstance(value, str) and not is_encodable(value):
        return None
    if equality_type(column_type) == "VARCHAR":
        return column_type, str(value)
    if _is_number(column_type):
        return _written_number(value, column_type)
    return (column_type, value) if isinstance(value, str) else None


def _written_number(value: int | Decimal | str, column_type: str) -> tuple[str, str] | None:
    if column_type in _FLOATS:
        return column_type, str(value)
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    if isinstance(value, str) and not value.isascii():
        return None  # Decimal knows the digits of all scripts
    if not number.is_finite() or abs(number.adjusted()) > _MAX_EXPONENT:
        return None  # written out, 1e999999999 would take a gigabyte
    text = str(int(number)) if _is_whole(number) else f"{number:f}"
    if _fits(number, column_type):
        return column_type, text
    kind = common_type(column_type, _number_type(number))
    return None if kind is None else (kind, text)


def _bind_dates(database: Database, values: Sequence[LiteralValue]) -> list[Literal | None]:
    """Type literals for a DATE column: a time of day other than midnight is compared as TIMESTAMP."""
    texts = [value if isinstance(value, str) and is_encodable(value) else None for value in values]
    shown = iter(_remembered(database, [("DATE", text) for text in texts if text is not None], _date_and_time))
    bound: list[Literal | None] = []
    for text in texts:
        day, stamp_text, is_midnight = (None, None, None) if text is None else next(shown)
        # Not a timestamp at all: then it is what the cast to DATE says.
        kind, value = ("TIMESTAMP", stamp_text) if is_midnight is False else ("DATE", day)
        bound.append(None if text is None else _read(kind, text, value))
    return bound


def _date_and_time(kind: str, text: str) -> tuple[exp.Expr, ...]:
    """Return a text as DATE and as TIMESTAMP, and the condition that both are the same."""
    stamp = _cast(text, "TIMESTAMP")
    midnight = stamp.eq(exp.cast(stamp.copy(), kind))
    return shown_as(kind, _cast(text, kind)), shown_as("TIMESTAMP", stamp), midnight


# -- asking the engine ----------------------------------------------------------------------------------------


def _remembered(
    database: Database, literals: Sequence[tuple[str, str]], expressions: Callable[[str, str], tuple[exp.Expr, ...]]
) -> list[tuple[Any, ...]]:
    """Evaluate the expressions of each literal, which is a type and a text; a database is asked of each once.

    Nothing is remembered of a long text, nor of one without value, which may be a failure for want of memory.
    """
    known = {literal: database.constants[literal] for literal in literals if literal in database.constants}
    new = [literal for literal in dict.fromkeys(literals) if literal not in known]
    evaluated_now = dict(zip(new, evaluated(database, [expressions(*literal) for literal in new]), strict=True))
    if len(database.constants) + len(evaluated_now) > MOST_REMEMBERED:
        database.constants.clear()
    for literal, values in list(evaluated_now.items())[:MOST_REMEMBERED]:
        if len(literal[1]) <= _LONGEST_REMEMBERED and any(value is not None for value in values):
            database.constants[literal] = values
    known |= evaluated_now
    return [known[literal] for literal in literals]


def _cast(text: str, kind: str) -> exp.Expr:
    return exp.TryCast(this=exp.Literal.string(text), to=data_type(kind))


def shown_as(kind: str, value: exp.Expr) -> exp.Expr:
    """Show a value of a type so that nothing of it is lost on the way to Python."""
    if kind == "FLOAT":
        return exp.cast(value, "DOUBLE")  # wider, hence exact; its text would be read as another number
    if _is_number(kind) or kind == "BOOLEAN":
        return value
    return exp.func("hex", value) if kind == "BLOB" else exp.cast(value, "VARCHAR", dialect="duckdb")


def evaluated(database: Database, asked: Sequence[tuple[exp.Expr, ...]]) -> list[tuple[Any, ...]]:
    """Evaluate constant expressions, all of them in a few queries; what fails is NULL."""
    if not asked:
        return []
    if len(asked) <= _MOST_AT_ONCE:
        try:
            [row] = database.rows(exp.select(*(part for parts in asked for part in parts), copy=False))
        except EngineError:
            if len(asked) == 1:
                return [(None,) * len(asked[0])]
        else:
            values = iter(row)
            return [tuple(next(values) for _ in parts) for parts in asked]
    middle = len(asked) // 2
    return evaluated(database, asked[:middle]) + evaluated(database, asked[middle:])


def _read(kind: str, text: str, shown: Value | None) -> Literal | None:
    return None if shown is None else Literal(kind, text, shown)


# -- numbers --------------------------------------------------------------------------------------------------


def _is_number(kind: str) -> bool:
    return kind in _DIGITS or kind in _FLOATS or _DECIMAL.fullmatch(kind) is not None


def _fits(number: Decimal, column_type: str) -> bool:
    """Return True if a number is a value of a column's exact type."""
    exact = Fraction(number)
    if column_type in _SIGNED:
        half = 2 ** (_BITS[column_type] - 1)
        return exact.denominator == 1 and -half <= exact < half
    if column_type in _UNSIGNED:
        return exact.denominator == 1 and 0 <= exact < 2 ** _BITS[column_type]
    whole, scale = _whole_and_scale(column_type)
    return bool(abs(exact) < 10**whole) and (exact * 10**scale).denominator == 1


def _is_whole(number: Decimal) -> bool:
    return bool(number == number.to_integral_value())


def _number_type(number: Decimal) -> str:
    """Return the smallest exact type of a literal, DOUBLE if none is wide enough."""
    if _is_whole(number):
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


def largest_decimal(kind: str) -> str | None:
    """Write the largest number of a decimal type; None for another type."""
    match = _DECIMAL.fullmatch(kind)
    if match is None:
        return None
    digits, scale = int(match[1]), int(match[2])
    return f"{'9' * (digits - scale)}.{'9' * scale}"


_FRAME_TYPES = {"INTEGER": "Int64", "BIGINT": "Int64", "DOUBLE": "float64", "BOOLEAN": "boolean"}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def untyped_problem(column: Column, value: LiteralValue | None = None, *, ordered: bool = False) -> str | None:
    """Say why a column may not be compared so, with the remedy; None if it may.

    Text that nobody has declared is most likely something else: as text '10' is below '9', and '5' is not '05'. So
    neither its order nor a number, a truth value or a date beside it is what the user means. Equal texts are equal
    cells.

    Parameters
    ----------
    ordered : bool
        Whether the comparison is ``<``, ``>``, ``<=``, ``>=`` or BETWEEN.
    """
    if column.has_lost_order and ordered:
        return (
            f"the categories of column {column.name!r} have no order that its source tells; make it a DuckDB ENUM, an "
            "ordered categorical of pandas or an Enum of Polars, with the categories in order, or text"
        )
    is_text = value is None or (isinstance(value, str) and not isinstance(value, Moment))
    if not column.is_untyped or (is_text and not ordered):
        return None
    why = "as text '10' is below '9'" if ordered else f"{value} is no text"
    advice = typing_advice(column, value, ordered=ordered)
    return f"column {column.name!r} is text because nobody has given it a type, but {why}; {advice}"


def typing_advice(column: Column, value: LiteralValue | None = None, *, ordered: bool = False) -> str:
    """Say how to give an untyped column a type, such as that of a literal it is compared with.

    Amounts are often compared with 0: as INTEGER the cell 12.50 would be NULL, and -0.50 break no rule unseen. So what
    is ordered is advised to be DOUBLE.
    """
    kind = "INTEGER" if value is None else _likely_type(value)
    if kind == "INTEGER" and ordered:
        kind = "DOUBLE"
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
    if not number.is_finite() or number.adjusted() >= len(str(1 << 63)) - 1 or number != int(number):
        return "DOUBLE"
    return "INTEGER" if abs(number) < 1 << 31 else "BIGINT"


def equal_values(database: Database, literals: Sequence[Literal]) -> tuple[int, int] | None:
    """Find two literals of one type that the engine takes as equal, by their positions; None if there are none.

    Equal values may have different texts: '1 month' and '30 days', 'nan' and '-nan', 1 and '01'.
    """
    listed = ", ".join(f"({place}, {literal_sql(item).sql('duckdb')})" for place, item in enumerate(literals))
    pairs = database.rows(
        f"WITH listed(place, value) AS MATERIALIZED (VALUES {listed}) "
        "SELECT one.place, two.place FROM listed AS one JOIN listed AS two "
        "ON one.value = two.value AND one.place < two.place ORDER BY ALL LIMIT 1"
    )
    return (int(pairs[0][0]), int(pairs[0][1])) if pairs else None


def texts_of(database: Database, literals: Sequence[Literal]) -> list[str]:
    """Return the texts by which the engine shows values, one text for each value."""
    asked = [(exp.cast(literal_sql(literal), "VARCHAR", dialect="duckdb"),) for literal in literals]
    # -0 equals 0, and is shown with its sign.
    return [
        str(text).removeprefix("-") if text in ("-0.0", "-0") else str(text) for (text,) in evaluated(database, asked)
    ]


def is_known(value: exp.Expr) -> exp.Expr:
    """Condition that a value is not NULL; the value's tree is copied."""
    return exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))

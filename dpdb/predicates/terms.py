"""The types of terms: the types of the arguments and results of arithmetic and functions.

All are chosen from public types alone and wide enough that few results are missing: whole numbers are HUGEINT, numbers
with digits after the point DECIMAL(38, ...), and results with FLOAT or DOUBLE are DOUBLE. A result outside its type is
NULL. A number beside a DATE counts days; beside a TIMESTAMP an INTERVAL says what is meant.

Casts are TRY_CASTs: a value that the wanted type has not is NULL, as an error would tell that it is there.

An enumeration, `ENUM('low', 'mid', 'high')` as DuckDB spells it, is ordered by the places of its values, not by their
letters; the type is public, so its values are. Equality compares texts, also with columns of other types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from itertools import permutations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.constraints import Moment
from dpdb.errors import PredicateError
from dpdb.predicates.nodes import Arithmetic, Call, Column, Literal, LiteralValue, Term, parts_of

WHOLE = frozenset(f"{u}{name}" for u in ("", "U") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"))
_FLOATS = frozenset(["FLOAT", "DOUBLE"])
ZONED = "TIMESTAMP WITH TIME ZONE"
ZONED_NANOSECONDS = "TIMESTAMPTZ_NS"
IN_NANOSECONDS = ("TIMESTAMP_NS", ZONED_NANOSECONDS)
MOMENTS = frozenset(["DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", ZONED, *IN_NANOSECONDS])
NANOSECONDS = "HUGEINT"
"""The type in which moments of two types compare if one counts nanoseconds: no type of moments has all of both."""
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOST_DIGITS = 38
_MOST_EXPONENT = 400
_PARTS = ("year", "month", "day")
OF_TEXT = ("lower", "upper", "trim", "length")
_CAST_TARGETS = {
    exp.DType.INT: "INTEGER",
    exp.DType.INT128: "HUGEINT",
    exp.DType.UINT: "UINTEGER",
    exp.DType.UINT128: "UHUGEINT",
    exp.DType.TEXT: "VARCHAR",
    exp.DType.TIMESTAMPNTZ: "TIMESTAMP",
    exp.DType.TIMESTAMP: "TIMESTAMP",
    **{
        exp.DType[name]: name
        for name in ("TINYINT", "SMALLINT", "BIGINT", "UTINYINT", "USMALLINT", "UBIGINT", "FLOAT", "DOUBLE", "DATE")
    },
}


def number_literal(number: Decimal) -> Literal | None:
    """Type a number that stands in a term; None if it is not finite or far too long."""
    if not number.is_finite() or abs(number.adjusted()) > _MOST_EXPONENT:
        return None
    if number == number.to_integral_value():
        kind = "HUGEINT" if abs(int(number)) < 2**127 else "DOUBLE"
        return Literal(kind, str(int(number)), int(number) if kind == "HUGEINT" else float(number))
    _, digits, exponent = number.as_tuple()
    scale = -int(exponent)
    width = max(len(digits), scale)
    if width > _MOST_DIGITS:
        return Literal("DOUBLE", str(number), float(number))
    return Literal(f"DECIMAL({width},{scale})", f"{number:f}", number)


def arithmetic(sign: str, left: Term, right: Term) -> Arithmetic:
    """Type ``left sign right``.

    Parameters
    ----------
    sign
        The sign between the operands, such as ``+``.
    left, right
        The operands, in this order.
    """
    kinds = _numbers(sign, left.type, right.type) or _times(sign, left.type, right.type)
    if kinds is not None:
        return Arithmetic(sign, left, right, *kinds)
    turned = _times(sign, right.type, left.type) if sign == "+" else None  # 1 + day is day + 1
    if turned is None:
        raise PredicateError(f"where: {_problem(sign, left, right)}")
    return Arithmetic(sign, right, left, *turned)


def call(function: str, argument: Term) -> Call:
    """Type a function of one term. Errors as `arithmetic`."""
    kind = argument.type
    if function == "abs" and (taken := _absolute(kind)) is not None:
        return Call(function, (argument,), taken, taken)
    if function in _PARTS and kind in MOMENTS:
        return Call(function, (argument,), "DATE" if kind == "DATE" else "TIMESTAMP", "BIGINT")
    if function in OF_TEXT and equality_type(kind) == "VARCHAR":
        return Call(function, (argument,), "VARCHAR", "BIGINT" if function == "length" else "VARCHAR")
    wanted = "a number" if function == "abs" else "a date or time" if function in _PARTS else "text"
    raise PredicateError(f"where: {function} needs {wanted}; {term_words(argument)!r} is {type_words(kind)}")


def made_date(parts: Sequence[Term]) -> Call:
    """Type the day of a year, a month and a day. Errors as `arithmetic`.

    No part has a day made in it: where an engine has no TRY its parts are written several times.
    """
    for part in parts:
        if part.type not in WHOLE:
            raise PredicateError(
                f"where: make_date needs whole numbers; {term_words(part)!r} is {type_words(part.type)}"
            )
        if any(isinstance(inner, Call) and inner.function == "make_date" for inner in parts_of(part)):
            raise PredicateError("where: make_date may not stand inside make_date")
    return Call("make_date", tuple(parts), "HUGEINT", "DATE")


def first_known(terms: Sequence[Term], common: Callable[[str, str], str | None]) -> Call:
    """Type the first of some terms that is not NULL, in the common type of all. Errors as `arithmetic`.

    Parameters
    ----------
    common
        Returns the type in which values of two types are compared.
    """
    kind = equality_type(terms[0].type)
    for term in terms[1:]:
        taken = common(kind, equality_type(term.type))
        if taken is None or (kind in MOMENTS and taken not in MOMENTS):  # a count of nanoseconds is no moment
            raise PredicateError(
                f"where: coalesce needs values of one kind; {term_words(terms[0])!r} is {type_words(terms[0].type)}, "
                f"{term_words(term)!r} is {type_words(term.type)}"
            )
        kind = taken
    return Call("coalesce", tuple(terms), kind, kind)


def cast_target(asked: exp.DataType) -> str | None:
    """Return the type that a CAST asks for; None for one that no cast may have."""
    kind = _CAST_TARGETS.get(asked.this)
    if asked.this is not exp.DType.DECIMAL:
        return kind if not asked.expressions else None
    digits = [part.name for part in asked.expressions]
    if not 1 <= len(digits) <= 2 or not all(each.isdecimal() and len(each) <= 2 for each in digits):
        return None
    width, scale = int(digits[0]), int(digits[1]) if len(digits) == 2 else 0
    return f"DECIMAL({width},{scale})" if scale <= width and 1 <= width <= _MOST_DIGITS else None


def cast(term: Term, wanted: str) -> Term:
    """Type CAST(term AS wanted): NULL for values that the type has not; the term itself if it is of that type.

    Errors as `arithmetic`. What has no cast here: numbers with FLOAT or DOUBLE to text, whose digits are a matter of
    taste; truth values to numbers; times of day, intervals and bytes.
    """
    kind = equality_type(term.type)
    if kind == wanted:
        return term if kind == term.type else Call("cast", (term,), "VARCHAR", wanted)
    numbers = _is_number(kind) and _is_number(wanted)
    read = kind == "VARCHAR" and (_is_number(wanted) or wanted in ("DATE", "TIMESTAMP"))
    shown = wanted == "VARCHAR" and (_scale(kind) is not None or kind in ("DATE", "TIMESTAMP", "BOOLEAN"))
    moments = kind in MOMENTS and wanted in ("DATE", "TIMESTAMP")
    if not (numbers or read or shown or moments):
        raise PredicateError(
            f"where: nothing is cast from {type_words(kind)} to {wanted}, which is what {term_words(term)!r} would take"
        )
    taken = "TIMESTAMP" if moments and kind not in ("DATE", wanted) else kind
    return Call("cast", (term,), taken, wanted)


def term_words(term: Term) -> str:
    """A term for messages."""
    match term:
        case Column(name):
            return name
        case Literal(_, text):
            return text
        case Arithmetic(sign, left, right):
            return f"{term_words(left)} {sign} {term_words(right)}"
        case Call("cast", (argument,), _, kind):
            return f"cast({term_words(argument)} as {kind})"
        case Call(function, arguments):
            return f"{function}({', '.join(map(term_words, arguments))})"


def _numbers(sign: str, left: str, right: str) -> tuple[str, str, str] | None:
    """Types of both sides and of the result for two numbers; None if a side is no number, or the sign does not fit."""
    scales = _scale(left), _scale(right)
    floats = left in _FLOATS or right in _FLOATS
    if not (_is_number(left) and _is_number(right)):
        return None
    if sign == "/" or (floats and sign != "//"):
        return "DOUBLE", "DOUBLE", "DOUBLE"
    if left in WHOLE and right in WHOLE:
        return "HUGEINT", "HUGEINT", "HUGEINT"
    if sign == "//" or scales[0] is None or scales[1] is None:
        return None
    if sign == "*":
        product = scales[0] + scales[1]
        return (_decimal(scales[0]), _decimal(scales[1]), _decimal(product)) if product <= _MOST_DIGITS else None
    kind = _decimal(max(scales[0], scales[1]))
    return kind, kind, kind


def _times(sign: str, left: str, right: str) -> tuple[str, str, str] | None:
    """The same for a date or time on the left."""
    if sign not in ("+", "-") or left not in MOMENTS:
        return None
    if right == "INTERVAL":
        return "TIMESTAMP", "INTERVAL", "TIMESTAMP"
    if left == "DATE" and right in WHOLE:
        return "DATE", "INTEGER", "DATE"
    if sign == "-" and right in MOMENTS:
        days = left == right == "DATE"
        return ("DATE", "DATE", "BIGINT") if days else ("TIMESTAMP", "TIMESTAMP", "INTERVAL")
    return None


def _problem(sign: str, left: Term, right: Term) -> str:
    words = repr(f"{term_words(left)} {sign} {term_words(right)}")
    if any(kind in MOMENTS and _is_number(other) for kind, other in permutations((left.type, right.type))):
        return f"{words} adds a number to a time; write what is meant, such as INTERVAL '1 day'"
    return f"{words} is not defined for {left.type} and {right.type}"


def _absolute(kind: str) -> str | None:
    if kind in WHOLE:
        return "HUGEINT"
    return "DOUBLE" if kind in _FLOATS else kind if _scale(kind) is not None else None


def _is_number(kind: str) -> bool:
    return kind in _FLOATS or _scale(kind) is not None


def _scale(kind: str) -> int | None:
    """Digits after the point of an exact number; None for other types."""
    if kind in WHOLE:
        return 0
    match = _DECIMAL.fullmatch(kind)
    return int(match[2]) if match else None


def _decimal(scale: int) -> str:
    return f"DECIMAL({_MOST_DIGITS},{scale})"


# -- enumerations -------------------------------------------------------------------------------------------------

LONGEST_ENUM = 1 << 16
"""Characters of a type that dpdb computes with; columns of a longer one are text whose order is not known."""

_SHOWN = 60


def is_enum(kind: str) -> bool:
    """Say whether a type is an enumeration."""
    return kind.startswith("ENUM(")


def enum_type(values: Sequence[str | None]) -> str | None:
    """Return the enumeration of some texts, spelled as by DuckDB; None if they make none."""
    if not values or len(set(values)) < len(values) or any(value is None or "\0" in value for value in values):
        return None
    return f"ENUM({', '.join(exp.Literal.string(value).sql('duckdb') for value in values)})"


@cache
def enum_values(kind: str) -> tuple[str, ...]:
    """Return the values of an enumeration in their order; no values if its name cannot be read."""
    try:
        values = exp.DataType.build(kind, dialect="duckdb").expressions
    except SqlglotError:
        return ()
    return tuple(value.name for value in values)


def equality_type(kind: str) -> str:
    """Return the type in which values of a type are compared for equality with literals."""
    return "VARCHAR" if is_enum(kind) else kind


def orders_alike(left: str, right: str) -> bool:
    """Say whether values of two types that compare have one order: that of an enumeration is its own.

    Parameters
    ----------
    left, right
        Names of the types of both sides.
    """
    return left == right or not (is_enum(left) or is_enum(right))


def text_problem(words: str, kind: str, value: LiteralValue) -> str | None:
    """Say why text may not be compared with a value that is no text, with the remedy; None if it may.

    Compared as texts, '10' is below '9' and '9' is not 9.0, which nobody means who writes a number.
    """
    if equality_type(kind) != "VARCHAR" or (isinstance(value, str) and not isinstance(value, Moment)):
        return None
    target = None if isinstance(value, bool) else "DOUBLE"
    if isinstance(value, str):
        target = "DATE" if _DATE.fullmatch(value) else "TIMESTAMP" if _DATE.match(value) else None
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    why = f"{shown} is none" + (" (as text '10' is below '9')" if target == "DOUBLE" else "")
    other = "" if target is None else f"CAST({words} AS {target}) to compare what it says, or "
    return f"{words!r} is text, and {why}; write {other}'{shown}' to compare texts"


def cast_advice(left: tuple[str, str], right: tuple[str, str]) -> str:
    """Advise a cast where one of two terms is text and the other one a number or a date, which never compare.

    Parameters
    ----------
    left, right
        Each as it is written, with its type.

    Returns
    -------
    str
        To be added to a message; empty for other types.
    """
    for (words, kind), (_, beside) in ((left, right), (right, left)):
        target = "DOUBLE" if _is_number(beside) else beside if beside in ("DATE", "TIMESTAMP") else None
        if equality_type(kind) == "VARCHAR" and target is not None:
            return f"; write CAST({words} AS {target}) to compare what it says"
    return ""


def type_words(kind: str) -> str:
    """A type for messages: an enumeration may have many values."""
    return kind if len(kind) <= _SHOWN or not is_enum(kind) else f"{kind[:_SHOWN]}...)"

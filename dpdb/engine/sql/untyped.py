"""Columns that are text only because nobody has said what they are: which comparisons they bear, and the remedy."""

from __future__ import annotations

import re
import shlex
from decimal import Decimal, InvalidOperation

from dpdb.predicates import LiteralValue
from dpdb.schema import Column, TypeOrigin
from dpdb.sources import column_definition

__all__ = ["typing_advice", "untyped_problem"]

_FRAME_TYPES = {"INTEGER": "Int64", "BIGINT": "Int64", "DOUBLE": "float64", "BOOLEAN": "boolean"}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


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
    if column.has_lost_order and ordered:
        return (
            f"the categories of column {column.name!r} have no order that its source tells; make it a DuckDB ENUM, an "
            "ordered categorical of pandas or an Enum of Polars, with the categories in order, or text"
        )
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
    if not number.is_finite() or number.adjusted() >= len(str(1 << 63)) - 1 or number != int(number):
        return "DOUBLE"
    return "INTEGER" if abs(number) < 1 << 31 else "BIGINT"

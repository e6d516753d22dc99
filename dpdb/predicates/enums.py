"""Enumerations: types of texts that are ordered by their places in the type, not by their letters.

`ENUM('low', 'mid', 'high')` is DuckDB's spelling. The type is public, so its values and their order are. Two values are
equal if their texts are, so equality compares texts, also with columns of other types.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.constraints import Operator

__all__ = ["LONGEST_ENUM", "enum_type", "enum_values", "equality_type", "is_enum", "orders_alike", "type_words"]

LONGEST_ENUM = 1 << 16
"""Characters of a type that dpdb computes with; columns of a longer one are text whose order is not known."""

_SHOWN = 60


def is_enum(kind: str) -> bool:
    """Say whether a type is an enumeration."""
    return kind.startswith("ENUM(")


def enum_type(values: Sequence[str | None]) -> str | None:
    """Name the enumeration of some texts, as DuckDB does; None if there is none of them."""
    if not values or len(set(values)) < len(values) or any(value is None or "\0" in value for value in values):
        return None
    return f"ENUM({', '.join(exp.Literal.string(value).sql('duckdb') for value in values)})"


@cache
def enum_values(kind: str) -> tuple[str, ...]:
    """Return the values of an enumeration in their order; none if its name cannot be read."""
    try:
        values = exp.DataType.build(kind, dialect="duckdb").expressions
    except SqlglotError:
        return ()
    return tuple(value.name for value in values)


def equality_type(kind: str) -> str:
    """Return the type in which values of a type are compared for equality with literals."""
    return "VARCHAR" if is_enum(kind) else kind


def orders_alike(operator: Operator, left: str, right: str) -> bool:
    """Say whether an operator may stand between two types that compare: the order of an enumeration is its own."""
    return left == right or not operator.is_order or not (is_enum(left) or is_enum(right))


def type_words(kind: str) -> str:
    """A type for messages: an enumeration may have many values."""
    return kind if len(kind) <= _SHOWN or not is_enum(kind) else f"{kind[:_SHOWN]}...)"

"""The slices of one call: a `where`, or one slice per public key. Checked before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from dpdb.engine.comparison import bind_literal, in_type, untyped_problem
from dpdb.engine.database import Database
from dpdb.engine.schema import TableSchema
from dpdb.engine.where import WherePredicate, parse_where, resolve_column
from dpdb.errors import ParameterError, PredicateError

__all__ = ["Key", "Slices", "parse_slices"]

# What a group may be called by.
Key = str | int | float | Decimal | bool


@dataclass(frozen=True)
class Slices:
    """The disjoint slices of one call.

    Attributes
    ----------
    predicates : tuple of WherePredicate or None
        One per slice; None is the whole table.
    keys : tuple of str or None
        The canonical texts of the keys.
    covered : str or None
        SQL predicate of the rows that lie in some slice, for the accountant; None means all rows.
    """

    predicates: tuple[WherePredicate | None, ...]
    keys: tuple[str, ...] | None
    covered: str | None


def parse_slices(
    database: Database, schema: TableSchema, where: str | None, by: str | None, keys: Sequence[Key] | None
) -> Slices:
    """Return the slices of a call.

    Without `by` there is one slice. With it there is one per key, in the order given; they are disjoint, because the
    keys are different values of one column, so one row lies in at most one of them and they cost what one of them costs
    (parallel composition). Keys are public and fixed in advance: an absent group gets noise like the others.

    Raises
    ------
    ParameterError
        If only one of `by` and `keys` is given, there is no key, a key is not a value of the column, or two are equal
        as values of the column ('1' and '01').
    PredicateError, UnknownColumnError
        As `parse_where`.
    """
    base = None if where is None else parse_where(database, where, schema)
    if by is None and keys is None:
        return Slices((base,), None, None if base is None else base.text)
    if by is None or keys is None:
        raise ParameterError("by= and keys= go together: a column and the public list of its groups")
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Sequence) or not keys:
        raise ParameterError("keys must be a list of at least one value")
    column = schema[resolve_column(by, schema, "by")]
    if column.type is None:
        raise PredicateError(f"by: column {column.name!r} has type {column.declared_type}, which cannot be compared")
    seen: dict[str, Key] = {}
    predicates = []
    for key in keys:
        problem = untyped_problem(column, Decimal(repr(key)) if isinstance(key, float) else key)
        if problem is not None:
            raise ParameterError(f"key {key!r}: {problem}")
        literal, text = _canonical(database, column.name, column.type, key)
        if text in seen:
            raise ParameterError(f"keys {seen[text]!r} and {key!r} are the same value of {column.name!r}")
        seen[text] = key
        predicates.append(_group(base, column.name, literal, text))
    group = exp.column(column.name, quoted=True)
    inside = exp.In(this=group, expressions=[exp.Literal.string(text) for text in seen]).sql("duckdb")
    return Slices(tuple(predicates), tuple(seen), inside if base is None else f"({base.text}) AND {inside}")


def _canonical(database: Database, name: str, column_type: str, key: Key) -> tuple[exp.Expr, str]:
    """Cast a key to the column's type; return it as SQL and as the one text of that value."""
    value = Decimal(repr(key)) if isinstance(key, float) else key
    bound = bind_literal(database, value, column_type) if isinstance(value, (str, int, Decimal)) else None
    if bound is not None:
        literal = bound[1]
        inside = in_type(literal, bound[0], column_type)  # a number may be typed more widely than the column
        same = exp.EQ(this=inside.copy(), expression=literal.copy())
        ((exact, text),) = database.rows(exp.select(same, exp.cast(inside.copy(), "VARCHAR", dialect="duckdb")))
        if exact:
            return inside, text.removeprefix("-") if text in ("-0.0", "-0") else str(text)  # -0 equals 0
    raise ParameterError(f"key {key!r} is not a value of {name!r} ({column_type})")


def _group(base: WherePredicate | None, name: str, literal: exp.Expr, text: str) -> WherePredicate:
    column = exp.column(name, quoted=True)
    condition: exp.Expr = exp.EQ(this=column, expression=literal.copy())
    shown = exp.EQ(this=exp.to_identifier(name, quoted=not name.isidentifier()), expression=exp.Literal.string(text))
    words = shown.sql("duckdb")
    if base is None:
        return WherePredicate(words, condition, (name,))
    both = exp.And(this=exp.paren(base.condition.copy()), expression=condition)
    return WherePredicate(f"({base.text}) AND {words}", both, tuple(sorted({*base.columns, name})))

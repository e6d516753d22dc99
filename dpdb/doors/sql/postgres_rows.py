"""Rows that are compared, such as `(a, b) < (1, 2)`, column by column as PostgreSQL compares them.

A comparison with NULL is unknown, unless the columns before it decide. DuckDB compares rows as values of one type,
where NULL is the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from sqlglot import exp

from dpdb.errors import StatementRefusedError

Copied = Callable[[exp.Expr], exp.Expr]
_STRICT: dict[type[exp.Binary], type[exp.Binary]] = {exp.LT: exp.LT, exp.LTE: exp.LT, exp.GT: exp.GT, exp.GTE: exp.GT}


def is_row(node: object) -> bool:
    """Whether a part is a row of values in parentheses, or `ROW(...)`."""
    return isinstance(node, exp.Tuple) or (isinstance(node, exp.Anonymous) and node.name.lower() == "row")


def compared_by_column(node: exp.Binary, copied: Copied) -> exp.Expr:
    """Return a comparison of rows as one of their columns.

    Parameters
    ----------
    node
        `=`, `<>`, `<`, `<=`, `>` or `>=` of two rows.

    Raises
    ------
    StatementRefusedError
        One side is no row, or has another number of columns.
    """
    pairs = _pairs(node.this, node.expression)
    if isinstance(node, (exp.EQ, exp.NEQ)):
        return exp.paren(_together(type(node), pairs, copied), copy=False)
    strict, last = _STRICT[type(node)], type(node)
    *before, (one, other) = pairs
    found: exp.Expr = last(this=copied(one), expression=copied(other))
    for one, other in before[::-1]:
        equal = exp.EQ(this=copied(one), expression=copied(other))
        rest = exp.And(this=equal, expression=exp.paren(found, copy=False))
        found = exp.Or(this=strict(this=copied(one), expression=copied(other)), expression=rest)
    return exp.paren(found, copy=False)


def rows_among(node: exp.In, copied: Copied) -> exp.Expr:
    """Return whether a row is among others in parentheses, as comparisons of columns; errors as before."""
    if not node.expressions:
        raise StatementRefusedError("a row is compared with rows in parentheses here: join with the subquery")
    found = [_together(exp.EQ, _pairs(node.this, one), copied) for one in node.expressions]
    return exp.paren(reduce(lambda one, other: exp.Or(this=one, expression=other), found), copy=False)


def _pairs(one: exp.Expr, other: exp.Expr) -> Sequence[tuple[exp.Expr, exp.Expr]]:
    if not (is_row(one) and is_row(other)) or len(one.expressions) != len(other.expressions):
        raise StatementRefusedError("a row is compared with a row of as many columns")
    pairs = [*zip(one.expressions, other.expressions, strict=True)]
    if not pairs or any(is_row(part) for pair in pairs for part in pair):
        raise StatementRefusedError("rows of rows, and empty rows, are not compared")
    return pairs


def _together(kind: type[exp.Binary], pairs: Sequence[tuple[exp.Expr, exp.Expr]], copied: Copied) -> exp.Expr:
    parts: list[exp.Expr] = [kind(this=copied(one), expression=copied(other)) for one, other in pairs]
    joint = exp.And if kind is exp.EQ else exp.Or
    return exp.paren(reduce(lambda one, other: joint(this=one, expression=other), parts), copy=False)

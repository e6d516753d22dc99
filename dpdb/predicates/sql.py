"""The bound tree into SQL over unqualified columns, with total casts: no row can make it fail."""

from __future__ import annotations

from functools import cache

from sqlglot import exp

from dpdb.constraints import Operator
from dpdb.predicates.nodes import (
    And,
    Column,
    ColumnComparison,
    Comparison,
    Constant,
    Flag,
    Like,
    Literal,
    Membership,
    Node,
    Not,
    NullTest,
    Or,
)

__all__ = ["COMPARISONS", "condition", "data_type", "in_type", "literal_sql"]

COMPARISONS: dict[Operator, type[exp.Binary]] = {
    Operator.EQ: exp.EQ,
    Operator.NE: exp.NEQ,
    Operator.LT: exp.LT,
    Operator.LE: exp.LTE,
    Operator.GT: exp.GT,
    Operator.GE: exp.GTE,
}


def condition(tree: Node) -> exp.Expr:  # noqa: C901, PLR0911 - one line per kind of node
    """Write a tree as SQL."""
    match tree:
        case Constant(None):
            return exp.cast(exp.null(), "BOOLEAN")
        case Constant(value):
            return exp.convert(value)
        case Comparison(operator, column, literal):
            return COMPARISONS[operator](this=_operand(column, literal.type), expression=literal_sql(literal))
        case ColumnComparison(operator, left, right, kind):
            return COMPARISONS[operator](this=_operand(left, kind), expression=_operand(right, kind))
        case Membership(column, literals):
            return _membership(column, literals)
        case NullTest(column):
            return exp.Is(this=_operand(column, column.type), expression=exp.null())
        case Like(column, pattern):
            return exp.Like(this=_operand(column, column.type), expression=exp.Literal.string(pattern))
        case Flag(column):
            return _operand(column, column.type)
        case Not(part):
            return exp.Not(this=exp.paren(condition(part), copy=False))
        case And(parts):
            return exp.and_(*(exp.paren(condition(part), copy=False) for part in parts), copy=False)
        case Or(parts):
            return exp.or_(*(exp.paren(condition(part), copy=False) for part in parts), copy=False)


def literal_sql(literal: Literal) -> exp.Expr:
    """Write a literal in its type."""
    if literal.type == "VARCHAR":
        return exp.Literal.string(literal.text)
    if literal.type == "BOOLEAN":
        return exp.convert(literal.value)
    return exp.Cast(this=exp.Literal.string(literal.text), to=data_type(literal.type))


def in_type(operand: exp.Expr, current: str, wanted: str) -> exp.Expr:
    """Cast an operand for a comparison; no cast where the type is already right."""
    return operand if current == wanted else exp.TryCast(this=operand, to=data_type(wanted))


def data_type(name: str) -> exp.DataType:
    """Name a type of the engine's; each tree gets a node of its own."""
    return _parsed_type(name).copy()


@cache
def _parsed_type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="duckdb")


def _operand(column: Column, kind: str) -> exp.Expr:
    return in_type(exp.column(column.name, quoted=True), column.type, kind)


def _membership(column: Column, literals: tuple[Literal, ...]) -> exp.Expr:
    """One list per type of comparison."""
    kinds = dict.fromkeys(literal.type for literal in literals)
    lists = [
        exp.In(this=_operand(column, kind), expressions=[literal_sql(item) for item in literals if item.type == kind])
        for kind in kinds
    ]
    return exp.or_(*(exp.paren(items, copy=False) for items in lists), copy=False) if len(lists) > 1 else lists[0]

"""Comparison operators as the nodes of SQL trees, both ways."""

from __future__ import annotations

from sqlglot import exp

from dpdb.constraints.predicate import Operator

__all__ = ["COMPARISONS", "OPERATORS"]

COMPARISONS: dict[Operator, type[exp.Binary]] = {
    Operator.EQ: exp.EQ,
    Operator.NE: exp.NEQ,
    Operator.LT: exp.LT,
    Operator.LE: exp.LTE,
    Operator.GT: exp.GT,
    Operator.GE: exp.GTE,
}
OPERATORS: dict[type[exp.Expr], Operator] = {node: operator for operator, node in COMPARISONS.items()}

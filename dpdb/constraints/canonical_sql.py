"""The canonical text of an expression over one tuple: one spelling for every way to write the same tree."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.generators.duckdb import DuckDBGenerator

from dpdb.constraints.across import Member
from dpdb.constraints.column_ref import RowExpression

__all__ = ["row_expression"]


class _Writer(DuckDBGenerator):
    """DuckDB's SQL as people write it: `x IS NOT NULL`, `DATE '2020-01-31'`."""

    def not_sql(self, expression: exp.Not) -> str:
        inner = expression.this
        if isinstance(inner, exp.Is):
            return f"{self.sql(inner, 'this')} IS NOT {self.sql(inner, 'expression')}"
        if isinstance(inner, exp.In) and inner.expressions:
            return f"{self.sql(inner, 'this')} NOT IN ({self.expressions(inner, flat=True)})"
        if isinstance(inner, exp.Between) and not inner.args.get("symmetric"):
            low, high = self.sql(inner, "low"), self.sql(inner, "high")
            return f"{self.sql(inner, 'this')} NOT BETWEEN {low} AND {high}"
        return super().not_sql(expression)

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        if type(expression) is exp.Cast and isinstance(expression.this, exp.Literal):
            return f"{self.sql(expression, 'to')} {self.sql(expression, 'this')}"
        del safe_prefix  # every cast is one that cannot fail
        return f"CAST({self.sql(expression, 'this')} AS {self.sql(expression, 'to')})"

    def trycast_sql(self, expression: exp.TryCast) -> str:
        return self.cast_sql(expression)

    def extract_sql(self, expression: exp.Extract) -> str:
        part = expression.name.lower().replace("dayofmonth", "day")
        if part in ("year", "month", "day"):
            return f"{part}({self.sql(expression, 'expression')})"
        return super().extract_sql(expression)

    def dayofmonth_sql(self, expression: exp.DayOfMonth) -> str:
        return f"day({self.sql(expression, 'this')})"


def row_expression(tree: exp.Expr, name_of: Callable[[str], str | Member], *, is_condition: bool) -> RowExpression:
    """Write a tree whose columns are numbered (see `SqlFragment`).

    A disjunction is put in parentheses, so that it can stand between `&`.

    Parameters
    ----------
    tree
        A condition or term whose columns are numbers.
    name_of
        Gives the column, or the member, of a number.
    is_condition
        Whether the tree is a condition, not a term.
    """
    tree = exp.paren(tree) if isinstance(tree, exp.Or) else tree
    mark = "\ue000"
    while any(mark in str(node.this) for node in tree.find_all(exp.Literal)):
        mark += "\ue000"

    def marked(node: exp.Expr) -> exp.Expr:
        return exp.Var(this=f"{mark}{node.name}{mark}") if isinstance(node, exp.Column) else node

    text = _Writer(dialect=DuckDB(), comments=False, normalize_functions="lower").generate(tree.transform(marked))
    pieces = text.split(mark)
    return RowExpression(tuple(pieces[::2]), tuple(map(name_of, pieces[1::2])), is_condition)

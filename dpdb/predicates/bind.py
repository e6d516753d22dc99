"""sqlglot's tree of a predicate into the bound tree: columns found, literals typed, everything unknown refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Protocol

from sqlglot import exp

from dpdb.constraints import Operator, shortened
from dpdb.errors import PredicateError
from dpdb.predicates.nodes import (
    NULL,
    Column,
    ColumnComparison,
    Comparison,
    Constant,
    Flag,
    Like,
    Literal,
    LiteralValue,
    Membership,
    Node,
    NullTest,
    all_of,
    any_of,
    negation,
)
from dpdb.predicates.parse import refused

__all__ = ["Types", "bind"]

_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.EQ: Operator.EQ,
    exp.NEQ: Operator.NE,
    exp.LT: Operator.LT,
    exp.LTE: Operator.LE,
    exp.GT: Operator.GT,
    exp.GTE: Operator.GE,
}
# Nesting, AND and OR chains aside. Far below what exhausts the stack, so that a predicate that passes here never fails
# when it is used, which is after the debit.
_MAX_DEPTH = 40


class Types(Protocol):
    """The facts that binding asks of the engine: public types, and what its casts make of literals. It reads no row."""

    def column(self, name: str) -> Column:
        """Find a column.

        Raises
        ------
        UnknownColumnError
            There is none of this name.
        PredicateError
            Its values cannot be compared.
        """

    def check(self, column: Column, operator: Operator, value: LiteralValue | None) -> None:
        """Check that a column may be compared so, with a literal or (value None) with another column or NULL.

        Raises
        ------
        PredicateError
            The column is text that nobody has declared, and the comparison means more than equal texts.
        """

    def literals(self, values: Sequence[LiteralValue], column: Column) -> list[Literal | None]:
        """Read literals as values to compare a column with; None for what is no value of the column's kind."""

    def common_type(self, left: str, right: str) -> str | None:
        """Name the type in which columns of two types compare, None if they do not."""


def bind(tree: exp.Expr, types: Types) -> Node:
    """Bind a parsed predicate.

    Raises
    ------
    PredicateError
        If anything but the grammar's predicates occurs, or a literal does not fit its column.
    UnknownColumnError
        If a column does not exist.
    """
    return _Binder(types).truth(tree)


class _Binder:
    """Rebuilds a parsed predicate from typed parts, refusing what it does not know."""

    def __init__(self, types: Types) -> None:
        self._types = types
        self._depth = 0
        self._builders: dict[type[exp.Expr], Callable[[exp.Expr], Node]] = {
            exp.Paren: lambda node: self.truth(node.this),
            exp.And: lambda node: all_of([self.truth(part) for part in node.flatten(unnest=False)]),
            exp.Or: lambda node: any_of([self.truth(part) for part in node.flatten(unnest=False)]),
            exp.Not: lambda node: negation(self.truth(node.this)),
            exp.Between: self._between,
            exp.In: self._membership,
            exp.Is: self._null_test,
            exp.Like: self._like,
            exp.Boolean: lambda node: Constant(bool(node.this)),
            exp.Column: self._flag,
            **dict.fromkeys(_OPERATORS, self._compared),
        }

    def truth(self, node: exp.Expr) -> Node:
        """Build something that is true, false or NULL."""
        build = next((build for kind, build in self._builders.items() if isinstance(node, kind)), None)
        if build is None:
            raise refused(node)
        if self._depth == _MAX_DEPTH:
            raise PredicateError(f"where: nested more than {_MAX_DEPTH} deep")
        self._depth += 1
        built = build(node)
        self._depth -= 1
        return built

    def _between(self, node: exp.Expr) -> Node:
        if node.args.get("symmetric"):
            raise refused(node)
        operand, low, high = _bare(node.this), _bare(node.args["low"]), _bare(node.args["high"])
        return all_of(
            [self._comparison(Operator.GE, operand, low, node), self._comparison(Operator.LE, operand, high, node)]
        )

    def _null_test(self, node: exp.Expr) -> Node:
        if not isinstance(node.expression, exp.Null):
            raise refused(node)
        return _negated(node, NullTest(self._column(_bare(node.this), node)))

    def _flag(self, node: exp.Expr) -> Node:
        column = self._column(node, node)
        if column.type != "BOOLEAN":
            raise refused(node)
        return Flag(column)

    def _compared(self, node: exp.Expr) -> Node:
        return self._comparison(_OPERATORS[type(node)], _bare(node.this), _bare(node.expression), node)

    def _comparison(self, operator: Operator, left: exp.Expr, right: exp.Expr, context: exp.Expr) -> Node:
        if not isinstance(left, exp.Column):
            operator, left, right = operator.flipped, right, left
        column = self._column(left, context)
        if isinstance(right, exp.Column):
            return self._column_comparison(operator, column, self._column(right, context))
        if isinstance(right, exp.Null):
            self._types.check(column, operator, None)
            return NULL  # SQL: a comparison with NULL is NULL
        return Comparison(operator, column, *self._literals([right], column, operator))

    def _column_comparison(self, operator: Operator, left: Column, right: Column) -> Node:
        self._types.check(left, operator, None)
        self._types.check(right, operator, None)
        common = self._types.common_type(left.type, right.type)
        if common is None:
            raise PredicateError(
                f"where: cannot compare {left.name!r} ({left.type}) with {right.name!r} ({right.type})"
            )
        return ColumnComparison(operator, left, right, common)

    def _membership(self, node: exp.Expr) -> Node:
        if node.args.get("query") or node.args.get("unnest") or node.args.get("field") or not node.expressions:
            raise refused(node)
        operand, items = _bare(node.this), [_bare(item) for item in node.expressions]
        if not isinstance(operand, exp.Column):
            return any_of([self._comparison(Operator.EQ, operand, item, node) for item in items])
        column = self._column(operand, node)
        apart = [item for item in items if isinstance(item, (exp.Column, exp.Null))]
        written = [item for item in items if not isinstance(item, (exp.Column, exp.Null))]
        literals = self._literals(written, column, Operator.EQ)
        listed: list[Node] = [Membership(column, tuple(dict.fromkeys(literals)))] if literals else []
        return any_of([*listed, *(self._comparison(Operator.EQ, operand, item, node) for item in apart)])

    def _like(self, node: exp.Expr) -> Node:
        pattern = _bare(node.expression)
        column = self._column(_bare(node.this), node)
        if not (isinstance(pattern, exp.Literal) and pattern.is_string):
            raise refused(node)
        if column.type != "VARCHAR":
            raise PredicateError(f"where: LIKE needs a text column; {node.this.name!r} is {column.type}")
        return _negated(node, Like(column, str(pattern.this)))

    def _column(self, node: exp.Expr, context: exp.Expr) -> Column:
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier) or node.table:
            raise refused(context)
        return self._types.column(node.name)

    def _literals(self, nodes: Sequence[exp.Expr], column: Column, operator: Operator) -> list[Literal]:
        values = [_value(node) for node in nodes]
        for value in values:
            self._types.check(column, operator, value)
        bound = []
        for node, literal in zip(nodes, self._types.literals(values, column), strict=True):
            if literal is None:
                shown = shortened(node.sql("duckdb", comments=False))
                raise PredicateError(f"where: {shown} is not a value for {column.name!r} ({column.type})")
            bound.append(literal)
        return bound


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _negated(node: exp.Expr, built: Node) -> Node:
    """Negate what was built where the parser put a NOT into the node itself (`NOT LIKE`)."""
    return negation(built) if node.args.get("negate") else built


def _value(node: exp.Expr) -> LiteralValue:
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    negative = isinstance(node, exp.Neg)
    if negative:
        node = _bare(node.this)
    if isinstance(node, exp.Literal) and node.is_string and not negative:
        return str(node.this)
    if isinstance(node, exp.Literal) and not node.is_string:
        try:
            number = Decimal(node.this)
            return number.copy_negate() if negative else number  # arithmetic would round to 28 digits
        except InvalidOperation:
            raise refused(node) from None
    if isinstance(node, exp.Cast) and not negative and _is_temporal_literal(node):
        return str(node.this.this)  # DATE '2020-01-31'
    raise refused(node)


def _is_temporal_literal(node: exp.Cast) -> bool:
    literal = isinstance(node.this, exp.Literal) and node.this.is_string
    # TIMESTAMPNTZ is what sqlglot calls DuckDB's TIMESTAMP.
    kinds = ("DATE", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "TIME")
    return bool(literal and type(node) is exp.Cast and node.to.is_type(*kinds))

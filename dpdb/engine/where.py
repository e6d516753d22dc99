"""`where`: a default-deny grammar of row-local, deterministic, total predicates.

Anything else could read another row (`a > (SELECT avg(a) ...)` breaks every sensitivity proof), fail on a private
value, or differ between two readings. The text is parsed, checked node by node, and rebuilt from typed parts: nothing
of what the user wrote reaches SQL as text.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.constraints.source import shortened
from dpdb.engine.bounded_parser import TooMuchWorkError, parse_duckdb
from dpdb.engine.comparison import LiteralValue, bind_literal, common_type, in_type
from dpdb.engine.database import Database
from dpdb.engine.schema import TableSchema
from dpdb.errors import PredicateError, UnknownColumnError

__all__ = ["WherePredicate", "parse_where", "resolve_column"]

_ALLOWED = "columns, literals, comparisons, AND, OR, NOT, IN (list), BETWEEN, IS [NOT] NULL, LIKE with a literal"
# The comparisons, and what they become with their sides exchanged.
_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
_MAX_LENGTH = 100_000
_MAX_NODES = 10_000
# Nesting, AND and OR chains aside. Far below what exhausts the stack, so that a predicate that passes here never fails
# when it is used, which is after the debit.
_MAX_DEPTH = 40
# What the nodes of the grammar consist of; whatever else the parser attaches to a node is refused.
_KNOWN_ARGS = {"this", "expression", "expressions", "low", "high", "to", "negate", "is_string", "quoted", "nested"}


class WherePredicate:
    """A checked predicate: `condition` is typed SQL over unqualified columns, `columns` what it reads."""

    def __init__(self, text: str, condition: exp.Expr, columns: tuple[str, ...]) -> None:
        self.text = text
        self.condition = condition
        self.columns = columns


def parse_where(database: Database, text: str, schema: TableSchema) -> WherePredicate:
    """Check and type a `where` predicate. Reads no row and spends nothing.

    Raises
    ------
    PredicateError
        If anything but the grammar's predicates occurs, or a literal does not fit its column.
    UnknownColumnError
        If a column does not exist; the message has the nearest name.
    """
    if not isinstance(text, str) or not text.strip():
        raise PredicateError("where: expected a predicate such as \"state = 'CA'\"")
    if len(text) > _MAX_LENGTH:
        raise PredicateError(f"where: more than {_MAX_LENGTH} characters; shorten the predicate")
    tree = _parse(text)
    if sum(1 for _ in tree.walk()) > _MAX_NODES:
        raise PredicateError(f"where: more than {_MAX_NODES} parts; shorten the predicate")
    builder = _Builder(database, schema)
    try:
        for node in tree.walk():
            if any(value for key, value in node.args.items() if key not in _KNOWN_ARGS):
                raise _refused(node)
        condition = builder.truth(tree)
        return WherePredicate(tree.sql("duckdb", comments=False), condition, tuple(sorted(builder.columns)))
    except RecursionError:
        raise PredicateError("where: nested too deeply") from None


def _parse(text: str) -> exp.Expr:
    # Parsed behind WHERE, so that a column called `comment` or `set` does not start a statement.
    try:
        statements = parse_duckdb(f"SELECT 1 FROM t WHERE {text}\n")
    except TooMuchWorkError as error:
        raise PredicateError(f"where: {shortened(text)} {error}") from None
    except (SqlglotError, RecursionError) as error:
        details = getattr(error, "errors", None)
        where = f": {details[0]['description']}, near {shortened(details[0]['highlight'])}" if details else ""
        raise PredicateError(f"where: {shortened(text)} is not a predicate{where}") from None
    select = statements[0] if len(statements) == 1 else None
    parts = {key for key, value in select.args.items() if value} if isinstance(select, exp.Select) else set()
    if not parts <= {"expressions", "from", "from_", "where", "kind"} or "where" not in parts:
        raise PredicateError(f"where: {shortened(text)} is more than one predicate; allowed are {_ALLOWED}")
    assert isinstance(select, exp.Select)
    condition = select.args["where"].this
    assert isinstance(condition, exp.Expr)
    return condition


class _Builder:
    """Rebuilds a parsed predicate from typed parts, refusing what it does not know."""

    def __init__(self, database: Database, schema: TableSchema) -> None:
        self._database = database
        self._schema = schema
        self._depth = 0
        self.columns: set[str] = set()
        self._builders: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
            exp.Paren: lambda node: self.truth(node.this),
            exp.And: self._connective,
            exp.Or: self._connective,
            exp.Not: self._negation,
            exp.Between: self._between,
            exp.In: self._membership,
            exp.Is: self._is_null,
            exp.Like: self._like,
            exp.Boolean: lambda node: exp.convert(bool(node.this)),
            exp.Column: self._boolean_column,
            **dict.fromkeys(_FLIPPED, self._compared),
        }

    def truth(self, node: exp.Expr) -> exp.Expr:
        """Build something that is true, false or NULL."""
        build = next((build for kind, build in self._builders.items() if isinstance(node, kind)), None)
        if build is None:
            raise _refused(node)
        if self._depth == _MAX_DEPTH:
            raise PredicateError(f"where: nested more than {_MAX_DEPTH} deep")
        self._depth += 1
        built = build(node)
        self._depth -= 1
        return built

    def _connective(self, node: exp.Expr) -> exp.Expr:
        join = exp.and_ if isinstance(node, exp.And) else exp.or_
        return join(*(exp.paren(self.truth(part)) for part in node.flatten(unnest=False)))

    def _negation(self, node: exp.Expr) -> exp.Expr:
        return exp.Not(this=exp.paren(self.truth(node.this)))

    def _between(self, node: exp.Expr) -> exp.Expr:
        if node.args.get("symmetric"):
            raise _refused(node)
        column = _bare(node.this)
        low = self._comparison(exp.GTE, column, _bare(node.args["low"]), node)
        return exp.And(this=low, expression=self._comparison(exp.LTE, column, _bare(node.args["high"]), node))

    def _is_null(self, node: exp.Expr) -> exp.Expr:
        if not isinstance(node.expression, exp.Null):
            raise _refused(node)
        return _negated(node, exp.Is(this=self._column(_bare(node.this), node)[0], expression=exp.null()))

    def _boolean_column(self, node: exp.Expr) -> exp.Expr:
        column, kind = self._column(node, node)
        if kind != "BOOLEAN":
            raise _refused(node)
        return column

    def _compared(self, node: exp.Expr) -> exp.Expr:
        return self._comparison(type(node), _bare(node.this), _bare(node.expression), node)

    def _comparison(self, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr, context: exp.Expr) -> exp.Expr:
        if not isinstance(left, exp.Column):
            kind, left, right = _FLIPPED[kind], right, left
        column, column_type = self._column(left, context)
        if isinstance(right, exp.Column):
            other, other_type = self._column(right, context)
            common = common_type(column_type, other_type)
            if common is None:
                raise PredicateError(
                    f"where: cannot compare {left.name!r} ({column_type}) with {right.name!r} ({other_type})"
                )
            return kind(this=in_type(column, column_type, common), expression=in_type(other, other_type, common))
        if isinstance(right, exp.Null):
            return exp.cast(exp.null(), "BOOLEAN")  # SQL: a comparison with NULL is NULL
        bound = bind_literal(self._database, _literal(right), column_type)
        if bound is None:
            shown = shortened(right.sql("duckdb", comments=False))
            raise PredicateError(f"where: {shown} is not a value for {left.name!r} ({column_type})")
        common, literal = bound
        return kind(this=in_type(column, column_type, common), expression=literal)

    def _membership(self, node: exp.Expr) -> exp.Expr:
        if node.args.get("query") or node.args.get("unnest") or node.args.get("field") or not node.expressions:
            raise _refused(node)
        column = _bare(node.this)
        return exp.or_(*(self._comparison(exp.EQ, column, _bare(item), node) for item in node.expressions))

    def _like(self, node: exp.Expr) -> exp.Expr:
        pattern = _bare(node.expression)
        column, kind = self._column(_bare(node.this), node)
        if not (isinstance(pattern, exp.Literal) and pattern.is_string):
            raise _refused(node)
        if kind != "VARCHAR":
            raise PredicateError(f"where: LIKE needs a text column; {node.this.name!r} is {kind}")
        return _negated(node, exp.Like(this=column, expression=exp.Literal.string(pattern.this)))

    def _column(self, node: exp.Expr, context: exp.Expr) -> tuple[exp.Expr, str]:
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier) or node.table:
            raise _refused(context)
        name = resolve_column(node.name, self._schema, "where")
        column = self._schema[name]
        if column.type is None:
            raise PredicateError(f"where: column {name!r} has type {column.declared_type}, which cannot be compared")
        self.columns.add(name)
        return exp.column(name, quoted=True), column.type


def resolve_column(wanted: str, schema: TableSchema, context: str) -> str:
    """Return the schema's spelling of a column name.

    Raises
    ------
    UnknownColumnError
        If there is no such column; the message has the nearest name.
    """
    found = [name for name in schema.names if name.casefold() == wanted.casefold()]
    if found:
        return found[0]  # names are unique up to case
    near = difflib.get_close_matches(wanted, schema.names, n=1)
    hint = f"; the nearest is {near[0]!r}" if near else ""
    raise UnknownColumnError(f"{context}: there is no column {wanted!r}{hint}")


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _negated(node: exp.Expr, built: exp.Expr) -> exp.Expr:
    """Negate what was built where the parser put a NOT into the node itself (`NOT LIKE`)."""
    return exp.Not(this=exp.paren(built)) if node.args.get("negate") else built


def _literal(node: exp.Expr) -> LiteralValue:
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
            raise _refused(node) from None
    if isinstance(node, exp.Cast) and not negative and _is_temporal_literal(node):
        return str(node.this.this)  # DATE '2020-01-31'
    raise _refused(node)


def _is_temporal_literal(node: exp.Cast) -> bool:
    literal = isinstance(node.this, exp.Literal) and node.this.is_string
    # TIMESTAMPNTZ is what sqlglot calls DuckDB's TIMESTAMP.
    kinds = ("DATE", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "TIME")
    return bool(literal and type(node) is exp.Cast and node.to.is_type(*kinds))


def _refused(node: exp.Expr) -> PredicateError:
    shown = shortened(node.sql("duckdb", comments=False))
    return PredicateError(f"where: {shown} is not allowed; allowed are {_ALLOWED}")

"""The decision on a statement's tree, default deny: known parts, known functions, known tables, and releases.

If this check accepted every statement, none could read private rows, because the private table is not where statements
run. The check gives a refused statement its reason, and leaves no second way in to be found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from sqlglot import exp

from dpdb.doors.sql.call import RELEASES, example, release_name
from dpdb.doors.sql.functions import FUNCTIONS, NAMED_FUNCTIONS
from dpdb.doors.sql.nodes import EXPRESSIONS, REASONS, STRUCTURES, TYPES
from dpdb.doors.sql.parse import is_number
from dpdb.doors.sql.refusal_words import nearest, refused
from dpdb.errors import StatementRefusedError
from dpdb.names import folded

__all__ = ["check_statement"]

_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
# DuckDB reads these names as system functions where no column has them.
_SYSTEM_VALUES = frozenset((
    "current_catalog", "current_database", "current_date", "current_localtime", "current_localtimestamp",
    "current_query", "current_role", "current_schema", "current_time", "current_timestamp", "current_transaction_id",
    "current_user", "localtime", "localtimestamp", "session_user", "user",
))  # fmt: skip
_FILE_MARKS = ("/", "\\", "*", ":", ".parquet", ".csv", ".json", ".duckdb", ".db", ".txt", ".gz")
_SYSTEM_TABLES = ("duckdb_", "pg_", "pragma_", "sqlite_", "information_schema")

Scope = frozenset[str]


def check_statement(tree: exp.Expr, private: str, public: Collection[str]) -> list[exp.Anonymous]:
    """Check a statement and return its release calls, in the order of the text. Their arguments are not yet read.

    Parameters
    ----------
    tree : exp.Expr
        The statement.
    private : str
        The private table's public name, which a statement may not read.
    public : collection of str
        The public tables, as `folded` names.

    Raises
    ------
    StatementRefusedError
        At the first part that is not known to be harmless.
    """
    if not isinstance(tree, _QUERIES):
        raise refused(tree, "is not a query: write SELECT ... FROM ...", "syntax")
    checker = _Checker(folded(private), frozenset(public))
    try:
        checker.visit(tree, frozenset())
    except RecursionError:
        raise StatementRefusedError("the statement is nested too deeply", kind="size") from None
    return sorted(checker.calls, key=lambda call: int(call.meta.get("start", 0)))


class _Checker:
    """Walks a tree with the names that WITH has defined so far."""

    def __init__(self, private: str, public: Scope) -> None:
        self._private = private
        self._public = public
        self.calls: list[exp.Anonymous] = []

    def visit(self, node: exp.Expr, scope: Scope) -> None:
        if isinstance(node, exp.Anonymous) and release_name(node):
            self.calls.append(node)  # `read_call` checks that its arguments are literals
            return
        if isinstance(node, exp.Table):
            self._check_table(node, scope)
        self._check_kind(node)
        if type(node) in _PLACES:
            _PLACES[type(node)](node)
        definitions = node.args.get("with_")
        if definitions is not None:
            scope = self._define(definitions, scope)
        for child in node.iter_expressions():
            if child is not definitions:
                self.visit(child, scope)

    def _define(self, definitions: exp.Expr, scope: Scope) -> Scope:
        if type(definitions) is not exp.With:
            raise refused(definitions, "is not allowed")
        if definitions.args.get("recursive"):
            raise refused(definitions, "is recursive and may never end: write WITH without RECURSIVE")
        self._check_kind(definitions)
        for definition in definitions.expressions:
            name = folded(definition.alias)
            if name == self._private:
                raise refused(definition, "has the private table's name: choose another")
            if not isinstance(definition.this, _QUERIES):
                raise refused(definition, "is not a query: WITH names queries only")
            self.visit(definition, scope)
            scope |= {name}
        return scope

    def _check_kind(self, node: exp.Expr) -> None:
        kind = type(node)
        if kind in REASONS:
            raise refused(node, REASONS[kind])
        if kind is exp.Anonymous:
            self._check_named_function(node)
        elif kind not in FUNCTIONS and kind not in EXPRESSIONS and kind not in STRUCTURES:
            if isinstance(node, exp.Func):
                raise refused(node, "is not a function that statements may call", "function")
            raise refused(node, f"is not allowed here ({node.key})")
        if kind is exp.DataType and node.this not in TYPES:
            raise refused(node, "is not a type that statements may use")
        extra = sorted(k for k, v in node.args.items() if v and k not in STRUCTURES.get(kind, node.args))
        if extra:
            raise refused(node, f"is not allowed with {', '.join(extra).strip('_')}")
        if kind is exp.Literal and not node.is_string and not is_number(node.this):
            raise refused(node, "is not a number")
        if kind is exp.Var and not (node.name.isascii() and node.name.isidentifier()):
            raise refused(node, "is not a word that is known here")

    def _check_named_function(self, node: exp.Expr) -> None:
        name = folded(node.name)
        if name not in NAMED_FUNCTIONS:
            raise refused(
                node,
                f"is not a function that statements may call{nearest(name, [*RELEASES, *NAMED_FUNCTIONS])}",
                "function",
            )

    def _check_table(self, node: exp.Table, scope: Scope) -> None:
        if node.args.get("db") or node.args.get("catalog"):
            raise refused(node, "names a schema or database: write the name of a public table or a release alone")
        if isinstance(node.this, exp.Anonymous) and release_name(node.this):
            return
        if not isinstance(node.this, exp.Identifier):
            raise refused(
                node,
                "is not a table that statements may read: only releases, public tables and WITH queries are"
                + (nearest(node.this.name, RELEASES) if isinstance(node.this, exp.Expr) else ""),
            )
        name = folded(node.name)
        if name in scope or name in self._public:
            return
        if name == self._private:
            raise refused(node, f"is private: ask for a release, such as dp_count('{node.name}', epsilon := 0.1)")
        if name in RELEASES:
            raise refused(node, f"lacks its arguments: write {example(name, self._private)}")
        if name.startswith(_SYSTEM_TABLES):
            raise refused(node, "is a table of the system, which statements do not read")
        if any(mark in name for mark in _FILE_MARKS):
            raise refused(
                node, "looks like a file, and statements read none: its owner can add it with --public NAME=FILE"
            )
        near = nearest(name, sorted(self._public | scope | {self._private}))
        raise refused(node, f"is not a public table{near}", "table")


def _check_column(node: exp.Expr) -> None:
    if not node.text("table") and folded(node.name) in _SYSTEM_VALUES:
        raise refused(node, "is a value of the system; if a column has this name, write table.column")


def _check_field(node: exp.Expr) -> None:
    if isinstance(node.expression, exp.Star):
        raise refused(node, "takes a release apart: write SELECT * FROM and the release")
    if not isinstance(node.expression, exp.Identifier):
        raise refused(node, "is a function with a schema or behind a dot: write it as f(x)")


def _check_lateral(node: exp.Expr) -> None:
    if not isinstance(node.this, exp.Subquery):
        raise refused(node, "is not LATERAL (SELECT ...): write a subquery")


def _check_unnested(node: exp.Expr) -> None:
    if release_name(_bare(node.this)):
        raise refused(node, "cannot take a release apart here: write SELECT * FROM and the release")


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


# Further checks of the content of these allowed parts.
_PLACES: Mapping[type[exp.Expr], Callable[[exp.Expr], None]] = {
    exp.Column: _check_column,
    exp.Dot: _check_field,
    exp.Lateral: _check_lateral,
    exp.Explode: _check_unnested,
}

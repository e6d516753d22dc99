"""A statement in PostgreSQL's SQL as the same tree that DuckDB's would be: what only spells otherwise, spells alike.

What computes otherwise is left to `postgres_computing`. Nothing is decided here: the tree is checked like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from dpdb.doors.sql.column_names import name_columns
from dpdb.errors import StatementRefusedError

PUBLIC = "public"


def plain_tree(tree: exp.Expr) -> exp.Expr:
    """Change a tree that the parser has read as PostgreSQL's SQL, and return it.

    Texts lose their special quotes, FETCH FIRST becomes LIMIT, parameters become those of DuckDB, the schema `public`
    is left out, names without quotes are folded, and columns get PostgreSQL's names.

    Raises
    ------
    StatementRefusedError
        What is written has no equal in DuckDB.
    """
    for node in [*tree.walk(bfs=False)][::-1]:  # leaves first
        change = _CHANGES.get(type(node))
        if change is None:
            continue
        changed = change(node)
        if changed is not node:
            if node is tree:
                tree = changed
            else:
                node.replace(changed)
    if isinstance(tree, exp.Query):
        name_columns(tree, {})
    return tree


def _text(node: Any) -> exp.Expr:
    return exp.Literal.string(node.name)


def _parameter(node: exp.Parameter) -> exp.Expr:
    return exp.Placeholder(this=node.name)


def _identifier(node: exp.Identifier) -> exp.Expr:
    if not node.args.get("quoted") and isinstance(node.parent, (exp.Alias, exp.TableAlias)):
        node.set("this", node.name.lower())
    return node


def _of_public(node: exp.Table | exp.Column) -> exp.Expr:
    if node.args.get("db") is not None and node.db.lower() == PUBLIC:
        node.set("db", None)
        node.set("catalog", None)
    return node


def _fetch(node: exp.Fetch) -> exp.Expr:
    options = node.args.get("limit_options")
    if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
        raise StatementRefusedError("FETCH FIRST takes a number of rows: neither PERCENT nor WITH TIES")
    return exp.Limit(expression=node.args.get("count") or exp.Literal.number(1))


def _limit(node: exp.Limit) -> exp.Expr:
    bare = node.expression
    if isinstance(bare, exp.Column) and bare.name.upper() == "ALL" and not bare.this.args.get("quoted"):
        return exp.Limit(expression=exp.Null())
    return node


def _select(node: exp.Select) -> exp.Expr:
    if not node.expressions and isinstance(node.parent, exp.Exists):
        node.set("expressions", [exp.Literal.number(1)])
    return node


def _ignoring_case(node: exp.RegexpILike) -> exp.Expr:
    found = exp.RegexpLike(this=node.this, expression=node.expression)
    found.meta["ignores_case"] = True
    return found


def _values(node: exp.Values) -> exp.Expr:
    """Name columns `column1`, `column2`, ..., where the statement names none."""
    alias = node.args.get("alias")
    rows = node.expressions
    count = len(rows[0].expressions) if rows and isinstance(rows[0], exp.Tuple) else 1
    if alias is None:
        alias = exp.TableAlias(this=exp.to_identifier("values_", quoted=True))
    if not alias.args.get("columns"):
        alias.set("columns", [exp.to_identifier(f"column{place}", quoted=True) for place in range(1, count + 1)])
    is_table = isinstance(node.parent, (exp.From, exp.Join))
    node.set("alias", alias)
    return node if is_table or not _stands_alone(node) else exp.select("*").from_(node.copy())


def _stands_alone(node: exp.Values) -> bool:
    return node.parent is None or isinstance(node.parent, (exp.Subquery, exp.CTE, exp.SetOperation))


_CHANGES: Mapping[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    exp.ByteString: _text,
    exp.RawString: _text,
    exp.Parameter: _parameter,
    exp.Identifier: _identifier,
    exp.Table: _of_public,
    exp.Column: _of_public,
    exp.Fetch: _fetch,
    exp.Limit: _limit,
    exp.Select: _select,
    exp.Values: _values,
    exp.RegexpILike: _ignoring_case,
}

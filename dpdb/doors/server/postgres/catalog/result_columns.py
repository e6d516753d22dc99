"""Columns of a result: the names and types that PostgreSQL gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from sqlglot import exp

from dpdb.doors.server.postgres.catalog.question import TYPED, asks
from dpdb.doors.server.postgres.catalog.relations import arrow_type, relations
from dpdb.doors.server.postgres.catalog.type_names import type_name

__all__ = ["name_columns", "result_kinds", "with_kinds"]

# Those that a client may have to know from text and numbers.
_KINDS = ("name", "oid", "char", "int2vector", "oidvector", "xid", "_oid")
_MOST_STEPS = 8


def name_columns(tree: exp.Query) -> None:
    """Give the columns of the result the names that PostgreSQL gives them."""
    for select in tree.find_all(exp.Select):
        items = []
        for item in select.expressions:
            plain = isinstance(item, (exp.Alias, exp.Star)) or (isinstance(item, exp.Column) and not asks(item))
            items.append(item if plain else exp.alias_(item, _implied(item)[0] or "?column?", quoted=True))
        select.set("expressions", items)


def _implied(node: exp.Expr) -> tuple[str, bool]:  # noqa: PLR0911 - a case per kind of expression
    """Return the name that an expression gives its column, and whether one of its own (`FigureColname`)."""
    if isinstance(node, (exp.Paren, exp.Collate, exp.Bracket)):
        return _implied(node.this)
    if isinstance(node, exp.Cast):
        name, own = _implied(node.this)
        return (name, True) if own else (type_name(node.to).removesuffix("[]"), False)
    if isinstance(node, exp.Case):
        name, own = _implied(node.args["default"]) if node.args.get("default") else ("", False)
        return (name, True) if own else ("case", False)
    if isinstance(node, exp.Subquery):
        first = node.this.expressions[:1]
        return (first[0].alias_or_name, True) if first and first[0].alias_or_name else ("", False)
    if isinstance(node, exp.Dot):
        return _implied(node.expression)
    if isinstance(node, (exp.Column, exp.Identifier, exp.Anonymous)):
        return node.name.lower(), True
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        name = "string_agg" if isinstance(node, exp.GroupConcat) else node.sql_name().lower()
        return TYPED.get(type(node), name), True
    return "", False


def result_kinds(tree: exp.Query, read: Iterable[str]) -> dict[str, str]:  # noqa: C901 - a case per kind of expression
    """Return the types of a result's columns by their names, as the catalog has them; of what is of such a type.

    Parameters
    ----------
    tree
        The query, not yet rewritten.
    read
        The relations that it reads.
    """
    types: dict[str, set[str]] = {}
    for relation in read:
        for name, kind in relations()[relation].items():
            types.setdefault(name, set()).add(kind)
    of_relations = {name: next(iter(kinds)) for name, kinds in types.items() if len(kinds) == 1}
    defined = {alias.alias.lower(): alias.this for alias in tree.find_all(exp.Alias)}

    def kind_of(node: object, steps: int) -> str:  # noqa: PLR0911 - the same
        if steps == 0:
            return ""
        if isinstance(node, exp.Column):
            name = node.name.lower()
            return of_relations.get(name) or kind_of(defined.get(name), steps - 1)
        if isinstance(node, exp.Cast):
            return type_name(node.to)
        if isinstance(node, exp.ArrayAgg):
            inside = kind_of(node.this.this if isinstance(node.this, exp.Order) else node.this, steps - 1)
            return f"_{inside}" if inside else ""
        if isinstance(node, exp.Case):
            return kind_of(node.args["ifs"][0].args["true"], steps - 1)
        if isinstance(node, exp.Subquery):
            return kind_of(node.this.selects[0] if node.this.selects else None, steps - 1)
        return kind_of(node.this, steps - 1) if isinstance(node, (exp.Paren, exp.Coalesce, exp.Alias)) else ""

    found = {item.alias_or_name.lower(): kind_of(item, _MOST_STEPS) for item in tree.selects}
    if any(isinstance(item, exp.Star) for item in tree.selects):
        found |= of_relations | {name: kind_of(node, _MOST_STEPS) for name, node in defined.items()}
    return found


def with_kinds(table: pa.Table, kinds: Mapping[str, str]) -> pa.Table:
    """Return a result with its types as metadata (`pg_type`) of its columns."""
    columns, fields = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        kind = kinds.get(field.name.lower(), "")
        known = kind in _KINDS and field.type == arrow_type(kind)
        if known and kind.endswith("vector"):  # written as numbers with blanks between
            texts = [None if one is None else " ".join(map(str, one)) for one in column.to_pylist()]
            column, field = pa.array(texts, pa.string()), field.with_type(pa.string())  # noqa: PLW2901
        columns.append(column)
        fields.append(field.with_metadata({b"pg_type": kind.encode()}) if known else field)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))

"""Columns of a result: the names and types that PostgreSQL gives them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from sqlglot import exp

from dpdb.doors.server.postgres.catalog.question import TYPED, asks
from dpdb.doors.server.postgres.catalog.relations import arrow_type, relations
from dpdb.doors.server.postgres.catalog.type_names import type_name

__all__ = ["name_columns", "result_kinds", "with_kinds"]

# Those that a client may have to know from text and numbers.
_KINDS = ("name", "oid", "char", "int2vector", "oidvector", "xid")


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


def result_kinds(tree: exp.Query, read: Iterable[str]) -> list[str]:
    """Return the types of a result's columns as the catalog has them, "" of what is of no such type.

    Parameters
    ----------
    tree
        The query, not yet rewritten.
    read
        The relations that it reads.
    """
    columns = [relations()[relation] for relation in read]
    found: list[str] = []
    for item in tree.selects:
        core = item.this if isinstance(item, exp.Alias) else item
        kinds = {one[core.name.lower()] for one in columns if core.name.lower() in one}
        if isinstance(core, exp.Column) and len(kinds) == 1:
            found += kinds
        else:
            found.append(type_name(core.to) if isinstance(core, exp.Cast) else "")
    return found


def with_kinds(table: pa.Table, kinds: Sequence[str]) -> pa.Table:
    """Return a result with its types as metadata (`pg_type`) of its columns."""
    if len(kinds) != table.num_columns:  # of `SELECT *`
        return table
    columns, fields = [], []
    for field, kind, column in zip(table.schema, kinds, table.columns, strict=True):
        known = kind in _KINDS and field.type == arrow_type(kind)
        if known and kind.endswith("vector"):  # written as numbers with blanks between
            texts = [None if one is None else " ".join(map(str, one)) for one in column.to_pylist()]
            column, field = pa.array(texts, pa.string()), field.with_type(pa.string())  # noqa: PLW2901
        columns.append(column)
        fields.append(field.with_metadata({b"pg_type": kind.encode()}) if known else field)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))

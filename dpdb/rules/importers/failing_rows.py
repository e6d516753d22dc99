"""Queries that return the rows that fail a check: `SELECT .. FROM t WHERE c` states that no row meets c.

dbt's singular tests, `unexpected_rows_query` of Great Expectations, `fail query` of Soda and `sql` of data contracts.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.bounded_parser import parse_script
from dpdb.errors import ParameterError
from dpdb.names import in_double_quotes
from dpdb.rules.conditions import plain
from dpdb.rules.found import ACROSS_TABLES, WHOLE_TABLE
from dpdb.rules.texts import checked

_PARTS = {"kind", "expressions", "from", "from_", "where"}
_CALLS = (exp.AggFunc, exp.Window, exp.Subquery, exp.Select, exp.Exists)
_MAKE_ROWS = (exp.UDTF, exp.Explode, exp.GenerateSeries)  # several of one, or none
_OF_SOURCE = {"this", "db", "catalog", "alias"}  # else it is a sample, an earlier version or the like


_PLACES = re.compile(r"\$?\{(?:table|object|model|dataset|batch|schema)\}", re.IGNORECASE)


def no_failing_rows(query: object, table: str, where: str | None = None, *, counted: bool = False) -> str:
    """Write that a query about a table returns no row.

    Parameters
    ----------
    query
        The query, in which `{table}`, `{object}`, `{model}`, `{dataset}`, `{batch}` stand for the table.
    where
        The rows that the check is about besides; None for all.
    """
    if not isinstance(query, str):
        raise ParameterError(f"{query!r} is no query")
    rows = failing_rows(_filled(query, table), counted=counted)
    if not _is_named(rows.table, table):
        raise ParameterError(ACROSS_TABLES)
    return checked(f"NOT ({rows.condition})", where)


class FailingRows(NamedTuple):
    """The table that a query reads, and the condition of the rows that it returns."""

    table: str
    condition: str


def failing_rows(query: str, dialect: str = "postgres", *, counted: bool = False) -> FailingRows:
    """Read a query that returns rows of one table that meet a condition.

    Parameters
    ----------
    query
        In SQL, with all templates filled in.
    dialect
        By sqlglot's names.
    counted
        Whether it is to return their number, `SELECT count(*) ..`, instead of the rows.
    """
    try:
        statements = [each for each in parse_script(query, dialect) if each is not None]
    except (SqlglotError, RecursionError, ValueError):
        raise ParameterError("its query is no SQL that dpdb reads") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise ParameterError("its query is not one SELECT")
    select = statements[0]
    source = (select.args.get("from_") or select.args.get("from")) and select.find(exp.From)
    if source is None or not isinstance(source.this, exp.Table) or select.args.get("joins"):
        raise ParameterError(ACROSS_TABLES)
    others = [key for key, part in select.args.items() if part and key not in _PARTS] + _more_than_named(source.this)
    if any(each.find(*_MAKE_ROWS) for each in select.expressions):
        others.append("functions that return rows")
    if others:
        raise ParameterError(f"its query is more than SELECT .. FROM .. WHERE ..: {', '.join(sorted(others))}")
    among = _counted_rows(select) if counted else None
    if (counted and among is None) or (not counted and any(each.find(*_CALLS) for each in select.expressions)):
        raise ParameterError(WHOLE_TABLE)
    where = select.args.get("where")
    conditions = [part for part in (where and where.this, among) if isinstance(part, exp.Expr)]
    if not conditions:
        raise ParameterError("its query returns every row")
    if any(part.find(*_CALLS) for part in conditions):
        raise ParameterError(ACROSS_TABLES)
    condition = plain(_unqualified(exp.and_(*conditions), source.this)).unnest()
    return FailingRows(source.this.name, condition.sql("duckdb", comments=False))


def counts_all_rows(query: object, table: str) -> bool:
    """Return whether a query is `SELECT count(*) FROM t`, of the table."""
    if not isinstance(query, str):
        return False
    try:
        statements = parse_script(_filled(query, table), "postgres")
    except (SqlglotError, RecursionError, ValueError):
        return False
    select = statements[0] if len(statements) == 1 else None
    if not isinstance(select, exp.Select) or _counted_rows(select) is not True:
        return False
    source = select.find(exp.From)
    read = source.this if source is not None else None
    is_whole = {key for key, part in select.args.items() if part} <= _PARTS - {"where"} and not _more_than_named(read)
    return is_whole and isinstance(read, exp.Table) and _is_named(read.name, table)


def _more_than_named(source: exp.Expr | None) -> list[str]:
    """Return what is said of a table beside its name: a sample, new names of its columns and the like."""
    if source is None:
        return []
    alias = source.args.get("alias")
    names = ["names of columns"] if isinstance(alias, exp.TableAlias) and alias.columns else []
    return names + [key for key, part in source.args.items() if part and key not in _OF_SOURCE]


def _counted_rows(select: exp.Select) -> exp.Expr | Literal[True] | None:
    """Return which rows it counts, if it returns their number alone: those of a condition, or (True) all.

    `count(*)`, by whatever name; also `count(*) FILTER (WHERE c)`, `count_if(c)` and `countif(c)`.
    """
    only = select.expressions[0].unalias() if len(select.expressions) == 1 else None
    inner = only.expression if isinstance(only, exp.Filter) and _is_count(only.this) else only
    among = inner.this if isinstance(inner, (exp.Where, exp.CountIf)) else None
    return among if isinstance(among, exp.Expr) else True if _is_count(only) else None


def _is_count(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Count) and isinstance(node.this, exp.Star)


def _filled(query: str, table: str) -> str:
    return _PLACES.sub(lambda _: in_double_quotes(table or "t"), query)


def _is_named(read: str, table: str) -> bool:
    """Return whether what a query reads is the table, whose name may have a schema before it."""
    return read.casefold() in {name.casefold() for name in (table or "t", table.rpartition(".")[2])}


def _unqualified(condition: exp.Expr, table: exp.Table) -> exp.Expr:
    """Return a condition with columns by their names alone."""
    condition = condition.copy()
    for column in list(condition.find_all(exp.Column)):
        if column.table and column.table != table.alias_or_name:
            raise ParameterError(ACROSS_TABLES)
        for part in ("table", "db", "catalog"):
            column.set(part, None)
    return condition

"""The rows that a WHERE clause or a counting query may read, of a table of which only the columns are known."""

from __future__ import annotations

from functools import reduce
from operator import and_

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.bounded_parser import parse_condition, parse_duckdb
from dpdb.constraints import shortened
from dpdb.engine import Table
from dpdb.errors import PredicateError
from dpdb.names import folded
from dpdb.predicates import Region, covered

__all__ = ["counted_rows"]

_PLAIN_QUERY = frozenset(["kind", "expressions", "from_", "where", "group", "having", "order", "limit"])


def counted_rows(line: str, columns: Table) -> Region:
    """Read a WHERE clause or a query `SELECT count(*) FROM t WHERE ...` as the rows its answer may depend on.

    Any aggregate query over one table is read; joins, subqueries, samples and the like cover every row, and so does a
    part of a condition that `where` of a release refuses. The notes of the region say so.

    Raises
    ------
    PredicateError
        The text is neither a condition nor a query.
    UnknownColumnError
        A column does not exist.
    """
    try:
        if line.split(None, 1)[0].lower() not in ("select", "from", "with"):
            return _rows(parse_condition(line), columns)
        statements = parse_duckdb(line)
    except (SqlglotError, RecursionError):
        raise PredicateError(f"{shortened(line)} cannot be read as one SQL condition or SELECT") from None
    query = statements[0] if len(statements) == 1 else None
    if not isinstance(query, exp.Query):
        raise PredicateError(f"{shortened(line)} is neither a condition nor a SELECT; write one of the two")
    problem = _beyond_one_table(query)
    if problem:
        return Region(notes=(f"{problem}, so the query is charged for every row",))
    where = query.args.get("where")
    if where is None:
        return Region()
    name = folded(query.args["from_"].this.alias_or_name)
    for column in where.find_all(exp.Column):
        if folded(column.table) == name and not column.args.get("db"):
            column.set("table", None)
    return _rows(where.this, columns)


def _rows(condition: exp.Expr, columns: Table) -> Region:
    """Cover a condition as releases do; what they refuse covers every row, beside the parts that they know."""
    try:
        return covered(columns.where(condition.sql("duckdb", comments=False)).tree)
    except (PredicateError, RecursionError):
        condition = condition.unnest()
    if isinstance(condition, exp.And):
        return reduce(and_, [_rows(part, columns) for part in condition.flatten()])
    shown = shortened(condition.sql("duckdb", comments=False))
    return Region(notes=(f"{shown} is not understood, so it is taken to cover every row",))


def _beyond_one_table(query: exp.Query) -> str | None:  # noqa: PLR0911 - one line per reason
    """Say why the answer may depend on more than the rows of one table that satisfy WHERE, None when it does not."""
    if not isinstance(query, exp.Select):
        return "the query combines several queries"
    extra = sorted(key.strip("_") for key, value in query.args.items() if value and key not in _PLAIN_QUERY)
    if extra:
        return f"the query has a part that is not understood ({', '.join(extra)})"
    if any(node is not query for node in query.find_all(exp.Query)):
        return "the query has a subquery"
    aliases = {folded(item.alias) for item in query.expressions if item.alias}
    where = query.args.get("where")
    if where is not None and any(folded(column.name) in aliases for column in where.find_all(exp.Column)):
        return "WHERE uses a name defined in the SELECT list"
    source = query.args.get("from_")
    table = source.this if source is not None else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return "the query does not read one table by name"
    if any(value for key, value in table.args.items() if key not in ("this", "db", "catalog", "alias")):
        return "the table is sampled, joined or changed before it is filtered"
    if table.args.get("alias") and table.args["alias"].args.get("columns"):
        return "the columns of the table are renamed"
    return None

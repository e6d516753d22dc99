"""The joint cost of a file of WHERE clauses or counting queries: the answer behind `dpdb overlap`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import and_
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.bounded_parser import parse_condition, parse_duckdb
from dpdb.constraints import shortened
from dpdb.engine import Table
from dpdb.errors import PredicateError, UnknownColumnError
from dpdb.names import folded
from dpdb.opening import declared_table
from dpdb.overlap.solver import maximum_overlap
from dpdb.predicates import Region, covered


@dataclass(frozen=True)
class OverlapReport:
    """Bounds on the cost of a set of queries, and the saving by parallel composition.

    Parameters
    ----------
    queries, total
        Number of queries and the sum of their charges: the cost by sequential composition.
    lower, upper, optimal
        Bounds on the maximum overlap; `upper` may be charged.
    utility_gain
        1 - upper / total (paper B, Eq. 6), with the safe side of the bound.
    noise_saved
        Share of the noise that can be left out at equal budget: the same number for Laplace noise, and
        1 - sqrt(upper / total) for Gaussian noise, whose scale grows with the root of the charge.
    witness
        A row region that collects `lower`, in words, and the numbers of the queries covering it (from 1).
    notes
        The conditions that were over-approximated, with the number of the query.
    """

    method: str
    queries: int
    total: int
    lower: int
    upper: int
    optimal: bool
    utility_gain: float
    noise_saved: dict[str, float]
    witness: str
    witness_queries: tuple[int, ...]
    seconds: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values for JSON."""
        return {**asdict(self), "witness_queries": list(self.witness_queries), "notes": list(self.notes)}


def overlap_report(
    lines: Sequence[str],
    weights: Sequence[int] | None = None,
    *,
    types: Mapping[str, str],
    method: str = "auto",
    deadline: float = 10.0,
) -> OverlapReport:
    """Read queries and bound their joint cost.

    Parameters
    ----------
    lines
        WHERE clauses or counting queries, one per line; blank lines and lines that start with `--` are skipped.
    weights
        Integer charges, one per query; ones by default.
    types
        SQL types of the columns, by name: a condition is bound to them as `where` of a release is.

    Raises
    ------
    PredicateError
        A line cannot be read, or names no column of `types`; the message has its number.
    ParameterError
        An unknown method or unusable weights.
    SourceError
        A type is not a SQL type, there is no column, or two have one name.
    """
    began = time.perf_counter()
    regions, notes = _read(lines, types)
    bound = maximum_overlap(regions, weights, method=method, deadline=deadline)
    total = len(regions) if weights is None else sum(int(weight) for weight in weights)
    share = bound.upper / total if total else 0.0
    witness = bound.witness
    return OverlapReport(
        method=method,
        queries=len(regions),
        total=total,
        lower=bound.lower,
        upper=bound.upper,
        optimal=bound.optimal,
        utility_gain=1 - share if total else 0.0,
        noise_saved={"laplace": 1 - share, "gaussian": 1 - share**0.5} if total else {"laplace": 0.0, "gaussian": 0.0},
        witness=witness.describe() if witness else "no row",
        witness_queries=tuple(query + 1 for query in witness.queries) if witness else (),
        seconds=time.perf_counter() - began,
        notes=tuple(notes),
    )


def _read(lines: Sequence[str], types: Mapping[str, str]) -> tuple[list[Region], list[str]]:
    regions: list[Region] = []
    notes: list[str] = []
    with declared_table(types) as columns:
        for number, line in enumerate(lines, start=1):
            text = line.strip().rstrip(";")
            if not text or text.startswith("--"):
                continue
            try:
                region = counted_rows(text, columns)
            except (PredicateError, UnknownColumnError) as error:
                raise PredicateError(f"line {number}: {error}") from None
            regions.append(region)
            notes += [f"query {len(regions)}: {note}" for note in region.notes]
    return regions, notes


_PLAIN_QUERY = frozenset(["kind", "expressions", "from_", "where", "group", "having", "order", "limit"])


def counted_rows(line: str, columns: Table) -> Region:
    """Read a WHERE clause or a query `SELECT count(*) FROM t WHERE ...` as the rows its answer may depend on.

    Any aggregate query over one table is read; joins, subqueries, samples and the like cover every row, and so does a
    part of a condition that `where` of a release refuses. The notes of the region say so.

    Raises
    ------
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
    """Cover a condition as releases do; a part that they refuse covers every row."""
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

"""One question, asked of our own engine and of a remote table; and random questions."""

from __future__ import annotations

import random
from typing import Any, get_args

import pyarrow as pa
from helpers_engine import Table
from sqlglot import exp
from strategies_engine import VALUES

from dpdb.engine import Partners, StatisticKind, Table as OpenTable
from dpdb.graph import EdgeGraph
from dpdb.opening import open_table
from dpdb.release.conflict_graph import conflict_graph
from dpdb.release.statistics import SliceStatistics

THETAS = [1, 2, 3, 7, 1_000]

FEW_ROWS = (Partners(0, 0), Partners(1, 0), Partners(1, 1), Partners(2, 2))
"""Rounds of `dpdb.release.statistics` in which rows are missing also of tables of a few rows."""

# Over columns a, b, ... of any types, as far as they are comparable.
SHAPES = [
    "{0} -> {1}", "{0}, {1} -> {2}", "[] -> {0}", "UNIQUE({0}, {1})", "UNIQUE({0})",
    "not(t1.{0}=t2.{0}&t1.{1}<t2.{1}&t1.{2}>t2.{2})", "not(t1.{0}<t2.{0}&t1.{1}<t2.{1})",
    "not(t1.{0}=t2.{0}&t1.{1}<=t2.{1}&t1.{2}>t2.{2})", "not(t1.{0}=t2.{0}&t1.{1}<=t2.{1}&t1.{2}>=t2.{2})",
    "not(t1.{0}=t2.{0}&t1.{1}!=t2.{1}&t1.{2}!=t2.{2})", "not(t1.{0}=t2.{0}&t1.{1}<t2.{1}&t1.{2}!=t2.{2})",
    "not(t1.{0}>t2.{0}&t1.{1}>=t2.{1})", "NOT NULL({0})", "{0} IS NOT NULL: {1} -> {2}",
    "not(t1.{0}=t2.{0}&t1.{1} IS NULL&t2.{2} IS NOT NULL)", "not(t1.{0}<t2.{0}&t1.{1}<t2.{1}&t1.{2}<t2.{2})",
]  # fmt: skip

KNOWN = ["NOT NULL(a)", "NOT NULL(b)", "NOT NULL(c)"]
COUNTED = [
    [*KNOWN, "a -> b", "UNIQUE(a, c)"], [*KNOWN, "[] -> a", "b -> c"], ["UNIQUE({0})", "UNIQUE({1}, {2})"],
    ["{0} IS NOT NULL: UNIQUE({1})", "UNIQUE({2})"], ["not(t1.{0}=t2.{0}&t1.{1}!=t2.{1}&t1.{2} IS NULL)"],
]  # fmt: skip
"""Sets whose decision bits or shared keys every engine counts."""


def random_question(rng: random.Random) -> tuple[pa.Table, list[str], str | None]:
    """A table of few values per column, constraints of all shapes, and perhaps a predicate."""
    kinds = rng.choices(sorted(VALUES), k=3)
    names = list("abc")
    pools = [rng.sample(VALUES[kind], min(rng.choice([2, 2, 3]), len(VALUES[kind]))) for kind in kinds]
    pools = [[*pool, None] if rng.random() < 0.6 else pool for pool in pools]
    rows = [tuple(map(rng.choice, pools)) for _ in range(rng.choice([0, 1, 2, 8, 20, 40, 40]))]
    table = Table(dict(zip(names, kinds, strict=True)), rows)
    texts = [shape.format(*rng.sample(names, 3)) for shape in rng.sample(SHAPES, rng.choice([1, 1, 2, 3, 4]))]
    if rng.random() < 0.1:
        texts = [shape.format(*rng.sample(names, 3)) for shape in rng.choice(COUNTED)]
    where = None
    if rng.random() < 0.4:
        name, other = rng.sample(names, 2)
        kind = table.types[name]
        value = {"BOOLEAN": "true", "DATE": "DATE '2020-01-01'", "TIMESTAMP": "TIMESTAMP '2020-01-01 12:00:00'"}
        written = "'b'" if kind == "VARCHAR" else value.get(kind, rng.choice(["0", "1", "2.5", "0.1"]))
        op = rng.choice(["=", "<>", "<", ">="])
        where = f"{name} {op} {written} OR {other} IS NULL"
    return table.arrow(), texts, where


def statistics(table: OpenTable, where: str | None = None, position: int | None = None) -> dict[str, Any]:
    """Every exact number that a mechanism or an owner reads of a slice."""
    part = table.slice(None if where is None else table.where(where), position=position)
    try:
        found = SliceStatistics(part)
        degrees = conflict_graph(part).degree_summary()
        return {
            "rows": found.row_count,
            "self-conflicts": found.self_conflicts,
            "degree bound": found.degree_bound(),
            "projected edges": found.projected_edges(THETAS),
            "projected rows": found.projected_nodes(THETAS),
            "witnesses": found.witnesses(THETAS),
            "truncated": found.twice_truncated_edges(THETAS),
            "cover": found.twice_fractional_cover().value,
            "greedy": found.greedy_cover(),
            "degrees": (degrees.edge_count, degrees.positive_degree_nodes, degrees.max_degree),
            "listed": [counts.edge_count for counts in EdgeGraph(part.edges).projected_counts(THETAS)],
        }
    finally:
        part.close()


def cover(source: Any, constraints: Any, where: str | None = None, **options: Any) -> int:
    """2 tau* as a release of `repair` alone asks for it."""
    with open_table(source, constraints=constraints, **options) as table:
        part = table.slice(None if where is None else table.where(where))
        try:
            return SliceStatistics(part).twice_fractional_cover().value
        finally:
            part.close()


def histograms(table: OpenTable, where: str | None = None) -> tuple[int, list[Any]]:
    """Class histograms, in one order: engines give groups of equal sizes in one row or in several."""
    alone, found = table.class_histograms(None if where is None else table.where(where))
    together: list[Any] = []
    for each in found:
        counts: dict[Any, int] = {}
        for row in each.to_pylist():
            key = (tuple(sorted(row["sizes"] or [])), row["singles"])
            counts[key] = counts.get(key, 0) + row["groups"]
        together.append({key: count for key, count in sorted(counts.items()) if any(key)})
    return alone, together


def closed_forms(table: OpenTable, where: str | None = None) -> dict[tuple[int, StatisticKind, bool], int]:
    """Exact statistics of all rules (0) and of each (1, ...) that a table counts, as `repair` and as checks do."""
    sets = [table.constraints, *((one,) for one in table.constraints)]
    kinds: tuple[StatisticKind, ...] = get_args(StatisticKind)
    asked = {
        (place, kind, go): found
        for place, rules in enumerate(sets)
        for kind in kinds
        for go in (False, True)
        if (found := table.exact_statistic(rules, kind, reversed_go=go)) is not None
        and (not go or "reversed" in found.estimand)
    }
    counted = table.count_all(None if where is None else table.where(where), list(asked.values()))
    return dict(zip(asked, counted, strict=True))


def reads_rows(tree: exp.Expr) -> bool:
    """Whether a query reads rows of a table, of `AskedThere`, and not of none."""
    return any(
        not (isinstance(table.parent_select, exp.Select) and table.parent_select.args.get("where") == _NOTHING)
        for table in tree.find_all(exp.Table)
        if table.name == "remote_row"
    )


def of_no_rows(tree: exp.Expr) -> bool:
    """Whether a query is asked of no rows, before a debit."""
    return any(where == _NOTHING for where in tree.find_all(exp.Where))


_NOTHING = exp.Where(this=exp.false())


def compare(
    rows: Any,
    remote: Any,
    constraints: list[str],
    where: str | None = None,
    remote_table: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Assert that both engines say the same, and return it."""
    with open_table(rows, constraints=constraints, **options) as here:
        wanted = statistics(here, where)
        classes = histograms(here, where)
        counts = here.count_rows([None, None if where is None else here.where(where)])
        closed = closed_forms(here, where)
    with open_table(remote, table=remote_table, constraints=constraints, gather_rows=1_000, **options) as there:
        assert histograms(there, where) == classes, (constraints, where, options)
        found = statistics(there, where)
        assert found == wanted, (constraints, where, options, found, wanted)
        assert there.count_rows([None, None if where is None else there.where(where)]) == counts
        assert closed_forms(there, where) == closed, (constraints, where, options)
    return wanted

"""All tables of a few rows over {0, 1, NULL}^3, counted by the real GROUP BY: one query for all of them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import duckdb
import pyarrow as pa
from sqlglot import exp

from dpdb.engine import DependencyCounts
from dpdb.engine.dependency_counts import pair_counts, pair_of, value_counts, values_of
from dpdb.owner.discovery import Candidates

NAMES = ("a", "b", "c")
CANDIDATES = Candidates(NAMES, ())
ROWS = list(itertools.product((0, 1, None), repeat=3))

Tiny = tuple[int, ...]  # places in ROWS, ascending


def tables(most: int) -> list[Tiny]:
    """Every multiset of at most so many rows."""
    return [one for n in range(most + 1) for one in itertools.combinations_with_replacement(range(len(ROWS)), n)]


def neighbours(most: int, more: int = 1) -> Iterator[tuple[Tiny, Tiny]]:
    """Every table of at most so many rows, and it with `more` rows more."""
    for one in tables(most):
        for added in itertools.combinations_with_replacement(range(len(ROWS)), more):
            yield one, tuple(sorted(one + added))


def counted(most: int) -> dict[Tiny, DependencyCounts]:
    """The counts of every table of at most so many rows, by the queries that releases ask, each asked once for all."""
    found = tables(most)
    cells = [(number, *ROWS[place]) for number, one in enumerate(found) for place in one]
    columns = dict(zip(("number", *NAMES), zip(*cells, strict=True), strict=True))
    with duckdb.connect() as con:
        con.register("cells", pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()}))
        con.register("numbers", pa.table({"number": pa.array(range(len(found)), pa.int32())}))
        con.execute("CREATE TABLE every_row AS FROM cells")
        con.execute("CREATE TABLE every_table AS FROM numbers")
        one = exp.select(*NAMES).from_("every_row").where("every_row.number = every_table.number").subquery()

        def asked(query: exp.Select) -> list[tuple[int, ...]]:
            return con.execute(
                f"SELECT q.* FROM every_table, LATERAL ({query.sql('duckdb')}) q ORDER BY every_table.number"
            ).fetchall()

        values = [map(values_of, asked(value_counts(one, name))) for name in NAMES]
        pairs = [map(pair_of, asked(pair_counts(one, *pair))) for pair in CANDIDATES.pairs]
    return {
        table: DependencyCounts(of_columns, of_pairs)
        for table, of_columns, of_pairs in zip(found, zip(*values, strict=True), zip(*pairs, strict=True), strict=True)
    }


def scores_by_hand(table: Tiny) -> tuple[list[int], list[int]]:
    """The scores as the theory writes them, by Python alone."""
    rows = [dict(zip(NAMES, ROWS[place], strict=True)) for place in table]
    found = []
    for x, y in CANDIDATES.dependencies:
        kept = [(row[x], row[y]) for row in rows if row[x] is not None and row[y] is not None]
        groups = {value: Counter(other for own, other in kept if own == value) for value, _ in kept}
        g3 = sum(sum(group.values()) - max(group.values()) for group in groups.values())
        most = max(Counter(other for _, other in kept).values(), default=0)
        found.append((len(kept) - most) - len(groups) - 2 * g3)
    keys = []
    for x in NAMES:
        values = [row[x] for row in rows if row[x] is not None]
        keys.append(len(set(values)) - len(values))
    return found, keys

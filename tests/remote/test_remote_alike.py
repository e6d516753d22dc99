"""Dependencies and keys that differ in their conditions alone: the counts of plain Python, by as few queries as sets of
columns, in our own database and in others."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from asked_there import AskedThere, DuckDBRemote
from helpers_postgres import Server

from dpdb.engine import StatisticKind, count_all
from dpdb.opening import open_table
from dpdb.remote.postgres_table import PostgresTable
from dpdb.thresholds import HASHES_PER_SHARED, MOST_HASHES, MOST_SHARED, Threshold

KINDS: tuple[StatisticKind, ...] = ("violations", "duplicate values", "rows in duplicates")
ENDS: list[list[tuple[Threshold, float]]] = [
    [],
    [(HASHES_PER_SHARED, 0)],  # whatever is shared is looked at by itself
    [(HASHES_PER_SHARED, 1e18)],  # nothing is
    [(MOST_HASHES, -1), (MOST_SHARED, -1)],
]


def rows_of(rng: random.Random, size: int, dirt: float) -> pa.Table:
    """Rows whose k and l nearly decide v and w; each column may lack a value."""
    k = [None if rng.random() < 0.05 else rng.randrange(max(1, size // 5)) for _ in range(size)]
    v = [None if rng.random() < 0.05 else ((each or 0) % 7) + (rng.random() < dirt) for each in k]
    w = [None if each is None else f"it's {each}{rng.random() < dirt}" for each in v]
    c = [rng.choice([None, 0, 1, 2]) for _ in range(size)]
    columns = {"k": k, "l": [f"l{(each or 0) % 3}" for each in k], "v": v, "w": w, "c": c}
    return pa.table(columns, schema=pa.schema({name: pa.string() if name in "lw" else pa.int64() for name in columns}))


CONDITIONS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "": lambda row: True,
    " WHERE c = 0": lambda row: row["c"] == 0,
    " WHERE c = 1": lambda row: row["c"] == 1,
    " WHERE c <> 1": lambda row: row["c"] not in (None, 1),
    " WHERE c IS NULL": lambda row: row["c"] is None,
    " WHERE c > 0 AND v < 4": lambda row: (row["c"] or 0) > 0 and row["v"] is not None and row["v"] < 4,
    " WHERE w = 'it''s 1False'": lambda row: row["w"] == "it's 1False",
}
SHAPES = [(("k",), "v"), (("k",), "w"), (("k", "l"), "w"), (("k",), None), (("l", "k", "v"), None)]


def questions() -> list[tuple[str, tuple[str, ...], str | None, str, StatisticKind]]:
    """Return each rule with its group, class, condition and what is counted of it."""
    return [
        (
            f"{', '.join(group)} -> {right}{where}" if right else f"UNIQUE({', '.join(group)}){where}",
            group,
            right,
            where,
            kind,
        )
        for group, right in SHAPES
        for where in CONDITIONS
        for kind in KINDS
        if right is None or kind == "violations"
    ]


def counted_plainly(table: pa.Table, group: tuple[str, ...], right: str | None, where: str, kind: str) -> int:
    """Count by loops, from the definition: the rows of a group that must go, or that share its key."""
    rows = [row for row in table.to_pylist() if CONDITIONS[where](row)]
    classes: dict[tuple[Any, ...], Counter[Any]] = defaultdict(Counter)
    for place, row in enumerate(rows):
        values = tuple(row[name] for name in group)
        if None not in values and (right is None or row[right] is not None):
            classes[values][place if right is None else row[right]] += 1
    sizes = [(found.total(), max(found.values())) for found in classes.values()]
    return {
        "violations": sum(every - most for every, most in sizes),
        "duplicate values": sum(every > 1 for every, _ in sizes),
        "rows in duplicates": sum(every for every, _ in sizes if every > 1),
    }[kind]


def counted(source: Any, table: str | None = None, where: str | None = None) -> list[int]:
    """Count all questions at once."""
    asked = questions()
    texts = list(dict.fromkeys(text for text, *_ in asked))
    with open_table(source, table=table, constraints=texts) as opened:
        bound = dict(zip(texts, opened.constraints, strict=True))
        statistics = [opened.exact_statistic([bound[text]], kind) for text, *_, kind in asked]
        assert None not in statistics
        found: list[int] = opened.count_all(None if where is None else opened.where(where), statistics)  # type: ignore[arg-type]
        return found


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize(("size", "dirt"), [(0, 0.5), (1, 0.5), (60, 0.3), (400, 0.01)])
def test_counts_together_are_those_of_plain_loops(
    size: int, dirt: float, ends: list[tuple[Threshold, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = rows_of(random.Random(size), size, dirt)
    for threshold, at in ends:
        monkeypatch.setattr(threshold, "at", at)
    for where in (None, "l <> 'l1'"):
        kept = pa.Table.from_pylist(
            [row for row in table.to_pylist() if where is None or row["l"] != "l1"], schema=table.schema
        )
        right = [counted_plainly(kept, *asked) for _, *asked in questions()]
        assert counted(table, where=where) == right
        assert counted(AskedThere(table), where=where) == right
    assert size < 60 or len({*right}) > 5


def test_few_forms_are_counted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    table = rows_of(random.Random(5), 50, 0.3)
    together = counted(table)
    monkeypatch.setattr(count_all, "FEWEST_ALIKE", 1_000)
    assert counted(table) == together


def suite_of_400() -> list[str]:
    """100 dependencies and 100 keys of five sets of columns each, and 200 rules on one row."""
    dependencies = [f"k -> {right} WHERE c = {n}" for right in ("l", "v", "w", "c", "x") for n in range(20)]
    keys = [f"UNIQUE(k, {right}) WHERE c = {n}" for right in ("l", "v", "w", "c", "x") for n in range(20)]
    return [*dependencies, *keys, *(f"CHECK (v < {n})" for n in range(200))]


def asked_of(
    source: Any, kind: Any, monkeypatch: pytest.MonkeyPatch, table: str | None = None
) -> tuple[list[int], int]:
    """Count the suite, and how many queries that takes once it is open."""
    queries, inner = [], kind.ask
    with open_table(source, table=table, constraints=suite_of_400()) as opened:
        statistics = [opened.exact_statistic([bound]) for bound in opened.constraints]
        assert len(statistics) == 400
        monkeypatch.setattr(kind, "ask", lambda there, tree: queries.append(tree) or inner(there, tree))
        return opened.count_all(None, statistics), len(queries)  # type: ignore[arg-type]


def test_a_suite_of_400_is_as_many_queries_as_sets_of_columns(
    monkeypatch: pytest.MonkeyPatch, postgres: Server, tmp_path: Path
) -> None:
    table = rows_of(random.Random(9), 300, 0.1)
    table = table.append_column("x", pa.array([place % 11 for place in range(300)]))
    with open_table(table, constraints=suite_of_400()) as opened:
        right = opened.count_all(None, [opened.exact_statistic([bound]) for bound in opened.constraints])  # type: ignore[misc]
    there, queries = asked_of(AskedThere(table), DuckDBRemote, monkeypatch)
    assert there == right
    assert sum(right) > 1_000
    assert queries <= 2 + 5 + 2 * 5  # of one-row rules by the hundred, of dependencies one, of keys hashes and the rest
    found, queries = asked_of(postgres.address, PostgresTable, monkeypatch, postgres.holding(table))
    assert found == right
    assert queries <= 2 + 5 + 2 * 5

"""Whatever the shapes of constraints, their graph gives the values of the edge stream, in the canonical order."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from case_share import fifth, of_all
from sqlglot import exp

from dpdb.constraints import ColumnRef, Constant, DenialConstraint, Operator, Predicate, block_shape, distinct
from dpdb.database.database import Database
from dpdb.engine import LocalSlice
from dpdb.engine.sql.bind import bind, plain_pairs
from dpdb.engine.sql.coded_rows import row_hashes
from dpdb.graph import BlockGraph, EdgeArrays, EdgeGraph
from dpdb.graph.steps import finished
from dpdb.opening import open_local_table
from dpdb.release.conflict_graph import ConflictGraph, _conditions, conflict_graph
from dpdb.schema import Column, TableSchema
from dpdb.sources.source import Source

SHAPES = ["key", "functional dependency", "unequal columns", "order constraint"]
SHAPES = [*SHAPES, *(f"conditional {shape}" for shape in SHAPES), "None", "mixed"]
COLUMNS = {  # type, its values, constants to compare them with
    "a": (pa.int64(), "BIGINT", [0, 1, 2, 3], [0, 1, 2]),
    "b": (pa.int64(), "BIGINT", [0, 1, 2], [1]),
    "x": (pa.float64(), "DOUBLE", [0.0, -0.0, 1.0, 2.5, math.nan, -math.inf], [0, 1]),
    "y": (pa.float64(), "DOUBLE", [0.0, -0.0, 1.0, math.nan], [0]),
    "s": (pa.string(), "VARCHAR", ["", "a", "B", "é", "a "], ["a", ""]),
    "t": (pa.string(), "VARCHAR", ["a", "B", "b"], ["b"]),
    "d": (pa.date32(), "DATE", [date(2020, 1, 1), date(1969, 12, 31)], ["2020-01-01"]),
}
ALIKE = {"a": "bxy", "b": "axy", "x": "aby", "y": "abx", "s": "t", "t": "s", "d": "d"}
RANGES = [Operator.LT, Operator.LE, Operator.GT, Operator.GE]


def random_table(rng: random.Random) -> pa.Table:
    rows = rng.choice([0, 2, 5, 8, 12, 16, 20, 24])
    arrays = {}
    for name, (kind, _, values, _) in COLUMNS.items():
        pool = rng.sample(values, rng.choice([1, 2, 2, 3]) if len(values) > 2 else 2) + [None] * rng.choice([0, 0, 1])
        arrays[name] = pa.array([rng.choice(pool) for _ in range(rows)], kind)
    return pa.table(arrays)


def between(name: str, op: Operator, flipped: bool = False) -> Predicate:
    """The comparison of a column with itself."""
    return Predicate(ColumnRef(int(flipped), name), op, ColumnRef(1 - int(flipped), name))


def condition(rng: random.Random) -> Predicate:
    """A predicate over t1 alone."""
    name = rng.choice(list(COLUMNS))
    left, op = ColumnRef(0, name), rng.choice([Operator.EQ, Operator.EQ, *Operator])
    if rng.random() < 0.2:
        return Predicate(left, op, ColumnRef(0, rng.choice(ALIKE[name])))
    return Predicate(left, op, Constant(rng.choice(COLUMNS[name][3])))


def random_constraint(rng: random.Random) -> DenialConstraint:
    names = rng.sample(list(COLUMNS), 5)
    parts = [between(name, Operator.EQ) for name in names[: rng.choice([0, 1, 1, 2])]]
    rest = names[3:]
    shape = rng.choice(["key", "unequal", "unequal", "two", "two", "order", "order", "order", "one", "cross", "any"])
    if shape == "unequal":
        parts.append(between(rest[0], Operator.NE))
    elif shape == "two":
        parts += [between(name, Operator.NE) for name in rest]
    elif shape == "order":
        parts += [between(name, rng.choice(RANGES), rng.random() < 0.5) for name in rest]
    elif shape == "one":
        parts.append(between(rest[0], rng.choice(RANGES)))
        parts += [between(rest[1], Operator.NE)] * rng.choice([0, 1])
    elif shape == "cross":
        parts.append(
            Predicate(
                ColumnRef(0, rest[0]), rng.choice([Operator.EQ, *Operator]), ColumnRef(1, rng.choice(ALIKE[rest[0]]))
            )
        )
    elif shape == "any":
        parts += [between(rng.choice(names), rng.choice(list(Operator)), rng.random() < 0.5) for _ in range(3)]
    conditions = rng.choice(["none", "none", "both", "both", "one", "different"])
    if conditions != "none" or not parts:
        met = [condition(rng) for _ in range(rng.choice([1, 1, 2]))]
        parts += met
        if conditions == "both":
            parts += [predicate.swapped() for predicate in met]
        elif conditions == "different":
            parts.append(condition(rng).swapped())
    rng.shuffle(parts)
    return DenialConstraint(tuple(parts))


SCHEMA = TableSchema(tuple(Column(name, column[1]) for name, column in COLUMNS.items()))


@contextmanager
def ranked(database: Database, table: pa.Table, dcs: Sequence[DenialConstraint]) -> Iterator[LocalSlice]:
    with database.arrow_table("fuzzed", table):
        source = Source("fuzzed", SCHEMA, exp.to_table("fuzzed"))
        part = LocalSlice(database, source, bind(database, dcs, SCHEMA), None, name="fuzz")
        try:
            yield part
        finally:
            part.close()


Edge = tuple[int, int, int]


def agree(slice_: Any, edges: Sequence[Edge], rng: random.Random) -> int:
    """Compare a slice's graphs with its edges (u, first constraint violated, v), by rank; returns how many."""
    thetas = [1, 2, rng.randint(3, 20), 1_000]
    whole, graph = conflict_graph(slice_, whole=True), conflict_graph(slice_)
    values = equal_to_stream(whole, edges, thetas)
    assert whole.node_count == slice_.node_count
    if isinstance(graph, BlockGraph) and None not in [block_shape(dc.constraint) for _, dc in pairwise(slice_)]:
        nodes = sorted({node for u, _, v in edges for node in (u, v)})
        assert graph.node_count == len(nodes)  # no other row
        place = {node: number for number, node in enumerate(nodes)}
        edges = [(place[u], k, place[v]) for u, k, v in edges]
    assert equal_to_stream(graph, edges, thetas) == values
    return len(edges)


def pairwise(slice_: Any) -> list[tuple[int, Any]]:
    return [(k, dc) for k, dc in enumerate(slice_.constraints) if not dc.constraint.is_single_tuple]


def equal_to_stream(graph: ConflictGraph, edges: Sequence[Edge], thetas: Sequence[int]) -> list[Any]:
    """Compare a graph's statistics with those of its edges; return them."""
    stream = EdgeGraph(EdgeArrays.from_pairs(graph.node_count, [(u, v) for u, _, v in edges]))
    summary = stream.degree_summary()
    values = [values_of(each, thetas) for each in (graph, stream)]
    assert values[0] == values[1]
    if isinstance(graph, BlockGraph):
        assert graph.problematic_count == summary.positive_degree_nodes
        assert finished(graph.projection.counts(1_000)).edge_count == summary.edge_count
        batches = [zip(*(column.tolist() for column in batch), strict=True) for batch in graph.labelled_batches()]
        assert [(u, k, v) for batch in batches for u, v, k in batch] == list(edges)
    return values[0]


def values_of(graph: ConflictGraph, thetas: Sequence[int]) -> list[Any]:
    counts = graph.witness_counts(thetas), graph.projected_counts(thetas)
    return [graph.degree_summary(), *counts, graph.twice_fractional_cover(), graph.greedy_cover_size()]


class Chosen:
    """Some constraints of a slice as a slice of their own. What violates each is found by SQL, by a plain self-join."""

    lists_edges = False

    def __init__(self, whole: Whole, positions: Sequence[int]) -> None:
        self.constraints = tuple(whole.part.constraints[position] for position in positions)
        self.node_count, self.self_conflicts, self.row_count = whole.part.node_count, 0, whole.part.node_count
        self._whole = whole
        self.found: list[tuple[int, int, int]] = []
        met: set[tuple[int, int]] = set()
        for place, position in enumerate(positions):
            new = whole.violations[position] - met
            self.found += [(u, place, v) for u, v in new]
            met |= new
        self.found.sort()
        self.edges = EdgeArrays.from_pairs(self.node_count, [(u, v) for u, _, v in self.found])

    def codes(self, columns: Sequence[str]) -> dict[str, np.ndarray]:
        return {name: self._whole.codes[name] for name in columns}

    def rows_that(self, conditions: Sequence[Any]) -> list[np.ndarray]:
        return [self._whole.met[condition] for condition in conditions]

    def canonical_order(self, rows: Any = None) -> np.ndarray:
        return self._whole.part.canonical_order(rows)

    def first_violations(self, positions: Sequence[int], most: float) -> dict[int, Any]:
        """There are few."""
        listed: dict[int, list[tuple[int, int]]] = {position: [] for position in positions}
        for u, place, v in self.found:
            if place in listed:
                listed[place].append((u, v))
        return {position: EdgeArrays.from_pairs(self.node_count, pairs) for position, pairs in listed.items()}


class Whole:
    """A ranked table, and what each of many constraints over two tuples says of it."""

    def __init__(self, part: LocalSlice) -> None:
        self.part = part
        self.codes = part.codes(part.columns)
        shapes = [(dc, block_shape(dc.constraint)) for dc in part.constraints]
        conditions = [each for dc, shape in shapes if shape for each in _conditions(dc, shape) if each]
        self.met = dict(zip(conditions, part.rows_that(conditions), strict=True))
        plain = [plain_pairs(dc, part.rank).edges(part.tuples, 0, []) for dc in part.constraints]
        self.violations = [{(u, v) for u, v, _ in part.database.rows(query)} for query in plain]


def shapes_of(dcs: Sequence[DenialConstraint]) -> list[str]:
    shapes = [block_shape(dc) for dc in dcs if not dc.is_single_tuple]
    return [*map(str, shapes), *(["mixed"] if any(shapes) and None in shapes else [])]


def many_sets(database: Database, seed: int, sets: int) -> Counter[str]:
    """Choose sets of constraints, in any order, from twenty over one table."""
    rng, made = random.Random(seed), Counter[str]()
    dcs = distinct([random_constraint(rng) for _ in range(20)])
    dcs = tuple(dc for dc in dcs if not dc.is_single_tuple)
    with ranked(database, random_table(rng), dcs) as part:
        whole = Whole(part)
        for number in range(sets):
            rng = random.Random(f"{seed} {number}")
            positions = rng.sample(range(len(dcs)), rng.choice([1, 2, 3, 4]))
            chosen = Chosen(whole, positions)
            try:
                made["edges"] += agree(chosen, chosen.found, rng)
            except AssertionError:
                print(seed, *(dcs[position] for position in positions), sep="\n")
                raise
            made.update(["sets", *shapes_of([dcs[position] for position in positions])])
    return made


# Each pair that is five apart makes every shape, and edges.
SEEDS = [4, 0, 11, 6, 14, 7, 12, 2, 10, 8]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database(threads=1) as opened:
        yield opened


@pytest.mark.heavy(family="long")
def test_values_and_order_are_those_of_the_edge_stream(database: Database) -> None:
    made = sum((many_sets(database, seed, 40) for seed in fifth(SEEDS)), Counter[str]())
    assert made["sets"] == of_all(400)
    assert min(made[shape] for shape in SHAPES) > of_all(10)
    assert made["edges"] > of_all(4_000)


@pytest.mark.slow
def test_values_and_order_are_those_of_the_edge_stream_complete(database: Database) -> None:
    made = sum((many_sets(database, seed, 60) for seed in fifth(range(1_000, 1_500))), Counter[str]())
    print(dict(made))
    assert made["sets"] == of_all(30_000)


@pytest.mark.heavy(family="long")
def test_so_they_are_where_all_is_found_by_sql(database: Database) -> None:
    """With constraints on one tuple, whose rows are apart, and edges that are listed after others."""
    for seed in fifth(range(25)):
        rng = random.Random(seed)
        dcs = distinct([random_constraint(rng) for _ in range(rng.choice([2, 3, 4]))])
        with ranked(database, random_table(rng), dcs) as part:
            agree(part, listed(part), rng)


def listed(part: LocalSlice) -> list[Edge]:
    """The edges by SQL; constraints counted among those over two tuples."""
    if not part.pairwise:
        return []
    assert part.edges.node_count == part.node_count  # materializes conflict_edge
    places = {position: place for place, (position, _) in enumerate(part.pairwise)}
    stored = part.database.rows(exp.select("u", "dc", "v").from_(part.table("conflict_edge")))
    return [(u, places[dc], v) for u, dc, v in stored]


# Again in pairs with edges: one without a unit, one with; then some in which next to nothing conflicts.
WITH_UNITS = [8, 30, 76, 74, 34, 3, 21, 39, 37, 31, 0, 1, 2, 4, 5, 6, 7, 9, 10, 11]


@pytest.mark.heavy(family="long")
def test_so_they_are_in_slices_and_of_few_rows_for_each_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hash of two values, too, so that nearly all rows are ordered by their values."""
    edges = 0
    for seed in fifth(WITH_UNITS):
        rng = random.Random(seed)
        dcs = [random_constraint(rng) for _ in range(3)]
        unit = {"unit": rng.choice("ad"), "max_rows": rng.choice([1, 3, 9])} if seed % 2 else {}
        with open_local_table(random_table(rng), constraints=dcs, **unit) as table, monkeypatch.context() as patch:
            if seed % 4 < 2:
                patch.setattr("dpdb.engine.sql.coded_rows.row_hashes", weak)
            for where in (None, "b > 0", "a IS NULL OR s >= 'a'", "false"):
                part = table.slice(None if where is None else table.where(where))
                edges += agree(part, listed(part), rng)
    assert edges > of_all(200)


def weak(rows: exp.Table, number: str, columns: Sequence[str]) -> exp.Expr:
    query = row_hashes(rows, number, columns)
    _, value = query.selects
    value.replace(exp.Mod(this=value.copy(), expression=exp.convert(2)))
    return query

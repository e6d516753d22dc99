"""Both representations of a real conflict graph give the same statistics, through SQL."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from inside import true_numbers

from dpdb.graph import BlockGraph, EdgeGraph
from dpdb.opening import open_table
from dpdb.release import Session
from dpdb.release.conflict_graph import ConflictGraph, conflict_graph
from dpdb.release.explain import explain
from dpdb.thresholds import MOST_LISTED

THETAS = [1, 2, 5, 16, 64, 1_000, 100_000]


def both(source: object, rules: object) -> tuple[BlockGraph, EdgeGraph]:
    with (
        open_table(source, constraints=rules) as opened,  # type: ignore[arg-type]
        open_table(source, constraints=rules, edges="table") as listing,  # type: ignore[arg-type]
    ):
        part = listing.slice()
        edges, part = conflict_graph(part), opened.slice()
        blocks = conflict_graph(part, whole=True)
        assert isinstance(blocks, BlockGraph)
        assert isinstance(edges, EdgeGraph)
        assert blocks.degree_summary() == edges.degree_summary()
        fewer = conflict_graph(part)  # of the rows in conflict, if nothing is listed
        assert fewer.degree_summary() == edges.degree_summary()
        assert fewer.node_count in {edges.node_count, edges.degree_summary().positive_degree_nodes}
        assert blocks.projected_counts(THETAS) == edges.projected_counts(THETAS)
        assert blocks.witness_counts(THETAS) == edges.witness_counts(THETAS)
        assert blocks.greedy_cover_size() == edges.greedy_cover_size()
        assert blocks.twice_fractional_cover() == edges.twice_fractional_cover()
        listed = [pair for batch in blocks.batches() for pair in zip(*(side.tolist() for side in batch), strict=True)]
        stored = [pair for batch in part.edges.batches() for pair in zip(*(s.tolist() for s in batch), strict=True)]
        assert listed == stored  # the canonical order, too
        return blocks, edges


@pytest.mark.heavy(family="long")
def test_the_bundled_table(hospital: Path, hospital_constraints: Path) -> None:
    blocks, _ = both(hospital, hospital_constraints)
    assert blocks.degree_summary().edge_count == 1325


@pytest.mark.heavy(family="long")
def test_order_constraints_keys_nulls_and_nan() -> None:
    rows = 1_500
    table = pa.table(
        {
            "state": pa.array([None if k % 71 == 0 else k % 9 for k in range(rows)]),
            "salary": pa.array([float("nan") if k % 97 == 0 else float(k * 37 % 400) for k in range(rows)]),
            "rate": pa.array([None if k % 83 == 0 else (k * 37 % 400) // 5 + (k % 101 == 0) * 30 for k in range(rows)]),
            "name": pa.array([f"n{k // 2}" for k in range(rows)]),
        }
    )
    rules = [
        "not(t1.state=t2.state&t1.salary>t2.salary&t1.rate<t2.rate)",
        "not(t1.salary<t2.salary&t1.rate<t2.rate&t1.name=t2.name)",
        "UNIQUE(name, state)",
        "state, salary -> rate",
        "[] -> state",
    ]
    blocks, _ = both(table, rules)
    assert blocks.degree_summary().edge_count > 100_000


TABLE = pa.table({"age": [1, 1, 2, 2, 30], "pay": [11, 12, 1, 30, 2]})


@pytest.mark.heavy
@pytest.mark.parametrize("rule", ["not(t1.age=t2.age&t1.pay>t2.pay&t1.pay>10)", "not(t1.age=t2.pay)"])
def test_a_constraint_of_another_shape_lists_its_own_edges_only(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def graph(*rules: str) -> ConflictGraph:
        with Session(TABLE, constraints=list(rules)) as session:
            assert session.dp_inconsistency("repair", 100_000).value > 0
            return true_numbers(session).statistics().graph

    assert isinstance(graph(rule), EdgeGraph)
    both(TABLE, [rule, "age -> pay"])
    assert isinstance(graph(rule, "age -> pay"), BlockGraph)
    monkeypatch.setattr(MOST_LISTED, "at", 0)
    assert isinstance(graph(rule, "age -> pay"), EdgeGraph)  # too many to list them in memory


@pytest.mark.heavy(family="long")
def test_explain_says_what_is_listed() -> None:
    rules = ["age -> pay", "not(t1.age=t2.pay)", "not(t1.age=1&t2.age=1&t1.pay!=t2.pay)", "not(t1.pay<0)"]
    explained = explain(TABLE, rules)["constraints"]
    assert [(each["shape"], each["representation"]) for each in explained] == [
        ("functional dependency", "rows in blocks, or edge table"),
        ("general", "edge table"),
        ("conditional functional dependency", "rows in blocks, or edge table"),
        ("single-tuple", "rows set apart"),
    ]

"""A cover of which rows are missing is certified only if it is that of all rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpdb.graph import (
    BlockConstraint,
    BlockGraph,
    CertifiedCover,
    EdgeArrays,
    EdgeGraph,
    UncertifiedError,
    by_class,
    by_edges,
    by_order,
    by_two_classes,
    chain_partners,
)
from dpdb.graph.blocks import thinned as certified_cover

Rule = Callable[[NDArray[np.int64]], BlockConstraint]
"""A constraint among some of the rows."""


def random_rules(rng: np.random.Generator, row_count: int) -> list[Rule]:
    rules: list[Rule] = []
    for _ in range(int(rng.integers(1, 4))):
        prefix = [rng.integers(-1 if rng.random() < 0.3 else 0, 2, row_count).astype(np.int32)]
        x, y = (rng.integers(-1 if rng.random() < 0.3 else 0, 4, row_count).astype(np.int32) for _ in "xy")
        kind = rng.integers(4)
        ties = (bool(rng.random() < 0.3), bool(rng.random() < 0.3))

        def rule(
            rows: NDArray[np.int64],
            prefix: list[NDArray[np.int32]] = prefix,
            x: NDArray[np.int32] = x,
            y: NDArray[np.int32] = y,
            kind: int = int(kind),
            ties: tuple[bool, bool] = ties,
        ) -> BlockConstraint:
            lhs = [column[rows] for column in prefix]
            if kind == 0:
                return by_class(lhs, x[rows], rows.size)
            if kind == 1:
                return by_two_classes(lhs, x[rows], y[rows], rows.size)
            if kind == 2:
                return by_class([*lhs, x[rows]], None, rows.size)
            return by_order(lhs, x[rows], y[rows], opposite=True, row_count=rows.size, ties=ties)

        rules.append(rule)
    return rules


def thinned(rng: np.random.Generator) -> tuple[int, BlockGraph, NDArray[np.bool_]]:
    """2 tau* of a random graph; the graph of rows that cover its conflicts and of others; the open ones, or more."""
    count = int(rng.integers(2, 14))
    rules, everything = random_rules(rng, count), np.arange(count)
    whole = [rule(everything) for rule in rules]
    plain = ~np.logical_or.reduce([constraint.minority for constraint in whole])
    missing = plain & (rng.random(count) < rng.choice([0.1, 0.3, 0.7]))
    near = np.zeros((count, count), np.bool_)
    for u, v in combinations(range(count), 2):
        pair = np.array([u]), np.array([v])
        near[u, v] = near[v, u] = any(constraint.violated(*pair)[0] for constraint in whole)
    here = np.flatnonzero(~missing)
    part = BlockGraph(here.size, [rule(here) for rule in rules])
    open_rows = near[here][:, missing].any(axis=1) | (rng.random(here.size) < rng.choice([0, 0.1]))
    return BlockGraph(count, whole).twice_fractional_cover(), part, open_rows


def check(seeds: range) -> None:
    outcomes = {"certified with rows missing": 0, "refused and wrong": 0, "refused and right": 0}
    for seed in seeds:
        exact, part, open_rows = thinned(np.random.default_rng(seed))
        least, most = part.twice_fractional_cover(), certified_cover._most(part, open_rows)
        assert least <= exact <= most, seed
        if least == most:
            assert CertifiedCover(part, open_rows).value == exact, seed
            outcomes["certified with rows missing"] += bool(open_rows.any())
        else:
            with pytest.raises(UncertifiedError):
                CertifiedCover(part, open_rows)
            outcomes["refused and right" if least == exact else "refused and wrong"] += 1
    assert all(outcomes.values()), outcomes


@pytest.mark.heavy(family="long")
def test_what_is_certified_is_the_cover_of_all_rows() -> None:
    check(range(200))


@pytest.mark.slow
def test_what_is_certified_is_the_cover_of_all_rows_of_many_graphs() -> None:
    check(range(200, 30_000))


def test_an_open_row_of_no_conflict_here_is_not_certified() -> None:
    part = BlockGraph(2, [by_class([np.zeros(2, np.int32)], np.zeros(2, np.int32), 2)])
    assert CertifiedCover(part, None).value == CertifiedCover(part, np.zeros(2, np.bool_)).value == 0
    with pytest.raises(UncertifiedError):
        CertifiedCover(part, np.array([True, False]))


def test_nothing_is_certified_with_open_rows_where_conflicts_are_listed() -> None:
    """Also where Python drops assertions: without the listed conflicts nearly every cover would be certified."""
    edges = EdgeArrays.from_pairs(3, [(0, 1), (1, 2)])
    for graph in (EdgeGraph(edges), BlockGraph(3, [by_edges(edges)])):
        with pytest.raises(NotImplementedError):
            CertifiedCover(graph, np.array([True, False, False]))


def test_a_certified_cover_is_made_of_a_graph_and_cannot_be_changed() -> None:
    cover = CertifiedCover(EdgeGraph(EdgeArrays.from_pairs(3, [(0, 1), (1, 2)])), None)
    assert cover.value == 2
    assert "2" not in repr(cover)
    with pytest.raises(AttributeError):
        CertifiedCover(2, None)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        cover.value = 3  # type: ignore[misc]


def check_chains(seeds: range) -> None:
    thinned_out = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        values = int(rng.integers(1, 25))
        copies = rng.choice([1, 1, 2, 40], values)
        number = np.repeat(np.arange(values), copies)
        prefix, x, y = (rng.integers(0, top, values).astype(np.int32)[number] for top in (2, 9, 9))
        ties = (bool(rng.random() < 0.3), bool(rng.random() < 0.3))
        rule = by_order([prefix], x, y, opposite=bool(rng.random() < 0.5), row_count=number.size, ties=ties)
        found = chain_partners(rule, number, int(rng.integers(4)), int(rng.integers(4)))
        u, v = (each.ravel() for each in np.indices((number.size, number.size)))
        conflicts = rule.violated(u, v)
        u, v = number[u[conflicts]], number[v[conflicts]]
        comes = found.share == 1
        assert (comes[u] | comes[v]).all(), seed
        assert found.open_values[u[~comes[v]]].all(), seed
        thinned_out += bool((~comes[v]).any())
    assert thinned_out


@pytest.mark.heavy(family="long")
def test_of_each_conflict_of_an_order_rule_one_value_comes_and_is_open_if_the_other_does_not() -> None:
    check_chains(range(200))


@pytest.mark.slow
def test_the_same_of_many_order_rules() -> None:
    check_chains(range(200, 10_000))


def test_lone_rows_against_a_long_chain_get_the_partners_that_they_ask_for() -> None:
    rows = 3_000
    x, y = (np.arange(rows, dtype=np.int32) for _ in "xy")
    y[[700, 2_000]] = y[[2_000, 700]]
    rule = by_order([], x, y, opposite=True, row_count=rows)
    found = chain_partners(rule, np.arange(rows), 3, 8)
    assert found.open_values.sum() == rule.minority.sum() == 2
    assert 2 + 10 <= (found.share > 0).sum() <= 2 + 26

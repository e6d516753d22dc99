"""Loading kernels before anything is spent, by computing statistics of toy graphs with the code of the real ones.

Kernels are compiled at their first call with arguments of some types. After a debit that must not happen: it takes
seconds, and if it fails the budget is lost. So the toys call every kernel of a statistic with every combination of
types, even where a shortcut would spare a kernel on such a small graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from dpdb.graph.blocks.block_constraint import BlockConstraint, ListedConstraint, by_class, by_edges, by_order
from dpdb.graph.blocks.block_degrees import counted_by_sums, counted_from_minority
from dpdb.graph.blocks.block_graph import BlockGraph
from dpdb.graph.blocks.block_scans import witness_count
from dpdb.graph.blocks.range_matching import range_matching
from dpdb.graph.grouping import factorize
from dpdb.graph.listed.edge_graph import Adjacency, complete_matching, twice_fractional_cover
from dpdb.graph.listed.listed_edges import EdgeArrays, greedy_cover_size, projected_counts, witness_counts
from dpdb.graph.steps import finished

_STATISTICS = ("projected_edges", "witnesses", "twice_fractional_cover", "greedy_cover", "twice_truncated_edges")


@cache
def load_block_kernels(statistic: str, *, ordered: bool, listed: bool, alone: bool) -> None:
    """Load the kernels of a `BlockGraph` for one method of `GraphStatistics` and the given kinds of constraints.

    Parameters
    ----------
    ordered, listed : bool
        Whether there are order constraints, and constraints without blocks.
    alone : bool
        Whether there is one constraint only.
    """
    zeros, codes = np.zeros(4, np.int32), np.array([0, 0, 1, 2], np.int32)
    constraints: list[BlockConstraint | ListedConstraint] = []
    if not (ordered and alone):
        constraints.append(by_class([zeros], codes, 4))
    if ordered:
        constraints.append(by_order([zeros], codes, codes[::-1].copy(), opposite=True, row_count=4))
    if listed:
        constraints.append(by_edges(EdgeArrays.from_pairs(4, [(0, 1), (1, 2)])))
    constraints = [each.of_rows(np.arange(4)) if isinstance(each, BlockConstraint) else each for each in constraints]
    factorize(zeros, codes)
    graph = BlockGraph(4, constraints)
    if statistic in ("projected_edges", "projected_nodes", "greedy_cover"):
        _load_degrees(graph, constraints)
        graph.most_projected_edges(1)
        finished(graph.projection.counts(1))
    elif statistic == "witnesses":
        finished(witness_count(graph.blocks, 1))
    elif statistic == "twice_fractional_cover":
        from dpdb.graph.blocks.block_matching import Matching

        matching = Matching(graph.blocks, graph.cover)
        finished(matching.start())
        finished(matching.search(np.zeros(1, np.int32), np.zeros(4, np.bool_)))
        if listed:
            constraints[-1].of_rows(np.arange(4))
        _load_range_matching(ordered)
    else:
        _load_truncation(graph.adjacency)


@cache
def load_counted_projection() -> None:
    """Load the kernels by which a `BlockGraph` counts the edges of large projections faster."""
    from dpdb.graph.blocks.block_scans import CountedProjection

    zeros, codes = np.zeros(4, np.int32), np.array([0, 0, 1, 2], np.int32)
    graph = BlockGraph(4, [by_class([zeros], codes, 4)])
    finished(CountedProjection(graph.blocks, lambda: graph.projection, graph.degrees).edges(1))


@cache
def load_edge_kernels(statistic: str) -> None:
    """Load the kernels of an `EdgeGraph` for one method of `GraphStatistics`."""
    graph = EdgeArrays.from_pairs(3, [(0, 1), (1, 2)])
    if statistic in ("projected_edges", "projected_nodes", "witnesses"):
        # A call for several measures scans once for all of them.
        projected_counts(graph, [1])
        witness_counts(graph, [1])
    elif statistic == "greedy_cover":
        greedy_cover_size(graph)
    elif statistic == "twice_fractional_cover":
        twice_fractional_cover(graph)
        complete_matching(Adjacency.of_edges(graph), np.full((2, 3), -1, np.int32))
    else:
        _load_truncation(Adjacency.of_edges(graph))


def load_all_kernels() -> None:
    """Load the kernels of all statistics of all graphs, exact ones for the owner among them."""
    for statistic in _STATISTICS:
        for ordered, listed, alone in ((False, False, False), (True, False, True), (True, True, False)):
            load_block_kernels(statistic, ordered=ordered, listed=listed, alone=alone)
        load_edge_kernels(statistic)
    load_counted_projection()
    from dpdb.graph.exact.deletions import (
        load_greatest_matching,
        load_one_sort,  # few rules need it, or the next
    )

    load_one_sort()
    load_greatest_matching()
    small = Adjacency.of_edges(EdgeArrays.from_pairs(3, [(0, 1), (1, 2)]))
    small.sorted().induced(np.arange(2)).independent_nodes(np.arange(2))


def _load_degrees(graph: BlockGraph, constraints: Sequence[BlockConstraint | ListedConstraint]) -> None:
    earlier: dict[int, BlockConstraint] = {}
    for k, constraint in enumerate(constraints):
        if isinstance(constraint, BlockConstraint):
            counted_from_minority(graph.blocks, k, constraint, earlier)
            finished(counted_by_sums(constraint, list(earlier.values())))
            earlier[k] = constraint


def _load_range_matching(ordered: bool) -> None:
    """Run on stars, where some row stays free after the start, so that the search runs."""
    zeros, codes, centre = np.zeros(4, np.int32), np.array([1, 2, 3, 0], np.int32), np.array([0, 0, 0, 1], np.int32)
    stars = [by_class([zeros], centre, 4)]
    if ordered:
        stars = [by_order([zeros], codes, np.arange(4, dtype=np.int32), opposite=True, row_count=4)]
    finished(range_matching(stars, 4))


def _load_truncation(graph: Adjacency) -> None:
    """Load the programs, too: one mechanism solves them, and others need not wait for them."""
    from dpdb.graph.exact.lp_truncation import twice_truncated_edges
    from dpdb.graph.exact.solver import start_solver

    twice_truncated_edges(graph, [1])
    start_solver()

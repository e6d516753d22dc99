"""Maximal consistent subsets (I_MC): maximal independent sets. For owners and evaluation."""

from __future__ import annotations

from dpdb.graph.adjacency import Adjacency, adjacency_of
from dpdb.graph.edges import OrderedEdges
from dpdb.graph.exact.reductions import WeightedGraph

__all__ = ["count_maximal_independent_sets"]

_TOO_LARGE = "the graph is too large to count its maximal consistent subsets"
_TOO_MUCH_WORK = "counting maximal consistent subsets takes more steps than the limit"


def count_maximal_independent_sets(
    edges: OrderedEdges | Adjacency, *, step_limit: int = 200_000, edge_limit: int = 300_000
) -> tuple[int | None, str | None]:
    """Count the maximal independent sets; 1 for a graph without edges, isolated nodes never matter.

    Twins are merged (which solves cographs, such as the conflicts of one FD), components multiply, and what
    is left is enumerated by Bron and Kerbosch's algorithm with pivoting. Counting is #P-complete in general.
    The sensitivity is exponential in the number of nodes (paper A, Proposition 2), so nothing is released
    from here.

    Parameters
    ----------
    edges
        The graph; the order of its edges does not matter.
    step_limit
        Most search nodes of the enumeration, over all components.
    edge_limit
        Most edges after classes of equal rows are merged.

    Returns
    -------
    count
        Number of maximal independent sets, or None above a limit. It may have more digits than `str` accepts
        (`sys.get_int_max_str_digits`).
    reason
        Which limit, or None.
    """
    from dpdb.graph.adjacency import false_twin_classes
    from dpdb.graph.exact.reductions import merge_twins

    full = adjacency_of(edges)
    merged = full.induced(false_twin_classes(full)[0])
    if merged.edge_count > edge_limit:
        return None, _TOO_LARGE
    graph = WeightedGraph.of_adjacency(merged, [1] * merged.node_count)
    merge_twins(graph)
    product = 1
    for component in sorted(graph.components(), key=lambda part: len(part.neighbours)):
        count, steps = _enumerate(component, step_limit)
        if count is None:
            return None, _TOO_MUCH_WORK
        product *= count
        step_limit -= steps
    return product, None


def _enumerate(graph: WeightedGraph, step_limit: int) -> tuple[int | None, int]:
    # Sum over maximal independent sets of the product of weights, and the steps it took. Sets are bitsets.
    bit = {node: 1 << i for i, node in enumerate(graph.neighbours)}
    blocked = [sum(bit[other] for other in near) | bit[node] for node, near in graph.neighbours.items()]
    weight = list(graph.weight.values())
    total = steps = 0
    stack = [((1 << len(weight)) - 1, 0, 1)]  # candidates, excluded candidates, product of the chosen
    while stack:
        if steps == step_limit:
            return None, steps
        steps += 1
        open_nodes, excluded, product = stack.pop()
        if not open_nodes:
            total += 0 if excluded else product
            continue
        # Each maximal set has the pivot or a neighbour of it: branch on those only.
        branches = min((open_nodes & blocked[i] for i in _bits(open_nodes | excluded)), key=int.bit_count)
        for i in _bits(branches):
            stack.append((open_nodes & ~blocked[i], excluded & ~blocked[i], product * weight[i]))
            open_nodes ^= 1 << i
            excluded |= 1 << i
    return total, steps


def _bits(nodes: int) -> list[int]:
    found = []
    while nodes:
        lowest = nodes & -nodes
        found.append(lowest.bit_length() - 1)
        nodes ^= lowest
    return found

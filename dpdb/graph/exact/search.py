"""Minimum vertex cover (the repair measure I_R) and maximal consistent subsets (I_MC). For owners and evaluation.

I_R is exact where feasible. I_MC counts maximal independent sets. Both search a small graph with integer node weights
in pure Python, once it is reduced: one reduction keeps the minimum weighted vertex cover, one counts maximal
independent sets.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.exact.solver import CoverProgram, solve
from dpdb.graph.grouping import sorted_by
from dpdb.graph.listed.edge_graph import Adjacency, FractionalCover, adjacency_of, fractional_cover
from dpdb.graph.listed.listed_edges import OrderedEdges


def solve_cover(graph: WeightedGraph, time_limit: float) -> tuple[int, set[int]]:
    """Return a lower bound of the minimum cover weight, and a cover, of that weight if solved in time.

    Every edge lies in a clique C of the model, whose constraint `sum of x over C >= |C| - 1` is much stronger than its
    edges' constraints.
    """
    nodes = list(graph.neighbours)
    index = {node: i for i, node in enumerate(nodes)}
    cliques = _clique_edge_cover(graph)
    program = CoverProgram(
        weight=np.array([graph.weight[node] for node in nodes], dtype=np.float64),
        members=np.array([index[node] for clique in cliques for node in clique]),
        sizes=np.array([len(clique) for clique in cliques]),
    )
    found = solve(program, max(time_limit, 0.01))
    best = greedy_cover(graph)
    if found.x is not None:
        cover = {node for node, x in zip(nodes, found.x, strict=True) if x > 0.5}
        if _is_cover(graph, cover):
            best = min(cover, best, key=graph.weight_of)
    bound = found.lower
    lower = math.ceil(bound - 1e-6) if bound is not None and math.isfinite(bound) else 0
    return min(lower, graph.weight_of(best)), best


def greedy_cover(graph: WeightedGraph) -> set[int]:
    """Return a cover without redundant nodes: all but an independent set of low weighted degree."""
    independent: set[int] = set()
    for node in sorted(graph.neighbours, key=lambda x: (len(graph.neighbours[x]) / graph.weight[x], x)):
        if independent.isdisjoint(graph.neighbours[node]):
            independent.add(node)
    return set(graph.neighbours) - independent


def _clique_edge_cover(graph: WeightedGraph) -> list[list[int]]:
    # Maximal cliques, grown greedily, that together contain every edge.
    uncovered = {node: {other for other in near if other > node} for node, near in graph.neighbours.items()}
    cliques = []
    for node, pending in uncovered.items():
        while pending:
            clique = [node, min(pending)]
            common = graph.neighbours[clique[0]] & graph.neighbours[clique[1]]
            while common:
                fresh = common & pending
                clique.append(min(fresh or common))
                common &= graph.neighbours[clique[-1]]
            clique.sort()
            for i, member in enumerate(clique):
                uncovered[member].difference_update(clique[i + 1 :])
            cliques.append(clique)
    return cliques


def _is_cover(graph: WeightedGraph, cover: set[int]) -> bool:
    return all(node in cover or near <= cover for node, near in graph.neighbours.items())


_MAX_KERNEL_EDGES = 300_000  # of the graph after twins are merged: it is copied to Python sets
_MAX_COMPONENT_EDGES = 50_000  # of one connected integer program

_TOO_LARGE = "what remains after reduction is too large for the exact solver"
_TOO_LONG = "the time limit was reached"


@dataclass(frozen=True)
class CoverBounds:
    """Bounds of the minimum vertex cover size, and a cover."""

    lower: int
    """At least half of `twice_fractional_cover`, rounded up."""
    upper: int
    """Size of `cover`."""
    proved: bool
    """The bounds meet."""
    reason: str | None
    """The reason why they do not."""
    cover: NDArray[np.bool_] = field(compare=False, repr=False)
    """For each node whether it is in the cover; the cover is minimal: no node can be left out."""


def minimum_vertex_cover(edges: OrderedEdges | Adjacency, *, time_limit: float = 10.0) -> CoverBounds:
    """Minimum vertex cover: fewest nodes that touch every edge.

    Half-integral solution, which settles every node of weight 0 or 1 (Nemhauser and Trotter 1975); false
    twins merged into one weighted node; reductions; then an integer program per connected component.
    Sensitivity 1, monotone (a cover without the new node plus that node is a cover); that holds for the
    minimum, not for these bounds, so nothing is released from here.

    Parameters
    ----------
    edges
        The graph; the order of its edges does not matter.
    time_limit
        Seconds for the integer programs. Above it, and above fixed size limits, the bounds are returned as
        they are.
    """
    deadline = time.monotonic() + time_limit
    graph = adjacency_of(edges)
    fractional = fractional_cover(graph)
    lower = -(-fractional.twice_size // 2)
    independent = _rounded(graph, fractional)
    if lower == _cover_size(independent):
        return CoverBounds(lower, lower, True, None, ~independent)
    core_nodes = np.flatnonzero(fractional.twice_weight == 1)
    core_lower, core_independent, reason = _solve_core(graph.induced(core_nodes), deadline)
    lower = max(lower, int(np.count_nonzero(fractional.twice_weight == 2)) + core_lower)
    if core_independent is not None:
        # All neighbours of a node of weight 0 have weight 1, so these and the core's are independent together.
        free = np.flatnonzero(fractional.twice_weight == 0)
        first = np.concatenate([free, core_nodes[core_independent]])
        found = graph.independent_nodes(np.concatenate([first, np.setdiff1d(np.arange(graph.node_count), first)]))
        independent = min(independent, found, key=_cover_size)
    upper = _cover_size(independent)
    proved = lower == upper
    return CoverBounds(lower, upper, proved, None if proved else reason, ~independent)


def _cover_size(independent: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(~independent))


def _rounded(graph: Adjacency, fractional: FractionalCover) -> NDArray[np.bool_]:
    """Return a maximal independent set; all other nodes are a cover. Round, or go by degree."""
    degrees = graph.degrees.astype(np.int32)
    orders = sorted_by((degrees, fractional.twice_weight.astype(np.int32))), sorted_by((degrees,))
    return min((graph.independent_nodes(order.astype(np.int64)) for order in orders), key=_cover_size)


def _solve_core(core: Adjacency, deadline: float) -> tuple[int, NDArray[np.int64] | None, str | None]:
    """Return a lower bound, an independent set of representatives of twins if one was found, and why it is not optimal.

    Twins have the same neighbours, so a maximal independent set has all of a class or none.
    """
    from dpdb.graph.listed.edge_graph import false_twin_classes

    representatives, sizes = false_twin_classes(core)
    merged = core.induced(representatives)
    if merged.edge_count > _MAX_KERNEL_EDGES:
        return 0, None, _TOO_LARGE
    graph = WeightedGraph.of_adjacency(merged, sizes.tolist())
    reduced = reduce_cover(graph)
    lower = reduced.paid
    cover: set[int] = set()
    reason = None
    for component in sorted(graph.components(), key=lambda part: part.edge_count):
        remaining = deadline - time.monotonic()
        if component.edge_count > _MAX_COMPONENT_EDGES or remaining <= 0:
            reason = _TOO_LARGE if remaining > 0 else _TOO_LONG
            cover |= greedy_cover(component)
            continue
        part_lower, part_cover = solve_cover(component, remaining)
        lower += part_lower
        cover |= part_cover
        if part_lower < component.weight_of(part_cover):
            reason = _TOO_LONG
    kept = np.setdiff1d(np.arange(merged.node_count), np.fromiter(reduced.completed(cover), np.int64))
    return lower, representatives[kept].astype(np.int64), reason


@dataclass(eq=False)
class WeightedGraph:
    """Neighbour sets and weights by node; nodes may be removed."""

    neighbours: dict[int, set[int]]
    weight: dict[int, int]

    @classmethod
    def of_adjacency(cls, graph: Adjacency, weights: list[int]) -> WeightedGraph:
        """Copy `graph`; `weights[node]` is the weight of a node."""
        neighbours = {node: set(graph.neighbours_of(node).tolist()) for node in range(graph.node_count)}
        return cls(neighbours, dict(enumerate(weights)))

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return sum(map(len, self.neighbours.values())) // 2

    def weight_of(self, nodes: set[int]) -> int:
        """Return the sum of the weights of some nodes."""
        return sum(self.weight[node] for node in nodes)

    def remove(self, node: int) -> set[int]:
        """Remove a node and return its neighbours."""
        del self.weight[node]
        near = self.neighbours.pop(node)
        for other in near:
            self.neighbours[other].discard(node)
        return near

    def components(self) -> Iterator[WeightedGraph]:
        """Split into connected components (sharing the neighbour sets)."""
        unseen = set(self.neighbours)
        while unseen:
            start = unseen.pop()
            members, frontier = [start], [start]
            while frontier:
                found = self.neighbours[frontier.pop()] & unseen
                unseen -= found
                members.extend(found)
                frontier.extend(found)
            members.sort()
            yield WeightedGraph(
                {node: self.neighbours[node] for node in members},
                {node: self.weight[node] for node in members},
            )


_MAX_DEGREE = 32  # domination is tried at nodes with at most this many neighbours


@dataclass
class Reduced:
    """The steps of a reduction, which turn a cover of the reduced graph into one of the whole graph."""

    paid: int = 0
    """The weight by which the minimum cover of the reduced graph is lighter."""
    taken: set[int] = field(default_factory=set)
    """Nodes of some minimum cover."""
    leaves: list[tuple[int, int]] = field(default_factory=list)
    """(leaf, neighbour), in the order of the steps: the leaf is in the cover if and only if its neighbour is not."""

    def completed(self, cover: set[int]) -> set[int]:
        """Return a cover of the whole graph, heavier by `paid`."""
        whole = cover | self.taken
        for leaf, neighbour in reversed(self.leaves):
            if neighbour not in whole:
                whole.add(leaf)
        return whole


def reduce_cover(graph: WeightedGraph) -> Reduced:
    """Shrink `graph` in place, its minimum cover lighter by a known weight; return the steps.

    Rules: a node without neighbours is left out; a leaf lighter than its neighbour is charged at once and its
    weight taken off the neighbour; if all neighbours of u except v are neighbours of v, and v is no heavier
    than u, some minimum cover contains v (a cover without v contains u and all neighbours of v: swap u for
    v).
    """
    reduced = Reduced()
    waiting = set(graph.neighbours)
    while waiting:
        node = waiting.pop()
        near = graph.neighbours.get(node)
        if near is None:
            continue
        if not near:
            graph.remove(node)
            continue
        taken = _dominating(graph, node)
        if taken is not None:
            reduced.paid += graph.weight[taken]
            reduced.taken.add(taken)
            waiting |= graph.remove(taken)
        elif len(near) == 1:
            (neighbour,) = near
            reduced.paid += graph.weight[node]
            reduced.leaves.append((node, neighbour))
            graph.weight[neighbour] -= graph.weight[node]
            graph.remove(node)
            waiting |= {neighbour} | graph.neighbours[neighbour]
    return reduced


def _dominating(graph: WeightedGraph, node: int) -> int | None:
    near = graph.neighbours[node]
    if len(near) > _MAX_DEGREE:
        return None
    for other in sorted(near):
        beyond = len(near) - 1
        if graph.weight[other] <= graph.weight[node] and len(near & graph.neighbours[other]) == beyond:
            return other
    return None


def merge_twins(graph: WeightedGraph) -> None:
    """Merge twins in place until none are left.

    The weight of a node is the number of maximal independent choices it stands for. False twins (same
    neighbours, not adjacent) are in together or out together: weights multiply. True twins (adjacent,
    otherwise same neighbours) replace one another: weights add up. So the sum over maximal independent sets
    of the product of weights stays. A graph without an induced path on four nodes (a cograph) shrinks to single nodes.
    """
    mark = {node: _mark(node) for node in graph.neighbours}
    open_key = {node: _combined(mark, near) for node, near in graph.neighbours.items()}
    owner: dict[int, int] = {}  # key of an open or closed neighbourhood -> a node that had it
    waiting = list(graph.neighbours)
    while waiting:
        node = waiting.pop()
        if node not in graph.neighbours:
            continue
        for true_twins in (False, True):
            key = open_key[node] ^ (mark[node] if true_twins else 0)
            twin = owner.get(key)
            if twin is None or twin == node or not _are_twins(graph, node, twin):
                owner[key] = node
                continue
            if true_twins:
                graph.weight[twin] += graph.weight[node]
            else:
                graph.weight[twin] *= graph.weight[node]
            for other in graph.remove(node):
                open_key[other] ^= mark[node]
                waiting.append(other)
            waiting.append(twin)
            break


def _mark(node: int) -> int:
    # Fixed, well-mixed bits: equal sets have equal keys, and candidates are compared in full.
    return int.from_bytes(hashlib.blake2b(node.to_bytes(8, "big"), digest_size=16).digest(), "big")


def _combined(mark: dict[int, int], nodes: set[int]) -> int:
    key = 0
    for node in nodes:
        key ^= mark[node]
    return key


def _are_twins(graph: WeightedGraph, node: int, other: int) -> bool:
    if other not in graph.neighbours:
        return False
    return graph.neighbours[node] - {other} == graph.neighbours[other] - {node}


_TOO_LARGE_TO_COUNT = "the graph is too large to count its maximal consistent subsets"
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
    from dpdb.graph.listed.edge_graph import false_twin_classes

    full = adjacency_of(edges)
    merged = full.induced(false_twin_classes(full)[0])
    if merged.edge_count > edge_limit:
        return None, _TOO_LARGE_TO_COUNT
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

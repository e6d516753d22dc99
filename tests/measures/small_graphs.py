"""Small conflict graphs as `GraphStatistics`, and all pairs of neighbours among them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from dpdb.graph import (
    CertifiedCover,
    EdgeArrays,
    EdgeGraph,
    count_maximal_independent_sets,
    greedy_cover_size,
    projected_counts,
    twice_truncated_edges,
    witness_counts,
)

_MOST_BY_DEFINITION = 9
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class SmallGraph:
    """Rows in rank order, conflicts in canonical order; the real statistics, remembered.

    The degree bound is that of a constraint without equality (max(0, rows - 1), sensitivity 1); none without
    two-tuple constraints.
    """

    nodes: int
    pairs: Pairs
    self_conflicts: int = 0
    degree_sensitivity: int = 1
    scans_once: bool = False

    @cached_property
    def _edges(self) -> EdgeArrays:
        return EdgeArrays.from_pairs(self.nodes, self.pairs)

    @cached_property
    def _memory(self) -> dict[tuple[str, int], int]:
        return {}

    def prepare(self, projection_thetas: Sequence[int], witness_thetas: Sequence[int]) -> None:
        """Nothing to do: small."""

    @property
    def row_count(self) -> int:
        return self.nodes + self.self_conflicts

    def degree_bound(self) -> int:
        return max(0, self.nodes - 1)

    def _each(self, name: str, thetas: Sequence[int]) -> list[int]:
        for theta in thetas:
            if (name, theta) not in self._memory:
                [counts], [witnesses] = projected_counts(self._edges, [theta]), witness_counts(self._edges, [theta])
                self._memory["edges", theta] = counts.edge_count
                self._memory["nodes", theta] = counts.positive_degree_nodes
                self._memory["witnesses", theta] = witnesses
        return [self._memory[name, theta] for theta in thetas]

    def projected_edges(self, thetas: Sequence[int]) -> list[int]:
        return self._each("edges", thetas)

    def projected_edges_between(self, theta: int) -> tuple[int, int]:
        [exact] = self.projected_edges([theta])
        return exact, exact

    def projected_nodes(self, thetas: Sequence[int]) -> list[int]:
        return self._each("nodes", thetas)

    def witnesses(self, thetas: Sequence[int]) -> list[int]:
        return self._each("witnesses", thetas)

    def witnesses_between(self, theta: int) -> tuple[int, int]:
        [exact] = self.witnesses([theta])
        return exact, exact

    def twice_truncated_edges(self, taus: Sequence[int]) -> list[int]:
        for tau in taus:
            if ("truncated", tau) not in self._memory:
                self._memory["truncated", tau] = twice_truncated_edges(self._edges, [tau])[0]
        return [self._memory["truncated", tau] for tau in taus]

    @cached_property
    def _twice_cover(self) -> CertifiedCover:
        return CertifiedCover(EdgeGraph(self._edges), None)

    def twice_fractional_cover(self) -> CertifiedCover:
        return self._twice_cover

    def greedy_cover(self) -> int:
        return greedy_cover_size(self._edges)

    @cached_property
    def _fewest(self) -> int:
        return self.self_conflicts + smallest_cover(self.pairs)

    def counted(self, kind: str) -> int:
        if kind == "rows sharing keys":  # as if every conflict were one of a key
            return self.self_conflicts + len({node for pair in self.pairs for node in pair})
        return {"violations": lambda: self._fewest, "decision bits": lambda: self._bits}[kind]()

    @cached_property
    def _bits(self) -> int:
        """Floor of 10^6 log2 of the maximal independent sets, counted by definition; of large graphs as owners do."""
        if self.nodes > _MOST_BY_DEFINITION:
            return math.floor(10**6 * math.log2(count_maximal_independent_sets(self._edges)[0] or 0))
        near = [set() for _ in range(self.nodes)]
        for u, v in self.pairs:
            near[u].add(v)
            near[v].add(u)
        subsets = ({node for node in range(self.nodes) if mask >> node & 1} for mask in range(1 << self.nodes))
        count = sum(
            all(near[node].isdisjoint(chosen) == (node in chosen) for node in range(self.nodes)) for chosen in subsets
        )
        return math.floor(10**6 * math.log2(count))


def smallest_cover(pairs: Sequence[tuple[int, int]]) -> int:
    """Minimum vertex cover by definition: an end of the first pair that is left, or all its neighbours, must go."""
    if not pairs:
        return 0
    end = Counter(node for pair in pairs for node in pair).most_common(1)[0][0]
    others = {node for pair in pairs if end in pair for node in pair} - {end}
    with_it = 1 + smallest_cover([pair for pair in pairs if end not in pair])
    if len(others) == 1:
        return with_it
    return min(with_it, len(others) + smallest_cover([pair for pair in pairs if others.isdisjoint(pair)]))


def star(leaves: int, *, hub_first: bool = True, **options: object) -> SmallGraph:
    """A hub in conflict with every other row."""
    pairs = [(0, k + 1) for k in range(leaves)] if hub_first else [(k, leaves) for k in range(leaves)]
    return SmallGraph(leaves + 1, tuple(pairs), **options)


def in_canonical_order(pairs: Sequence[tuple[int, int]], constraint_of: dict[tuple[int, int], int]) -> Pairs:
    """(rank of u, first violated constraint, rank of v)."""
    return tuple(sorted(pairs, key=lambda pair: (pair[0], constraint_of[pair], pair[1])))


def neighbours(nodes: int, colouring: int = 0) -> Iterator[tuple[SmallGraph, SmallGraph]]:
    """Every graph on `nodes` rows with each row removed, and with one more self-conflict instead.

    Bit k of `colouring` says which of two constraints the k-th pair violates; a removed row leaves the others' order.
    """
    possible = list(combinations(range(nodes), 2))
    constraint_of = {pair: colouring >> k & 1 for k, pair in enumerate(possible)}
    remembered: dict[tuple[int, Pairs], SmallGraph] = {}

    def graph(count: int, pairs: Pairs) -> SmallGraph:
        return remembered.setdefault((count, pairs), SmallGraph(count, pairs))

    for mask in range(1 << len(possible)):
        chosen = [pair for k, pair in enumerate(possible) if mask >> k & 1]
        larger = graph(nodes, in_canonical_order(chosen, constraint_of))
        for gone in range(nodes):
            left = (tuple(node - (node > gone) for node in pair) for pair in larger.pairs if gone not in pair)
            yield larger, graph(nodes - 1, tuple(left))
        yield SmallGraph(nodes, larger.pairs, self_conflicts=1), larger

"""The overlap hypergraph (paper B, appendix A) on tiny inputs: its heaviest hyperedge is the maximum overlap.

An oracle: it checks every set of queries, smallest first, for a common point, and shares no code with the solver
beyond value sets.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.errors import ParameterError
from dpdb.predicates import Box, Region, meet

__all__ = ["MOST_QUERIES", "hypergraph_rank"]

MOST_QUERIES = 20


def hypergraph_rank(predicates: Sequence[Region], weights: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Weight and queries of the heaviest hyperedge (Proposition 9).

    Raises
    ------
    ParameterError
        More than `MOST_QUERIES` queries: the hypergraph is exponential.
    """
    if len(predicates) > MOST_QUERIES:
        raise ParameterError(
            f"method 'hypergraph' is exponential and takes at most {MOST_QUERIES} queries, got {len(predicates)}"
        )
    best: tuple[int, tuple[int, ...]] = (0, ())
    level: list[tuple[tuple[int, ...], int, list[Box]]] = [((), 0, [()])]
    while level:
        above = []
        for edge, weight, region in level:
            for query in range(edge[-1] + 1 if edge else 0, len(predicates)):
                both = [box for one in region for two in predicates[query].boxes if (box := meet(one, two)) is not None]
                if both:
                    above.append(((*edge, query), weight + weights[query], both))
        best = max([best, *((weight, edge) for edge, weight, _ in above)], key=lambda pair: pair[0])
        level = above
    return best

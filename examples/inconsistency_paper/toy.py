"""The toy table of the paper's Examples 1 to 4 (Figure 1), whose conflict graph is a star, and small-graph helpers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa

from dpdb.graph import EdgeArrays, projected_counts
from dpdb.release import Session

CANDIDATES = (1, 2, 3)
TABLE = pa.table({"capital": ["Ottawa"] * 4, "country": ["Canada", "Canada", "Canada", "Kanada"]})
CONSTRAINT = "capital -> country"


def projected_edges() -> list[int]:
    """Edges of the toy table's projections to the candidates, as dpdb computes them."""
    with Session(TABLE, constraints=CONSTRAINT) as session:
        return list(session._private.statistics().projected_edges(CANDIDATES))


def qualities(edges: Sequence[int], answer_epsilon: float) -> list[tuple[int, float]]:
    """(bias, quality) of each candidate by Equations 2 and 3, for the last one as theta_max."""
    return [
        (edges[-1] - kept, -(edges[-1] - kept) - math.sqrt(2) * theta / answer_epsilon)
        for theta, kept in zip(CANDIDATES, edges, strict=False)
    ]


def probabilities(scores: Sequence[float], epsilon: float, theta_max: float) -> list[float]:
    """The exponential mechanism's (Algorithm 3, line 3)."""
    weights = [math.exp(epsilon * score / (2 * theta_max)) for score in scores]
    return [weight / sum(weights) for weight in weights]


def kept_nodes(pairs: Sequence[tuple[int, int]], nodes: int, theta: int) -> int:
    """Positive-degree nodes of the projection of a small graph, edges in the order given."""
    return projected_counts(EdgeArrays.from_pairs(nodes, pairs), [theta])[0].positive_degree_nodes

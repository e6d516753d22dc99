"""How releases come to conflicts, in words for `explain`: which way, why, which private numbers choose. No row is read.

The choice itself is made in `dpdb.release.conflict_graph` (blocks or listed edges) and by the mechanisms (no edges).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpdb.engine import BoundConstraint, StatisticKind
from dpdb.release.conflict_graph import has_blocks
from dpdb.thresholds import FEW_ROWS, MOST_HASHES, MOST_LISTED, Threshold


@dataclass(frozen=True)
class EdgeWay:
    """What a release reads of its conflict graph. Public: rules, mechanism and the owner's `edges` decide it.

    Attributes
    ----------
    words : str
        The way, or both ways and what chooses between them; and why.
    joined : frozenset of int
        Places, among the constraints of the graph, of those whose self-join runs or may run.
    thresholds : tuple of Threshold
        The private numbers that choose between two ways of the work, so that the number of queries may depend on rows.
    """

    words: str
    joined: frozenset[int] = frozenset()
    thresholds: tuple[Threshold, ...] = ()


_KEYS = "of a key by hashes, then by values the rows that share one, if any do"
BY_RULE = EdgeWay(
    f"reads no edges: rows are grouped, and the sizes of their classes are counted ({_KEYS})", thresholds=(MOST_HASHES,)
)
_COUNTED = {
    "violations": f"the fewest rows to delete have a closed form, counted by GROUP BY or by one sort ({_KEYS})",
    "rows sharing keys": "the rows that share a key are counted by GROUP BY",
    "decision bits": "the decisions to clean have a closed form, counted by GROUP BY",
}
ONE_ROW = EdgeWay("reads no edges: every rule is on one row", thresholds=(FEW_ROWS,))
_TABLE = "edge table: self-joins fill conflict_edge in the database, and its ordered scan feeds every statistic"


def counted_way(kind: StatisticKind) -> EdgeWay:
    """Say how a statistic is counted that needs no conflict graph."""
    return EdgeWay(f"reads no edges: {_COUNTED[kind]}")


def graph_way(constraints: Sequence[BoundConstraint], *, lists_edges: bool) -> EdgeWay:
    """Say how the conflict graph of a slice under these constraints is held, as `conflict_graph` holds it."""
    pairwise = {place: dc for place, dc in enumerate(constraints) if not dc.constraint.is_single_tuple}
    listed = frozenset(place for place, dc in pairwise.items() if not has_blocks(dc))
    if lists_edges:
        return EdgeWay(f"{_TABLE} (edges = table)", frozenset(pairwise), (FEW_ROWS,))
    if len(listed) == len(pairwise):
        return EdgeWay(f"{_TABLE}: no rule has blocks", listed, (FEW_ROWS,))
    if not listed:
        return EdgeWay(
            "blocks: conflicts lie in groups of rows, and are counted without being listed (edges = table lists them)",
            thresholds=(FEW_ROWS,),
        )
    names = "; ".join(pairwise[place].constraint.label for place in sorted(listed))
    return EdgeWay(
        f"blocks, and the joined edges of what has none ({names}); or {_TABLE}, if these edges are more than "
        f"{MOST_LISTED.at:,}. Their number is private, and both ways give the same numbers",
        frozenset(pairwise),
        (FEW_ROWS, MOST_LISTED),
    )

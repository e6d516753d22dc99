"""2 tau* of a conflict graph of which some rows may be missing, with a proof that it is that of the whole graph.

Let F be the rows that are here, G the conflict graph of all rows, and let some rows of F be *open*, so that

    (*) every conflict of G has an end in F, and if its other end is not in F, then the end in F is open.

The certificate is a pair of matchings. Let m be 2 tau* of G[F], the graph of the rows that are here. Let H be G[F] with
one new row for each open row, which conflicts with that row alone, and M be 2 tau* of H. Then

    m <= 2 tau*(G) <= M,    so that m = M proves 2 tau*(G) = m.

Proof. The first inequality: G[F] is an induced subgraph, and a fractional cover of G covers it. For the second, take a
fractional cover of H of half its weight M, in halves (weights 0, 1 and 2 with 2 on every edge; Nemhauser and Trotter
1975). An open row u and its new row have 2 together: move it all to u, and what exceeds 2 is saved. Now every open row
has weight 2 and no new row has any. Give the rows that are missing weight 0. This covers G: a conflict between rows of
F is one of H; of any other conflict, by (*), one end is open. So G has a cover of at most M halves.

Both numbers are matchings of bipartite double covers and covers of equal size (Koenig), primal = dual: m = M says that
the matching found in F is as large as a cover of all of G. Nothing is assumed of which rows came, or how many: (*) is
all, and a poor choice of rows makes m < M, never a wrong value.

Why that matters: m alone is not of bounded sensitivity. One more row may change which rows come, and through them m by
any amount, whereas 2 tau*(G) changes by 2 at most (`dpdb.graph.twice_fractional_cover`). So an uncertified value must
not be released, and a `CertifiedCover` cannot be made of one: it computes both numbers itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpdb.graph.edge_graph import EdgeGraph
    from dpdb.graph.unlisted_edges.block_graph import BlockGraph

__all__ = ["CertifiedCover", "UncertifiedError"]


class UncertifiedError(Exception):
    """The loaded rows do not prove 2 tau* of all rows: more rows must be loaded. Never leaves dpdb."""


@final
class CertifiedCover:
    """2 tau* of a whole conflict graph. There is no way to make one of a number.

    Parameters
    ----------
    graph : BlockGraph or EdgeGraph
        Of all rows; or of some, and then a `BlockGraph` without listed edges.
    open_rows : bool array (rows,) or None
        Those of the graph's rows that may conflict with rows that are missing. None, which has to be said: no row in
        conflict is missing.

    Attributes
    ----------
    value : int
        2 tau*, the maximum matching of the bipartite double cover. Private.

    Raises
    ------
    UncertifiedError
        If it is not proved.
    """

    __slots__ = ("_value",)

    def __init__(self, graph: BlockGraph | EdgeGraph, open_rows: NDArray[np.bool_] | None) -> None:
        least = graph.twice_fractional_cover()
        if open_rows is not None and open_rows.any() and _most(graph, open_rows) != least:
            raise UncertifiedError
        self._value = least

    @property
    def value(self) -> int:
        """The certified 2 tau*."""
        return self._value

    def __repr__(self) -> str:
        return "<CertifiedCover>"


def _most(graph: BlockGraph | EdgeGraph, open_rows: NDArray[np.bool_]) -> int:
    """Return 2 tau* of the graph with a row for each open one, in conflict with that alone."""
    from dpdb.graph.unlisted_edges.block_graph import BlockGraph

    if not isinstance(graph, BlockGraph):
        raise NotImplementedError("rows are missing only where every constraint has blocks")
    return graph.with_partners(open_rows).twice_fractional_cover()

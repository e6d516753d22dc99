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

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.blocks.block_constraint import BlockConstraint
from dpdb.graph.grouping import sorted_by
from dpdb.thresholds import WHOLE_VALUES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpdb.graph.blocks.block_graph import BlockGraph
    from dpdb.graph.listed.edge_graph import EdgeGraph


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
    from dpdb.graph.blocks.block_graph import BlockGraph

    if not isinstance(graph, BlockGraph):
        raise NotImplementedError("rows are missing only where every constraint has blocks")
    return graph.with_partners(open_rows).twice_fractional_cover()


@dataclass(frozen=True, eq=False)
class ChainPartners:
    """The share of the rows to load for each value of an order rule.

    Attributes
    ----------
    share : float64 array (values,)
        Of the rows of each value: 1 for those of special rows.
    open_values : bool array (values,)
        Values of special rows some of whose neighbours may be missing: of each conflict with a row whose share is below
        1, the other end is open.
    """

    share: NDArray[np.float64]
    open_values: NDArray[np.bool_]


def chain_partners(constraint: BlockConstraint, value: NDArray[np.int64], ratio: int, least: int) -> ChainPartners:
    """Choose partners for the special rows of an order rule.

    Parameters
    ----------
    value : int64 array (rows,)
        The value of each row, which equal rows share: 0, ..., 0, 1, ..., without gaps.
    ratio, least : int
        See above.
    """
    count = int(value[-1]) + 1 if value.size else 0
    special, open_values = np.zeros((2, count), np.bool_)
    special[value[constraint.minority]] = True
    on_chain = (constraint.group >= 0) & ~constraint.minority
    outside = np.flatnonzero(constraint.minority)
    chain = sorted_by((constraint.y, constraint.x, np.where(on_chain, constraint.group, np.int32(-1))))
    first, last = _neighbours(constraint, chain, outside)
    wanted = np.bincount(value[chain], _demand(chain.size, first, last, ratio, least), count)
    # Counted along the chain, so that of rows with small shares one comes now and then.
    along = _in_order(value[chain])
    picked = np.diff(np.floor(np.cumsum(wanted[along])), prepend=0.0)
    size = np.bincount(value, minlength=count)[along]
    share = special.astype(np.float64)
    share[along] = np.maximum(share[along], np.where(size <= WHOLE_VALUES.at, picked > 0, np.minimum(1, picked / size)))
    missing = np.append(0, np.cumsum(share[value[chain]] < 1))
    open_values[value[outside[missing[last] > missing[first]]]] = True
    return ChainPartners(share, open_values)


def _in_order(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each value once, in the order of appearance."""
    distinct, at = np.unique(values, return_index=True)
    ordered: NDArray[np.int64] = distinct[np.argsort(at)]
    return ordered


def _neighbours(
    constraint: BlockConstraint, chain: NDArray[np.int32], outside: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find where the neighbours on the chain of each row outside it begin, and where they end.

    Rows of smaller x and larger y, or rows of larger x and smaller y: a chain has not both, for then the first ones
    would be before the second ones in x and behind them in y.
    """
    x, y = (_within_groups(constraint.group, each) for each in (constraint.x, constraint.y))
    chain_x, chain_y = x[chain], y[chain]
    below = np.searchsorted(chain_y, y[outside], "right"), np.searchsorted(chain_x, x[outside], "left")
    above = np.searchsorted(chain_x, x[outside], "right"), np.searchsorted(chain_y, y[outside], "left")
    is_below = below[0] < below[1]
    first = np.where(is_below, below[0], above[0])
    return first, np.maximum(first, np.where(is_below, below[1], above[1]))


def _within_groups(group: NDArray[np.int32], position: NDArray[np.int32]) -> NDArray[np.int64]:
    """Rank by group, then position: rows of one group are neighbours."""
    ranks: NDArray[np.int64] = group.astype(np.int64) * (int(position.max(initial=0)) + 1) + position
    return ranks


def _demand(
    size: int, first: NDArray[np.int64], last: NDArray[np.int64], ratio: int, least: int
) -> NDArray[np.float64]:
    """Compute the share of each row of the chain that special rows demand, 1 at most.

    It is the sum of the special rows' own demands, plus the largest of their joint demands, which is found by powers of
    two.
    """
    near = (last - first).astype(np.float64)
    own = _covering(size, first, last, ratio / np.maximum(near, 1))
    together = np.zeros(size)
    power = np.frexp(near)[1]
    for each in np.unique(power[near > 0]):
        chosen = power == each
        covered = _covering(size, first[chosen], last[chosen], np.ones(int(chosen.sum()))) > 0.5
        together = np.where(covered, np.maximum(together, least / 2.0 ** (each - 1)), together)
    return np.minimum(1.0, own + together)


def _covering(
    size: int, first: NDArray[np.int64], last: NDArray[np.int64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum the weights of the ranges [first, last) over each place."""
    change = np.bincount(first, weights=weight, minlength=size + 1) - np.bincount(
        last, weights=weight, minlength=size + 1
    )
    total: NDArray[np.float64] = np.cumsum(change)[:size]
    return total

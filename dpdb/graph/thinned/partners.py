"""Rows of an order rule's chain that may suffice as partners of the rows outside it: the others need not be loaded.

Of each group a longest chain is free of conflicts with itself: every conflict has a *special* row, one outside the
chain. Sorted by x, and so by y, the rows of the chain with which a special row conflicts are neighbours: those of a
smaller x and a larger y are what a first part of the chain and a last part have in common; likewise the other ones.
About `ratio` of them are loaded for each special row, so that as many special rows as there are find other partners,
and `least` more, which special rows share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.grouping import sorted_by
from dpdb.graph.unlisted_edges.block_constraint import BlockConstraint
from dpdb.thresholds import WHOLE_VALUES

__all__ = ["ChainPartners", "chain_partners"]


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
    constraint
        The rule over rows.
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

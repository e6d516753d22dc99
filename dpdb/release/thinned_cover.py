"""2 tau* from as few rows of another engine as prove it. Private: also how many rounds it takes."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpdb.engine import Partners, Slice, Thinning
from dpdb.graph import BlockConstraint, CertifiedCover, UncertifiedError, chain_partners
from dpdb.release.conflict_graph import block_graph, order_block
from dpdb.thresholds import THINNED_ROUNDS

__all__ = ["ROUNDS", "thinned_cover"]

ROUNDS = (Partners(3, 8), Partners(6, 32))
"""The partners of a row that each round loads, before all rows in conflict are loaded."""

Chain: TypeAlias = tuple[BlockConstraint, NDArray[np.int64]]
"""An order rule over rows, and the place of each row's value among its values."""


def thinned_cover(slice_: Slice) -> CertifiedCover | None:
    """Load more and more rows until they prove 2 tau* of the whole graph; None if that takes all rows in conflict."""
    thinning = slice_.thinning()
    if thinning is None:
        return None
    try:
        chains = {position: _chain(thinning, position) for position in thinning.orders}
        for partners in ROUNDS[: int(THINNED_ROUNDS.at)]:
            found = _certified(thinning, partners, chains)
            if found is not None:
                return found
        return None
    finally:
        thinning.close()


def _chain(thinning: Thinning, position: int) -> Chain:
    values, copies = thinning.values(position)
    return order_block(values, copies), np.repeat(np.arange(copies.size), copies)


def _certified(thinning: Thinning, partners: Partners, chains: dict[int, Chain]) -> CertifiedCover | None:
    found = {place: chain_partners(*chain, partners.ratio, partners.least) for place, chain in chains.items()}
    chosen = {place: (each.share, each.open_values) for place, each in found.items()}
    part, open_rows = thinning.part(partners, chosen)
    try:
        return CertifiedCover(block_graph(part), open_rows)
    except UncertifiedError:
        return None
    finally:
        part.close()

"""The recharge of a ledger: what it would have spent if some lines had been charged otherwise; changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpdb.ledger.store.entry_line import EntryLine
from dpdb.ledger.store.state import LedgerState
from dpdb.overlap import Added, OverlapIndex
from dpdb.predicates import Region, region_from_text

__all__ = ["recharged"]

_SECONDS = 5.0


def recharged(state: LedgerState, lines: Sequence[EntryLine], others: Mapping[int, tuple[Region, int]]) -> int:
    """Units spent over all epochs, with other rows and charges for some lines: a safe upper bound.

    An epoch without such a line costs what it is recorded to cost.
    """
    spent = 0
    for epoch in state.epochs:
        mine = [line for line in lines if line.epoch == epoch.number]
        if any(line.number in others for line in mine):
            charged = (others.get(line.number) or (region_from_text(line.predicate), line.charge) for line in mine)
            index = OverlapIndex.of(Added(predicate, charge) for predicate, charge in charged)
            spent += index.bound(_SECONDS).upper
        else:
            spent += state.overlap() if epoch.closed_overlap is None else epoch.closed_overlap
    return spent

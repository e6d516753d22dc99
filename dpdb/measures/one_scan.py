"""The measures of one call read their statistics in one scan of the conflicts. Changes no answer."""

from __future__ import annotations

from collections.abc import Iterable

from dpdb.measures.answer import GraphStatistics
from dpdb.measures.degree_cap import DegreeCap
from dpdb.measures.mechanism import Mechanism
from dpdb.measures.mechanisms.projected import WITNESSES

__all__ = ["read_together"]


def read_together(statistics: GraphStatistics, cap: DegreeCap, spending: Iterable[tuple[Mechanism, int]]) -> None:
    """Tell the statistics which thetas the mechanisms that share a released cap may read.

    Parameters
    ----------
    statistics
        The statistics to prepare.
    cap
        The released degree cap.
    spending
        Each mechanism with its nano-epsilon, without the cap's.
    """
    projection: set[int] = set()
    witness: set[int] = set()
    for mechanism, epsilon in spending:
        if mechanism.thetas is not None:
            found = witness if mechanism.reads == WITNESSES.name else projection
            found.update(mechanism.thetas(cap, epsilon))
    statistics.prepare(sorted(projection), sorted(witness))

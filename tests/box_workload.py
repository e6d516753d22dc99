"""Boxes as analysts ask them, for the solver and the ledger; nothing about a real table."""

from __future__ import annotations

import numpy as np

from dpdb.predicates import Region, ValueSet

__all__ = ["box_workload"]


def box_workload(
    queries: int, ranges: int, equalities: int, probability: float, seed: int = 0
) -> tuple[list[Region], list[int]]:
    """Boxes as analysts ask them, with weights from 5 to 49.

    Each of `ranges` numeric attributes (values 0..999) is restricted with the given probability to a range of uniform
    start and of length 1..299, and each of `equalities` attributes to one of 20 values.
    """
    rng = np.random.default_rng(seed)
    predicates, weights = [], []
    for _ in range(queries):
        sets = {}
        for k in range(ranges):
            if rng.random() < probability:
                start = int(rng.integers(0, 1000))
                sets[f"r{k}"] = ValueSet.interval(start, min(999, start + int(rng.integers(1, 300))))
        for k in range(equalities):
            if rng.random() < probability:
                sets[f"e{k}"] = ValueSet.points([int(rng.integers(0, 20))])
        predicates.append(Region.of(sets))
        weights.append(int(rng.integers(5, 50)))
    return predicates, weights

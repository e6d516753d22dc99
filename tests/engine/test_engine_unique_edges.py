"""A pair that is listed twice is found, wherever the two lie."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dpdb.engine.sql.coded_rows import refuse_repeated
from dpdb.errors import EngineError

Pairs = list[tuple[int, int]]


def in_batches(pairs: Pairs, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    cut = [pairs[first : first + size] for first in range(0, len(pairs), size)]
    return [tuple(np.array(part, np.uint32).T) for part in cut]  # type: ignore[misc]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_random_edges(size: int) -> None:
    """By ascending u, and in any order of v, as several constraints list them."""
    rng = random.Random(size)
    for _ in range(40):
        nodes = rng.choice([3, 9, 2**32 - 1])
        pairs = {tuple(sorted(rng.sample(range(nodes), 2))) for _ in range(rng.randrange(12))}
        once = sorted(pairs, key=lambda pair: (pair[0], rng.random()))
        refuse_repeated(in_batches(once, size))
        if once:
            twice = sorted([*once, rng.choice(once)], key=lambda pair: (pair[0], rng.random()))
            with pytest.raises(EngineError, match="twice"):
                refuse_repeated(in_batches(twice, size))


@pytest.mark.parametrize("pairs", [[(1, 2), (3, 4), (2, 5)], [(2, 1)], [(1, 1)]])
def test_edges_out_of_order_are_refused(pairs: Pairs) -> None:
    """They could hide one that comes twice."""
    for size in (1, 2):
        with pytest.raises(EngineError, match="out of order"):
            refuse_repeated(in_batches(pairs, size))

"""Workloads of the experiments of paper B, drawn with seeded numpy generators; nothing about a real table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.instance import Attribute, Instance
from dpdb.predicates import Region, ValueSet

__all__ = ["attribute_sizes", "census_workload", "uniform_workload"]

_CENSUS = {"age": 5, "marital": 4, "race": 7, "gender": 2}


def census_workload(queries: int, seed: int = 0) -> list[Region]:
    """Queries of the census-shaped workload of section 7.2.

    `income < i` with i one of 5,000 ends up to 750,000, and for age group, marital status, race and gender one value or
    all of them, everything uniform and independent.
    """
    rng = np.random.default_rng(seed)
    ranges = [ValueSet.interval(0, 150 * (end + 1), closed_low=False, closed_high=False) for end in range(5000)]
    singles = {name: [ValueSet.points([value]) for value in range(size)] for name, size in _CENSUS.items()}
    incomes = rng.integers(0, 5000, queries).tolist()
    values = {name: rng.integers(0, size + 1, queries).tolist() for name, size in _CENSUS.items()}
    return [
        Region.of(
            {
                "income": ranges[incomes[query]],
                **{
                    name: singles[name][chosen[query]]
                    for name, chosen in values.items()
                    if chosen[query] < _CENSUS[name]
                },
            }
        )
        for query in range(queries)
    ]


def attribute_sizes(log10_domain: int, seed: int = 0) -> list[int]:
    """Sizes 10^k, k uniform in 1..6 (section 7.1), until the domain has exactly `10 ** log10_domain` points."""
    rng = np.random.default_rng(seed)
    sizes: list[int] = []
    left = log10_domain
    while left:
        power = min(left, int(rng.integers(1, 7)))
        sizes.append(10**power)
        left -= power
    return sizes


def uniform_workload(queries: int, sizes: Sequence[int], seed: int = 0) -> Instance:
    """Queries of the uniform workload of section 7.1 over attributes of the given sizes, unit weights.

    Each query restricts Uniform(1, m) attributes, each to a random set of Uniform(1, size) values. The values are given
    in numbers at once, because a set of 500,000 values is no WHERE clause.
    """
    rng = np.random.default_rng(seed)
    used = np.zeros((queries, len(sizes)), bool)
    for query in range(queries):
        used[query, rng.choice(len(sizes), int(rng.integers(1, len(sizes) + 1)), replace=False)] = True
    attributes = []
    for k, size in enumerate(sizes):
        users = np.flatnonzero(used[:, k])
        codes = np.full(queries, -1, np.int32)
        codes[users] = np.arange(len(users))
        attributes.append(Attribute(f"a{k}", codes, _random_sets(rng, len(users), size), _Equals(f"a{k}")))
    return Instance(np.ones(queries, np.int64), np.arange(queries), queries, tuple(attributes))


def _random_sets(rng: np.random.Generator, count: int, size: int) -> NDArray[np.bool_]:
    """Random subsets (set, value), each of a uniform number of values."""
    sets = np.zeros((count, size), bool)
    for row in sets:
        row[rng.choice(size, int(rng.integers(1, size + 1)), replace=False)] = True
    return sets


class _Equals:
    """Describes the values of a numbered attribute."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, atom: int) -> str:
        return f"{self.name} = {atom}"

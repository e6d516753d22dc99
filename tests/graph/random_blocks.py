"""Random constraints with blocks and without, each with its definition for one pair of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpdb.graph import BlockConstraint, EdgeArrays, ListedConstraint, by_class, by_edges, by_order, by_two_classes

__all__ = ["Made", "crossing", "differing", "edges_of", "random_constraints"]

Violates = Callable[[int, int], bool]


@dataclass(frozen=True)
class Made:
    """A constraint, and its definition for one pair, from the codes it was made of."""

    constraint: BlockConstraint | ListedConstraint
    violates: Violates


def edges_of(row_count: int, made: Sequence[Made]) -> list[tuple[int, int, int]]:
    """All edges with their first violated constraint, in canonical order (u, constraint, v)."""
    found = []
    for u, v in combinations(range(row_count), 2):
        first = next((k for k, one in enumerate(made) if one.violates(u, v)), None)
        if first is not None:
            found.append((u, first, v))
    return sorted(found)


def random_constraints(rng: np.random.Generator, row_count: int, *, listed: bool = True) -> list[Made]:
    values = int(rng.integers(1, 6))

    def column() -> np.ndarray:
        lowest = -1 if rng.random() < 0.3 else 0
        return rng.integers(lowest, values, row_count).astype(np.int32)

    made: list[Made] = []
    for _ in range(int(rng.integers(1, 5))):
        kind = rng.choice(["dependency", "key", "two", "order", "listed" if listed else "order"])
        prefix = [column() for _ in range(int(rng.integers(0, 3)))]
        x, y = column(), column()
        if kind == "dependency":
            made.append(Made(by_class(prefix, x, row_count), differing(prefix, [x])))
        elif kind == "key":
            made.append(Made(by_class([*prefix, x], None, row_count), differing([*prefix, x], [])))
        elif kind == "two":
            made.append(Made(by_two_classes(prefix, x, y, row_count), differing(prefix, [x, y])))
        elif kind == "order":
            opposite, ties = bool(rng.random() < 0.5), (bool(rng.random() < 0.4), bool(rng.random() < 0.4))
            constraint = by_order(prefix, x, y, opposite=opposite, row_count=row_count, ties=ties)
            made.append(Made(constraint, crossing(prefix, x, y, opposite, ties)))
        else:
            made.append(listing(rng, row_count, made))
    return made


def known(columns: Sequence[np.ndarray], u: int, v: int) -> bool:
    return all(column[u] >= 0 and column[v] >= 0 for column in columns)


def differing(prefix: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> Violates:
    return lambda u, v: (
        known([*prefix, *others], u, v)
        and all(column[u] == column[v] for column in prefix)
        and all(column[u] != column[v] for column in others)
    )


def crossing(
    prefix: Sequence[np.ndarray], x: np.ndarray, y: np.ndarray, opposite: bool, ties: tuple[bool, bool]
) -> Violates:
    def ordered(u: int, v: int) -> bool:
        low, high = (u, v) if opposite else (v, u)
        return bool((x[u] > x[v] or (ties[0] and x[u] == x[v])) and (y[low] < y[high] or (ties[1] and y[u] == y[v])))

    return lambda u, v: (
        known([*prefix, x, y], u, v)
        and all(column[u] == column[v] for column in prefix)
        and (ordered(u, v) or ordered(v, u))
    )


def listing(rng: np.random.Generator, row_count: int, earlier: list[Made]) -> Made:
    """Any pairs, of which those are listed that violate nothing earlier."""
    chance = rng.random() ** 2
    chosen = {pair for pair in combinations(range(row_count), 2) if rng.random() < chance}
    first = [pair for pair in sorted(chosen) if not any(one.violates(*pair) for one in earlier)]
    return Made(by_edges(EdgeArrays.from_pairs(row_count, first)), lambda u, v: (u, v) in chosen)

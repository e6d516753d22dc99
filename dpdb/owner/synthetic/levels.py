"""Levels: the columns of a family from fine to coarse, with their numbers of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpdb.owner.synthetic.domains import Domain
from dpdb.owner.synthetic.families import Families, reachable

__all__ = ["Level", "levels_of"]


@dataclass(frozen=True)
class Level:
    """Columns that determine one another, and how many values each has."""

    columns: tuple[str, ...]
    count: int


def levels_of(
    families: Families, domains: Mapping[str, Domain], distinct: Mapping[str, int], usual: int
) -> tuple[list[list[Level]], list[str]]:
    """Order every family by its dependencies; a column never has more values than a column that determines it.

    Parameters
    ----------
    families
        The families of columns, with their dependencies.
    domains
        The domain of each column; its size bounds the column's number of values.
    distinct
        Requested numbers of distinct values, by column.
    usual
        Number of distinct values of the other columns; more where a coarser level has more.

    Returns
    -------
    (levels of each family, notes)
        The notes name the columns whose number of values differs from the requested one.
    """
    notes: list[str] = []
    arranged = []
    for family, members in enumerate(families.members):
        head = families.function_of[family][1] if family in families.function_of else None
        wanted = {name: distinct.get(name, usual) for name in members}
        groups = _fine_to_coarse(members, families.determines, wanted, head)
        counts = _counts(groups, domains, distinct, usual)
        levels = [
            Level(group, 1 if families.constant.issuperset(group) else count)
            for group, count in zip(groups, counts, strict=True)
        ]
        arranged.append(levels)
        notes += [
            f"{name} has {level.count:,} distinct values, not {distinct[name]:,}: the constraints allow no more"
            for level in levels
            for name in level.columns
            if name in distinct and distinct[name] != level.count
        ]
    return arranged, notes


def _counts(
    groups: list[tuple[str, ...]], domains: Mapping[str, Domain], distinct: Mapping[str, int], usual: int
) -> list[int]:
    """Return numbers of values, never rising: those requested; else at least as many as the next coarser level has."""
    counts: list[int] = []
    for group in reversed(groups):
        asked = [distinct[name] for name in group if name in distinct]
        counts.insert(0, min(asked) if asked else max(usual, *counts[:1], 1))
    for k, group in enumerate(groups):
        limits = [size for name in group if (size := domains[name].size) is not None]
        counts[k] = min([counts[k], *counts[max(k - 1, 0) : k], *limits])
    return counts


def _fine_to_coarse(
    members: tuple[str, ...], determines: frozenset[tuple[str, str]], wanted: Mapping[str, int], head: str | None
) -> list[tuple[str, ...]]:
    """Sort columns so that each comes after the columns that determine it; group those that determine one another."""
    coarser = {name: {other for finer, other in determines if finer == name} for name in members}
    below = {name: reachable(coarser, coarser[name]) for name in members}
    groups = {tuple(o for o in members if o == n or (o in below[n] and n in below[o])) for n in members}
    left, arranged = sorted(groups), []
    while left:
        ready = [group for group in left if not any(group[0] in below[other[0]] for other in left if other != group)]
        best = max(ready, key=lambda group: (head in group, max(wanted[name] for name in group)))
        left.remove(best)
        arranged.append(best)
    return arranged

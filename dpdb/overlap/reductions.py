"""Reductions before the search: every one keeps the maximum overlap.

Identical rows become one with the sum of their weights, contradictions disappear, rows without restriction become a
constant, and an atom that another atom of its attribute dominates is dropped; repeated until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.instance import Coverage, Instance, Relaxation, coverage


@dataclass(frozen=True)
class Family:
    """The atoms of one attribute among the rows it restricts.

    Parameters
    ----------
    attribute
        Index of the attribute in the instance.
    users
        Rows it restricts, ascending.
    member
        Booleans (atom, user).
    atoms
        Index of each atom in the instance.
    """

    attribute: int
    users: NDArray[np.int64]
    member: NDArray[np.bool_]
    atoms: NDArray[np.int64]

    @cached_property
    def matrix(self) -> Coverage:
        """`member` in the form for sums."""
        return coverage(self.member)

    @property
    def size(self) -> int:
        """Number of atoms."""
        return len(self.atoms)

    def covers(self, atom: int) -> NDArray[np.bool_]:
        """Per user whether it covers an atom."""
        return np.asarray(self.member[atom], np.bool_)


@dataclass(frozen=True)
class Problem(Relaxation[Family]):
    """A reduced instance: `constant` is collected everywhere, `rows[i]` are the instance rows merged into row i."""

    default_atoms: NDArray[np.int64]

    @cached_property
    def bits(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Packed atoms (row, byte), every family padded to whole bytes, and the first byte of each family."""
        widths = [-(-len(family.atoms) // 8) for family in self.families]
        ends = np.cumsum(widths, dtype=np.int64)
        starts = ends - np.array(widths, np.int64)
        packed = np.full((self.size, sum(widths)), 255, np.uint8)
        for family, start, width in zip(self.families, starts, widths, strict=True):
            padding = np.arange(width * 8) < len(family.atoms)
            packed[:, start : start + width] = np.packbits(padding)
            packed[family.users, start : start + width] = np.packbits(family.member.T, axis=1)
        return packed, starts

    def point(self, choice: dict[int, int]) -> list[int]:
        """Atoms of the instance for a choice family -> atom of the family; the others are free."""
        atoms: list[int] = self.default_atoms.tolist()
        for index, family in enumerate(self.families):
            atoms[family.attribute] = int(family.atoms[choice.get(index, 0)])
        return atoms


def maximal_columns(member: NDArray[np.bool_], most: int = 3000) -> NDArray[np.int64]:
    """Indices of rows of `member` (atoms) whose set is not inside another's; of equal ones the first.

    Above `most` distinct atoms only equal ones are merged.
    """
    if member.shape[1] == 0:
        return np.zeros(min(1, len(member)), np.int64)
    first = distinct_rows(np.packbits(member, axis=1))
    if len(first) > most:
        return first
    floats = member[first].astype(np.float32)
    common = floats @ floats.T
    inside = common >= common.diagonal()[:, None]
    np.fill_diagonal(inside, False)
    return first[~inside.any(axis=1)]


def distinct_rows(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Indices of the first of every group of equal rows; by hashes, each compared with the row it seems equal to."""
    width = -(-packed.shape[1] // 8)
    words = np.zeros((len(packed), width * 8), np.uint8)
    words[:, : packed.shape[1]] = packed
    hashed = np.zeros(len(packed), np.uint64)
    for column in words.view(np.uint64).T:
        hashed = (hashed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        hashed ^= hashed >> np.uint64(29)
    order = hashed.argsort()
    ordered = hashed[order]
    begins = np.append(True, ordered[1:] != ordered[:-1])
    if begins.all():
        return np.arange(len(packed))
    first = np.minimum.reduceat(order, np.flatnonzero(begins))
    shared = np.empty(len(packed), np.int64)
    shared[order] = first[np.cumsum(begins) - 1]
    later = np.flatnonzero(shared != np.arange(len(packed)))
    differs = (packed[later] != packed[shared[later]]).any(axis=1)
    return np.sort(np.concatenate([first, later[differs]])).astype(np.int64)


def unmerged(instance: Instance) -> Problem:
    """Reduce an instance without merging identical rows."""
    return reduce(instance, merge=False)


def reduce(instance: Instance, *, merge: bool = True) -> Problem:
    """Apply all reductions."""
    codes = np.array([attribute.codes for attribute in instance.attributes], np.int64).reshape(
        len(instance.attributes), len(instance.weights)
    )
    patterns = [attribute.patterns for attribute in instance.attributes]
    atoms = [np.arange(table.shape[1]) for table in patterns]
    weights, constant = instance.weights, 0
    alive = weights > 0
    codes, weights = codes[:, alive], weights[alive]
    size = -1
    while size != len(weights) + sum(map(len, atoms)):
        tidied, size = size >= 0, len(weights) + sum(map(len, atoms))
        for k, table in enumerate(patterns):
            codes[k], patterns[k], atoms[k] = _tidy(codes[k], table, atoms[k], tidied=tidied)
        possible = np.ones(len(weights), bool)
        for k, table in enumerate(patterns):
            possible &= np.append(table.any(axis=1), True)[codes[k]]
        free = (codes < 0).all(axis=0)
        constant += int(weights[free & possible].sum())
        codes, weights = codes[:, possible & ~free], weights[possible & ~free]
        if merge:
            codes, weights = _merge(codes, weights)
    families = tuple(_family(k, codes[k], patterns[k], atoms[k]) for k in range(len(patterns)) if (codes[k] >= 0).any())
    return Problem(weights, constant, families, np.array([kept[0] for kept in atoms], np.int64))


def _tidy(
    codes: NDArray[np.int64], table: NDArray[np.bool_], atoms: NDArray[np.int64], *, tidied: bool
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Keep the patterns in use and the maximal atoms; a pattern with every atom left becomes -1."""
    used, places = np.unique(codes, return_inverse=True)
    shift = int(len(used) > 0 and used[0] < 0)
    if tidied and len(used) - shift == len(table):
        return codes, table, atoms  # as it was left
    codes = places
    table = _some(table, used[shift:], 0)
    keep = maximal_columns(table.T)
    table = _some(table, keep, 1)
    codes = codes - shift
    if not len(table):
        return codes, table, atoms[keep]
    seen: dict[bytes, int] = {}
    same = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in np.packbits(table, axis=1)], np.int64)
    first = np.unique(same, return_index=True)[1]
    whole = np.flatnonzero(table[first].all(axis=1))
    return np.append(np.where(np.isin(same, whole), -1, same), -1)[codes], _some(table, first, 0), atoms[keep]


def _some(table: NDArray[np.bool_], places: NDArray[np.int64], axis: int) -> NDArray[np.bool_]:
    """The table at distinct ascending places of one axis; large ones are not copied for nothing."""
    return table if len(places) == table.shape[axis] else np.take(table, places, axis)


def _merge(codes: NDArray[np.int64], weights: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Make identical rows one row with the sum of the weights."""
    if not len(weights):
        return codes, weights
    rows = np.ascontiguousarray(codes.T)
    keys = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel()
    _, first, same = np.unique(keys, return_index=True, return_inverse=True)
    merged = np.zeros(len(first), np.int64)
    np.add.at(merged, same, weights)
    order = np.argsort(first)
    return codes[:, first[order]], merged[order]


def _family(attribute: int, codes: NDArray[np.int64], table: NDArray[np.bool_], atoms: NDArray[np.int64]) -> Family:
    users = np.flatnonzero(codes >= 0)
    return Family(attribute, users, np.ascontiguousarray(table[codes[users]].T), atoms)


def restrict(problem: Problem, rows: NDArray[np.int64]) -> Problem:
    """The same problem for some rows only (ascending), without the constant."""
    place = np.full(problem.size, -1)
    place[rows] = np.arange(len(rows))
    families = []
    for family in problem.families:
        chosen = place[family.users] >= 0
        if not chosen.any():
            continue
        member = family.member[:, chosen]
        keep = maximal_columns(member)
        families.append(Family(family.attribute, place[family.users[chosen]], member[keep], family.atoms[keep]))
    return Problem(problem.weights[rows], 0, tuple(families), problem.default_atoms)

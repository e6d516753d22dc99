"""Machine code for branching over values: one node's bound, what a better point cannot have, and a node's child.

All values that prove anything are sums of integers below 2^51: shares are whole and add up to each row's weight. Floats
only propose how to move weight, and which attribute to branch on.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_WIDE = 256  # an atom is compared with so many wider ones: most are inside one of these


class Open(NamedTuple):
    """Points that agree on some attributes: the rows alive, and the open attributes one after another (sides).

    Attributes
    ----------
    rows, weights : int64 (rows,)
        Rows of the problem, and their scaled weights.
    family, atom_at, user_at, cell_at : int64 (sides,), (sides + 1,)
        The family of each side; where its atoms, its users and its cells begin.
    atoms : int64 (atoms,)
        Atoms of the family.
    users : int64 (users,)
        The rows that the side restricts, by their places in `rows`.
    shares : float64 (users,)
        The part of each row's weight that lies on the side, of any scale.
    cells : int8 (cells,)
        By atom, then by user: -1 where the user covers the atom, else 0.
    """

    rows: Integers
    weights: Integers
    family: Integers
    atom_at: Integers
    user_at: Integers
    cell_at: Integers
    atoms: Integers
    users: Integers
    shares: Floats
    cells: NDArray[np.int8]


class Work(NamedTuple):
    """Scratch of one node, of the root's sizes.

    Attributes
    ----------
    whole, best_whole : int64 (users,)
        Whole shares: the newest, and those of the best bound.
    masses, best_masses : int64 (atoms,)
        What lies on each atom.
    good : bool (atoms,)
        Whether a better point can have the atom.
    blame : float64 (users,)
    sums : float64 (rows,)
    rest, largest : int64 (rows,)
    tops : int64 (sides,)
    """

    whole: Integers
    best_whole: Integers
    masses: Integers
    best_masses: Integers
    good: NDArray[np.bool_]
    blame: Floats
    sums: Floats
    rest: Integers
    largest: Integers
    tops: Integers


class Words(NamedTuple):
    """Scratch for the atoms of one side as bits of the rows that cover them.

    Attributes
    ----------
    table : uint64 (atoms, words)
    sizes, numbers, kept : int64 (atoms,)
    order : int64 (atoms + rows + 1,)
    bucket : int64 (rows,)
    """

    table: NDArray[np.uint64]
    sizes: Integers
    numbers: Integers
    order: Integers
    kept: Integers
    bucket: Integers


@kernel
def bound(node: Open, work: Work, steps: int, target: int) -> int:
    """Return the least value that a split of the weights is found to prove; its shares and masses are kept.

    Parameters
    ----------
    node
        The node; its shares are moved.
    work
        `best_whole` and `best_masses` are those of the value returned.
    steps
        Most splits that are tried.
    target
        Stop below it.
    """
    sides = node.family.shape[0]
    best = np.int64(-1)
    free = _free(node, work)
    for at in range(node.users.shape[0]):
        node.shares[at] += 1e-3 * node.weights[node.users[at]] / sides  # so that each can grow
    for step in range(1, steps + 1):
        _make_whole(node, work)
        value = free
        for side in range(sides):
            work.tops[side] = _weigh(node, work, side)
            value += work.tops[side]
        if best < 0 or value < best:
            best = value
            for at in range(node.users.shape[0]):
                work.best_whole[at] = work.whole[at]
            for a in range(node.atoms.shape[0]):
                work.best_masses[a] = work.masses[a]
        if best < target or step == steps or (step == 8 and best > target + target // 7):
            break
        _move(node, work, step)
    return int(best)


@kernel
def _free(node: Open, work: Work) -> np.int64:
    """Sum up the weights of the rows that no side restricts."""
    free = np.int64(0)
    for row in range(node.rows.shape[0]):
        work.rest[row] = node.weights[row]
    for at in range(node.users.shape[0]):
        work.rest[node.users[at]] = 0
    for row in range(node.rows.shape[0]):
        free += work.rest[row]
    return free


@kernel
def _make_whole(node: Open, work: Work) -> None:
    """Scale each row's shares to its weight, round them down, and give the rest to the largest."""
    for row in range(node.rows.shape[0]):
        work.sums[row] = 0.0
        work.rest[row] = node.weights[row]
        work.largest[row] = -1
    for at in range(node.users.shape[0]):
        work.sums[node.users[at]] += node.shares[at]
    for at in range(node.users.shape[0]):
        row = node.users[at]
        node.shares[at] *= node.weights[row] / work.sums[row]
        part = min(np.int64(node.shares[at]), work.rest[row])
        work.whole[at] = part
        work.rest[row] -= part
        if work.largest[row] < 0 or node.shares[at] > node.shares[work.largest[row]]:
            work.largest[row] = at
    for row in range(node.rows.shape[0]):
        if work.largest[row] >= 0:
            work.whole[work.largest[row]] += work.rest[row]


@kernel
def _weigh(node: Open, work: Work, side: int) -> int:
    """Sum up what lies on each atom of a side; return the most."""
    share = work.whole[node.user_at[side] : node.user_at[side + 1]]
    users, cell, top = share.shape[0], node.cell_at[side], np.int64(0)
    for a in range(node.atom_at[side], node.atom_at[side + 1]):
        line = node.cells[cell : cell + users]
        mass = np.int64(0)
        for j in range(users):
            mass += share[j] & line[j]
        work.masses[a] = mass
        top = max(top, mass)
        cell += users
    return int(top)


@kernel
def _move(node: Open, work: Work, step: int) -> None:
    """Move weight away from heavy atoms, by multiplicative weights against a soft maximum."""
    for side in range(node.family.shape[0]):
        begin, end, cell = node.atom_at[side], node.atom_at[side + 1], node.cell_at[side]
        caused = work.blame[node.user_at[side] : node.user_at[side + 1]]
        users, top = caused.shape[0], work.tops[side]
        hard = (10 + step / 5) * math.log(end - begin + 1.0) / (2.0 * max(top, 1))
        total = 0.0
        for j in range(users):
            caused[j] = 0.0
        for a in range(begin, end):
            power = max(0.0, 1.0 + (work.masses[a] - top) * hard / 32.0)
            for _ in range(5):  # to the 32nd: nearly its exponential
                power *= power
            line = node.cells[cell : cell + users]
            if power > 1e-9:
                total += power
                for j in range(users):
                    caused[j] -= power * line[j]
            cell += users
        for j in range(users):
            caused[j] /= total
    for row in range(node.rows.shape[0]):
        work.sums[row] = 0.0
    for at in range(node.users.shape[0]):
        work.sums[node.users[at]] += work.blame[at] * node.shares[at]
    pace = 1.5 / math.sqrt(step)
    for at in range(node.users.shape[0]):
        row = node.users[at]
        power = 1.0 - pace * (work.blame[at] - work.sums[row] / node.weights[row]) / 16.0
        for _ in range(4):
            power *= power
        node.shares[at] *= power


@kernel
def narrow(node: Open, work: Work, value: int, target: int, hardness: int) -> int:
    """Mark what a point worth `target` can have: atoms in `good`, rows in `rest` (0: it cannot); choose a side.

    A point is worth at most the masses of its atoms. So it has no atom that is below its side's top by more than the
    slack, and is covered by no row whose atoms lose more than that in all.

    Returns the side to branch on: its atoms lose most weight elsewhere and stay below its top.

    Parameters
    ----------
    node, work
        As `bound` left them.
    value
        What the best split proves.
    target
        What a better point is worth.
    hardness
        Loss of weight that makes a branch e times easier.
    """
    slack = value - target
    for row in range(node.rows.shape[0]):
        work.rest[row] = 0  # what the row's atoms lose at least
    least, chosen = 0.0, np.int64(-1)
    for side in range(node.family.shape[0]):
        begin, end, cell = node.atom_at[side], node.atom_at[side + 1], node.cell_at[side]
        first = node.user_at[side]
        users = node.user_at[side + 1] - first
        top, elsewhere = np.int64(0), np.int64(0)
        for a in range(begin, end):
            top = max(top, work.best_masses[a])
        for at in range(first, first + users):
            work.whole[at] = 0  # the heaviest atom that the row covers
            elsewhere += node.weights[node.users[at]] - work.best_whole[at]
        effort = 0.0
        for a in range(begin, end):
            mass = work.best_masses[a]
            work.good[a] = mass >= top - slack
            line, lost = node.cells[cell : cell + users], elsewhere + top - mass
            for j in range(users):
                work.whole[first + j] = max(work.whole[first + j], mass & line[j])
                lost -= (node.weights[node.users[first + j]] - work.best_whole[first + j]) & line[j]
            cell += users
            if work.good[a]:
                power = 1.0 / (1.0 + lost / (32.0 * hardness))
                for _ in range(5):
                    power *= power
                effort += power
        for at in range(first, first + users):
            work.rest[node.users[at]] += top - work.whole[at]
        if chosen < 0 or effort < least:
            least, chosen = effort, np.int64(side)
    for row in range(node.rows.shape[0]):
        work.rest[row] = 1 if work.rest[row] <= slack else 0
    return int(chosen)


@kernel
def open_child(
    node: Open,
    kept: Work,
    side: int,
    order: Integers,
    values: Integers,
    at: int,
    settled: Integers,
    fixed: Integers,
    room: Open,
    work: Work,
    words: Words,
    steps: int,
    target: int,
    most: int,
) -> tuple[int, int, int, int]:
    """Fix a side to one atom after the other, until a child may be worth `target`.

    Returns the place of its atom, how many rows and sides are left, and what its best split proves; sides are -1 where
    there is none, and the place is that of the next atom.

    Parameters
    ----------
    node, kept
        As `narrow` left them.
    order, values : int64 (atoms of the side,)
        The atoms by their places in the node's `atoms`, and what a child is worth at most, which falls.
    at
        Where to begin.
    settled, fixed : int64 (families,)
        Atoms of the families that are settled, or -1; those of the child, filled in.
    room, work
        The child, in arrays of the root's sizes, and as `bound` leaves its scratch; `kept` may share all of that but
        `best_whole`, `good` and `rest`.
    words
        Scratch.
    steps
        Most splits that are tried.
    target
        What a better point is worth.
    most
        Most children to look at.
    """
    while at < order.shape[0] and values[at] >= target and most > 0:
        most -= 1
        for family in range(settled.shape[0]):
            fixed[family] = settled[family]
        rows, sides = _child(node, kept, side, order[at], room, fixed, words)
        value = np.int64(0)
        if sides == 0:
            for row in range(rows):
                value += room.weights[row]
        else:
            atoms, users, many = room.atom_at[sides], room.user_at[sides], room.cell_at[sides]
            child = Open(
                room.rows[:rows],
                room.weights[:rows],
                room.family[:sides],
                room.atom_at[: sides + 1],
                room.user_at[: sides + 1],
                room.cell_at[: sides + 1],
                room.atoms[:atoms],
                room.users[:users],
                room.shares[:users],
                room.cells[:many],
            )
            value += bound(child, work, steps, target)
        if value >= target:
            return at, rows, sides, int(value)
        at += 1
    return at, 0, -1, 0


@kernel
def _child(
    node: Open, work: Work, side: int, atom: np.int64, out: Open, settled: Integers, words: Words
) -> tuple[int, int]:
    """Fix a side to an atom; return how many rows and sides are left. Families in which one atom suits all settle."""
    first, many = node.user_at[side], node.user_at[side + 1] - node.user_at[side]
    cell = node.cell_at[side] + (atom - node.atom_at[side]) * many
    settled[node.family[side]] = node.atoms[atom]
    place = work.largest
    for row in range(node.rows.shape[0]):
        place[row] = work.rest[row] - 1
    for j in range(many):
        if node.cells[cell + j] == 0:
            place[node.users[first + j]] = -1
    rows = 0
    for row in range(node.rows.shape[0]):
        if place[row] >= 0:
            place[row] = rows
            out.rows[rows], out.weights[rows] = node.rows[row], node.weights[row]
            rows += 1
    sides = 0
    out.atom_at[0], out.user_at[0], out.cell_at[0] = 0, 0, 0
    for other in range(node.family.shape[0]):
        if other == side:
            continue
        first = node.user_at[other]
        users = 0
        for at in range(first, node.user_at[other + 1]):
            if place[node.users[at]] >= 0:
                words.bucket[users] = at
                users += 1
        if users == 0:
            continue
        found = _pack(node, work, other, users, words)
        kept = _undominated(words, found, users)
        if kept == 1 and words.sizes[words.kept[0]] == users:
            settled[node.family[other]] = node.atoms[words.numbers[words.kept[0]]]  # one atom suits everybody
            continue
        _write(node, work, other, users, kept, place, out, sides, words)
        sides += 1
    return rows, sides


@kernel
def _pack(node: Open, work: Work, side: int, users: int, words: Words) -> int:
    """Write the good atoms of a side as bits of the users in `bucket`; return their number."""
    first, many, found = node.user_at[side], node.user_at[side + 1] - node.user_at[side], 0
    for a in range(node.atom_at[side], node.atom_at[side + 1]):
        if not work.good[a]:
            continue
        cell = node.cell_at[side] + (a - node.atom_at[side]) * many - first
        size = np.int64(0)
        for begin in range(0, users, 64):
            word = np.uint64(0)
            for j in range(begin, min(begin + 64, users)):
                covered = np.int64(node.cells[cell + words.bucket[j]]) & 1
                size += covered
                word |= np.uint64(covered) << np.uint64(j - begin)
            words.table[found, begin // 64] = word
        words.sizes[found], words.numbers[found] = size, a
        found += 1
    return found


@kernel
def _undominated(words: Words, found: int, users: int) -> int:
    """Keep atoms whose users are not all of another one's, of equal ones the first; return their number.

    Those that are compared with `_WIDE` others in vain stay: it costs time and no exactness.
    """
    # Sorted by falling size: a set is only inside one that is not smaller.
    for size in range(users + 1):
        words.order[found + size] = 0
    for i in range(found):
        words.order[found + users - words.sizes[i]] += 1
    before = np.int64(0)
    for size in range(users + 1):
        count = words.order[found + size]
        words.order[found + size] = before
        before += count
    for i in range(found):
        at = found + users - words.sizes[i]
        words.order[words.order[at]] = i
        words.order[at] += 1
    kept = 0
    for at in range(found):
        i = words.order[at]
        inside = False
        for j in range(min(kept, _WIDE)):
            other = words.kept[j]
            inside = True
            for word in range((users + 63) // 64):
                if words.table[i, word] & ~words.table[other, word] != np.uint64(0):
                    inside = False
                    break
            if inside:
                break
        if not inside:
            words.kept[kept] = i
            kept += 1
    return kept


@kernel
def _write(
    node: Open, work: Work, side: int, users: int, kept: int, place: Integers, out: Open, at: int, words: Words
) -> None:
    """Write a side of a child: the users in `bucket`, and the atoms that are kept."""
    out.family[at] = node.family[side]
    begin, cell = out.user_at[at], out.cell_at[at]
    for j in range(users):
        out.users[begin + j] = place[node.users[words.bucket[j]]]
        out.shares[begin + j] = work.best_whole[words.bucket[j]]
    for i in range(kept):
        number = words.kept[i]
        out.atoms[out.atom_at[at] + i] = node.atoms[words.numbers[number]]
        for j in range(users):
            word = words.table[number, j // 64] >> np.uint64(j % 64)
            out.cells[cell + j] = -np.int8(word & np.uint64(1))
        cell += users
    out.user_at[at + 1], out.atom_at[at + 1], out.cell_at[at + 1] = begin + users, out.atom_at[at] + kept, cell

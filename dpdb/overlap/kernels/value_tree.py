"""Branch and bound over values as one compiled loop with its own stack, so that it can pause and go on.

A frame is a node: the rows alive, the open attributes with the atoms left (a table of masks 0 / -1 per attribute,
one line per user), a split of the weights over the attributes, and a bound. All frames lie one after another in the
same arrays; depth first, so a finished frame is simply overwritten.

Every bound is a sum of integers: the split is whole, its scaled weights add without overflow by the caller's choice of
scale. Floats only propose how to move weight.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import allocating_kernel

__all__ = ["BEST", "DONE", "FULL", "NODES", "PAUSED", "open_bound", "search", "undominated"]

DONE, PAUSED, FULL = 0, 1, 2
"""The tree is finished; the work allowed is used up; the arrays are too small for the next child."""

BEST, DEPTH, NODES, WORK = 0, 1, 2, 3
"""Places in the counters: value of the incumbent, depth of the current node (-1: none), nodes seen, cells visited."""

ROWS, COLUMNS, BOUND, BRANCH, OTHERS, ATOM_END, USER_END, CELL_END = 0, 1, 2, 3, 4, 5, 6, 7
"""Places in a frame: numbers of rows and open attributes, bound, attribute branched on (-1: not yet), what the split
proves without it, ends of the frame's stretches of the arrays."""

FAMILY, ATOMS, USERS, ATOM_AT, USER_AT, CELL_AT = 0, 1, 2, 3, 4, 5
"""Places in a column (an open attribute): its family, numbers of atoms and users, beginnings of its stretches."""

_MOST_WIDE = 256  # wide atoms that every other is compared with


@allocating_kernel
def _settle_shares(
    columns: NDArray[np.int64],
    many: int,
    weight: NDArray[np.int64],
    users: NDArray[np.int32],
    shares: NDArray[np.float64],
    whole: NDArray[np.int64],
) -> None:
    # Scale the shares of every row to its weight, and round them so that they still add up to it.
    sums = np.zeros(weight.shape[0], np.float64)
    for c in range(many):
        for at in range(columns[c, USER_AT], columns[c, USER_AT] + columns[c, USERS]):
            sums[users[at]] += shares[at]
    left = weight.copy()
    largest = np.full(weight.shape[0], -1, np.int64)
    for c in range(many):
        for at in range(columns[c, USER_AT], columns[c, USER_AT] + columns[c, USERS]):
            row = users[at]
            shares[at] *= weight[row] / sums[row]
            part = min(np.int64(shares[at]), left[row])
            whole[at] = part
            left[row] -= part
            if largest[row] < 0 or shares[at] > shares[largest[row]]:
                largest[row] = at
    for row in range(weight.shape[0]):
        if largest[row] >= 0:
            whole[largest[row]] += left[row]


@allocating_kernel
def _weigh(
    column: NDArray[np.int64], whole: NDArray[np.int64], cells: NDArray[np.int8], masses: NDArray[np.int64]
) -> int:
    # Mass of every atom of one attribute; returns the largest.
    many, first, cell = column[ATOMS], column[ATOM_AT], column[CELL_AT]
    mass = masses[first : first + many]
    mass[:] = 0
    for j in range(column[USERS]):
        share = whole[column[USER_AT] + j]
        line = cells[cell + j * many : cell + (j + 1) * many]
        for a in range(many):
            mass[a] += share & line[a]
    return int(mass.max())


@allocating_kernel
def _blame(
    column: NDArray[np.int64],
    step: int,
    top: int,
    cells: NDArray[np.int8],
    masses: NDArray[np.int64],
    soft: NDArray[np.int64],
    blame: NDArray[np.float64],
) -> None:
    # How much of the soft maximum of one attribute each of its rows causes.
    many, first, cell = column[ATOMS], column[ATOM_AT], column[CELL_AT]
    hard = (10 + step / 5) * math.log(many + 1.0) / (2.0 * max(top, 1))
    unit = 1_000_000_000.0 / many  # the masses of a row add without overflow
    sharp = soft[:many]
    total = 0.0
    for a in range(many):
        power = max(0.0, 1.0 + (masses[first + a] - top) * hard / 32.0)
        power *= power
        power *= power
        power *= power
        power *= power
        power *= power
        sharp[a] = np.int64(power * unit)
        total += sharp[a]
    for j in range(column[USERS]):
        line = cells[cell + j * many : cell + (j + 1) * many]
        caused = np.int64(0)
        for a in range(many):
            caused += sharp[a] & line[a]
        blame[column[USER_AT] + j] = caused / total


@allocating_kernel
def _improve(
    columns: NDArray[np.int64],
    many: int,
    free: int,
    weight: NDArray[np.int64],
    users: NDArray[np.int32],
    shares: NDArray[np.float64],
    whole: NDArray[np.int64],
    kept: NDArray[np.int64],
    cells: NDArray[np.int8],
    masses: NDArray[np.int64],
    best_masses: NDArray[np.int64],
    soft: NDArray[np.int64],
    blame: NDArray[np.float64],
    steps: int,
    target: int,
) -> tuple[int, int]:
    # Move weight away from heavy atoms until the split proves less than `target`; the best split ends in `kept` and
    # `best_masses`. Returns its value and the number of steps.
    best = -1
    start, end = columns[0, USER_AT], columns[many - 1, USER_AT] + columns[many - 1, USERS]
    low, high = columns[0, ATOM_AT], columns[many - 1, ATOM_AT] + columns[many - 1, ATOMS]
    tops = np.zeros(many, np.int64)
    average = np.empty(weight.shape[0], np.float64)
    for step in range(1, steps + 1):
        _settle_shares(columns, many, weight, users, shares, whole)
        value = free
        for c in range(many):
            tops[c] = _weigh(columns[c], whole, cells, masses)
            value += tops[c]
        if best < 0 or value < best:
            best = value
            kept[start:end] = whole[start:end]
            best_masses[low:high] = masses[low:high]
        if best < target or step == steps or (step == 8 and best > 1.15 * target):
            return best, step
        average[:] = 0.0
        for c in range(many):
            _blame(columns[c], step, tops[c], cells, masses, soft, blame)
            for at in range(columns[c, USER_AT], columns[c, USER_AT] + columns[c, USERS]):
                average[users[at]] += blame[at] * shares[at]
        pace = 1.5 / math.sqrt(step)
        for c in range(many):
            for at in range(columns[c, USER_AT], columns[c, USER_AT] + columns[c, USERS]):
                row = users[at]
                power = 1.0 - pace * (blame[at] - average[row] / weight[row]) / 16.0
                power *= power
                power *= power
                power *= power
                power *= power
                shares[at] *= power
    return best, steps


@allocating_kernel
def _narrow(
    columns: NDArray[np.int64],
    many: int,
    value: int,
    target: int,
    weight: NDArray[np.int64],
    users: NDArray[np.int32],
    kept: NDArray[np.int64],
    cells: NDArray[np.int8],
    masses: NDArray[np.int64],
    good: NDArray[np.bool_],
    alive: NDArray[np.bool_],
) -> int:
    # Flags atoms (`good`) and rows (`alive`) that a point above the incumbent may have. A row that every such
    # point has leaves only its own atoms. Returns the number of rows dropped, -1 if
    # there is no such point.
    slack = value - target
    lost = np.zeros(weight.shape[0], np.int64)
    saved = np.zeros(weight.shape[0], np.int64)
    dead = np.zeros(weight.shape[0], np.bool_)
    for c in range(many):
        size, first, cell = columns[c, ATOMS], columns[c, ATOM_AT], columns[c, CELL_AT]
        mass = masses[first : first + size]
        top = mass.max()
        for a in range(size):
            good[first + a] = mass[a] >= top - slack
        for j in range(columns[c, USERS]):
            at = columns[c, USER_AT] + j
            row = users[at]
            line = cells[cell + j * size : cell + (j + 1) * size]
            inside = mass[0] & line[0]
            fits = 0
            for a in range(size):
                inside = max(inside, mass[a] & line[a])
                fits += line[a]
            lost[row] += top - inside
            if inside < top - slack or fits == 0:
                dead[row] = True
            if slack < weight[row]:
                share = kept[at]
                without = mass[0] - (share & line[0])
                for a in range(size):
                    without = max(without, mass[a] - (share & line[a]))
                saved[row] += top - without
    dropped = 0
    for row in range(weight.shape[0]):
        if dead[row] or lost[row] > slack:
            alive[row] = False
            dropped += 1
    if slack < weight.max():
        for c in range(many):
            size, first, cell = columns[c, ATOMS], columns[c, ATOM_AT], columns[c, CELL_AT]
            for j in range(columns[c, USERS]):
                row = users[columns[c, USER_AT] + j]
                if alive[row] and slack < weight[row] and saved[row] > slack:
                    line = cells[cell + j * size : cell + (j + 1) * size]
                    for a in range(size):
                        good[first + a] &= line[a] != 0
    for c in range(many):
        if not good[columns[c, ATOM_AT] : columns[c, ATOM_AT] + columns[c, ATOMS]].any():
            return -1
    return dropped


@allocating_kernel
def _ones(word: np.uint64) -> int:
    # Number of bits set.
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@allocating_kernel
def undominated(
    covers: NDArray[np.uint64], mask: NDArray[np.uint64], atoms: NDArray[np.int32], keep: NDArray[np.int64]
) -> int:
    """Drop atoms whose rows inside `mask` are all in another's; of equal ones one stays.

    Wide atoms dominate most, so each is compared with a few hundred wider ones only; some dominated ones may stay.

    Parameters
    ----------
    covers
        Bits of the rows, (atom, word).
    mask
        Bits of the rows that count.
    atoms, keep
        The atoms are `atoms[keep]`; on return `keep` begins with those that stay, in its order. Returns their number.
    """
    words, many = mask.shape[0], keep.shape[0]
    table = np.empty((many, words), np.uint64)
    size = np.zeros(many, np.int64)
    for i in range(many):
        for w in range(words):
            table[i, w] = covers[atoms[keep[i]], w] & mask[w]
            size[i] += _ones(table[i, w])
    place = np.zeros(64 * words + 2, np.int64)  # counting sort, widest first
    for i in range(many):
        place[64 * words - size[i] + 1] += 1
    for i in range(1, place.shape[0]):
        place[i] += place[i - 1]
    order = np.empty(many, np.int64)
    for i in range(many):
        order[place[64 * words - size[i]]] = i
        place[64 * words - size[i]] += 1
    wide = np.empty(min(many, _MOST_WIDE), np.int64)
    number = 0
    stays = np.ones(many, np.bool_)
    for at in range(many):
        i = order[at]
        for j in range(number):
            inside = True
            for w in range(words):
                if table[i, w] & ~table[wide[j], w]:
                    inside = False
                    break
            if inside:
                stays[i] = False
                if j > 0:  # atoms that dominate often move to the front
                    wide[j - 1], wide[j] = wide[j], wide[j - 1]
                break
        if stays[i] and number < wide.shape[0]:
            wide[number] = i
            number += 1
    left = 0
    for i in range(many):
        if stays[i]:
            keep[left] = keep[i]
            left += 1
    return left


@allocating_kernel
def _take(
    frames: NDArray[np.int64],
    columns: NDArray[np.int64],
    source: int,
    target: int,
    skip: int,
    rows: NDArray[np.int32],
    chosen: NDArray[np.int32],
    alive: NDArray[np.bool_],
    good: NDArray[np.bool_],
    atoms: NDArray[np.int32],
    masses: NDArray[np.int64],
    users: NDArray[np.int32],
    shares: NDArray[np.float64],
    kept: NDArray[np.int64],
    cells: NDArray[np.int8],
    covers: NDArray[np.uint64],
    cover_at: NDArray[np.int64],
) -> None:
    # The frame `target` gets alive rows and good atoms of `source` without the attribute `skip`; both may be the same
    # frame, since nothing moves up. Attributes that need no more choice are settled.
    many = frames[source, COLUMNS]
    old = columns[source].copy()
    place = np.full(frames[source, ROWS], -1, np.int32)
    mask = np.zeros(covers.shape[1], np.uint64)
    left = 0
    for row in range(frames[source, ROWS]):
        if alive[row]:
            place[row] = left
            number = rows[source, row]
            rows[target, left] = number
            mask[number >> 6] |= np.uint64(1) << np.uint64(number & 63)
            left += 1
    if source == target:
        atom_end, user_end, cell_end = old[0, ATOM_AT], old[0, USER_AT], old[0, CELL_AT]
    else:
        atom_end, user_end, cell_end = frames[source, ATOM_END], frames[source, USER_END], frames[source, CELL_END]
    out = 0
    for c in range(many):
        if c == skip:
            continue
        family, size, first = old[c, FAMILY], old[c, ATOMS], old[c, ATOM_AT]
        begin, cell = old[c, USER_AT], old[c, CELL_AT]
        staying = 0
        for at in range(begin, begin + old[c, USERS]):
            staying += alive[users[at]]
        if staying == 0:
            continue
        keep = np.empty(size, np.int64)
        atoms_left = 0
        for a in range(first, first + size):
            if good[a]:
                keep[atoms_left] = a
                atoms_left += 1
        cover = covers[cover_at[family] : cover_at[family + 1]]
        atoms_left = undominated(cover, mask, atoms, keep[:atoms_left])
        if atoms_left == 1:
            whole_family = True
            for j in range(old[c, USERS]):
                if alive[users[begin + j]] and cells[cell + j * size + keep[0] - first] == 0:
                    whole_family = False
                    break
            if whole_family:
                chosen[target, family] = atoms[keep[0]]
                continue
        columns[target, out, FAMILY] = family
        columns[target, out, ATOMS] = atoms_left
        columns[target, out, USERS] = staying
        columns[target, out, ATOM_AT] = atom_end
        columns[target, out, USER_AT] = user_end
        columns[target, out, CELL_AT] = cell_end
        out += 1
        for i in range(atoms_left):
            atoms[atom_end + i] = atoms[keep[i]]
            masses[atom_end + i] = masses[keep[i]]
        atom_end += atoms_left
        for j in range(old[c, USERS]):
            row = users[begin + j]
            if not alive[row]:
                continue
            users[user_end] = place[row]
            shares[user_end] = kept[begin + j]
            user_end += 1
            line = cell + j * size - first
            for i in range(atoms_left):
                cells[cell_end + i] = cells[line + keep[i]]
            cell_end += atoms_left
    frames[target, ROWS] = left
    frames[target, COLUMNS] = out
    frames[target, ATOM_END] = atom_end
    frames[target, USER_END] = user_end
    frames[target, CELL_END] = cell_end


@allocating_kernel
def _free_weight(columns: NDArray[np.int64], many: int, weight: NDArray[np.int64], users: NDArray[np.int32]) -> int:
    # Weight of the rows that no open attribute restricts.
    bound = np.zeros(weight.shape[0], np.bool_)
    for c in range(many):
        for at in range(columns[c, USER_AT], columns[c, USER_AT] + columns[c, USERS]):
            bound[users[at]] = True
    free = 0
    for row in range(weight.shape[0]):
        if not bound[row]:
            free += weight[row]
    return free


@allocating_kernel
def _heaviest_point(
    columns: NDArray[np.int64],
    many: int,
    weight: NDArray[np.int64],
    users: NDArray[np.int32],
    cells: NDArray[np.int8],
    masses: NDArray[np.int64],
    point: NDArray[np.int64],
) -> int:
    # Value of the point that takes the heaviest atom of every attribute; `point` gets their places.
    missed = np.zeros(weight.shape[0], np.bool_)
    for c in range(many):
        size, first = columns[c, ATOMS], columns[c, ATOM_AT]
        heavy = np.argmax(masses[first : first + size])
        point[c] = heavy
        for j in range(columns[c, USERS]):
            if cells[columns[c, CELL_AT] + j * size + heavy] == 0:
                missed[users[columns[c, USER_AT] + j]] = True
    value = 0
    for row in range(weight.shape[0]):
        if not missed[row]:
            value += weight[row]
    return value


@allocating_kernel
def _branch(
    columns: NDArray[np.int64],
    many: int,
    hardness: float,
    weight: NDArray[np.int64],
    users: NDArray[np.int32],
    kept: NDArray[np.int64],
    cells: NDArray[np.int8],
    masses: NDArray[np.int64],
) -> int:
    # Returns the attribute to branch on: its atoms lose most weight elsewhere and stay below its maximum.
    least, found = math.inf, 0
    for c in range(many):
        size, first = columns[c, ATOMS], columns[c, ATOM_AT]
        top = masses[first : first + size].max()
        covered = np.zeros(size, np.int64)
        total = 0
        for j in range(columns[c, USERS]):
            at = columns[c, USER_AT] + j
            elsewhere = weight[users[at]] - kept[at]
            total += elsewhere
            line = cells[columns[c, CELL_AT] + j * size : columns[c, CELL_AT] + (j + 1) * size]
            for a in range(size):
                covered[a] += elsewhere & line[a]
        work = 0.0
        for a in range(size):
            work += math.exp(-((total - covered[a]) + (top - masses[first + a])) / hardness)
        if work < least:
            least, found = work, c
    return found


@allocating_kernel
def _look_ahead(
    columns: NDArray[np.int64],
    many: int,
    skip: int,
    target: int,
    alive: NDArray[np.bool_],
    weight: NDArray[np.int64],
    users: NDArray[np.int32],
    kept: NDArray[np.int64],
    cells: NDArray[np.int8],
    masses: NDArray[np.int64],
    good: NDArray[np.bool_],
) -> int:
    # Returns the bound that a node's split proves for a child with the rows alive, before it is made; `good` flags the
    # atoms that a point above the incumbent can have there.
    value = 0
    for row in range(weight.shape[0]):
        if alive[row]:
            value += weight[row]
    tops = np.zeros(many, np.int64)
    for c in range(many):
        if c == skip:
            continue
        size, first, cell = columns[c, ATOMS], columns[c, ATOM_AT], columns[c, CELL_AT]
        mass = masses[first : first + size]
        mass[:] = 0
        for j in range(columns[c, USERS]):
            at = columns[c, USER_AT] + j
            if alive[users[at]]:
                share = kept[at]
                value -= share
                line = cells[cell + j * size : cell + (j + 1) * size]
                for a in range(size):
                    mass[a] += share & line[a]
        tops[c] = mass.max()
        value += tops[c]
    for c in range(many):
        if c != skip:
            for a in range(columns[c, ATOM_AT], columns[c, ATOM_AT] + columns[c, ATOMS]):
                good[a] = masses[a] >= tops[c] - (value - target)
    return int(value)


@allocating_kernel
def search(
    counters: NDArray[np.int64],
    limits: NDArray[np.int64],
    frames: NDArray[np.int64],
    columns: NDArray[np.int64],
    rows: NDArray[np.int32],
    chosen: NDArray[np.int32],
    incumbent: NDArray[np.int32],
    weights: NDArray[np.int64],
    atoms: NDArray[np.int32],
    masses: NDArray[np.int64],
    best_masses: NDArray[np.int64],
    good: NDArray[np.bool_],
    users: NDArray[np.int32],
    shares: NDArray[np.float64],
    whole: NDArray[np.int64],
    kept: NDArray[np.int64],
    blame: NDArray[np.float64],
    cells: NDArray[np.int8],
    soft: NDArray[np.int64],
    covers: NDArray[np.uint64],
    cover_at: NDArray[np.int64],
    hardness: float,
) -> int:
    """Go on with the tree until it is finished, the work allowed is done or an array is full.

    Parameters
    ----------
    counters
        Value of the incumbent, depth, nodes, work; see `BEST`.
    limits
        Scale of the weights, work after which to pause, value at which to stop, steps of the dual bound at a node
        and after rows were dropped there.
    frames, columns, rows, chosen
        Per depth: the frame, its open attributes, its rows, the atom chosen per family.
    incumbent
        The atom per family of the best point found.
    weights
        Scaled weights per row of the problem.
    atoms, masses, best_masses, good, users, shares, whole, kept, blame, cells
        The arrays that all frames share: per atom, per user, per cell (user, atom).
    soft
        Scratch, one per atom of the largest attribute.
    covers, cover_at
        Bits of the rows (atom, word) for all families one after another, and where each begins.
    hardness
        Loss of scaled weight that makes a branch e times easier.
    """
    scale, most_work, enough, first_steps, later_steps = limits[0], limits[1], limits[2], limits[3], limits[4]
    counters[WORK] = 0
    while counters[DEPTH] >= 0:
        if counters[BEST] >= enough:
            return DONE
        if counters[WORK] > most_work:
            return PAUSED
        d = counters[DEPTH]
        if frames[d, BRANCH] < 0:
            counters[NODES] += 1
            steps = first_steps
            closed = True
            while frames[d, BOUND] > counters[BEST]:
                many = frames[d, COLUMNS]
                weight = np.empty(frames[d, ROWS], np.int64)
                for row in range(frames[d, ROWS]):
                    weight[row] = weights[rows[d, row]]
                if many == 0:
                    value = int(weight.sum()) // scale
                    if value > counters[BEST]:
                        counters[BEST] = value
                        incumbent[:] = chosen[d]
                    break
                here = columns[d]
                for c in range(many):
                    for at in range(here[c, USER_AT], here[c, USER_AT] + here[c, USERS]):
                        shares[at] += 1e-3 * weight[users[at]] / many
                free = _free_weight(here, many, weight, users)
                target = (counters[BEST] + 1) * scale
                value, taken = _improve(
                    here,
                    many,
                    free,
                    weight,
                    users,
                    shares,
                    whole,
                    kept,
                    cells,
                    masses,
                    best_masses,
                    soft,
                    blame,
                    steps,
                    target,
                )
                counters[WORK] += 2 * taken * (frames[d, CELL_END] - here[0, CELL_AT]) + 1000
                frames[d, BOUND] = min(frames[d, BOUND], value // scale)
                if frames[d, BOUND] <= counters[BEST]:
                    break
                point = np.empty(many, np.int64)
                reached = _heaviest_point(here, many, weight, users, cells, best_masses, point) // scale
                if reached > counters[BEST]:
                    counters[BEST] = reached
                    incumbent[:] = chosen[d]
                    for c in range(many):
                        incumbent[here[c, FAMILY]] = atoms[here[c, ATOM_AT] + point[c]]
                    if reached >= enough:
                        return DONE  # the frame stays open: its bound still counts
                    if frames[d, BOUND] <= reached:
                        break
                    target = (reached + 1) * scale
                alive = np.ones(weight.shape[0], np.bool_)
                dropped = _narrow(here, many, value, target, weight, users, kept, cells, best_masses, good, alive)
                if dropped < 0:
                    break
                low, high = here[0, ATOM_AT], here[many - 1, ATOM_AT] + here[many - 1, ATOMS]
                masses[low:high] = best_masses[low:high]
                _take(
                    frames,
                    columns,
                    d,
                    d,
                    -1,
                    rows,
                    chosen,
                    alive,
                    good,
                    atoms,
                    masses,
                    users,
                    shares,
                    kept,
                    cells,
                    covers,
                    cover_at,
                )
                if dropped == 0 and frames[d, COLUMNS] > 0:
                    closed = False
                    break
                steps = later_steps
            if closed:
                counters[DEPTH] -= 1
                continue
            many = frames[d, COLUMNS]
            weight = np.empty(frames[d, ROWS], np.int64)
            for row in range(frames[d, ROWS]):
                weight[row] = weights[rows[d, row]]
            value = int(weight.sum())
            for c in range(many):
                for at in range(columns[d, c, USER_AT], columns[d, c, USER_AT] + columns[d, c, USERS]):
                    kept[at] = np.int64(shares[at])
                    value -= kept[at]  # weight that is split over no open attribute counts in full
                value += _weigh(columns[d, c], kept, cells, masses)
            frames[d, BOUND] = min(frames[d, BOUND], value // scale)
            frames[d, BRANCH] = _branch(columns[d], many, hardness, weight, users, kept, cells, masses)
            b = frames[d, BRANCH]
            first = columns[d, b, ATOM_AT]
            frames[d, OTHERS] = value - masses[first : first + columns[d, b, ATOMS]].max()
        b = frames[d, BRANCH]
        size, first = columns[d, b, ATOMS], columns[d, b, ATOM_AT]
        atom = np.argmax(masses[first : first + size])
        if masses[first + atom] < 0:
            counters[DEPTH] -= 1
            continue
        bound = min(frames[d, BOUND], (frames[d, OTHERS] + masses[first + atom]) // scale)
        if bound <= counters[BEST]:
            counters[DEPTH] -= 1
            continue
        begin = columns[d, 0, ATOM_AT]
        if (
            2 * frames[d, ATOM_END] - begin > atoms.shape[0]
            or 2 * frames[d, USER_END] - columns[d, 0, USER_AT] > users.shape[0]
            or 2 * frames[d, CELL_END] - columns[d, 0, CELL_AT] > cells.shape[0]
        ):
            return FULL
        masses[first + atom] = -1
        alive = np.ones(frames[d, ROWS], np.bool_)
        weight = np.empty(frames[d, ROWS], np.int64)
        for row in range(frames[d, ROWS]):
            weight[row] = weights[rows[d, row]]
        for j in range(columns[d, b, USERS]):
            if cells[columns[d, b, CELL_AT] + j * size + atom] == 0:
                alive[users[columns[d, b, USER_AT] + j]] = False
        target = (counters[BEST] + 1) * scale
        value = _look_ahead(
            columns[d], frames[d, COLUMNS], b, target, alive, weight, users, kept, cells, best_masses, good
        )
        counters[WORK] += frames[d, CELL_END] - columns[d, 0, CELL_AT] + 1000
        if value < target:
            continue
        chosen[d + 1] = chosen[d]
        chosen[d + 1, columns[d, b, FAMILY]] = atoms[first + atom]
        _take(
            frames,
            columns,
            d,
            d + 1,
            b,
            rows,
            chosen,
            alive,
            good,
            atoms,
            masses,
            users,
            shares,
            kept,
            cells,
            covers,
            cover_at,
        )
        frames[d + 1, BOUND] = min(bound, value // scale)
        frames[d + 1, BRANCH] = -1
        counters[DEPTH] = d + 1
    return DONE


@allocating_kernel
def open_bound(
    counters: NDArray[np.int64],
    frames: NDArray[np.int64],
    columns: NDArray[np.int64],
    masses: NDArray[np.int64],
    scale: int,
) -> int:
    """Return an upper bound on everything not yet searched, and on the incumbent.

    Parameters
    ----------
    counters
        Value of the incumbent, depth of the current node, and the counts of the search.
    frames
        The nodes, one line for each depth.
    columns
        The open attributes of each frame.
    masses
        What the split puts on each atom, scaled; negative where the atom's branch was taken already.
    scale
        By how much the weights are multiplied in `masses`.
    """
    upper = int(counters[BEST])
    for d in range(counters[DEPTH] + 1):
        bound = int(frames[d, BOUND])
        if frames[d, BRANCH] >= 0:
            b = frames[d, BRANCH]
            heaviest = masses[columns[d, b, ATOM_AT] : columns[d, b, ATOM_AT] + columns[d, b, ATOMS]].max()
            bound = min(bound, int((frames[d, OTHERS] + heaviest) // scale)) if heaviest >= 0 else 0
        upper = max(upper, bound)
    return upper

"""Branching over values on small tables, as machine code: what `ValueSearch` does, about ten times as fast.

The code is loaded once a search is a long one: most sets of a ledger are settled before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import NotCompiledError, nothing_compiled
from dpdb.overlap.instance import Deadline
from dpdb.overlap.kernels.value_tree import Open, Words, Work, bound, narrow, open_child

Side = tuple[int, NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]
"""One open attribute of a node: family, its rows (ascending), the atoms they cover (atom, row), its atoms."""

MOST_CELLS = 4_000_000
"""Most cells of the tables of a node that is searched here: a step of a kernel takes milliseconds then."""

_STEPS = 24
_TIME_TO_COMPILE = 9.0
"""Seconds that a search must have left for code to be compiled that is not on disk: that takes some of them."""


def cells(sides: Sequence[Side]) -> int:
    """Return how many cells the tables of a node have."""
    return sum(side[2].size for side in sides)


def is_ready(deadline: Deadline) -> bool:
    """Load the code, and return whether it is there; it is compiled only if much time is left."""
    try:
        if deadline.left >= _TIME_TO_COMPILE:
            load_search()
        else:
            with nothing_compiled():
                load_search()
    except NotCompiledError:
        return False
    return True


@cache
def load_search() -> None:
    """Load the kernels of the search, or compile them."""
    sides = [(k, np.arange(2), np.eye(2, dtype=bool), np.arange(2)) for k in range(2)]
    CompactSearch(np.ones(2, np.int64), sides, np.ones((2, 2)), families=2, scale=1, deadline=Deadline(60), best=0).run(
        np.arange(2), 2
    )


class CompactSearch:
    """One search below one node.

    Parameters
    ----------
    weights : int64 (rows,)
        Scaled weights of the node's rows.
    sides
        The open attributes; their rows by their places in `weights`.
    shares : float64 (rows, sides)
        A split of the weights, of any scale.
    scale : int
        Scaled units of one unit of weight.
    deadline
        When to stop.
    best : int
        A value to beat, without the problem's constant.
    enough
        Stop as soon as the incumbent is at least this; None: never.

    Attributes
    ----------
    settled : int64 (families,), optional
        Its atoms, -1 where any will do; None while nothing better than the value to beat was found.
    """

    def __init__(
        self,
        weights: NDArray[np.int64],
        sides: Sequence[Side],
        shares: NDArray[np.float64],
        *,
        families: int,
        scale: int,
        deadline: Deadline,
        best: int,
        enough: int | None = None,
    ) -> None:
        self.weights, self.sides, self.shares = weights, sides, shares
        self.families, self.scale, self.deadline, self.enough = families, scale, deadline, enough
        self.best = best
        self.settled: NDArray[np.int64] | None = None
        self.at_once = max(1, MOST_CELLS // (16 * cells(sides)))
        self.hardness = max(1, int(4 * weights.mean()))
        rows, users = len(weights), sum(len(side[1]) for side in sides)
        atoms, most = sum(len(side[3]) for side in sides), max(len(side[3]) for side in sides)
        self.work = Work(
            whole=_integers(users),
            best_whole=_integers(users),
            masses=_integers(atoms),
            best_masses=_integers(atoms),
            good=np.empty(atoms, np.bool_),
            blame=np.empty(users),
            sums=np.empty(rows),
            rest=_integers(rows),
            largest=_integers(rows),
            tops=_integers(len(sides)),
        )
        self.words = Words(
            table=np.empty((most, -(-rows // 64)), np.uint64),
            sizes=_integers(most),
            numbers=_integers(most),
            order=_integers(most + rows + 1),
            kept=_integers(most),
            bucket=_integers(rows),
        )
        self.room = Open(
            rows=_integers(rows),
            weights=_integers(rows),
            family=_integers(len(sides)),
            atom_at=_integers(len(sides) + 1),
            user_at=_integers(len(sides) + 1),
            cell_at=_integers(len(sides) + 1),
            atoms=_integers(atoms),
            users=_integers(users),
            shares=np.empty(users),
            cells=np.empty(cells(sides), np.int8),
        )

    def run(self, rows: NDArray[np.int64], most: int) -> int:
        """Search; return an upper bound of the value of the node's points, and of the value to beat.

        Parameters
        ----------
        most
            A known bound.
        """
        sides = self.sides
        users = [side[1] for side in sides]
        root = Open(
            rows.astype(np.int64),
            self.weights,
            np.array([side[0] for side in sides]),
            _ends([len(side[3]) for side in sides]),
            _ends([len(own) for own in users]),
            _ends([side[2].size for side in sides]),
            np.concatenate([side[3] for side in sides]),
            np.concatenate(users),
            np.concatenate([self.shares[own, column] for column, own in enumerate(users)]),
            -np.concatenate([side[2].ravel() for side in sides]).view(np.int8),
        )
        if self._stopped:
            return most
        target = (self.best + 1) * self.scale
        value = bound(root, self.work, _STEPS, target)
        if value < target:
            return self.best
        return self._below(root, np.full(self.families, -1), min(most, value // self.scale), value)

    @property
    def _stopped(self) -> bool:
        return self.deadline.passed or (self.enough is not None and self.best >= self.enough)

    def _below(self, node: Open, settled: NDArray[np.int64], most: int, value: int) -> int:
        """Return an upper bound of the points of a node, and of the incumbent: its children, heavy ones first.

        `value` is what the node's split proves, as `bound` left it.
        """
        work, scale = self.work, self.scale
        side = narrow(node, work, value, (self.best + 1) * scale, self.hardness)
        masses = work.best_masses[node.atom_at[side] : node.atom_at[side + 1]]
        order = np.argsort(-masses, kind="stable")
        values = masses[order] + (value - int(masses.max()))  # of each child at most
        order += node.atom_at[side]
        kept = work._replace(  # what the children are made from: their bounds use the same scratch
            best_whole=work.best_whole[: len(node.users)].copy(),
            good=work.good[: len(node.atoms)].copy(),
            rest=work.rest[: len(node.rows)].copy(),
        )
        at, upper, fixed = 0, self.best, np.empty_like(settled)
        while at < len(order) and int(values[at]) // scale > self.best:
            here = min(most, int(values[at]) // scale)
            if self._stopped:
                return max(upper, here)
            at, rows, sides, value = open_child(
                node, kept, side, order, values, at, settled, fixed,
                self.room, work, self.words, _STEPS, (self.best + 1) * scale, self.at_once,
            )  # fmt: skip
            if sides < 0:
                continue
            here = min(most, int(values[at]) // scale, value // scale)
            if sides == 0:
                self.best, self.settled = value // scale, fixed.copy()
            else:
                here = self._below(self._taken(rows, sides), fixed.copy(), here, value)
            at, upper = at + 1, max(upper, here)
        return max(upper, self.best)

    def _taken(self, rows: int, sides: int) -> Open:
        room = self.room
        atoms, users, many = room.atom_at[sides], room.user_at[sides], room.cell_at[sides]
        return Open(
            rows=room.rows[:rows].copy(),
            weights=room.weights[:rows].copy(),
            family=room.family[:sides].copy(),
            atom_at=room.atom_at[: sides + 1].copy(),
            user_at=room.user_at[: sides + 1].copy(),
            cell_at=room.cell_at[: sides + 1].copy(),
            atoms=room.atoms[:atoms].copy(),
            users=room.users[:users].copy(),
            shares=room.shares[:users].copy(),
            cells=room.cells[:many].copy(),
        )


def _integers(size: int) -> NDArray[np.int64]:
    return np.empty(size, np.int64)


def _ends(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(np.array(sizes, np.int64)))

"""The arrays of the compiled branch and bound over values, filled from one node of `value_branching`.

The compiled search takes half a second to load, and about ten seconds to compile for the first time. A search with
time to spare starts the loading and goes on in numpy until it is done; so no deadline waits for it, and a small
decision never pays for it. numba keeps and restores Python's filters of warnings while it compiles: a filter that the
program sets in that time may be lost (`dpdb warm` compiles beforehand).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.bounds.bound import Deadline
from dpdb.overlap.reductions import Family

__all__ = [
    "MOST_CELLS",
    "MOST_SIDES",
    "Side",
    "TreeSearch",
    "WideTables",
    "ask_for_tree",
    "load_tree",
    "tree_if_ready",
    "wait_for_tree",
]

Side = tuple[int, NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]
"""One open attribute of a node: family, its rows (ascending), the atoms they cover (atom, row), its atoms."""

MOST_CELLS = 80_000_000
MOST_SIDES = 200
"""Largest tables (cells over all attributes) and number of attributes that are searched compiled."""

_PACE = 20_000_000  # cells between two looks at the clock: some ten milliseconds
_STEPS = (16, 8)  # steps of the dual bound at a node, and after rows were dropped there


class TreeSearch:
    """One search below one node, in pieces.

    Parameters
    ----------
    tree
        The compiled module.
    weights
        Weights in whole units, one per row.
    scale
        How many units one unit is cut into; the scaled weights sum to at most 2^52.
    sides
        Open attributes; their rows are places in `weights`.
    shares
        A split (row, side) to begin with, of any scale.
    best, bound
        A value to beat, and an upper bound known already.
    room
        Memory to begin with, in multiples of the node's own.
    """

    def __init__(  # noqa: PLR0917
        self,
        tree: ModuleType,
        weights: NDArray[np.int64],
        scale: int,
        sides: list[Side],
        shares: NDArray[np.float64],
        best: int,
        bound: int,
        *,
        room: int = 2,
    ) -> None:
        self.tree = tree
        self.scale = scale
        self.sides = sides
        self.weights = weights * scale
        self.counters = np.array([best, 0, 0, 0], np.int64)
        self.to_beat = best
        self.incumbent = np.zeros(len(sides), np.int32)
        self.hardness = 4.0 * float(self.weights.mean())  # loss of weight that makes a branch e times easier
        depths, rows, words = len(sides) + 2, len(weights), -(-len(weights) // 64)
        self.frames = np.zeros((depths, 8), np.int64)
        self.columns = np.zeros((depths, len(sides), 6), np.int64)
        self.rows = np.zeros((depths, rows), np.int32)
        self.rows[0] = np.arange(rows)
        self.chosen = np.zeros((depths, len(sides)), np.int32)
        sizes = np.array([side[2].shape for side in sides], np.int64).reshape(-1, 2)
        lengths = np.column_stack([sizes, sizes.prod(axis=1)])
        ends = lengths.cumsum(axis=0)
        self.columns[0, :, 0] = np.arange(len(sides))
        self.columns[0, :, 1:3] = sizes
        self.columns[0, :, 3:] = ends - lengths
        self.frames[0] = (rows, len(sides), bound, -1, 0, *ends[-1])
        self.cover_at = np.append(0, ends[:, 0])
        self.covers = np.concatenate([_covers(side, words) for side in sides])
        self._allocate(sides, shares, room * ends[-1])

    def _allocate(self, sides: list[Side], shares: NDArray[np.float64], room: NDArray[np.int64]) -> None:
        atoms, users, cells = room.tolist()
        self.per_atom = _filled([np.arange(len(side[3]), dtype=np.int32) for side in sides], atoms)
        self.masses, self.best_masses = np.zeros(atoms, np.int64), np.zeros(atoms, np.int64)
        self.good = np.zeros(atoms, np.bool_)
        self.users = _filled([side[1].astype(np.int32) for side in sides], users)
        self.shares = _filled([shares[side[1], column] for column, side in enumerate(sides)], users)
        self.whole, self.kept, self.blame = np.zeros(users, np.int64), np.zeros(users, np.int64), np.zeros(users)
        self.cells = _filled([-side[2].T.astype(np.int8).ravel() for side in sides], cells)
        self.soft = np.zeros(max(len(side[3]) for side in sides), np.int64)

    def _grow(self) -> None:
        """Double the room for frames, keeping their contents."""
        for name in ("per_atom", "masses", "best_masses", "good", "users", "shares", "whole", "kept", "blame", "cells"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)]))

    @property
    def best(self) -> int:
        """Value of the incumbent."""
        return int(self.counters[self.tree.BEST])

    @property
    def bound(self) -> int:
        """An upper bound on everything below the node, at any moment."""
        return int(self.tree.open_bound(self.counters, self.frames, self.columns, self.masses, self.scale))

    @property
    def atoms(self) -> list[int] | None:
        """The incumbent's atom per side; None while nothing better than the value to beat was found."""
        if self.best == self.to_beat:
            return None
        return [int(side[3][atom]) for side, atom in zip(self.sides, self.incumbent.tolist(), strict=True)]

    def run(self, deadline: Deadline, enough: int | None = None) -> int:
        """Search until the end, the deadline or an incumbent of `enough`; returns the bound."""
        while not deadline.passed and not self.go_on(enough):
            pass
        return self.bound

    def go_on(self, enough: int | None = None, work: int = _PACE) -> bool:
        """Search until about `work` cells are visited; whether the search is over."""
        limits = np.array([self.scale, work, 2**62 if enough is None else enough, *_STEPS], np.int64)
        status = self.tree.search(
            self.counters,
            limits,
            self.frames,
            self.columns,
            self.rows,
            self.chosen,
            self.incumbent,
            self.weights,
            self.per_atom,
            self.masses,
            self.best_masses,
            self.good,
            self.users,
            self.shares,
            self.whole,
            self.kept,
            self.blame,
            self.cells,
            self.soft,
            self.covers,
            self.cover_at,
            self.hardness,
        )
        if status == self.tree.FULL:
            self._grow()
        return bool(status == self.tree.DONE)


def _filled(parts: list[NDArray[Any]], size: int) -> NDArray[Any]:
    """The parts one after another, with room behind them."""
    room = np.zeros(size, parts[0].dtype)
    np.concatenate(parts, out=room[: sum(map(len, parts))])
    return room


def _covers(side: Side, words: int) -> NDArray[np.uint64]:
    """Per atom the bits of the rows it covers."""
    _, users, member, _ = side
    if users[-1] + 1 > len(users):  # not simply the first rows
        spread = np.zeros((len(member), int(users[-1]) + 1), np.bool_)
        spread[:, users] = member
        member = spread
    packed = np.packbits(member, axis=1, bitorder="little")
    padded = np.zeros((len(packed), words * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


class WideTables:
    """Large attributes narrowed to the atoms that are worth keeping among some of their rows."""

    def __init__(self, families: Sequence[Family]) -> None:
        self.families = families
        self.words: dict[int, NDArray[np.uint64]] = {}

    def narrow(self, tree: ModuleType, side: Side, alive: NDArray[np.bool_]) -> Side:
        """Return a side among some of its rows, without dominated atoms.

        Parameters
        ----------
        tree
            The module of kernels, `dpdb.overlap.kernels.value_tree`.
        side
            The attribute to narrow.
        alive
            Whether to keep each row, one flag per user of the side.
        """
        family, users, _, atoms = side
        whole = self.families[family]
        if family not in self.words:
            by_place = (family, np.arange(len(whole.users)), whole.member, whole.atoms)
            self.words[family] = _covers(by_place, -(-len(whole.users) // 64))
        words = self.words[family]
        places = np.searchsorted(whole.users, users[alive])
        bits = np.zeros(words.shape[1] * 64, np.bool_)
        bits[places] = True
        keep = np.arange(len(atoms))
        mask = np.packbits(bits, bitorder="little").view(np.uint64)
        left = atoms[keep[: tree.undominated(words, mask, atoms.astype(np.int32), keep)]]
        return family, users[alive], whole.member[np.ix_(left, places)], left


_lock = threading.Lock()
_loader: list[threading.Thread] = []
_ready: list[ModuleType] = []


def tree_if_ready() -> ModuleType | None:
    """The compiled module, or None while it is not loaded."""
    return _ready[0] if _ready else None


def ask_for_tree() -> None:
    """Begin to load the compiled module in the background, once."""
    with _lock:
        if not _loader:
            _loader.append(threading.Thread(target=load_tree, name="dpdb-compile"))
            _loader[0].start()


def wait_for_tree(deadline: Deadline) -> ModuleType | None:
    """Return the compiled module, or None if it is not loaded before the deadline."""
    ask_for_tree()
    _loader[0].join(deadline.left)
    return tree_if_ready()


def load_tree() -> None:
    """Load the compiled module, and have its kernels compiled if they never were."""
    tree = import_module("dpdb.overlap.kernels.value_tree")
    member = np.array([[True, False], [False, True]])
    side = (0, np.arange(2), member, np.arange(2))
    TreeSearch(tree, np.ones(2, np.int64), 2, [side], np.ones((2, 1)), 0, 2).run(Deadline(60))
    _ready.append(tree)

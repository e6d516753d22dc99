"""The loading of the compiled search: it takes half a second, the first compilation about ten seconds.

A search with time to spare starts the loading and goes on in numpy until it is done; so no deadline waits for it, and a
small decision never pays for it. numba keeps and restores Python's filters of warnings while it compiles: a filter that
the program sets in that time may be lost (`dpdb warm` compiles beforehand).
"""

from __future__ import annotations

import threading
from importlib import import_module
from types import ModuleType

import numpy as np

from dpdb.overlap.bounds.bound import Deadline
from dpdb.overlap.search.tree_search import TreeSearch

__all__ = ["ask_for_tree", "load_tree", "tree_if_ready", "wait_for_tree"]

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

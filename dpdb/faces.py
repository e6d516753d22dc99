"""`lazy_names`: the face of a room, whose names are imported when they are first used.

A room is imported through its face, `dpdb.ROOM`, and its face must not load the whole room: reading a ledger's spending
needs no solver, and `dpdb --help` needs no room at all. A module's name cannot be a name of its room's face: importing
the module would overwrite it.

Where each name is at home stands in `dpdb.face_names`, which a test holds to what the faces import for type checkers.
No source is read, so an installation may have compiled files alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from dpdb.face_names import FACES


def lazy_names(room: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return the `__getattr__` and the `__all__` of a room; its modules are found by their own names, too."""
    face = sys.modules[room]
    home_of = {name: module for module, names in FACES[room].items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in home_of:
            if name.startswith("_") or not hasattr(face, "__path__") or find_spec(f"{room}.{name}") is None:
                raise AttributeError(f"module {room!r} has no attribute {name!r}")
            return import_module(f"{room}.{name}")
        value = getattr(import_module(home_of[name]), name)
        setattr(face, name, value)
        return value

    return find, sorted(home_of)

"""`lazy_names`: the face of a room, whose names are imported when they are first used.

A room is imported through its face, `dpdb.ROOM`, and its face must not load the whole room: reading a ledger's spending
needs no solver, and `dpdb --help` needs no room at all. A module's name cannot be a name of its room's face: importing
the module would overwrite it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def lazy_names(room: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a room: for the names of its face, and for its modules by their own names.

    Parameters
    ----------
    room
        The package.
    homes
        Modules of the room, each with the names that come from it, separated by blanks.
    """
    home_of = {name: f"{room}.{module}" for module, names in homes.items() for name in names.split()}
    face = import_module(room)

    def find(name: str) -> Any:
        if name not in home_of:
            if name.startswith("_") or find_spec(f"{room}.{name}") is None:
                raise AttributeError(f"module {room!r} has no attribute {name!r}")
            return import_module(f"{room}.{name}")
        value = getattr(import_module(home_of[name]), name)
        setattr(face, name, value)
        return value

    return find

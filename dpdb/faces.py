"""`lazy_names`: the face of a room, whose names are imported when they are first used.

A room is imported through its face, `dpdb.ROOM`, and its face must not load the whole room: reading a ledger's spending
needs no solver, and `dpdb --help` needs no room at all. A module's name cannot be a name of its room's face: importing
the module would overwrite it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def lazy_names(room: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return the `__getattr__` and the `__all__` of a room; its modules are found by their own names, too.

    The names of its face are those that its `__init__.py` imports from its own modules ``as`` themselves, as type
    checkers read it: each stands there once, whether it is imported at once or for type checkers alone.
    """
    face = sys.modules[room]
    home_of = {
        alias.asname: node.module
        for node in ast.walk(ast.parse(face.__spec__.loader.get_source(room)))  # type: ignore[union-attr]
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"{room}.")
        for alias in node.names
        if alias.asname is not None
    }

    def find(name: str) -> Any:
        if name not in home_of:
            if name.startswith("_") or find_spec(f"{room}.{name}") is None:
                raise AttributeError(f"module {room!r} has no attribute {name!r}")
            return import_module(f"{room}.{name}")
        value = getattr(import_module(home_of[name]), name)
        setattr(face, name, value)
        return value

    return find, sorted(home_of)

"""`lazy_names`: the public interface of a package, whose names are imported when they are first used.

A package is imported through its `__init__.py`, which must not load all of it: reading a ledger's spending needs no
solver, and `dpdb --help` needs no package at all. No module may be called like a public name of its package: importing
the module would overwrite the name.

Where each name is at home stands in `dpdb.face_names`. A test holds that to what each `__init__.py` imports for type
checkers. No source is read, so an installation may have compiled files alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from dpdb.face_names import FACES


def lazy_names(room: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return the `__getattr__` and the `__all__` of a package; its modules are found by their own names, too."""
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

"""`dpdb serve` whose private functions and steps throw when a file says so: `python canary_server.py FILE serve ...`.

The file has `NAME ERROR`: what is called under that name throws that error with a canary in it. Beside it,
`FILE.called` gets the name of what is called while the file has `note`, `FILE.thrown` a line for every throw.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dpdb import errors, stopping as steps
from dpdb.doors.cli import run_process

CANARY = "canary_heron"
STEP = "step:"
ROOMS = (
    "dpdb.engine", "dpdb.graph", "dpdb.measures", "dpdb.privacy.noise", "dpdb.release.statistics", "dpdb.database",
    "dpdb.release.conflict_graph", "dpdb.release.statistics", "dpdb.release.published", "dpdb.suites.counted",
    "dpdb.suites.mechanism", "dpdb.doors.server.views", "dpdb.doors.server.views",
)  # fmt: skip
CLASSES = ("dpdb.ledger.ledger:Ledger", "dpdb.doors.server.desk:Desk")


def private_functions() -> Iterator[tuple[str, Any, str]]:
    """Give functions and methods of the rooms that hold private rows, as (name, where it stands, its own name)."""
    for name, module in sorted(sys.modules.items()):
        for own, found in sorted(vars(module).items()) if name.startswith("dpdb.") else ():
            if getattr(found, "__module__", None) != name:
                continue
            if inspect.isfunction(found) and name.startswith(ROOMS):
                yield f"{name}:{own}", module, own
            elif inspect.isclass(found) and (name.startswith(ROOMS) or f"{name}:{own}" in CLASSES):
                for method, one in sorted(vars(found).items()):
                    if inspect.isfunction(one) and (method == "__init__" or not method.startswith("__")):
                        yield f"{name}:{own}.{method}", found, method


class Thrower:
    """Throws from what the file names, and notes what was called."""

    def __init__(self, file: Path) -> None:
        self._file, self._seen = file, set[str]()

    def reached(self, name: str) -> None:
        """Note a call; throw if it is this one's turn."""
        wanted, _, kind = self._file.read_text().partition(" ")
        if wanted == "note" and name not in self._seen:
            self._seen.add(name)
            with self._file.with_suffix(".called").open("a") as called:
                called.write(f"{name}\n")
        if wanted == name:
            with self._file.with_suffix(".thrown").open("a") as thrown:
                thrown.write(f"{name} {kind}\n")
            raise (getattr(errors, kind, None) or getattr(builtins, kind))(CANARY)

    def wrapped(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a function that throws first."""

        @functools.wraps(function)
        def throwing(*args: Any, **kwargs: Any) -> Any:
            self.reached(name)
            return function(*args, **kwargs)

        return throwing


def main() -> None:
    """Wrap everything, and serve."""
    thrower = Thrower(Path(sys.argv.pop(1)))
    importlib.import_module("dpdb.doors.server.http.process")
    importlib.import_module("dpdb.doors.reports")
    found = {}
    for name, place, own in [*private_functions()]:
        function = vars(place)[own]
        if not inspect.iscoroutinefunction(function):
            found[id(function)] = thrower.wrapped(function, name)
            setattr(place, own, found[id(function)])
    for name, module in [*sys.modules.items()]:
        if name.startswith("dpdb"):
            for own, value in [*vars(module).items()]:  # wherever it was imported
                if id(value) in found:
                    setattr(module, own, found[id(value)])
    steps.watchers.append(lambda step: thrower.reached(STEP + step))
    run_process()


if __name__ == "__main__":
    main()

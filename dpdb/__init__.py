"""dpdb measures how inconsistent a private table is, under differential privacy.

    import dpdb
    r = dpdb.dp_inconsistency("hospital.parquet", constraints="hospital.dcs.txt", measure="repair", epsilon=1.0)
    r.value, r.lower, r.upper

Rooms, one direction of flow: surfaces (`cli`, `frontend`, `connection`, `reports`, `jobs`) -> `session` ->
`measures` -> `privacy` / `graph` -> `engine` -> `constraints`. A lower room never imports a higher one; SQL runs in
`engine.database`, random numbers come from `privacy.randomness`, money lives in `session.budget`.

Names are imported when they are first used, so that the command line can catch signals before anything heavy loads.
"""

from __future__ import annotations

from importlib import import_module

from dpdb._version import __version__

TYPE_CHECKING = False  # type checkers know this name; importing it takes a while, in which Ctrl-C shows a traceback
if TYPE_CHECKING:
    from typing import Any

    from dpdb.connection import Registration, register
    from dpdb.constraints import DenialConstraint
    from dpdb.errors import BudgetExceededError, DpdbError
    from dpdb.session import Release, Session, dp_inconsistency
    from dpdb.session import open_session as open  # noqa: A004 - the public name is dpdb.open
    from dpdb.session.plan import plan

__all__ = [
    "BudgetExceededError",
    "DenialConstraint",
    "DpdbError",
    "Registration",
    "Release",
    "Session",
    "__version__",
    "dp_inconsistency",
    "open",
    "plan",
    "register",
]

_HOMES = {
    "BudgetExceededError": ("dpdb.errors", "BudgetExceededError"),
    "DenialConstraint": ("dpdb.constraints", "DenialConstraint"),
    "DpdbError": ("dpdb.errors", "DpdbError"),
    "Registration": ("dpdb.connection", "Registration"),
    "Release": ("dpdb.session", "Release"),
    "Session": ("dpdb.session", "Session"),
    "dp_inconsistency": ("dpdb.session", "dp_inconsistency"),
    "open": ("dpdb.session", "open_session"),
    "plan": ("dpdb.session.plan", "plan"),
    "register": ("dpdb.connection", "register"),
}
_ROOMS = frozenset(
    ("accounting", "connection", "constraints", "engine", "errors", "frontend", "graph", "jobs", "measures", "noise",
     "privacy", "reports", "session", "synthetic")
)  # fmt: skip


if not TYPE_CHECKING:  # type checkers know the names above, and should know no others

    def __getattr__(name: str) -> Any:
        if name in _ROOMS:
            return import_module(f"dpdb.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'dpdb' has no attribute {name!r}")
        room, known_as = _HOMES[name]
        value = globals()[name] = getattr(import_module(room), known_as)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

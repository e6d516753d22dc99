"""dpdb measures how inconsistent a private table is, under differential privacy.

    import dpdb
    r = dpdb.dp_inconsistency("hospital.parquet", constraints="hospital.dcs.txt", measure="repair", epsilon=1.0)
    r.value, r.lower, r.upper

Rooms, one direction of flow: `doors` -> `owner` -> `release` -> `ledger` -> `overlap` -> `measures` -> `privacy` /
`graph` -> `engine` -> `predicates` -> `constraints`. A lower room never imports a higher one; `README.md` in this
folder follows one release through them.

Names are imported when they are first used, so that the command line can catch signals before anything heavy loads.
"""

from __future__ import annotations

from importlib import import_module

from dpdb._version import __version__

TYPE_CHECKING = False  # type checkers know this name; importing it takes a while, in which Ctrl-C shows a traceback
if TYPE_CHECKING:
    from typing import Any

    from dpdb import jobs as jobs
    from dpdb.constraints import DenialConstraint
    from dpdb.doors.duckdb_functions import Registration, register
    from dpdb.doors.notebook import progress_bar
    from dpdb.errors import BudgetExceededError, DpdbError
    from dpdb.owner.expected_error import plan
    from dpdb.release import Release, Releases
    from dpdb.release.session import dp_inconsistency
    from dpdb.suites import (
        CheckResult,
        CheckResults,
        Session,
        open_session as open,  # noqa: A004 - the public name is dpdb.open
    )

__all__ = [
    "BudgetExceededError",
    "CheckResult",
    "CheckResults",
    "DenialConstraint",
    "DpdbError",
    "Registration",
    "Release",
    "Releases",
    "Session",
    "__version__",
    "dp_inconsistency",
    "open",
    "plan",
    "progress_bar",
    "register",
]

_HOMES = {
    "BudgetExceededError": ("dpdb.errors", "BudgetExceededError"),
    "CheckResult": ("dpdb.suites", "CheckResult"),
    "CheckResults": ("dpdb.suites", "CheckResults"),
    "DenialConstraint": ("dpdb.constraints", "DenialConstraint"),
    "DpdbError": ("dpdb.errors", "DpdbError"),
    "Registration": ("dpdb.doors.duckdb_functions", "Registration"),
    "Release": ("dpdb.release", "Release"),
    "Releases": ("dpdb.release", "Releases"),
    "Session": ("dpdb.suites", "Session"),
    "dp_inconsistency": ("dpdb.release.session", "dp_inconsistency"),
    "open": ("dpdb.suites", "open_session"),
    "plan": ("dpdb.owner", "plan"),
    "progress_bar": ("dpdb.doors.notebook", "progress_bar"),
    "register": ("dpdb.doors.duckdb_functions", "register"),
}
_MODULES = frozenset(
    ("constraints", "dbt", "doors", "engine", "errors", "files", "graph", "jobs", "ledger", "measures",
     "overlap", "owner", "predicates", "privacy", "release", "suites")
)  # fmt: skip


if not TYPE_CHECKING:  # type checkers know the names above, and should know no others

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"dpdb.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'dpdb' has no attribute {name!r}")
        room, known_as = _HOMES[name]
        value = globals()[name] = getattr(import_module(room), known_as)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""dpdb measures how inconsistent a private table is, under differential privacy.

    import dpdb
    r = dpdb.dp_inconsistency("hospital.parquet", constraints="hospital.dcs.txt", measure="repair", epsilon=1.0)
    r.value, r.lower, r.upper

Packages, one direction of flow: `doors` -> `owner` -> `release` -> `ledger` -> `overlap` -> `measures` -> `privacy` /
`graph` -> `engine` -> `predicates` -> `constraints`. A lower package never imports a higher one; `README.md` in this
folder follows one release through them.

Names are imported when they are first used, so that the command line can catch signals before anything heavy loads.
"""

from __future__ import annotations

from importlib import import_module

from dpdb._version import __version__ as __version__

TYPE_CHECKING = False  # type checkers know this name; importing it takes a while, in which Ctrl-C shows a traceback
if TYPE_CHECKING:
    from typing import Any

    from dpdb import jobs as jobs
    from dpdb.constraints import DenialConstraint as DenialConstraint
    from dpdb.doors.duckdb_functions import Registration as Registration, register as register
    from dpdb.doors.notebook import progress_bar as progress_bar
    from dpdb.errors import BudgetExceededError as BudgetExceededError, DpdbError as DpdbError
    from dpdb.owner import plan as plan
    from dpdb.reconciliation import compare as compare
    from dpdb.release import Release as Release, Releases as Releases
    from dpdb.release.session import dp_count as dp_count, dp_inconsistency as dp_inconsistency
    from dpdb.suites import (
        CheckResult as CheckResult,
        CheckResults as CheckResults,
        Session as Session,
        open as open,  # noqa: A004
    )
    from dpdb.suites.at_once import check as check, diagnose as diagnose

if not TYPE_CHECKING:  # type checkers know the names above, and should know no others

    def __getattr__(name: str) -> Any:
        find, names = import_module("dpdb.faces").lazy_names(__name__)
        if name == "__all__":  # of `from dpdb import *`, which should leave the builtin `open` what it is
            return [public for public in names if public != "open"]
        return find(name)

    def __dir__() -> list[str]:
        return sorted([*__getattr__("__all__"), "jobs", "open"])

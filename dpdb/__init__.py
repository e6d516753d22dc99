"""dpdb measures how inconsistent a private table is, under differential privacy.

    import dpdb
    r = dpdb.dp_inconsistency("hospital.parquet", constraints="hospital.dcs.txt", measure="repair", epsilon=1.0)
    r.value, r.lower, r.upper

Rooms, one direction of flow: surfaces (`cli`, `frontend`, `connection`, `reports`, `jobs`) -> `session` ->
`measures` -> `privacy` / `graph` -> `engine` -> `constraints`. A lower room never imports a higher one; SQL runs in
`engine.database`, random numbers come from `privacy.randomness`, money lives in `session.budget`.
"""

from dpdb._version import __version__
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

"""dpdb measures how inconsistent a private table is, under differential privacy.

    import dpdb
    r = dpdb.dp_inconsistency("hospital.parquet", constraints="hospital.dcs.txt", measure="repair", epsilon=1.0)
    r.value, r.lower, r.upper

Rooms, one direction of flow: surfaces (`cli`, `frontend`) -> `session` -> `measures` -> `privacy` / `graph` ->
`engine` -> `constraints`. A lower room never imports a higher one; SQL runs in `engine.database`, random numbers come
from `privacy.randomness`, money lives in `session.budget`.
"""

from dpdb._version import __version__
from dpdb.constraints import DenialConstraint
from dpdb.errors import BudgetExceededError, DpdbError
from dpdb.session import Release, Session, dp_inconsistency
from dpdb.session import open_session as open  # noqa: A004 - the public name is dpdb.open

__all__ = [
    "BudgetExceededError",
    "DenialConstraint",
    "DpdbError",
    "Release",
    "Session",
    "__version__",
    "dp_inconsistency",
    "open",
]

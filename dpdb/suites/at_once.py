"""`dpdb.check` and `dpdb.diagnose`: one answer about a table, from a session of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpdb.diagnosis import ASKED
from dpdb.release import Epsilon, refuse_other_settings
from dpdb.suites.ask import RunOptions
from dpdb.suites.session import Session
from dpdb.suites.suite import Suite, load_suite

if TYPE_CHECKING:
    from dpdb.constraints import ConstraintsLike
    from dpdb.diagnosis import Diagnosis
    from dpdb.sources import SourceLike
    from dpdb.suites.results import CheckResults

_OF_CHECK = tuple(name for name in RunOptions.__dataclass_fields__ if name != "epsilon")
_OF_DIAGNOSIS = ("who", *(name for name in ASKED if name != "epsilon"))


def check(
    source: SourceLike, suite: Suite | str | os.PathLike[str], epsilon: Epsilon = 1, **settings: Any
) -> CheckResults:
    """Run a suite of checks: open a `Session` with its rules, check, close.

    Cost and errors as `Session.check`.

    Parameters
    ----------
    source
        The table, as for `Session`.
    suite, epsilon
        As for `Session.check`.
    **settings
        Options as for `Session.check`; other settings as for `Session`.

    Examples
    --------
    >>> import dpdb
    >>> len(dpdb.check("examples/data/hospital.parquet", "examples/data/hospital.dcs.txt", epsilon=2))
    7
    """
    asked = {name: settings.pop(name) for name in _OF_CHECK if name in settings}
    refuse_other_settings(settings, _OF_CHECK)
    loaded = suite if isinstance(suite, Suite) else load_suite(suite, date=asked.pop("day", None))
    with Session(source, **{"constraints": loaded.rules, **settings}) as session:
        return session.check(loaded, epsilon, **asked)


def diagnose(
    source: SourceLike,
    constraints: ConstraintsLike,
    by: str | Sequence[str] | None = None,
    keys: Sequence[Any] | None = None,
    epsilon: Epsilon | None = None,
    **settings: Any,
) -> Diagnosis:
    """Name the dirtiest slices of a table: open a `Session`, diagnose, close.

    Cost and errors as `Session.diagnose`.

    Parameters
    ----------
    source, constraints
        The table and its rules, as for `Session`.
    by, keys, epsilon
        As for `Session.diagnose`.
    **settings
        Options as for `Session.diagnose`; other settings as for `Session`.
    """
    asked = {name: settings.pop(name) for name in _OF_DIAGNOSIS if name in settings}
    refuse_other_settings(settings, _OF_DIAGNOSIS)
    with Session(source, constraints=constraints, **settings) as session:
        return session.diagnose(by, keys, epsilon, **asked)

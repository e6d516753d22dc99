"""`Session.check`: a session that runs suites of checks, too."""

from __future__ import annotations

import os
from typing import Any

from dpdb import release
from dpdb.suites.check import prepare_check, run_check
from dpdb.suites.results import CheckResults
from dpdb.suites.suite import Suite

__all__ = ["Session", "open_session"]


class Session(release.Session):
    """A session as `dpdb.release.Session`, with `check`."""

    def check(
        self, suite: Suite | str | os.PathLike[str], epsilon: release.Epsilon = 1, **options: Any
    ) -> CheckResults:
        """Run a suite of checks: each rule passes or fails, and epsilon is spent on those that fail.

        All of `epsilon` is debited first; what was not needed is given back at the end (a ledger settles the debit).

        Parameters
        ----------
        suite : path, text or Suite
            Rules with limits; the session's constraints must have all its rules.
        epsilon : number
            To reserve.
        **options
            `confidence` (.99) of all verdicts together; `certain`, ``"fail"`` or ``"pass"``: the verdict that is not
            due to noise; `where`, or `by` and `keys`, as for releases; `keep`, a name under which later runs are free,
            and `runs`, how many there will be (365); `run_id`, `label`, `who`; `day`, which `{date}` stands for.

        Raises
        ------
        DpdbError
            `BudgetExceededError`, `LedgerError`, `ParameterError` or `ConstraintSyntaxError`: nothing is spent.
            `EngineError`: after the debit; the same run id finishes the run.
        """
        return run_check(self, prepare_check(self, suite, epsilon=epsilon, **options))


open_session = Session

"""`LevelDraws`: the levels that one process draws from one reading of the rows."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.engine import Progress
from dpdb.release import SuiteLevel
from dpdb.suites.mechanism.levels import run_level
from dpdb.suites.mechanism.plan import SuitePlan
from dpdb.suites.mechanism.state import spent
from dpdb.suites.progress import Standing, level_text

__all__ = ["LevelDraws"]


class LevelDraws:
    """Draws level after level, of every slice together; each is to be recorded before the next. Private.

    Parameters
    ----------
    plan : SuitePlan
    secret : str
        The hidden thresholds.
    names : sequence of sequence of str
        What the ledger calls each test, by slice.
    now : Standing
        What was recorded so far.
    statistics : sequence of sequence of int
        By slice and test, in steps.
    progress : Progress
        Told of each level.
    """

    def __init__(
        self,
        plan: SuitePlan,
        secret: str,
        names: Sequence[Sequence[str]],
        now: Standing,
        statistics: Sequence[Sequence[int]],
        *,
        progress: Progress,
    ) -> None:
        self._plan, self._secret, self._names, self._progress = plan, secret, names, progress
        self._states, self._statistics, self._reading = [*now.states], statistics, now.reading + 1

    def __call__(self) -> SuiteLevel | None:
        """Test what is due at the next level, in every slice; None after the last level."""
        level = self._states[0].level + 1
        if level > len(self._plan.levels):
            return None
        self._progress("drawing noise")
        found = [
            run_level(self._plan, self._secret, level, exact, state, key=key)
            for key, (exact, state) in enumerate(zip(self._statistics, self._states, strict=True))
        ]
        self._states = [state.after(self._plan, one) for state, one in zip(self._states, found, strict=True)]
        failed = {self._names[key][test] for key, one in enumerate(found) for test in one.rings}
        cost = max(spent(self._plan, state) for state in self._states)
        return SuiteLevel(level, level_text(found, self._reading), cost, tuple(sorted(failed)))

"""Where a suite stands, from what a ledger has recorded of it: levels of its runs, and checks that were re-armed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpdb.ledger import RecordedLevel, RecordedRearm
from dpdb.suites.mechanism.plan import SuitePlan
from dpdb.suites.mechanism.state import LevelVerdicts, SuiteState

__all__ = ["Standing", "level_text", "recorded_verdicts", "standing"]


@dataclass(frozen=True)
class Standing:
    """Where a suite stands at one point of one run.

    Attributes
    ----------
    states : tuple of SuiteState
        By slice.
    since : dict of int to str
        When each test failed whose failure is of an earlier run.
    """

    states: tuple[SuiteState, ...]
    since: dict[int, str]


def level_text(found: Sequence[LevelVerdicts]) -> str:
    """Return what one level has found, by slice, as it is recorded."""
    return json.dumps([one.to_json() for one in found])


def recorded_verdicts(answer: str) -> list[LevelVerdicts]:
    """Return what `level_text` recorded, by slice."""
    return [LevelVerdicts.from_json(text) for text in json.loads(answer)]


def standing(
    plan: SuitePlan, names: Sequence[str], history: Sequence[RecordedLevel | RecordedRearm], run_id: str
) -> Standing:
    """Replay what was recorded, in order, up to now, as a run sees it.

    What is left, failures and re-armed checks belong to the suite; the level and who was quiet to each run. A run that
    was killed may be finished after others.

    Parameters
    ----------
    plan
        How the suite is tested.
    names
        Of the tests, as a ledger knows them.
    history
        What was recorded, in order.
    run_id
        The run that goes on.
    """
    states = [SuiteState.start(plan) for _ in range(plan.keys)]
    runs: dict[str, int] = {}
    begun: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
    failed: dict[int, tuple[str, str]] = {}
    fresh = [(0, (0,) * len(plan.tests))] * plan.keys
    for record in history:
        if isinstance(record, RecordedRearm):
            test = names.index(record.check)
            states = [state.rearmed(plan, test, record.charge) for state in states]
            failed.pop(test, None)
            continue
        if record.level == 0:  # a run's answer
            continue
        run = runs.setdefault(record.run_id, len(runs) + 1)
        states = _of_run(states, run, begun.get(record.run_id, fresh))
        found = recorded_verdicts(record.answer)
        states = [state.after(plan, one) for state, one in zip(states, found, strict=True)]
        begun[record.run_id] = [(state.level, state.quiet) for state in states]
        failed |= {test: (record.run_id, record.answered) for one in found for test in one.rings}
    states = _of_run(states, runs.get(run_id, len(runs) + 1), begun.get(run_id, fresh))
    return Standing(tuple(states), {test: at for test, (run, at) in failed.items() if run != run_id})


def _of_run(states: Sequence[SuiteState], run: int, begun: Sequence[tuple[int, tuple[int, ...]]]) -> list[SuiteState]:
    return [
        replace(state, run=run, level=level, quiet=quiet) for state, (level, quiet) in zip(states, begun, strict=True)
    ]

"""Where a suite stands, from what a ledger has recorded of it: levels of its runs, and checks that were re-armed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

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
    reading : int
        How often the run has read the rows; 0 if it has recorded no level.
    """

    states: tuple[SuiteState, ...]
    since: dict[int, str]
    reading: int


class _Begun(NamedTuple):
    """The progress of a run: by slice its last level and the quiet tests, and the number of its last reading."""

    slices: tuple[tuple[int, tuple[int, ...]], ...]
    reading: int


def level_text(found: Sequence[LevelVerdicts], reading: int) -> str:
    """Return the record of one level: its verdicts by slice, and the number of the reading of the rows, from 1 on."""
    return json.dumps({"reading": reading, "slices": [one.to_json() for one in found]})


def recorded_verdicts(answer: str) -> tuple[list[LevelVerdicts], int]:
    """Return what `level_text` recorded: the verdicts by slice, and the number of the reading."""
    record = json.loads(answer)
    return [LevelVerdicts.from_json(text) for text in record["slices"]], int(record["reading"])


def standing(
    plan: SuitePlan, names: Sequence[str], history: Sequence[RecordedLevel | RecordedRearm], run_id: str
) -> Standing:
    """Replay what was recorded, in order, up to now, as a run sees it.

    What is left, failures and re-armed checks belong to the suite; the level and who was quiet to each run. A run that
    was killed may be finished after others, and on other rows: to have been quiet before says nothing of those.

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
    begun: dict[str, _Begun] = {}
    failed: dict[int, tuple[str, str]] = {}
    nobody = (0,) * len(plan.tests)
    fresh = _Begun(((0, nobody),) * plan.keys, 0)
    for record in history:
        if isinstance(record, RecordedRearm):
            test = names.index(record.check)
            states = [state.rearmed(plan, test, record.charge) for state in states]
            failed.pop(test, None)
            continue
        if record.level == 0:  # a run's answer
            continue
        run = runs.setdefault(record.run_id, len(runs) + 1)
        found, reading = recorded_verdicts(record.answer)
        earlier = begun.get(record.run_id, fresh)
        if reading != earlier.reading:
            earlier = _Begun(tuple((level, nobody) for level, _ in earlier.slices), reading)
        states = _of_run(states, run, earlier)
        states = [state.after(plan, one) for state, one in zip(states, found, strict=True)]
        begun[record.run_id] = _Begun(tuple((state.level, state.quiet) for state in states), reading)
        failed |= {test: (record.run_id, record.answered) for one in found for test in one.rings}
    now = begun.get(run_id, fresh)
    states = _of_run(states, runs.get(run_id, len(runs) + 1), now)
    since = {test: at for test, (run, at) in failed.items() if run != run_id}
    return Standing(tuple(states), since, now.reading)


def _of_run(states: Sequence[SuiteState], run: int, begun: _Begun) -> list[SuiteState]:
    return [
        replace(state, run=run, level=level, quiet=quiet)
        for state, (level, quiet) in zip(states, begun.slices, strict=True)
    ]

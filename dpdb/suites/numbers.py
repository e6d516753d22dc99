"""Numbers of the row-local checks that the levels leave open: which they are, one scan of the rows, and their record.

Public facts alone decide which lines are row-local: rules on single rows, with a limit above, of rows or of a share
of at most a half. What is drawn, and of which statistics, follows from the recorded levels. Each set of rows that
shares of them are of has a number, too.

Units that are rows lie in one slice each, so every key has numbers of its own, with a k of its own. A unit that owns
rows may have some in every slice and table: all statistics of the run are drawn together, A is the sum over all, and
every key pays: a unit may lose what the numbers cost by one row in a slice, and by its others what tests elsewhere do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dpdb.engine import WherePredicate
from dpdb.release import PrivateSlices, SuiteLevel
from dpdb.suites.mechanism.bounds import verdicts
from dpdb.suites.mechanism.capped import CappedPlan, CappedSums, Cell, Numbers, draw_numbers, short_rows
from dpdb.suites.mechanism.plan import SuitePlan
from dpdb.suites.mechanism.state import SuiteState, capped_plan, share_cells, spent


@dataclass(frozen=True)
class RowLocal:
    """The statistics of a suite that may get capped numbers. Public.

    Attributes
    ----------
    lines : tuple of int
        Their lines, by the place of the statistic.
    tests : tuple of tuple of int
        By statistic, the tests that read it.
    reach : int
        By how much one unit changes one of them at most.
    owned : bool
        Whether units own rows, in any slice and table, so that all keys are drawn together.
    only_above : tuple of int
        All lines with rules on single rows and no limit below: what numbers from the start cap.
    """

    lines: tuple[int, ...] = ()
    tests: tuple[tuple[int, ...], ...] = ()
    reach: int = 1
    owned: bool = False
    only_above: tuple[int, ...] = ()

    @property
    def covers_all(self) -> bool:
        """Whether numbers are charged for all rows of the table, also of a run that reads some.

        A unit of K rows may lose by one row all that capped numbers cost, e, and a ledger counts e / K for each row
        that a run covers: of K runs on disjoint rows it would count e for K e. Where each of them covers all rows, the
        overlap at any row has all of e, besides what other runs cost there.
        """
        return self.owned and self.reach > 1


class Capped(Protocol):
    """What can be scanned for numbers: the suite of a table, or of a set of tables."""

    @property
    def row_local(self) -> RowLocal:
        """The statistics that may get numbers."""

    def broken(
        self, slices: PrivateSlices, predicates: Sequence[WherePredicate | None], cells: Sequence[Cell]
    ) -> CappedSums:
        """Scan the rows for some statistics, by key and line. Private."""


Counts = Sequence[tuple[Fraction, int]]
"""Of a slice, by test: the exact count, and the rows that a share is of (0: no share). Private."""


def groups_of(plan: SuitePlan, states: Sequence[SuiteState], *, owned: bool) -> list[list[Cell]]:
    """Return the open statistics that are drawn together, by key and place; none if nothing is open."""
    by_key = [[(key, place) for place in state.open_statistics(plan)] for key, state in enumerate(states)]
    groups = [[cell for cells in by_key for cell in cells]] if owned else by_key
    return [cells for cells in groups if cells]


def drawn_numbers(
    plan: SuitePlan,
    capped: Capped,
    states: Sequence[SuiteState],
    slices: PrivateSlices,
    predicates: Sequence[WherePredicate | None],
    *,
    counts: Sequence[Counts],
) -> list[Numbers]:
    """Draw numbers of all that is open, with all that is left. Private until it is recorded.

    Parameters
    ----------
    plan, states
        The suite, and its states after the levels, by key.
    counts
        By key, the exact counts by test, with the rows that shares are of; none where no share gets a number.
    """
    local, level = capped.row_local, len(plan.levels) + 1
    groups = groups_of(plan, states, owned=local.owned)
    found = []
    for cells in groups:
        keys = range(len(states)) if local.owned else {key for key, _ in cells}
        amount = plan.epsilon - max(spent(plan, states[key]) for key in keys)
        shares = share_cells(plan, cells)
        drawn = capped_plan(plan, cells, amount, float(plan.doubt / len(groups)), shares)
        sums = capped.broken(slices, predicates, [(key, local.lines[place]) for key, place in cells])
        rows = [rows_counted(plan, counts[key], place) for key, place in shares]
        found.append(draw_numbers(drawn, sums, cells, level, rows=rows))
    return found


def rows_counted(plan: SuitePlan, counts: Counts, place: int) -> int:
    """Return how many rows the shares of one place are of. Private."""
    return counts[plan.shares.of.index(place)][1]


def numbers_text(drawn: Sequence[Numbers], reading: int) -> str:
    """Return the record of numbers, as `level_text` that of a level."""
    return json.dumps({"kind": "numbers", "reading": reading, "numbers": [each.to_json() for each in drawn]})


def recorded_numbers(answer: str) -> list[Numbers] | None:
    """Return what `numbers_text` recorded; None if it is the record of a level."""
    record = json.loads(answer)
    if record.get("kind") != "numbers":
        return None
    return [Numbers.from_json(text) for text in record["numbers"]]


def numbers_level(
    plan: SuitePlan,
    names: Sequence[Sequence[str]],
    drawn: Sequence[Numbers],
    before: Sequence[SuiteState],
    reading: int,
    *,
    is_other: bool,
) -> tuple[SuiteLevel, tuple[SuiteState, ...]]:
    """Return the record of numbers with the states after it.

    Parameters
    ----------
    plan, names
        The suite, and the names of its tests by slice.
    before
        The states after the levels.
    is_other
        Whether the levels were of another.
    """
    after = tuple(state.with_numbers(plan, drawn, key, is_other=is_other) for key, state in enumerate(before))
    failed = sorted(
        names[key][test]
        for key, state in enumerate(after)
        for test, verdict in enumerate(verdicts(plan, state))
        if verdict.verdict == "fail" and state.rings[test] is None
    )
    cost = max(spent(plan, state) for state in after)
    level = len(plan.levels) + 1
    return SuiteLevel(level, numbers_text(drawn, reading), cost, tuple(failed)), after


@dataclass(frozen=True)
class CappedCount:
    """What is said of numbers that were drawn together. Public.

    Attributes
    ----------
    checks : int
        How many statistics.
    most : int
        A unit counts in at most so many of them.
    short : int
        By at most so many rows a number is too small because of that; with the confidence of the bounds.
    unit : str
        `row`, or `unit` where units own rows.
    key : str or None
        The slice, if there are several with numbers of their own.
    """

    checks: int
    most: int
    short: int
    unit: str = "row"
    key: str | None = None


def capped_counts(states: Sequence[SuiteState], keys: Sequence[str | None], *, owned: bool) -> tuple[CappedCount, ...]:
    """Return what is said of all numbers of a run."""
    found = [
        capped_count(state.numbers.plan, state.numbers.numbers, None if owned else key, owned=owned)
        for key, state in zip(keys, states, strict=True)
        if state.numbers is not None
    ]
    return tuple(dict.fromkeys(found))


def capped_count(plan: CappedPlan, numbers: Numbers, key: str | None, *, owned: bool) -> CappedCount:
    """Return what is said of numbers that were drawn together."""
    return CappedCount(plan.count, numbers.most, short_rows(plan, numbers), "unit" if owned else "row", key)

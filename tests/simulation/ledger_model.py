"""What must hold of a ledger, whatever happened: charges by brute force on the 8 rows of three columns of 0 and 1.

Predicates have no negation, so any other possible row satisfies fewer of them than one of these. What an old copy that
was put back with its head has forgotten is `forgotten`: nothing in the ledger can notice that, only receipts would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product
from typing import Any, NamedTuple

from inside import file_of, state_of
from simulated_world import require
from suite_model import REARM_UNITS, Ended, check_suites, is_rearming, key_of

ROWS = [dict(zip("abc", values, strict=True)) for values in product((0, 1), repeat=3)]
LENGTHS = {"12h": timedelta(hours=12), "30d": timedelta(days=30)}


class Run(NamedTuple):
    where: str
    covers: frozenset[int]
    charge: int
    settled: int | None = None  # what it really costs, as its process finds out
    suite: str | None = None  # of checks: the name of the kept one, empty of another
    analyst: str | None = None  # who asks for it

    def key(self, run_id: str) -> str:
        """What stands for its debit."""
        return self.suite or run_id


class Line(NamedTuple):
    run: Run
    epoch: int
    at: datetime
    charge: int


def run(conjunctions: Sequence[dict[str, int]], charge: int) -> Run:
    where = " OR ".join(" AND ".join(f"{name} = {value}" for name, value in each.items()) for each in conjunctions)
    covers = (number for number, row in enumerate(ROWS) if any(each.items() <= row.items() for each in conjunctions))
    return Run(where, frozenset(covers), charge)


def cost(lines: Sequence[Line]) -> int:
    """The most that a row collects in each epoch, added up."""
    epochs = {line.epoch for line in lines}
    return sum(max(_collected(lines, epoch, row) for row in range(8)) for epoch in epochs)


def _collected(lines: Sequence[Line], epoch: int, row: int) -> int:
    return sum(line.charge for line in lines if line.epoch == epoch and row in line.run.covers)


def fits(before: Sequence[Line], new: Line, budget: int, allowed: dict[str, int]) -> bool:
    """Whether no row that the new line covers collects more than the budget, or than an allowance in its period."""
    times = [max(line.at for line in before[: number + 1]) for number in range(len(before))]
    now, limits = max([new.at, *times]), [(before, budget)]
    for period, units in allowed.items():
        since = now - LENGTHS[period]
        limits.append(([line for line, time in zip(before, times, strict=True) if time >= since], units))
    for lines, units in limits:
        earlier = cost([line for line in lines if line.epoch != new.epoch])
        most = max(_collected(lines, new.epoch, row) for row in new.run.covers)
        if earlier + most + new.charge > units:
            return False
    return True


@dataclass
class Model:
    """What the actors were told: it must be found in the ledger. Refusals: of which run, after which lines and acts."""

    runs: dict[str, Run]
    budget: int
    debited: set[str] = field(default_factory=set)
    settled: set[str] = field(default_factory=set)
    published: dict[str, str] = field(default_factory=dict)
    acts: set[str] = field(default_factory=set)
    rights: set[str] = field(default_factory=set)
    tokens: dict[str, list[str]] = field(default_factory=dict)
    void: set[str] = field(default_factory=set)  # tokens that were withdrawn
    secrets: dict[str, str] = field(default_factory=dict)
    levels: dict[tuple[str, str, int], str] = field(default_factory=dict)
    rearmed: dict[str, int] = field(default_factory=dict)
    refused: list[tuple[str, Line, int, int]] = field(default_factory=list)
    forgotten: int = 0

    def check(self, ledger: Any) -> None:
        """Compare with what the ledger has."""
        entries, acts = ledger.lines(), state_of(ledger).acts.done
        ids = [key_of(entry) for entry in entries]
        answers = [(ids[found.number - 1], found.answer) for found in ledger.answers()]
        require(len(set(ids)) == len(ids) and len(dict(answers)) == len(answers), "a run has two debits or answers")
        require(self.debited <= set(ids), f"debits are lost: {sorted(self.debited - set(ids))}")
        require(self.published.items() <= dict(answers).items(), "published, and not recorded so")
        require(self.acts <= {act.label for act in acts}, "an act of the owner is lost")
        runs = [self._run(entry) for entry in entries]
        settled = self._settled(ledger, entries, {found.number for found in ledger.answers()})
        check_suites(self, ledger, settled)

        def lines_at(place: int) -> list[Line]:
            """The debits that were there before, each with what it was charged then."""
            found = []
            for entry, run, key in zip(entries, runs, ids, strict=True):
                if entry.place < place:
                    end = settled.get(key)
                    charge = run.charge if end is None or end.place >= place else end.charge
                    found.append(Line(run, entry.epoch, datetime.fromisoformat(entry.reserved), charge))
            return found

        for number, entry in enumerate(entries):
            budget, allowed, retired = self._terms([act for act in acts if act.after <= number])
            *before, line = lines_at(entry.place + 1)
            require(line.charge == line.run.charge and not retired, "charged otherwise, or after the end")
            require(fits(before, line, budget, allowed), f"{ids[number]}: a row is above a limit")
        from analyst_actors import _LINES, check_rights, fits_rights  # which know this module

        check_rights(self.rights, ledger, entries, [lines_at(entry.place + 1) for entry in entries])
        lines = lines_at(state_of(ledger).lines + 1)
        require([line.charge for line in lines] == [e.charge for e in entries], "charged otherwise than settled")
        require(ledger.spent_units() == cost(lines), f"spent {ledger.spent_units()}, not {cost(lines)}")
        # A killed process may leave a debit that all see and no disk has; if the machine stops, so do its refusals.
        self.refused = [told for told in self.refused if told[2] <= state_of(ledger).lines]
        for run_id, line, place, done in self.refused:
            before = lines_at(place + 1)
            fitted = fits(before, line, *self._terms(acts[:done])[:2])
            fitted = fitted and fits_rights(file_of(ledger).rows(_LINES), place + 1, before, line)
            require(not fitted, f"{run_id} was refused and fits")
            require(all(e.place > place for e in entries if key_of(e) == run_id), f"{run_id} was refused and debited")

    def _run(self, entry: Any) -> Run:
        """What was debited; of a kept suite, each of its runs."""
        if is_rearming(entry):
            return Run("", frozenset(range(8)), REARM_UNITS)
        key = key_of(entry)
        return self.runs.get(key) or next(run for run in self.runs.values() if run.suite == key)

    def _settled(self, ledger: Any, entries: Sequence[Any], answered: set[int]) -> dict[str, Ended]:
        """Each run that was settled: once, after its answer, never above the debit."""
        found: dict[str, Ended] = {}
        for number, charge, place in file_of(ledger).rows("SELECT entry, charge, place FROM settlement"):
            entry = entries[number - 1]
            run, key = self._run(entry), key_of(entry)
            require(key not in found, "settled twice")
            require(number in answered and place > entry.place, "settled before it was answered")
            is_suite = run.suite is not None or is_rearming(entry)
            require(
                charge <= run.charge and (is_suite or charge == run.settled), "settled otherwise, or above the debit"
            )
            found[key] = Ended(charge, place)
        require(self.settled <= found.keys(), "a settlement is lost")
        return found

    def _terms(self, acts: Sequence[Any]) -> tuple[int, dict[str, int], bool]:
        budget = max([self.budget, *(act.detail["budget"] for act in acts if act.kind == "raise")])
        allowed = {act.detail["period"]: act.detail["units"] for act in acts if act.kind == "allow"}
        held = {period: units for period, units in allowed.items() if units is not None}
        return budget, held, any(act.kind == "retire" for act in acts)

"""Averaging over slices: many different questions, all of whose slices contain one person.

The questions differ (`age < 50`, `age < 51`, ...), so no answer is a repetition of another, and their noise is fresh.
Averaging enough of them would cancel it. The accountant adds up what each possible row collects from all slices that it
lies in (maximum overlap), so the row that all slices share is what decides, and the questions end at the budget. The
same number of questions about disjoint slices costs one question's epsilon, and tells of each person once.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from common import Fact, Guesses

import dpdb
from dpdb.ledger import Ledger

BUDGET, ROWS, TARGET = 1.0, 200, 40


def attack(worlds: int = 100, questions: int = 12, pays_for: int = 4) -> Iterator[Guesses | Fact]:
    """In every world the person of age 40 is there or not; all others are known to the attacker."""
    right = most = 0
    for _ in range(worlds):
        is_there = random.random() < 0.5
        ages = [age for age in range(ROWS) if age != TARGET or is_there]
        found, spent = _ask(pa.table({"age": ages}), questions, BUDGET / pays_for)
        most = max(most, len(found))
        assert spent <= BUDGET
        excess = sum(value - (bound - 1) for bound, value in found)  # of ages below `bound`, but for the person
        right += (excess > len(found) / 2) == is_there
    yield Fact(f"slice averaging, answers of {questions} asked", most, pays_for, "answers")
    yield Guesses("slice averaging", BUDGET, right, worlds)


def _ask(rows: pa.Table, questions: int, epsilon: float) -> tuple[list[tuple[int, float]], float]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder, "ages.ledger")
        Ledger.create(ledger, BUDGET).close()
        with dpdb.open(rows, ledger=ledger) as session:
            for bound in range(TARGET + 10, TARGET + 10 + questions):
                try:
                    found.append((bound, float(session.dp_count(epsilon, where=f"age < {bound}").value)))
                except dpdb.BudgetExceededError:
                    continue  # a smaller slice may still be paid for
            return found, BUDGET - session.remaining()


def disjoint(slices: int = 12, epsilon: float = 0.5) -> Fact:
    """Ask as many questions about disjoint slices."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder, "ages.ledger")
        Ledger.create(ledger, BUDGET).close()
        with dpdb.open(pa.table({"age": range(ROWS)}), ledger=ledger) as session:
            for low in range(slices):
                session.dp_count(epsilon, where=f"age >= {low * 10} AND age < {low * 10 + 10}")
            return Fact(
                f"slice averaging, {slices} disjoint slices", BUDGET - session.remaining(), epsilon, "epsilon a person"
            )


if __name__ == "__main__":
    for result in (*attack(*map(int, sys.argv[1:2])), disjoint()):
        print(result)

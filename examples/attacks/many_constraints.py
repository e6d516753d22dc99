"""Reconstruction: one constraint tells one secret bit, so ask about everybody's, again and again, and add up.

Every person has one row with a secret bit, and `CHECK (secret = 0)` on the slice of one person is broken exactly if
the bit is 1. Slices of different persons are disjoint, so asking about all of them costs what asking about one does:
that is parallel composition, and it is sound, because each person is in one slice. Asking again costs again. So the
attacker asks in rounds until the accountant refuses, adds up each person's answers, and guesses all bits. However
epsilon is cut into rounds, e^budget / (1 + e^budget) of the bits is what can be right.
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

BUDGET = 2.0


def attack(persons: int = 300, rounds: int = 4) -> Iterator[Guesses | Fact]:
    secrets = [random.randrange(2) for _ in range(persons)]
    rows = pa.table({"person": range(persons), "secret": secrets})
    totals = [0.0] * persons
    answered = 0
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder, "secrets.ledger")
        Ledger.create(ledger, BUDGET).close()
        with dpdb.open(rows, constraints="CHECK (secret = 0)", ledger=ledger) as session:
            try:
                while answered < 10 * rounds:
                    answers = session.dp_inconsistency("repair", BUDGET / rounds, by="person", keys=range(persons))
                    totals = [total + _raw(answer) for total, answer in zip(totals, answers, strict=True)]
                    answered += 1
            except dpdb.BudgetExceededError:
                pass
    yield Fact("many constraints, rounds until the accountant refuses", answered, rounds, "rounds")
    right = sum((total > answered / 2) == bool(secret) for total, secret in zip(totals, secrets, strict=True))
    yield Guesses("many constraints, secret bits", BUDGET, right, persons)


def _raw(answer: dpdb.Release) -> float:
    """Return the value before it was clamped at 0, which is published, too, and tells more."""
    return float(answer.value if answer.raw is None else answer.raw)


if __name__ == "__main__":
    for found in attack(*map(int, sys.argv[1:3])):
        print(found)

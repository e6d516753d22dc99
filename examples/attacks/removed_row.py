"""Differencing: the attacker knows every row but one, and sees a release of the table with it or without it.

The row is the worst that there is for the measure: it is in conflict with all others. The attacker computes what the
measure is with it and without it, and says "it is there" if the released value is nearer to the first. Nobody can be
right more often than e^epsilon / (1 + e^epsilon); noise that is too small for a measure's sensitivity would show here.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import pyarrow as pa
from common import Guesses

import dpdb
from dpdb.owner import exact_measures

RULE = "zip -> city"
ASKED = ("minimal_inconsistency", "problematic", "repair", "count")


def tables(others: int = 8) -> tuple[pa.Table, pa.Table]:
    """With the row and without it."""
    zips, cities = ["1"] * others, ["a"] * others
    return pa.table({"zip": [*zips, "1"], "city": [*cities, "b"]}), pa.table({"zip": zips, "city": cities})


def truth(rows: pa.Table, measure: str) -> float:
    if measure == "count":
        return rows.num_rows
    exact = exact_measures(rows, RULE, non_private=True)
    return float(getattr(exact, "repair_fractional" if measure == "repair" else measure))


def attack(trials: int = 4_000, epsilon: float = 1.0) -> Iterator[Guesses]:
    there, away = tables()
    with dpdb.open(there, constraints=RULE) as with_row, dpdb.open(away, constraints=RULE) as without:
        for measure in ASKED:
            middle = (truth(there, measure) + truth(away, measure)) / 2
            right = 0
            for _ in range(trials):
                is_there = random.random() < 0.5
                session = with_row if is_there else without
                asked = session.dp_count(epsilon) if measure == "count" else session.dp_inconsistency(measure, epsilon)
                right += (asked.value > middle) == is_there
            yield Guesses(f"removed row, {measure}", epsilon, right, trials)


if __name__ == "__main__":
    for found in attack(*map(int, sys.argv[1:2])):
        print(found)

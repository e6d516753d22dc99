"""Timing of refusals: does how long a refusal takes, or what it says, tell which table is behind it?

Running time is outside dpdb's guarantee: whoever measures how long an *answer* takes may learn of the rows. A refusal
is another matter, because it spends nothing and may be asked for without end: it must be decided before a row is read.
The attacker sends each refused question to a clean and to a dirty table of other size, and compares texts (which must
be equal) and times. With times it guesses the table by the median; what it gets is printed and is no fact of a test,
because a machine's load is in it.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator

import pyarrow as pa
from common import Fact

import dpdb

REFUSED: tuple[dict[str, object], ...] = (
    {"epsilon": 50}, {"where": "false"}, {"where": "nosuch = 1"}, {"where": "city = (SELECT 1)"}, {"epsilon": -1},
    {"measure": "repairs"}, {"mechanism": "nosuch"}, {"by": "city", "keys": ["a", "a"]},
)  # fmt: skip


def sessions() -> tuple[dpdb.Session, dpdb.Session]:
    clean = pa.table({"zip": ["1", "2"], "city": ["a", "b"]})
    dirty = pa.table({"zip": ["1", "1"] * 20_000, "city": ["a", "b"] * 20_000})
    one, other = (dpdb.open(rows, constraints="zip -> city", budget=1) for rows in (clean, dirty))
    return one, other


def attack() -> Iterator[Fact]:
    pair = sessions()
    told = sum(len({_refusal(session, asked) for session in pair}) > 1 for asked in REFUSED)
    yield Fact(f"refusals, of {len(REFUSED)} texts tell the tables apart", told, 0, "texts")
    yield Fact("refusals, spent by them", max(session.spent() for session in pair), 0, "epsilon")


def timed(trials: int = 400) -> str:
    """Guess the table of half of the trials by what the other half has taught."""
    pair = sessions()
    taken = []
    for _ in range(trials):
        dirty, asked = random.randrange(2), random.choice(REFUSED)
        began = time.perf_counter()
        _refusal(pair[dirty], asked)
        taken.append((str(asked), time.perf_counter() - began, dirty))
    right = 0
    for asked, seconds, dirty in taken[trials // 2 :]:
        before = [sorted(t for a, t, d in taken[: trials // 2] if a == asked and d == which) for which in (0, 1)]
        clean_median, dirty_median = (times[len(times) // 2] if times else 0.0 for times in before)
        right += (abs(seconds - dirty_median) < abs(seconds - clean_median)) == bool(dirty)
    return f"refusals, table guessed by time: right in {right / (trials - trials // 2):.1%} (guessing: 50%)"


def _refusal(session: dpdb.Session, asked: dict[str, object]) -> str:
    try:
        session.dp_inconsistency(**{"measure": "repair", "epsilon": 0.1, **asked})  # type: ignore[arg-type]
    except dpdb.DpdbError as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError(f"not refused: {asked}")


if __name__ == "__main__":
    for found in attack():
        print(found)
    print(timed(*map(int, sys.argv[1:2])))

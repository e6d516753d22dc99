"""Exact loss of discovery through the real code: all outcomes, by a noise source that is told what to choose.

The law of each choice is that of OpenDP's noisy maximum, permute-and-flip. Its probabilities are rational where
exp(-epsilon / 20) is written as 1/2: at epsilon 1 a dependency of two is then chosen with powers of 2^-3, a key with
powers of 2^-2, and a loss of epsilon is a ratio of 2^20.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from tiny_tables import CANDIDATES, NAMES, ROWS, Tiny, counted, neighbours

from dpdb.engine import DependencyCounts, no_progress
from dpdb.owner import discovery
from dpdb.owner.discovery import Candidates, Discovery, prepare_discovery
from dpdb.privacy import peeled
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import Session

EPSILON = 10**9
STEPS = 20
LIMIT = Fraction(2) ** STEPS

Law = dict[Any, Fraction]


@cache
def permute_and_flip(behind: tuple[int, ...], steps: int) -> tuple[Fraction, ...]:
    """Probability of each candidate that is so far behind the best: visited in random order, taken at 2^-(steps d)."""
    take = [Fraction(1, 2 ** (steps * d)) for d in behind]
    everyone = (1 << len(take)) - 1
    reached = {everyone: Fraction(1)}  # candidates not visited, none taken so far
    law = [Fraction(0)] * len(take)
    for left in sorted(range(1, everyone + 1), key=lambda bits: -bits.bit_count()):
        share = reached.get(left, Fraction(0)) / left.bit_count()
        for place, chance in enumerate(take):
            if left >> place & 1:
                law[place] += share * chance
                rest = left & ~(1 << place)
                reached[rest] = reached.get(rest, Fraction(0)) + share * (1 - chance)
    assert sum(law) == 1
    return tuple(law)


class Script:
    """Chooses what it is told, then first; remembers how likely that was, and how many candidates there were."""

    def __init__(self, told: Sequence[int]) -> None:
        self.told, self.chance, self.candidates = list(told), Fraction(1), []

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        assert not negate
        steps = STEPS / scale
        assert math.isclose(steps, round(steps), abs_tol=1e-6), scale
        choice = self.told[len(self.candidates)] if len(self.candidates) < len(self.told) else 0
        self.candidates.append(len(scores))
        self.chance *= permute_and_flip(tuple(max(scores) - score for score in scores), round(steps))[choice]
        return choice


def outcomes(draw: Callable[[], Any]) -> Law:
    """Run the code once for each sequence of choices; return the probability of each result."""
    found: Law = {}
    pending: list[tuple[int, ...]] = [()]
    while pending:
        told = pending.pop()
        script = Script(told)
        with replaced_noise(script):
            result = draw()
        found[result] = found.get(result, Fraction(0)) + script.chance
        for at in range(len(told), len(script.candidates)):
            pending += [(*told, *[0] * (at - len(told)), other) for other in range(1, script.candidates[at])]
    assert sum(found.values()) == 1
    return found


def loss(one: Law, other: Law) -> Fraction | float:
    """The greatest ratio of probabilities, either way."""
    if one.keys() != other.keys():
        return math.inf
    ratios = [(one[each], other[each]) for each in one]
    return max(max(p / q, q / p) if p and q else 1 if p == q else math.inf for p, q in ratios)


# -- peeling by itself -----------------------------------------------------------------------------------------------

CHANGES = (-2, -1, 0, 1)


def worst_peeling(low: int, high: int) -> Fraction | float:
    """Two names of three, all changes of a dependency's score; at epsilon 1 each choice has half."""

    @cache
    def law(scores: tuple[int, ...]) -> Law:
        return outcomes(lambda: tuple(peeled(scores, low, high, [EPSILON * 3 // 5] * 2)))

    worst: Fraction | float = 1
    for scores in itertools.product((0, 4, 9), repeat=3):
        for change in itertools.product(CHANGES, repeat=3):
            moved = tuple(s + c for s, c in zip(scores, change, strict=True))
            worst = max(worst, loss(law(scores), law(moved)))
    return worst


@pytest.mark.heavy(family="privacy")
def test_peeling_loses_the_sum_of_its_shares_and_hardly_less():
    """Shares of 3/5 of epsilon each are 12 steps of 2: with a range of 3, 4 steps a unit; 24 together."""
    worst = worst_peeling(-2, 1)
    assert Fraction(2) ** 23 < worst <= Fraction(2) ** 24


@pytest.mark.heavy
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 0), (-2, 0)])
def test_peeling_with_too_small_a_range_is_caught(low, high):
    assert worst_peeling(low, high) > Fraction(2) ** 24


# -- discovery, from rows to names -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Discovery:
    path = tmp_path_factory.mktemp("discovery") / "t.csv"
    path.write_text(f"{','.join(NAMES)}\n1,2,3\n")
    with Session(path) as session:
        found = prepare_discovery(session, top=2, epsilon=1)
    assert found.candidates == CANDIDATES
    return found


class Counted:
    """The slices of a table that is counted already."""

    def __init__(self, counts: DependencyCounts) -> None:
        self.counts = counts

    def dependencies(self, columns: object, pairs: object) -> DependencyCounts:
        return self.counts


EVERY_PAIR = pytest.param(list(neighbours(2)), marks=pytest.mark.slow, id="every table of at most 2 rows")
TWO_ROWS = (ROWS.index((0, 0, 0)), ROWS.index((1, 1, 1)))
PAIRS = [(one, other) for one, other in neighbours(2) if one in ((), TWO_ROWS[:1], TWO_ROWS)]


@pytest.fixture(scope="module")
def counts() -> dict[Tiny, DependencyCounts]:
    return counted(3)


def worst_discovery(
    run: Discovery, counts: dict[Tiny, DependencyCounts], pairs: Sequence[tuple[Tiny, Tiny]] = PAIRS
) -> Fraction | float:
    known: dict[Any, Law] = {}

    def law(table: Tiny) -> Law:
        key = str(discovery.scores(counts[table])) + str(counts[table].values)
        if key not in known:
            known[key] = outcomes(lambda: names(run.draw(Counted(counts[table]), no_progress)))
        return known[key]

    return max(loss(law(one), law(other)) for one, other in pairs)


def names(answer: str) -> str:
    found = json.loads(answer)["discovered"]
    return json.dumps([found["dependencies"], found["keys"]])


@pytest.mark.heavy(family="privacy")
@pytest.mark.parametrize("pairs", [PAIRS, EVERY_PAIR])
def test_discovery_loses_at_most_epsilon(run, counts, pairs):
    """Two dependencies of six and a key of three."""
    worst = worst_discovery(run, counts, pairs)
    print(f"worst loss {math.log2(worst):.3f} of {STEPS} steps")
    assert 2**6 < worst <= LIMIT


@pytest.mark.heavy(family="long")
def test_noise_for_one_step_is_caught(run, counts, monkeypatch):
    """Scale 1 / epsilon at range 3."""
    monkeypatch.setattr(discovery, "_DEPENDENCY_CHANGE", (-1, 0))
    assert worst_discovery(run, counts) > LIMIT


@pytest.mark.heavy(family="long")
def test_candidates_that_depend_on_rows_are_caught(run, counts, monkeypatch):
    """A constant or an empty column is a candidate like others: without it some names are impossible."""
    whole = Discovery._named

    def without_constants(self: Discovery, counts: DependencyCounts) -> Any:
        named = whole(self, counts)
        constant = {name for name, each in zip(NAMES, counts.values, strict=True) if each.values <= 1}
        kept = tuple(pair for pair in named.dependencies if not constant & {*pair})
        return type(named)(**{**vars(named), "dependencies": kept})

    monkeypatch.setattr(Discovery, "_named", without_constants)
    assert worst_discovery(run, counts) == math.inf


@pytest.mark.heavy(family="long")
def test_the_candidates_are_those_of_the_schema_whatever_the_rows_are(tmp_path):
    """Constant, empty and all-distinct columns are paired like all others."""
    import pyarrow as pa

    rows = {
        "constant": pa.array([1] * 9),
        "empty": pa.array([None] * 9, pa.int64()),
        "distinct": pa.array(range(9)),
        "other": pa.array([1, 2, 3] * 3),
    }
    script = Script(())
    with Session(pa.table(rows)) as session, replaced_noise(script):
        prepared = prepare_discovery(session, top=1)
        session.release_answer(prepared)
    assert prepared.candidates == Candidates(tuple(rows), ())
    assert script.candidates == [12, 4]

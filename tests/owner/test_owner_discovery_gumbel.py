"""Names in rho, through the real code: the bounded range of a choice and the Renyi divergence of whole discoveries.

The law of a choice with Gumbel noise is that of the exponential mechanism: proportional to exp(score / scale). All
outcomes of two rounds are enumerated, in floats whose errors are far below what is compared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
from test_owner_discovery_loss import EVERY_PAIR, PAIRS, Counted, names
from tiny_tables import CANDIDATES, NAMES, Tiny, counted

from dpdb.engine import DependencyCounts, no_progress
from dpdb.ledger import Ledger
from dpdb.owner import discovery
from dpdb.owner.discovery import Discovery, prepare_discovery
from dpdb.privacy import bounded_range_max, peeled, rho_of_choice
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import Session

EPSILON = 10**9
ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)
Law = dict[Any, float]


class Script:
    """Chooses what it is told, then first; remembers how likely that was, and how many candidates there were."""

    def __init__(self, told: Sequence[int]) -> None:
        self.told, self.chance, self.candidates = list(told), 1.0, []

    def gumbel_max(self, scores: Sequence[int], scale: float) -> int:
        choice = self.told[len(self.candidates)] if len(self.candidates) < len(self.told) else 0
        self.candidates.append(len(scores))
        weights = [math.exp((score - max(scores)) / scale) for score in scores]
        self.chance *= weights[choice] / math.fsum(weights)
        return choice


def outcomes(draw: Callable[[], Any]) -> Law:
    found: Law = {}
    pending: list[tuple[int, ...]] = [()]
    while pending:
        told = pending.pop()
        script = Script(told)
        with replaced_noise(script):
            result = draw()
        found[result] = found.get(result, 0.0) + script.chance
        for at in range(len(told), len(script.candidates)):
            pending += [(*told, *[0] * (at - len(told)), other) for other in range(1, script.candidates[at])]
    assert math.isclose(math.fsum(found.values()), 1, rel_tol=1e-12)
    return found


def renyi(one: Law, other: Law, order: float) -> float:
    """The Renyi divergence, the greater of both ways."""
    if one.keys() != other.keys():
        return math.inf

    def of(p: Law, q: Law) -> float:
        logs = [order * math.log(p[each]) + (1 - order) * math.log(q[each]) for each in p]
        return (max(logs) + math.log(math.fsum(math.exp(each - max(logs)) for each in logs))) / (order - 1)

    return max(of(one, other), of(other, one))


def worst_share(pairs: Sequence[tuple[Law, Law]], rho: float) -> float:
    """The greatest divergence in units of order times rho: at most 1 is rho-zCDP."""
    return max(renyi(one, other, order) / (order * rho) for one, other in pairs for order in ORDERS)


def test_a_choice_has_the_range_of_its_share_and_attains_it() -> None:
    """Changes of -2 to 1, range 3: log-ratios of all candidates lie in an interval of epsilon."""
    rho = rho_of_choice(EPSILON)
    assert rho == 10**12 // 8
    widest = 0.0
    for scores in itertools.product((0, 5, 60), repeat=3):
        law = outcomes(lambda scores=scores: bounded_range_max(scores, -2, 1, rho))
        for change in itertools.product((-2, 0, 1), repeat=3):
            moved = [s + c for s, c in zip(scores, change, strict=True)]
            other = outcomes(lambda moved=moved: bounded_range_max(moved, -2, 1, rho))
            ratios = [math.log(law[place] / other[place]) for place in law]
            widest = max(widest, max(ratios) - min(ratios))
    assert 0.999 < widest <= 1 + 1e-9


def peeling(low: int, high: int) -> float:
    """Two names of three, all changes of a dependency's score, each at epsilon 1."""
    shares = [rho_of_choice(EPSILON)] * 2

    @cache
    def law(scores: tuple[int, ...]) -> Law:
        return outcomes(lambda: tuple(peeled(scores, low, high, shares, paid="rho")))

    pairs = []
    for scores in itertools.product((0, 1, 4), repeat=3):
        for change in itertools.product((-2, 0, 1), repeat=3):
            moved = tuple(s + c for s, c in zip(scores, change, strict=True))
            pairs.append((law(scores), law(moved)))
    return worst_share(pairs, 2 / 8)


def test_peeling_in_rho_is_charged_the_sum_of_its_rounds() -> None:
    worst = peeling(-2, 1)
    print(f"worst divergence {worst:.4f} of the charge")
    assert 0.8 < worst <= 1


@pytest.mark.parametrize(("low", "high"), [(-2, 0), (0, 1)])
def test_too_small_a_range_in_rho_is_caught(low: int, high: int) -> None:
    assert peeling(low, high) > 1


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Discovery:
    folder = tmp_path_factory.mktemp("discovery")
    (folder / "t.csv").write_text(f"{','.join(NAMES)}\n1,2,3\n")
    Ledger.create(folder / "z.ledger", 9, notion="zcdp", delta=1e-6).close()
    with Session(folder / "t.csv", ledger=folder / "z.ledger") as session:
        found = prepare_discovery(session, top=2, epsilon=1)
    assert found.candidates == CANDIDATES
    assert found.charge.rho == sum((*found.dependency_shares, *found.key_shares))
    return found


@pytest.mark.heavy(family="privacy")
@pytest.mark.parametrize("pairs", [PAIRS, EVERY_PAIR])
def test_a_discovery_in_rho_loses_at_most_its_charge(run: Discovery, pairs: Sequence[tuple[Tiny, Tiny]]) -> None:
    """From rows to names: two dependencies of six and a key of three, for every small table and one row more."""
    counts: dict[Tiny, DependencyCounts] = counted(3)
    known: dict[str, Law] = {}

    def law(table: Tiny) -> Law:
        key = str(discovery.scores(counts[table])) + str(counts[table].values)
        if key not in known:
            known[key] = outcomes(lambda: names(run.draw(Counted(counts[table]), no_progress)))
        return known[key]

    assert run.charge.rho is not None
    worst = worst_share([(law(one), law(other)) for one, other in pairs], run.charge.rho / 10**12)
    print(f"worst divergence {worst:.4f} of the charge")
    assert 0 < worst <= 1

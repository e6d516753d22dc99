"""The two-sided interval of an answer's own estimand at its own theta, and releases at a public theta.

Coverage: one-sided exact binomial tests with a false-alarm rate of 1e-8 each, fewer than 60 of them (slow ones
included): below 1e-6 for the file.
"""

from __future__ import annotations

import pytest
from case_share import fifth
from inside import true_numbers
from mechanisms_under_test import ALL, Case
from neighbour_tables import FD, SINGLE, _table
from noise_scripts import recorded
from scipy.stats import binom
from small_graphs import star

from dpdb.measures import estimate
from dpdb.measures.answer import STATISTICS, GraphStatistics
from dpdb.measures.estimate import with_estimate
from dpdb.measures.mechanism import Run
from dpdb.measures.mechanisms.at_one_theta import at_theta
from dpdb.privacy.epsilon import NANO
from dpdb.privacy.noise import laplace_scale
from dpdb.release import Session

ALPHA = 1e-8
NONE = {"r2t"}
WITH_INTERVAL = [key for key in ALL if Case(*key).mechanism.no_estimate is None]
WITH_THETA = [key for key in ALL if Case(*key).mechanism.reads in STATISTICS and key[1] != "two_sided"]
TABLES = {
    "hub and self-conflict": ((1, 0), (1, 0), (1, 0), (1, 1), (5, -1)),
    # Far from 0, where clamping cannot help, and with degrees above what is chosen.
    "large": (*((1, 0),) * 6, (1, 1), (2, 0), (2, 1), *((3, -1),) * 400),
}


def exact(case: Case, statistics: GraphStatistics, theta: int | None) -> float:
    """The statistic that the answer estimates, at its theta."""
    alone, reads = statistics.self_conflicts, case.mechanism.reads
    if reads == "twice_fractional_cover":
        return alone + statistics.twice_fractional_cover().value / 2
    if case.mechanism.has_closed_form:
        return case.mechanism.truth(statistics)
    if reads == "greedy_cover":
        return alone + statistics.greedy_cover()
    found: int = alone + getattr(statistics, reads)([theta])[0]
    return found


def held(key: tuple[str, str], table: str, trials: int, beta: float, epsilon: int = NANO) -> int:
    """In how many releases the interval holds the exact statistic at the theta of that release."""
    case, hits = Case(*key, max_degree=3, beta=beta), 0
    with Session(_table(TABLES[table]), constraints=[FD, SINGLE]) as session:
        statistics = true_numbers(session).statistics()
        for _ in range(trials):
            answer = with_estimate(case.answer(statistics, epsilon), case.mechanism, beta)
            hits += answer.estimate_lower <= exact(case, statistics, answer.theta) <= answer.estimate_upper
    return hits


def too_rare(hits: int, trials: int, confidence: float) -> bool:
    return bool(binom.cdf(hits, trials, confidence) < ALPHA)


@pytest.mark.heavy
@pytest.mark.parametrize("key", fifth(WITH_INTERVAL), ids="-".join)
def test_the_statistic_at_theta_lies_inside(key: tuple[str, str]) -> None:
    assert not too_rare(held(key, "large", 400, 0.2), 400, 0.8)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("key", WITH_INTERVAL, ids="-".join)
def test_the_statistic_at_theta_lies_inside_with_many_samples(key: tuple[str, str], table: str) -> None:
    assert not too_rare(held(key, table, 20_000, 0.05), 20_000, 0.95)


@pytest.mark.heavy(family="long")
def test_half_the_tail_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = estimate.laplace_tail
    monkeypatch.setattr(estimate, "laplace_tail", lambda scale, beta: whole(scale, beta) // 2)
    assert too_rare(held(("minimal_inconsistency", "bound"), "large", 1_500, 0.05), 1_500, 0.95)


@pytest.mark.heavy(family="long")
def test_a_forgotten_second_side_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = estimate.laplace_tail
    monkeypatch.setattr(estimate, "laplace_tail", lambda scale, beta: whole(scale, 2 * beta))
    assert too_rare(held(("minimal_inconsistency", "bound"), "large", 3_000, 0.3), 3_000, 0.7)


@pytest.mark.parametrize("key", ALL, ids="-".join)
def test_what_has_no_interval_says_why(key: tuple[str, str]) -> None:
    case = Case(*key)
    answer = with_estimate(case.answer(star(3, self_conflicts=2), NANO), case.mechanism, case.beta)
    both = (answer.estimate_lower is None, answer.estimate_upper is None)
    assert both == ((False, False) if key in WITH_INTERVAL else (True, True))
    assert (answer.estimate_reason is None) == (key in WITH_INTERVAL)
    assert key in WITH_INTERVAL or key[1] in NONE or key[0] == "drastic"
    assert answer.value == max(0, answer.raw)


# -- public thetas --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", WITH_THETA, ids="-".join)
@pytest.mark.parametrize("theta", [1, 3, 70])
def test_a_public_theta_leaves_all_of_epsilon_to_one_draw(key: tuple[str, str], theta: int) -> None:
    """One draw, of the sensitivity that is proved and tested for every theta, paid with everything."""
    case, graph = Case(*key), star(5, self_conflicts=2)
    mechanism = at_theta(case.mechanism, theta)
    assert mechanism.shares(NANO) == (0, NANO)
    answer, draws = recorded(lambda: mechanism.answer(Run(graph, NANO, 0.05)))
    extra = 0 if key[0] == "minimal_inconsistency" else 1
    [draw] = draws
    assert draw.value == exact(case, graph, theta)
    assert draw.scale == answer.noise_scale == laplace_scale(theta + extra, NANO)
    assert (answer.theta, answer.raw) == (theta, draw.result)

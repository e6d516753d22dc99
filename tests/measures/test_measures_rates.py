"""Rates: what they are, what they spend, what they reveal, how often their intervals hold.

False alarms: every coverage test is a one-sided exact binomial test at 1e-8, fewer than 20 of them; every distribution
test has at most 2e-9 per direction, fewer than 60 of them: below 1e-6 for the file.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from case_share import fifth, of_all
from distribution_check import is_caught
from hypothesis import given, settings, strategies as st
from inside import true_numbers
from mechanisms_under_test import ALL, Case, hides_something, ladder_grid, ladder_unit
from neighbour_tables import FD, NO_BITS, PAIRS, SINGLE, _table
from noise_scripts import Script, Zero, joint_loss, paths, recorded
from scipy.stats import binom
from small_graphs import SmallGraph, neighbours, star

from dpdb.measures import all_measures, count as count_room
from dpdb.measures.answer import FROM_BELOW, Answer
from dpdb.measures.count import rate_answer, rate_beta, rate_shares
from dpdb.privacy.epsilon import NANO, as_fraction, parse_epsilon
from dpdb.release import Session, measure_part as shares_room
from dpdb.release.ask import Ask
from dpdb.release.prepare import measure_part

RATED = tuple(measure.name for measure in all_measures() if measure.has_rate)
RATED_MECHANISMS = [key for key in ALL if key[0] in RATED]
ALPHA = 1e-8
exactly = settings(derandomize=True, deadline=None, max_examples=of_all(300))


def answer(value, lower, upper, scale=1.0):
    reason = FROM_BELOW if upper is None else None
    return Answer(value=value, lower=lower, upper=upper, upper_reason=reason, noise_scale=scale, estimand="x")


# -- the quotient ---------------------------------------------------------------------------------------------


def test_the_quotient_of_two_releases():
    rate = rate_answer(answer(30, 20, 40, 3.0), answer(1000, 900, 1100, 4.0))
    assert (rate.value, rate.lower, rate.upper) == (0.03, 20 / 1100, 40 / 900)
    assert rate.noise_scale == math.hypot(3.0, 0.03 * 4.0) / 1000
    assert rate.estimand == "x; divided by the number of rows in the slice"
    assert rate.upper_reason is None


def test_the_interval_of_the_estimand_is_divided_by_the_ends_of_the_count():
    """From 18 of at most 1,100 rows to 44 of at least 900; what is above 1 is 1."""
    estimated = replace(answer(30, 20, 40), estimate_lower=18.0, estimate_upper=44.0)
    rate = rate_answer(estimated, answer(1000, 900, 1100))
    assert (rate.estimate_lower, rate.estimate_upper) == (18 / 1100, 44 / 900)
    rate = rate_answer(estimated, answer(10, 9, 11))
    assert (rate.estimate_lower, rate.estimate_upper) == (1, 1)


def test_a_count_below_one_and_a_share_above_one_are_clamped():
    rate = rate_answer(answer(30, 20, 40), answer(0, 0, 5))
    assert (rate.value, rate.lower, rate.upper) == (1, 1, 1)
    nothing = rate_answer(answer(0, 0, 2), answer(0, 0, 0))
    assert (nothing.value, nothing.lower, nothing.upper) == (0, 0, 1)
    bits = replace(answer(30, 20, 40), estimate_lower=18.0, estimate_upper=44.0)  # which are no share of the rows
    rate = rate_answer(bits, answer(0, 0, 0), 100)
    assert (rate.value, rate.lower, rate.upper, rate.estimate_lower, rate.estimate_upper) == (30, 20, 40, 18, 44)


def test_without_an_upper_bound_the_reason_stays():
    rate = rate_answer(answer(30, 20, None), answer(1000, 900, 1100))
    assert rate.upper is None
    assert rate.upper_reason == FROM_BELOW


numbers = st.integers(-50, 1000)


@exactly
@given(st.lists(numbers, min_size=6, max_size=6), st.integers(0, 1000), st.data())
def test_the_rate_lies_inside_whenever_both_intervals_hold(noisy, rows, data):
    """For every true measure and count that lie in the two intervals, whatever was drawn."""
    share = data.draw(st.integers(0, rows))
    low, value, high, few, counted, many = noisy
    measured = answer(value, min(low, share), max(high, share))
    released = answer(counted, min(few, rows), max(many, rows))
    rate = rate_answer(measured, released)
    truth = share / rows if rows else 0.0
    assert rate.lower <= truth <= rate.upper
    assert 0 <= rate.value <= 1
    assert math.isfinite(rate.noise_scale)
    assert rate.noise_scale > 0


def test_the_shares_are_exact_and_beta_is_not_overspent():
    for epsilon in (1000, NANO, 777_777_777, 10**15):
        count, measure = rate_shares(epsilon)
        assert count + measure == epsilon
        assert count == epsilon // 20
    for beta in (0.5, 0.05, 1e-12):
        assert sum(map(Fraction, rate_beta(beta))) <= Fraction(beta) * (1 + Fraction(1, 10**12))


# -- what is spent --------------------------------------------------------------------------------------------

ROWS = ((1, 0), (1, 0), (1, 1), (2, -5))
EPSILONS = ["0.000001", "0.123456789", "1", "1000000"]


@pytest.mark.heavy
@pytest.mark.parametrize("epsilon", EPSILONS[:2])
@pytest.mark.parametrize("key", RATED_MECHANISMS, ids="-".join)
def test_a_rate_spends_a_count_and_the_mechanism_on_the_rest(key, epsilon):
    """The other draws are those of the audited mechanism at 95%; the count's costs 1 / scale: together epsilon."""
    count, rest = rate_shares(parse_epsilon(epsilon))
    with Session(_table(ROWS), constraints=[FD, SINGLE]) as session:
        options = {"mechanism": key[1], "max_degree": 5}
        rate, draws = recorded(lambda: session.dp_inconsistency(key[0], epsilon, rate=True, **options), Zero())
        statistics = true_numbers(session).statistics()
        case = Case(*key, max_degree=5, beta=rate_beta(1 - 0.95)[1])
        _, alone = recorded(lambda: case.answer(statistics, rest), Zero())
        assert parse_epsilon(rate.epsilon) == parse_epsilon(session.spent()) == count + rest
    first, *others = draws
    assert (first.kind, first.value) == ("laplace", 4)
    assert [(d.kind, d.scale, d.value) for d in others] == [(d.kind, d.scale, d.value) for d in alone]
    cost = 1 / Fraction(first.scale)
    assert cost <= as_fraction(count)
    assert cost >= as_fraction(count) * (1 - Fraction(1, 10**12))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_both_rates_share_one_count_and_their_costs_add_up(epsilon):
    with Session(_table(ROWS), constraints=[FD]) as session:
        releases, draws = recorded(lambda: session.dp_inconsistency("all", epsilon, rate=True))
        assert [release.measure for release in releases] == ["problematic", "repair"]
        assert sum(parse_epsilon(release.epsilon) for release in releases) == parse_epsilon(epsilon)
    cap = max(1, draws[1].result)
    problematic = Fraction(95, 100) * Fraction(2, 3)
    scale, rest = draws[1].scale, int(problematic * Fraction(97, 100) * parse_epsilon(epsilon))
    if hides_something("problematic", draws[1], rest):
        return  # fewer than one release in 100,000; see test_measures_ladder.py
    problematic *= Fraction(97, 100)
    chosen = [("laplace", releases[0].theta + 1, problematic)]  # witnesses: undivided if the cap leaves no choice
    if len(ladder_grid(cap, scale, 1)) > 1:
        chosen = [
            ("select", ladder_unit(cap, scale, 1), problematic * Fraction(30, 100)),
            ("laplace", releases[0].theta + 1, problematic * Fraction(70, 100)),
        ]
    expected = [
        ("laplace", 1, Fraction(1, 20)),  # row count
        ("laplace", 1, problematic * Fraction(3, 97)),  # cap
        *chosen,
        ("laplace", 1, Fraction(95, 300)),  # fewest rows to delete
    ]
    assert [draw.kind for draw in draws] == [kind for kind, _, _ in expected]
    costs = [Fraction(unit) / Fraction(draw.scale) for (_, unit, _), draw in zip(expected, draws, strict=True)]
    total = as_fraction(parse_epsilon(epsilon))
    assert sum(costs) <= total
    for cost, (_, _, share) in zip(costs, expected, strict=True):
        assert abs(cost - share * total) <= total / 30_000 + Fraction(4, NANO)


# -- what is revealed -----------------------------------------------------------------------------------------


def worst_joint_loss(measure, epsilon):
    """Exact loss of a whole rate release over all graphs on 3 rows, every removal, and hubs; every path."""
    part = measure_part(Ask(measure, epsilon, rate=True), (), rows_per_person=1)
    probe = SmallGraph(3, ((0, 1),))

    def draws(graph, outputs):
        return recorded(lambda: part.answers(graph), Script(outputs))[1]

    every = list(paths(lambda: part.answers(probe), [(0,), (1, 2, 3)]))
    pairs = [*neighbours(3), *((star(leaves), SmallGraph(leaves, ())) for leaves in (1, 2, 3, 5))]
    return max(joint_loss(draws(larger, path), draws(smaller, path)) for larger, smaller in pairs for path in every)


@pytest.mark.heavy
@pytest.mark.parametrize("measure", [*RATED, "all"])
def test_the_joint_loss_of_numerator_and_count_is_epsilon_at_most(measure):
    # A choice among thetas of a small graph loses less than its share.
    assert 0.65 < worst_joint_loss(measure, 1) <= 1 + 1e-9
    assert worst_joint_loss(measure, 2) > 1 + 1e-9


@pytest.mark.heavy
@pytest.mark.parametrize("measure", [*RATED, "all"])
def test_a_count_that_is_not_paid_for_is_caught(measure, monkeypatch):
    monkeypatch.setattr(shares_room, "rate_shares", lambda epsilon: (epsilon // 2, epsilon))
    assert worst_joint_loss(measure, 1) > 1 + 1e-9


EPSILON = 2


def shown(release):
    return round(4 * release.value), min(release.theta or 0, 4), release.lower > 0, release.noise_scale > 0.25


def sampler(session, measure, epsilon):
    """What a call publishes, in few classes."""

    def sample(count):
        calls = (session.dp_inconsistency(measure, epsilon, rate=True) for _ in range(count))
        return [tuple(map(shown, call if isinstance(call, tuple) else (call,))) for call in calls]

    return sample


def caught(pair, measure, trials, epsilon=EPSILON):
    first, second = (Session(table, constraints=list(PAIRS[pair].constraints)) for table in PAIRS[pair].tables())
    with first, second:
        samplers = [sampler(session, measure, epsilon) for session in (first, second)]
        return is_caught(*samplers, EPSILON, trials, trials // 4)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("pair", fifth(["hub", "self-conflict", "first row"]))
def test_the_published_numbers_on_neighbouring_tables(pair):
    assert not caught(pair, "repair", 600)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("measure", [*RATED, "all"])
def test_the_published_numbers_on_every_pair(measure, pair):
    assert not caught(pair, measure, 3_000)


@pytest.mark.heavy(family="long")
def test_an_epsilon_that_is_too_large_is_caught():
    assert caught("hub", "repair", 600, epsilon=4 * EPSILON)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("measure", "pair"),
    [
        (measure, pair)
        for measure in [*RATED, "all"]
        for pair in ("hub", "self-conflict", "no equality")
        if measure != "maximal_consistency" or pair not in NO_BITS
    ],
)
def test_with_the_same_draws_both_tables_give_the_same_rates(measure, pair):
    """Nothing but the noisy numbers reaches the release: no number of rows."""
    seen = []
    for table in PAIRS[pair].tables():
        with Session(table, constraints=list(PAIRS[pair].constraints)) as session:
            released, _ = recorded(
                lambda session=session: session.dp_inconsistency(measure, rate=True, epsilon=1), Script([9, 3])
            )
            releases = released if isinstance(released, tuple) else (released,)
            seen.append([{**release.to_dict(), "release_id": None} for release in releases])
    assert seen[0] == seen[1]


# -- coverage -------------------------------------------------------------------------------------------------

# 402 of 1,002 rows are problematic (400 of them on their own), tau* + U = 401: far from both clamps. One pair of rows
# is in conflict, which is one decision.
DIRTY = ((1, 0), (1, 1), *((3, -1),) * 400, *((k, 5) for k in range(10, 610)))
TRUTH = {"problematic": 402 / 1002, "repair": 401 / 1002, "maximal_consistency": 1 / 1002}


@pytest.fixture(scope="module")
def dirty():
    with Session(_table(DIRTY), constraints=[FD, SINGLE]) as session:
        yield session


def holds(releases, truths, confidence):
    inside = sum(
        release.lower <= truth and (release.upper is None or truth <= release.upper)
        for release, truth in zip(releases, truths, strict=True)
    )
    return bool(binom.cdf(inside, len(releases), confidence) >= ALPHA)


@pytest.mark.heavy
@pytest.mark.parametrize("key", fifth(RATED_MECHANISMS), ids="-".join)
def test_intervals_of_rates_hold(key, dirty):
    options = {"mechanism": key[1], "max_degree": 3, "rate": True, "confidence": 0.8}
    releases = [dirty.dp_inconsistency(key[0], 1, **options) for _ in range(250)]
    greedy = true_numbers(dirty).statistics().greedy_cover() + 400
    truth = greedy / 1002 if key[1] == "greedy" else TRUTH[key[0]]
    assert holds(releases, [truth] * 250, 0.8)


@pytest.mark.heavy(family="long")
def test_intervals_of_both_rates_and_of_counts_hold(dirty):
    releases = [r for _ in range(250) for r in dirty.dp_inconsistency("all", 1, rate=True, confidence=0.8)]
    for measure in ("problematic", "repair"):
        own = [release for release in releases if release.measure == measure]
        assert holds(own, [TRUTH[measure]] * 250, 0.8)
    counts = [dirty.dp_count(1, confidence=0.8) for _ in range(250)]
    assert holds(counts, [1002] * 250, 0.8)


@pytest.mark.heavy(family="long")
def test_a_count_without_its_tail_is_caught(dirty, monkeypatch):
    monkeypatch.setattr(count_room, "laplace_tail", lambda scale, beta: 0)
    releases = [dirty.dp_inconsistency("repair", 1, rate=True) for _ in range(250)]
    assert not holds(releases, [TRUTH["repair"]] * 250, 0.95)

"""What every mechanism really spends, from its captured scales and the audited sensitivities alone."""

import math
from fractions import Fraction
from functools import cache

import pytest
from mechanisms_under_test import ALL, SHARES, Case, K, hides_something, ladder_grid, ladder_unit, marginal_unit
from noise_scripts import Script, Zero, recorded
from small_graphs import SmallGraph, neighbours, star

from dpdb.measures import answer as projected
from dpdb.privacy.epsilon import NANO, as_fraction

SQRT2 = Fraction(math.isqrt(2 * 10**24), 10**12)
ROUNDING = Fraction(1, 10**12)
EPSILONS = [1000, NANO, 3 * NANO + 1, 777_777_777, 10**15]
GRAPHS = {
    "star": star(5),
    "self conflicts": star(2, self_conflicts=4),
    "empty": SmallGraph(0, ()),
    "only single-tuple constraints": SmallGraph(3, (), 2, degree_sensitivity=0),
    "three constraints": star(4, degree_sensitivity=3),
}


def grid(cap):
    thetas = [1, 5, 10, 100, 500, *range(1_000, 10_001, 1_000)]
    return [theta for theta in thetas if theta < cap] + [cap]


def paper_multiple(cap, answer_epsilon):
    """What the paper's scores are multiplied by: less than K where 64 bits would not hold them."""
    return max(1, min(K, int(2**60 / (SQRT2 * cap / answer_epsilon))))


UNITS = {"fewest_deletions": 1, "fractional": 2, "greedy": 2, "decision_bits": 10**6}


@cache
def observed_change(measure, name):
    """The most that one row changes the number of a single draw, in all graphs on 3 rows: of what is not listed."""

    def exact(graph):
        [draw] = recorded(lambda: Case(measure, name).answer(graph, NANO), Zero())[1]
        return draw.value

    return max(abs(exact(larger) - exact(smaller)) for larger, smaller in neighbours(3))


def audited_costs(case, draws, answer, statistics, epsilon):
    """Sensitivity / scale of each draw, by the audited sensitivities."""
    nodes = case.of_nodes
    cap, costs = 1 if case.mechanism.cap_weight else case.max_degree, []
    noise_scale = Fraction(draws[-1].scale)
    answer_epsilon = round((answer.theta + nodes) / noise_scale * NANO) if answer.theta else epsilon
    for position, draw in enumerate(draws):
        last = position == len(draws) - 1
        if draw.kind == "select":
            if case.name == "ladder":
                cap_scale = draws[0].scale if statistics.degree_sensitivity else 0
                unit = ladder_unit(cap, cap_scale, nodes)
                assert draw.negate
            elif case.name.startswith("marginal"):
                unit = marginal_unit(cap, nodes)
                assert draw.negate
            else:
                k = paper_multiple(cap, as_fraction(answer_epsilon))
                unit = 2 * k * (cap + 1) if nodes else k * cap
                assert not draw.negate
                cap = grid(cap)[draw.result]  # of the next step
        elif position == 0 and case.mechanism.cap_weight and statistics.degree_sensitivity:
            unit, cap = statistics.degree_sensitivity, max(1, draw.result)
        elif answer.theta is None and case.name != "r2t":
            unit = UNITS.get(case.name) or observed_change(*case.key)
        elif case.name == "r2t":
            unit = 2 * case.taus[position]
        else:
            assert last
            unit = answer.theta + nodes
        costs.append(Fraction(unit) / Fraction(draw.scale))
    return costs


def expected_shares(case, draws, statistics):
    shares = [share for _, share in case.shares]
    if case.name.startswith(("marginal", "ladder")) and all(draw.kind == "laplace" for draw in draws):
        shares = [shares[0], sum(shares[1:])]  # the cap leaves no choice
    if case.mechanism.cap_weight and not statistics.degree_sensitivity:
        shares = shares[1:]  # the cap is the constant 1
    return [Fraction(share) for share in shares]


def check(case, statistics, epsilon, source=None):
    answer, draws = recorded(lambda: case.answer(statistics, epsilon), source)
    if case.name == "ladder" and statistics.degree_sensitivity:
        if hides_something(case.measure, draws[0], case.mechanism.shares(epsilon)[1]):
            return answer, draws
        assert len(ladder_grid(max(1, draws[0].result), draws[0].scale, case.of_nodes)) > 1
    costs = audited_costs(case, draws, answer, statistics, epsilon)
    total = as_fraction(epsilon)
    assert sum(costs) <= total
    shares = expected_shares(case, draws, statistics)
    assert len(costs) == len(shares)
    for cost, share in zip(costs, shares, strict=True):
        # Integer shares are rounded to nano-epsilon; selections declare one or two more than K, for flooring.
        assert abs(cost - share * total) <= share * total * (Fraction(4, K) + ROUNDING) + Fraction(4, NANO)
    return answer, draws


def test_the_audit_covers_every_mechanism():
    assert set(SHARES) <= set(ALL)  # the others have the shares that they announce
    assert all(sum(share for _, share in Case(*key).shares) == 1 for key in ALL)
    assert all(Case(*key).of_nodes == (key[0] == "problematic") for key in SHARES)


@pytest.mark.parametrize("key", ALL, ids="-".join)
def test_the_announced_answer_share(key):
    """What `explain` says about the last draw."""
    share = sum(part for kind, part in Case(*key).shares if kind == "answer")
    assert Case(*key).mechanism.answer_share == share


@pytest.mark.heavy(of=20)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("key", ALL, ids="-".join)
def test_spent_with_real_noise(key, graph, epsilon):
    for max_degree in (1, 5, 1000):
        check(Case(*key, max_degree=max_degree), GRAPHS[graph], epsilon)


@pytest.mark.parametrize("key", ALL, ids="-".join)
def test_spent_without_noise(key):
    for graph in GRAPHS.values():
        check(Case(*key), graph, NANO, Zero())
        if Case(*key).mechanism.cap_weight and graph.degree_sensitivity:
            for cap in (-5, 1, 2, 9):
                check(Case(*key), graph, NANO, Script([cap]))


@pytest.mark.parametrize("key", [("problematic", "marginal"), ("problematic", "baseline_max"), ("problematic", "em")])
def test_scale_theta_for_nodes_is_caught(key, monkeypatch):
    monkeypatch.setattr(projected.ProjectedStatistic, "sensitivity", lambda self, theta: theta)
    with pytest.raises(AssertionError):
        check(Case(*key), star(5), NANO)


@pytest.mark.parametrize("key", ALL, ids="-".join)
def test_a_doubled_share_is_caught(key):
    case = Case(*key)
    answer, draws = recorded(lambda: case.answer(star(5), 2 * NANO))
    assert sum(audited_costs(case, draws, answer, star(5), 2 * NANO)) > 1


def test_a_wrong_monotone_flag_is_caught(monkeypatch):
    monkeypatch.setitem(projected.NODES.__dict__, "monotone", True)
    with pytest.raises(AssertionError):
        check(Case("problematic", "em"), star(5), NANO)

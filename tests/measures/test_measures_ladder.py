"""`ladder`: exact joint loss over all small graphs, on every branch; wrong constants are caught; bounds hold."""

from dataclasses import replace
from fractions import Fraction

import pytest
from case_share import fifth
from inside import OPENDP
from ladder_audit import LadderAudit, coarse
from noise_scripts import Recorder
from scipy.stats import binom
from small_graphs import SmallGraph, neighbours, star

from dpdb.measures import minimal_inconsistency, problematic
from dpdb.measures.answer import EDGES, WITNESSES, DegreeCap, ProjectedStatistic, release_degree_cap
from dpdb.measures.estimate import with_estimate
from dpdb.measures.mechanism import Run
from dpdb.measures.mechanisms import ladder
from dpdb.measures.mechanisms.ladder import Ladder, Plan, Rungs, Settings, Top
from dpdb.privacy.epsilon import NANO
from dpdb.privacy.noise import replaced_noise

EPSILON = 2 * NANO  # where little noise is needed: short sums
SLACK = 1e-6  # what the sums leave out
HALF = Fraction(1, 2)
PRODUCT = {"minimal_inconsistency": minimal_inconsistency.LADDER, "problematic": problematic.LADDER}


def small(statistic, *, rungs=2, top=True, select=40, above=0):
    """A ladder with all of its branches where degrees are at most 4."""
    many = Settings(
        select=select,
        price=Fraction(1),
        stretch=Fraction(1),
        stretch_from=1,
        above=above,
        rungs=Rungs(count=rungs, reach=Fraction(1), step=Fraction(2), least=1, gap=1, margin=0.5, growth=0.0),
        top=Top(least=1, guard=2, margin=1.0, floor=0.0, growth=0.0) if top else None,
    )
    return Ladder(statistic, cap=10, tiers=((0, many),))


def audited(mechanism, nodes=4, colourings=(0,), **options):
    with coarse():
        audit = LadderAudit(mechanism, EPSILON, **({"caps": (2, 4)} | options))
        for colouring in colourings:
            for larger, smaller in neighbours(nodes, colouring):
                audit.pair(larger, smaller)
    return audit


def hubs(mechanism, cap, leaves=(1, 3, 9), epsilon=EPSILON):
    with coarse():
        audit = LadderAudit(mechanism, epsilon, (cap,), guards=(0,), references=(0, 7))
        for hub_first in (True, False):
            for count in leaves:
                audit.pair(star(count, hub_first=hub_first), SmallGraph(count, ()))
        return audit


@pytest.mark.heavy
@pytest.mark.parametrize("top", [True, False])
@pytest.mark.parametrize("statistic", [EDGES, WITNESSES], ids=["edges", "witnesses"])
def test_three_nodes(statistic, top, record_property):
    audit = audited(small(statistic, top=top, rungs=2 if top else 1), 3, caps=(4,), guards=(2,), references=(3,))
    assert audit.branches == ({"top"} if top else set()) | {"rung", "start"}
    assert 0.5 < audit.worst <= 1 + SLACK
    record_property("outcomes", audit.outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [{"top": True}, {"top": False}, {"rungs": 0}, {"rungs": 1, "above": 1}], ids=str)
@pytest.mark.parametrize("statistic", [EDGES, WITNESSES], ids=["edges", "witnesses"])
def test_four_nodes(statistic, shape, record_property):
    """64 graphs x (4 removals + 1 self-conflict) for each of two violation patterns, every index."""
    audit = audited(small(statistic, **shape), 4, (0, 0b010110))
    assert 0.5 < audit.worst <= 1 + SLACK
    record_property("outcomes", audit.outcomes)


@pytest.mark.parametrize("measure", PRODUCT)
def test_hubs_under_the_constants_of_the_product(measure, record_property):
    """A hub on isolated rows, where every sensitivity is attained; a cap with all rungs, and the top of edges."""
    audit = hubs(PRODUCT[measure], 400, (1, 9, 120, 500))
    assert audit.branches == {"rung", "start"} | ({"top"} if measure == "minimal_inconsistency" else set())
    assert 0.6 < audit.worst <= 1 + SLACK
    record_property("outcomes", audit.outcomes)


@pytest.mark.parametrize("measure", PRODUCT)
def test_without_rungs_the_answer_is_drawn_for_itself(measure):
    with coarse():
        audit = LadderAudit(PRODUCT[measure], NANO // 5, (7,), guards=(0,), references=(0,))
        audit.pair(star(9), SmallGraph(9, ()))
    assert audit.branches == {"plain"}
    assert 0.5 < audit.worst <= 1 + SLACK


# -- wrong constants are caught -------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("share", ["guard", "undivided", "choice", "reference", "answer"])
def test_a_share_that_is_spent_thrice_is_caught(share, monkeypatch):
    mechanism = small(EDGES, rungs=1, select=50)
    plan = Ladder.plan

    def wrong(self, cap, epsilon):
        found = plan(self, cap, epsilon)
        return replace(found, **{share: 3 * getattr(found, share)})

    monkeypatch.setattr(Ladder, "plan", wrong)
    with coarse():
        audit = LadderAudit(mechanism, EPSILON, (4,), guards=(0, 5), references=(0, 3))
        for leaves in (1, 2, 3, 9):
            audit.pair(star(leaves), SmallGraph(leaves, ()))
    assert audit.worst > 1 + SLACK


def test_a_threshold_that_reads_an_exact_number_is_caught(monkeypatch):
    """The reference without its noise: without a top, the only number that is drawn here."""
    monkeypatch.setattr(ladder, "discrete_laplace", lambda value, size, share: (value, 1.0))
    with pytest.raises(AssertionError, match="what is public"):
        audited(small(EDGES, top=False), 3)


def test_a_sensitivity_of_theta_for_witnesses_is_caught(monkeypatch):
    monkeypatch.setattr(ProjectedStatistic, "sensitivity", lambda self, theta: theta)
    assert hubs(small(WITNESSES, rungs=1), 2).worst > 1 + SLACK


# -- what is planned ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", PRODUCT)
@pytest.mark.parametrize("cap", [1, 2, 60, 1_500, 10**6, 2**62])
@pytest.mark.parametrize("epsilon", [300, NANO // 4 - 1, NANO // 4, NANO * 3 // 4 - 1, NANO * 3 // 4, NANO, 10**15])
def test_the_shares_of_every_branch_add_up(measure, cap, epsilon):
    plan: Plan = PRODUCT[measure].plan(DegreeCap(cap, 14.0), epsilon)
    if len(plan.grid) > 1:
        assert plan.guard + plan.undivided == epsilon
        assert plan.guard + plan.choice + plan.reference + plan.answer == epsilon
        assert min(plan.undivided, plan.choice, plan.answer) > 0
        assert (plan.guard > 0) == (plan.top is not None)
        assert (plan.reference > 0) == bool(plan.rungs)
    else:
        assert plan.answer == epsilon
    assert max(plan.thetas) < 2**37
    assert len(plan.thetas) <= 2 * len(plan.grid) + 4


def test_few_thetas_are_read_where_each_costs_a_scan():
    """A top that is accepted asks for two; otherwise the grid, the chosen one and the rungs far above it."""

    class Watched(SmallGraph):
        def projected_edges(self, thetas):
            asked.extend(thetas)
            return super().projected_edges(thetas)

    asked, mechanism = [], PRODUCT["minimal_inconsistency"]
    for graph in (Watched(2_000, star(1_999).pairs), Watched(2_000, ())):
        asked.clear()
        mechanism.release(Run(graph, 50 * NANO, 0.05, DegreeCap(1_999, 1.0)))
        assert len(set(asked)) <= 2 + 8 + 1 + 2


# -- bounds ---------------------------------------------------------------------------------------------------

ALPHA = 1e-8  # of each of the 12 binomial tests below


def held(mechanism, graph, truth, cap, releases=1_000, beta=0.05):
    """How often the lower bound holds, and how often the interval of the statistic at theta."""
    answers = [mechanism.release(Run(graph, NANO, beta, cap)) for _ in range(releases)]
    answers = [with_estimate(answer, mechanism.mechanism("ladder", ""), beta) for answer in answers]
    exact = {theta: mechanism.statistic.read(graph, [theta])[0] for theta in {answer.theta for answer in answers}}
    inside = sum(one.estimate_lower <= exact[one.theta] <= one.estimate_upper for one in answers)
    return sum(answer.lower <= truth for answer in answers), inside


# 60 rows in conflict with 900 others each.
MANY_HUBS = SmallGraph(960, tuple((hub, 60 + leaf) for hub in range(60) for leaf in range(900)))
GRAPHS = {"three": (star(3), 3, 4), "hub": (star(900), 900, 901), "many hubs": (MANY_HUBS, 54_000, 960)}


@pytest.mark.heavy
@pytest.mark.parametrize("graph", fifth(list(GRAPHS)))
@pytest.mark.parametrize("measure", PRODUCT)
def test_the_bounds_hold_on_every_branch(measure, graph):
    """The binomial test at ALPHA sees a coverage below .9."""
    rows, pairs, problematic_rows = GRAPHS[graph]
    truth = problematic_rows if measure == "problematic" else pairs
    for hits in held(PRODUCT[measure], rows, truth, DegreeCap(959, 3.0)):
        assert binom.cdf(hits, 1_000, 0.95) > ALPHA


def test_many_hubs_are_seen():
    """The answer is at the cap; of rows, where 20 hubs have conflicts of their own, nearly always on a rung."""
    edges = PRODUCT["minimal_inconsistency"].release(Run(MANY_HUBS, 5 * NANO, 0.05, DegreeCap(959, 10.0)))
    assert edges.theta == 959
    pairs = tuple((131 * hub, 131 * hub + leaf) for hub in range(20) for leaf in range(1, 131))
    graph, cap, mechanism = SmallGraph(131 * 20, pairs), DegreeCap(400, 10.0), PRODUCT["problematic"]
    thetas = [mechanism.release(Run(graph, NANO, 0.05, cap)).theta for _ in range(40)]
    rungs = mechanism.plan(cap, NANO).rungs
    assert any(theta in rungs for theta in thetas), thetas


def test_one_candidate_leaves_all_of_epsilon_to_the_answer():
    recorder = Recorder(OPENDP())
    graph = SmallGraph(2, ((0, 1),), degree_sensitivity=0)
    with replaced_noise(recorder):
        PRODUCT["minimal_inconsistency"].release(Run(graph, NANO, 0.05, release_degree_cap(graph, 1)))
    assert [draw.kind for draw in recorder.draws] == ["laplace"]
    assert recorder.draws[0].scale == pytest.approx(1, rel=1e-9)

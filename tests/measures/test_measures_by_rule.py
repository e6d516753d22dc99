"""`by_rule`: what one row changes, through the real code with NULLs; exact losses; what its bounds are of; refusals.

False alarms: `is_caught` rejects a private mechanism with probability at most 2e-9 per direction, 12 directions; the
binomial tests of bounds have 1e-8 each, below 1e-7 for the file.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest
from distribution_check import is_caught
from inside import OPENDP, true_numbers
from ladder_audit import LadderAudit, coarse
from mechanisms_under_test import Case
from noise_scripts import Recorder, Script, joint_loss, recorded
from scipy.stats import binom
from small_graphs import SmallGraph

import dpdb
from dpdb.engine import class_histograms
from dpdb.errors import ParameterError
from dpdb.measures.answer import EDGES, WITNESSES, ProjectedStatistic
from dpdb.measures.mechanism import Run
from dpdb.measures.mechanisms.ladder import Ladder, Rungs, Settings, Top
from dpdb.measures.registry import measure_named
from dpdb.opening import open_table
from dpdb.privacy.epsilon import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.release.statistics import RuleStatistics

COUNTING = ["minimal_inconsistency", "problematic"]
THETAS = [1, 2, 3, 7, 40]
SCHEMA = pa.schema({"id": pa.int64(), "a": pa.int64(), "b": pa.string(), "c": pa.int64(), "d": pa.int64()})
RULE_SETS = [
    ["a -> b", "a -> c"],
    ["a -> b", "a -> c", "NOT NULL(b)", "NOT NULL(c)", "c -> d"],
    ["UNIQUE(a, b)", "a -> b", "d = 1: a -> c", "not(t1.c < 0)"],
    ["not(t1.a=t2.a & t1.d>=1 & t2.d<=1)", "not(t1.b!=t2.b)", "not(t1.d = 2)", "b -> c"],
    ["not(t1.d = 2)", "NOT NULL(a)"],
]


def random_table(seed: int, rows: int) -> pa.Table:
    draw = random.Random(seed)
    values = {"a": [1, 1, 1, 2, None], "b": ["x", "x", "y", None], "c": [1, 1, 2, -1, None], "d": [0, 1, 1, 2, None]}
    cells = {name: [draw.choice(options) for _ in range(rows)] for name, options in values.items()}
    return pa.table({"id": range(rows), **cells}, SCHEMA)


def largest_changes(seed: int, rules: list[str], rows: int = 8) -> dict[str, int]:
    """Take each row away from a table; return how often something was compared, and how much the cap changed."""
    compared = moved = 0
    with open_table(random_table(seed, rows), constraints=rules) as table:
        copies = max(1, len(class_histograms(table.constraints, table.schema)))
        whole = RuleStatistics(*table.class_histograms())
        for row in range(rows):
            less = RuleStatistics(*table.class_histograms(table.where(f"id <> {row}")))
            moved = max(moved, abs(whole.degree_bound() - less.degree_bound()))
            assert 0 <= whole.degree_bound() - less.degree_bound() <= whole.degree_sensitivity
            apart = whole.self_conflicts - less.self_conflicts
            for name, extra in (("projected_edges", 0), ("witnesses", 1)):
                pairs = zip(getattr(whole, name)(THETAS), getattr(less, name)(THETAS), THETAS, strict=True)
                for larger, smaller, theta in pairs:
                    compared += 1
                    assert 0 <= apart + larger - smaller <= copies * (theta + extra), (seed, rules, row, name, theta)
    return {"compared": compared, "moved": moved}


@pytest.mark.heavy
@pytest.mark.parametrize("rules", RULE_SETS, ids=range(len(RULE_SETS)))
def test_one_row_changes_what_is_released_by_no_more_than_it_may(rules: list[str]) -> None:
    assert largest_changes(7, rules)["compared"] == 80


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("rules", RULE_SETS, ids=range(len(RULE_SETS)))
def test_one_row_of_many_tables_changes_no_more_than_it_may(rules: list[str], seed: int) -> None:
    assert largest_changes(seed, rules, rows=12)["compared"] == 120


# -- exact losses, with two histograms whose groups a row joins at once ------------------------------------------


def counted(*histograms: tuple[tuple[int, ...], ...], self_conflicts: int = 0) -> RuleStatistics:
    """Statistics of histograms, each of groups with these sizes of classes."""
    tables = []
    for groups in histograms:
        sizes = [[size for size in group if size > 1] or None for group in groups]
        singles = [group.count(1) for group in groups]
        columns = {"sizes": pa.array(sizes, pa.list_(pa.int64())), "singles": pa.array(singles, pa.int64())}
        tables.append(pa.table({**columns, "groups": pa.array([1] * len(groups), pa.int64())}))
    return RuleStatistics(self_conflicts, tables)


NEIGHBOURS = [
    (counted(((3, 1),), ((3, 1),)), counted(((3,),), ((3,),))),  # a hub in both
    (counted(((9, 1),), ((9, 1),)), counted(((9,),), ((9,),))),
    (counted(((9, 1),), ((1,), (4,))), counted(((9,),), ((4,),))),
    (counted(((2, 2, 1),), ((1, 1, 1), (2,))), counted(((2, 1, 1),), ((1, 1), (2,)))),
    (counted(((2,),), ((2,),), self_conflicts=1), counted(((2,),), ((2,),))),
    (counted(((1,),), ((1,),)), counted((), ())),
]


def fitted(measure: str, histograms: int = 2):
    mechanism = measure_named(measure).mechanism("by_rule")
    assert mechanism.fit is not None
    return mechanism.fit(histograms)


def small(statistic: ProjectedStatistic, *, copies: int = 2, top: bool = True) -> Ladder:
    """A ladder with all of its branches where degrees are at most 4; see test_measures_ladder.py."""
    rungs = Rungs(count=1, reach=Fraction(1), step=Fraction(2), least=1, gap=1, margin=0.5, growth=0.0)
    many = Settings(
        select=40, price=Fraction(1), stretch=Fraction(1), stretch_from=1, above=0, rungs=rungs,
        top=Top(least=1, guard=2, margin=1.0, floor=0.0, growth=0.0) if top else None,
    )  # fmt: skip
    return Ladder(replace(statistic, copies=copies), cap=10, tiers=((0, many),))


def audited(mechanism: Ladder, epsilon: int = 2 * NANO) -> LadderAudit:
    with coarse():
        audit = LadderAudit(mechanism, epsilon, (4,), guards=(2,), references=(3,))
        for larger, smaller in NEIGHBOURS:
            audit.pair(larger, smaller)
        return audit


@pytest.mark.parametrize("statistic", [EDGES, WITNESSES], ids=["edges", "witnesses"])
def test_the_exact_loss_is_at_most_epsilon_on_every_branch(statistic: ProjectedStatistic) -> None:
    audit = audited(small(statistic))
    assert audit.branches == {"top", "rung", "start"}
    assert 0.5 < audit.worst <= 1 + 1e-6


@pytest.mark.heavy
@pytest.mark.parametrize("statistic", [EDGES, WITNESSES], ids=["edges", "witnesses"])
def test_noise_for_one_histogram_is_caught(statistic: ProjectedStatistic) -> None:
    assert audited(small(statistic, copies=1)).worst > 1 + 1e-6


def test_noise_of_theta_for_rows_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProjectedStatistic, "sensitivity", lambda self, theta: self.copies * theta)
    assert audited(small(WITNESSES)).worst > 1 + 1e-6


@pytest.mark.parametrize("measure", COUNTING)
def test_the_exact_loss_under_the_constants_of_the_product(measure: str) -> None:
    with coarse():
        own = fitted(measure).statistic
        assert own is not None
        ladder = replace(Case(measure, "ladder").mechanism.answer.__self__, statistic=own)
        audit = LadderAudit(ladder, 2 * NANO, (400,), guards=(0,), references=(0, 7))
        for size in (1, 9, 500):
            audit.pair(counted(((size, 1),), ((size, 1),)), counted(((size,),), ((size,),)))
    assert 0.6 < audit.worst <= 1 + 1e-6


# -- what is published -------------------------------------------------------------------------------------------

VISITS = pa.table(
    {
        "zip": ["1"] * 60 + ["2"] * 40 + [None] * 5,
        "city": ["a"] * 57 + ["b"] * 3 + ["c"] * 39 + [None] + ["d"] * 5,
        "state": ["x"] * 58 + ["y"] * 2 + ["x"] * 45,
        "age": [*range(104), -1],
    }
)
CITY, STATE = "zip -> city", "zip -> state"


def events(pair: tuple[RuleStatistics, RuleStatistics], measure: str, epsilon: float, trials: int) -> bool:
    """Whether samples prove a loss above epsilon 2 between two histograms' releases."""

    def sampler(statistics: RuleStatistics):
        def sample(count: int) -> list[tuple[int, ...]]:
            found = []
            recorder = Recorder(OPENDP())
            with replaced_noise(recorder):
                for _ in range(count):
                    case_answer(fitted(measure), statistics, int(epsilon * NANO))
                    found.append(tuple(min(max(draw.result, -1), 9) for draw in recorder.draws))
                    recorder.draws.clear()
            return found

        return sample

    return is_caught(*map(sampler, pair), 2, trials, max(150, trials // 6))


def case_answer(mechanism, statistics: RuleStatistics, epsilon: int):
    """What a release does with one measure."""
    from dpdb.measures.answer import release_degree_cap

    share, rest = mechanism.shares(epsilon)
    cap = release_degree_cap(statistics, share)
    return mechanism.answer(Run(statistics, rest, 0.05, cap))


@pytest.mark.heavy
@pytest.mark.parametrize("measure", COUNTING)
def test_samples_of_neighbours_prove_no_greater_loss(measure: str) -> None:
    assert not events(NEIGHBOURS[0], measure, 2, 150)


@pytest.mark.slow
@pytest.mark.parametrize("measure", COUNTING)
def test_samples_where_four_times_as_much_is_spent_prove_it(measure: str) -> None:
    assert events(NEIGHBOURS[1], measure, 8, 4_000)


@pytest.mark.slow
@pytest.mark.parametrize("pair", range(len(NEIGHBOURS)))
@pytest.mark.parametrize("measure", COUNTING)
def test_many_samples_of_neighbours_prove_no_greater_loss(measure: str, pair: int) -> None:
    assert not events(NEIGHBOURS[pair], measure, 2, 8_000)


def scripted_loss(larger: RuleStatistics, smaller: RuleStatistics, measure: str) -> float:
    """Loss of cap, index 0 and answer at epsilon 1, with nothing hidden."""
    draws = [
        recorded(lambda s=s: case_answer(fitted(measure), s, NANO), Script((2, 0, 0)))[1] for s in (larger, smaller)
    ]
    return joint_loss(*draws)


@pytest.mark.parametrize("measure", COUNTING)
def test_the_cap_changes_by_one_however_many_histograms_there_are(measure: str) -> None:
    larger, smaller = counted(((9, 1),), ((9, 1),)), counted(((9,),), ((9,),))
    assert (larger.degree_bound(), smaller.degree_bound(), larger.degree_sensitivity) == (9, 8, 1)
    assert 0.5 < scripted_loss(larger, smaller, measure) <= 1 + 1e-9


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("measure", COUNTING)
def test_an_estimand_says_how_it_is_to_the_measure(measure: str) -> None:
    with dpdb.open(VISITS, constraints=[CITY, STATE, "CHECK (age >= 0)"]) as session:
        one = session.dp_inconsistency(measure, 10**6, mechanism="by_rule")
        assert one.estimand.startswith("sum over 2 left-hand sides")
        assert f"{measure} is at most that sum, and at least 1/2 of it" in one.estimand
        assert one.upper is None
        assert "at least 1/2 of the lower bound" in one.upper_reason
        exact = session.dp_inconsistency(measure, 10**6)
        assert one.value / 2 <= exact.value <= one.value
        alone = session.dp_inconsistency(measure, 10**6, mechanism="by_rule", each_constraint=True)
        assert sum(release.value for release in alone) == one.value
        assert all("sum over" not in release.estimand for release in alone)
        first = session.dp_inconsistency(measure, 10**6, each_constraint=True)
        assert [release.value for release in alone] == [release.value for release in first]
    declared = [CITY, STATE, "NOT NULL(city)", "NOT NULL(state)"]
    with dpdb.open(VISITS, constraints=declared) as session:
        one = session.dp_inconsistency(measure, 10**6, mechanism="by_rule")
        assert one.value == session.dp_inconsistency(measure, 10**6).value
        assert one.estimand == session.dp_inconsistency(measure, 10**6).estimand


@pytest.mark.parametrize("measure", COUNTING)
def test_a_given_theta_and_slices_and_units(measure: str) -> None:
    with dpdb.open(VISITS, constraints=[CITY, STATE]) as session:
        one = session.dp_inconsistency(measure, 10**6, mechanism="by_rule", theta=2)
        statistics = true_numbers(session).by_rule()
        read = statistics.projected_edges if measure == COUNTING[0] else statistics.witnesses
        assert one.value == read([2])[0]
        assert one.noise_scale == pytest.approx(2 * (2 + (measure == COUNTING[1])) * 1e-6, rel=1e-2)
        by = session.dp_inconsistency(measure, 10**6, mechanism="by_rule", by="zip", keys=["1", "2"])
        assert sum(release.value for release in by) == true_numbers(session).by_rule().degree_sensitivity * sum(
            release.value for release in session.dp_inconsistency(measure, 10**6, mechanism="by_rule", by="zip",
                                                                   keys=["2", "1"])
        )  # fmt: skip
    with dpdb.open(VISITS, constraints=[CITY, STATE], rows_per_person=4) as session:
        assert session.dp_inconsistency(measure, 4, mechanism="by_rule", theta=2).noise_scale == pytest.approx(
            2 * (2 + (measure == COUNTING[1])), rel=1e-2
        )


ALPHA = 1e-8


@pytest.mark.heavy
@pytest.mark.parametrize("measure", COUNTING)
def test_bounds_are_those_of_the_sum(measure: str) -> None:
    """`lower` of the sum, and half of it of the measure; the interval of the statistic at its theta."""
    trials = 60
    with dpdb.open(VISITS, constraints=[CITY, STATE], budget=None) as session:
        statistics, truth = true_numbers(session).by_rule(), fitted(measure).truth
        read = statistics.projected_edges if measure == COUNTING[0] else statistics.witnesses
        whole, exact = truth(statistics), session.dp_inconsistency(measure, 10**6).value
        held = at_theta = of_measure = 0
        for _ in range(trials):
            one = session.dp_inconsistency(measure, 1, mechanism="by_rule")
            held += one.lower <= whole
            of_measure += one.lower / 2 <= exact
            at_theta += one.estimate_lower <= read([one.theta])[0] <= one.estimate_upper
    for count in (held, of_measure, at_theta):
        assert binom.cdf(count, trials, 0.95) > ALPHA
    # The sum's own lower bound is no bound of the measure: with little noise it is above it.
    assert whole > exact


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"constraints": [CITY, "not(t1.age > t2.age & t1.zip < t2.zip)"]},
            r"does not count not\(t1.age > t2.age & t1.zip",
        ),
        ({"constraints": [CITY, "linked: not(t1.city=t2.state)"]}, r"does not count linked: not\(t1.city=t2.state\)"),
        ({"rate": True}, "has no rate: it counts a row once for each left-hand side"),
        ({"measure": "repair"}, r"unknown mechanism 'by_rule' of repair"),
    ],
)
def test_what_it_does_not_count_is_refused_before_anything_is_spent(options: dict, message: str) -> None:
    asked = {"measure": "problematic", "mechanism": "by_rule"} | {
        k: v for k, v in options.items() if k != "constraints"
    }
    with (
        dpdb.open(VISITS, constraints=options.get("constraints", [CITY]), budget=1) as session,
        pytest.raises(ParameterError, match=message) as refused,
    ):
        session.dp_inconsistency(epsilon=1, **asked)
    assert "\n" not in str(refused.value)
    assert session.spent() == 0


def test_nothing_of_a_graph_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpdb.engine.table import LocalTable

    monkeypatch.setattr(LocalTable, "slice", lambda *_, **__: pytest.fail("rows are ranked"))
    with dpdb.open(VISITS, constraints=[CITY, "NOT NULL(city)"]) as session:
        for measure in COUNTING:
            assert session.dp_inconsistency(measure, 10**6, mechanism="by_rule").value > 0


def test_a_star_of_one_graph_and_a_histogram_of_it_are_released_alike() -> None:
    """With one histogram it is `ladder`, but for the statistic."""
    histogram, graph = counted(((8, 1),)), SmallGraph(9, tuple((0, k + 1) for k in range(8)))
    assert histogram.projected_edges([1, 3, 8]) == graph.projected_edges([1, 3, 8])
    assert histogram.witnesses([1, 3, 8]) == graph.witnesses([1, 3, 8])
    assert histogram.degree_bound() == graph.degree_bound()


@pytest.mark.parametrize("measure", COUNTING)
def test_a_release_of_a_large_group_reads_class_histograms_only(measure: str) -> None:
    """Where `ladder` asks for bounds of its graph's statistics: with a top, and with rungs above the start."""
    rows = pa.table({"zip": [1] * 4_000, "city": [0] * 3_990 + list(range(10)), "state": [0] * 4_000})
    for rules in ([CITY], [CITY, STATE]):
        with dpdb.open(rows, constraints=rules) as session:
            for epsilon in (0.1, 1):
                assert session.dp_inconsistency(measure, epsilon, mechanism="by_rule").value >= 0

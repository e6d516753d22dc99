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
from ladder_audit import LadderAudit, coarse
from mechanisms_under_test import Case
from noise_scripts import Recorder, Script, joint_loss, recorded
from scipy.stats import binom
from small_graphs import SmallGraph

import dpdb
from dpdb.engine import class_histograms, open_table
from dpdb.measures.mechanism import Run
from dpdb.measures.mechanisms.ladder import Ladder, Rungs, Settings, Top
from dpdb.measures.mechanisms.projected import EDGES, WITNESSES, ProjectedStatistic
from dpdb.measures.registry import measure_named
from dpdb.privacy import noise as randomness
from dpdb.privacy.epsilon import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.release.rule_statistics import RuleStatistics

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

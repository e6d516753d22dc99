"""The index of a ledger: every decision against the exact overlap."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import reference

from dpdb.accounting import OverlapIndex, parse_where
from dpdb.accounting.workloads import box_workload
from dpdb.errors import ParameterError


@pytest.mark.parametrize("seed", range(25))
def test_decisions_equal_the_exact_overlap(seed: int) -> None:
    rng = random.Random(seed)
    budget = rng.randint(5, 25)
    index = OverlapIndex()
    kept: list = []
    for _ in range(25):
        text, truth = reference.condition(rng, 1)
        weight = rng.randint(0, 6)
        decision = index.would_exceed(parse_where(text), weight, budget, deadline=rng.choice((0.0, 5.0, 5.0)))
        after = reference.brute_force([t for _, t, _ in kept] + [truth], [w for _, _, w in kept] + [weight])
        if decision.allowed:
            assert after <= budget, (seed, text)
            assert decision.upper <= budget
            index.add(parse_where(text), weight, decision.upper)
            kept.append((text, truth, weight))
        elif decision.lower > budget:
            assert after > budget, (seed, text)
    bound = index.bound()
    truth = reference.brute_force([t for _, t, _ in kept], [w for _, _, w in kept]) if kept else 0
    assert bound.lower <= truth <= bound.upper <= max(budget, 0)


@pytest.mark.parametrize("shape", [(2, 1, 0.7), (4, 3, 0.5)])
def test_a_filling_ledger_stays_within_its_budget(shape: tuple) -> None:
    predicates, weights = box_workload(220, *shape, seed=1)
    index = OverlapIndex()
    refused = 0
    for predicate, weight in zip(predicates, weights, strict=True):
        decision = index.would_exceed(predicate, weight, 300)
        refused += not decision.allowed
        if decision.allowed:
            index.add(predicate, weight, decision.upper)
    assert len(index) > 40
    assert refused
    assert index.bound(5).upper <= 300
    assert index.total > 300


def test_numbers_and_text_on_one_column_start_the_index_again() -> None:
    index = OverlapIndex([(parse_where("x = 1"), 3), (parse_where("x = 2"), 3)])
    assert index.would_exceed(parse_where("x = 1"), 1, 4).allowed
    decision = index.would_exceed(parse_where("x = 'b'"), 1, 6)
    assert not decision.allowed
    assert decision.lower == 7
    assert index.bound().upper == 3  # the text was refused: what is in the ledger is numbers only


@pytest.mark.parametrize("before", [1, 40, 300])
def test_an_attribute_that_is_long_not_asked_about_still_meets_everything(before: int) -> None:
    """Releases that say nothing about an attribute cover its every value, however long it was not mentioned."""
    index = OverlapIndex([(parse_where("b >= 3"), 1)] * before)
    for _ in range(900):
        index.add(parse_where("a = 2"), 1)
    index.add(parse_where(""), 1)
    asked = parse_where("a > 1 AND b < 5")
    assert not index.would_exceed(asked, 1, before + 901).allowed
    assert index.would_exceed(asked, 1, before + 902).allowed
    assert index.bound().upper == before + 901


def test_a_certain_refusal_names_the_row() -> None:
    index = OverlapIndex([(parse_where("age >= 65"), 5), (parse_where("state = 'CA'"), 5)])
    decision = index.would_exceed(parse_where("age BETWEEN 60 AND 70"), 1, 10)
    assert not decision.allowed
    assert decision.lower == 11
    assert decision.witness is not None
    assert decision.witness.queries == (0, 1)
    assert "state = 'CA'" in decision.witness.describe()
    assert index.would_exceed(parse_where("age < 65"), 5, 10).allowed


def test_a_release_above_the_whole_budget_is_refused() -> None:
    decision = OverlapIndex().would_exceed(parse_where("a = 1"), 11, 10)
    assert not decision.allowed
    assert decision.lower == 11


def test_a_contradiction_is_free() -> None:
    index = OverlapIndex([(parse_where(""), 10)])
    assert index.would_exceed(parse_where("a = 1 AND a = 2"), 5, 10).allowed


@pytest.mark.parametrize("weight", [-1, 0.5])
def test_unusable_weights_are_refused(weight: float) -> None:
    with pytest.raises(ParameterError):
        OverlapIndex().add(parse_where("a = 1"), weight)
    with pytest.raises(ParameterError):
        OverlapIndex().would_exceed(parse_where("a = 1"), weight, 10)

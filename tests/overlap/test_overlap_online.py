"""The index of a ledger: every decision against the exact overlap."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import reference
from box_workload import box_workload
from text_reader import parse_where

from dpdb.errors import ParameterError
from dpdb.overlap import OverlapIndex, index_rows, index_rows as neighbourhood, online
from dpdb.overlap.instance import Bound
from dpdb.overlap.online import Added
from dpdb.predicates import Region


class Asked:
    """Decisions one after another, each against the exact overlap; what was allowed is kept as a ledger keeps it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.budget = rng.randint(5, 25)
        self.index = OverlapIndex()
        self.kept: list = []
        self.lines: dict[str, Added] = {}

    def exact(self, *more: tuple) -> int:
        every = [*self.kept, *more]
        return reference.brute_force([t for t, _ in every], [w for _, w in every]) if every else 0

    def ask(self, text: str, truth: object) -> None:
        weight = self.rng.randint(0, 6)
        predicate = parse_where(text)
        decision = self.index.would_exceed(predicate, weight, self.budget, self.rng.choice((0.0, 5.0, 5.0)))
        after = self.exact((truth, weight))
        if decision.allowed:
            assert after <= self.budget, text
            assert decision.upper <= self.budget
            self.index.add(predicate, weight, decision.upper)
            self.kept.append((truth, weight))
            known = self.lines.pop(text, Added(predicate, 0, None, 0))
            self.lines[text] = Added(predicate, known.weight + weight, decision.upper, known.releases + 1)
        elif decision.lower > self.budget:
            assert after > self.budget, text

    def check(self) -> None:
        bound, truth = self.index.bound(), self.exact()
        assert bound.lower <= truth <= bound.upper <= max(self.budget, 0)
        assert (len(self.index), self.index.total) == (len(self.kept), sum(weight for _, weight in self.kept))


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(25))
def test_decisions_equal_the_exact_overlap(seed: int) -> None:
    rng = random.Random(seed)
    asked = Asked(rng)
    for _ in range(25):
        asked.ask(*reference.condition(rng, 1))
    asked.check()


@pytest.mark.heavy
@pytest.mark.parametrize("limits", [{}, {"replayed": 0}, {"cells": 0}, {"replayed": 0, "cells": 40}])
@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 40))])
def test_an_index_made_at_once_decides_as_safely(block: int, limits: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a ledger was opened: again and again, with repeated questions, and as if it were large."""
    monkeypatch.setattr(index_rows, "MOST_REPLAYED", limits.get("replayed", 4096))
    for module in (index_rows, neighbourhood):
        monkeypatch.setattr(module, "MOST_CELLS", limits.get("cells", 10**6))
    monkeypatch.setattr(online, "MOST_SEARCHED", 0 if limits else 3000)
    for seed in range(block * 2, block * 2 + 2):
        rng = random.Random(seed)
        asked = Asked(rng)
        made = [reference.condition(rng, 1) for _ in range(12)]
        questions = [(text, truth) for text, truth in made if not parse_where(text).is_contradiction]
        for _ in range(30):
            asked.ask(*rng.choice(questions))
            if rng.random() < 0.2:
                asked.check()
                asked.index = OverlapIndex.of(asked.lines.values())
            elif rng.random() < 0.2:
                asked.index = asked.index.copy()
        asked.check()


def test_a_copy_is_added_to_apart() -> None:
    index = OverlapIndex([(parse_where("a = 1"), 3), (parse_where("b < 5"), 2)])
    copy = index.copy()
    copy.add(parse_where("a = 1 AND c = 'x'"), 4)
    copy.add(parse_where("a = 1"), 1)
    assert (len(index), index.total, index.bound().upper) == (2, 5, 5)
    assert (len(copy), copy.total, copy.bound().upper) == (4, 10, 10)


def test_the_same_rows_are_one_query_of_several_releases() -> None:
    index = OverlapIndex([(parse_where("a = 1"), 1)] * 5 + [(parse_where("a > 0"), 2)])
    decision = index.would_exceed(parse_where("a = 1"), 4, 10)
    assert not decision.allowed
    assert decision.witness is not None
    assert (decision.witness.queries, index.releases(decision.witness.queries)) == ((0, 1), 6)
    assert len(index._rows) == 2


@pytest.mark.heavy
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


@pytest.mark.heavy
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


@pytest.mark.parametrize("seed", range(6))
def test_what_decisions_have_proven_bounds_all_of_them(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of an index that is made at once, by replaying additions or not; without uppers it is below the total."""
    rng, budget = random.Random(seed), 12
    index = OverlapIndex()
    known: dict[Region, tuple[int, int]] = {}
    for _ in range(60):
        x, y, weight = rng.randrange(6), rng.randrange(6), rng.randint(1, 3)
        query = parse_where(f"x BETWEEN {x} AND {x + rng.randrange(3)} AND y BETWEEN {y} AND {y + rng.randrange(3)}")
        decision = index.would_exceed(query, weight, budget, deadline=60)
        if decision.allowed:
            index.add(query, weight, decision.upper)
            before, _ = known.pop(query, (0, 0))  # the newest addition comes last
            known[query] = before + weight, decision.upper
    monkeypatch.setattr(online, "maximum_overlap", lambda *_, deadline: Bound(0, index.total))
    assert index.bound(0.0).upper <= budget < index.total
    for replayed in (4096, 0):
        monkeypatch.setattr(index_rows, "MOST_REPLAYED", replayed)
        added = [Added(query, weight, upper) for query, (weight, upper) in known.items()]
        assert OverlapIndex.of(added).bound(0.0).upper <= budget
        unproven = [Added(query, weight) for query, (weight, _) in known.items()]
        assert OverlapIndex.of(unproven).bound(0.0).upper < index.total
        if replayed:
            one_by_one = OverlapIndex([(added.query, added.weight) for added in unproven])
            assert OverlapIndex.of(unproven).bound(0.0).upper == one_by_one.bound(0.0).upper


def test_of_several_boxes_the_fullest_one_is_named() -> None:
    index = OverlapIndex([(parse_where(f"a = 2 AND b < {k}"), 1) for k in (5, 6, 7)])
    for k in (5, 6, 7):  # apart from one another, which only a search tells
        index.add(parse_where(f"a = 1 AND b = {k}"), 1)
    decision = index.would_exceed(parse_where("(a = 1 AND c = 1) OR (a = 2 AND c = 2)"), 1, 3, deadline=60)
    assert (decision.allowed, decision.lower) == (False, 4)
    assert decision.witness is not None
    assert decision.witness.queries == (0, 1, 2)


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

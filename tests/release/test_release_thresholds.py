"""A threshold on a private number changes neither a statistic nor a step that is shown: see `dpdb.thresholds`."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from asked_there import AskedThere
from case_share import fifth
from threshold_fuzz import (
    THETAS,
    Question,
    Read,
    all_ends,
    maximum_matching,
    moved,
    order_pair,
    random_ends,
    random_question,
    read,
    truth,
)

from dpdb.errors import EngineError
from dpdb.opening import open_table
from dpdb.release.statistics import SliceStatistics
from dpdb.thresholds import MOST_LISTED


def projected(pairs: list[tuple[int, int]], theta: int) -> tuple[int, int]:
    degree: dict[int, int] = {}
    kept = 0
    for u, v in pairs:
        if degree.get(u, 0) < theta and degree.get(v, 0) < theta:
            degree[u], degree[v] = degree.get(u, 0) + 1, degree.get(v, 0) + 1
            kept += 1
    return kept, len(degree)


def witnesses(pairs: list[tuple[int, int]], theta: int) -> int:
    covered: set[int] = set()
    used: dict[int, int] = {}
    for pair in pairs:
        for charged, node in (pair, pair[::-1]):
            if node not in covered and used.get(charged, 0) < theta:
                covered.add(node)
                used[charged] = used.get(charged, 0) + 1
    return len(covered)


def check(question: Question, ends: list[dict[str, float]], *, remote: bool = False) -> None:
    """Compare what is read at some ends with what is read without, and that with the definition."""
    source = AskedThere(question.table) if remote else None
    plain = read(question, source)
    if not remote:
        by_definition(question, plain)
    for number, moving in enumerate(ends):
        with moved(moving, in_pieces=number % 3 == 2):
            found = read(question, source)
        assert found.statistics == plain.statistics, (question.texts, moving)
        assert found.steps == plain.steps, (question.texts, moving)
        assert found.edges == plain.edges, (question.texts, moving)


def by_definition(question: Question, found: Read) -> None:
    wanted = truth(question)
    assert sorted(found.rank) == list(range(len(wanted.rows)))
    pairs = wanted.in_order(found.rank)
    assert found.edges == pairs
    ends = [end for pair in pairs for end in pair]
    degrees = [ends.count(end) for end in set(ends)]
    of = found.statistics
    assert (of["self-conflicts"], of["rows"]) == (wanted.alone, len(question.rows))
    assert (of["degrees"].edge_count, of["degrees"].positive_degree_nodes) == (len(pairs), len(degrees))
    assert of["degrees"].max_degree == max(degrees, default=0) <= of["degree bound"]
    assert of["2 tau*"] == maximum_matching(len(wanted.rows), pairs)
    assert list(zip(of["projected edges"], of["projected nodes"], strict=True)) == [
        projected(pairs, theta) for theta in THETAS
    ]
    assert of["witnesses"] == [witnesses(pairs, theta) for theta in THETAS]
    assert of["greedy cover"] == 2 * projected(pairs, 1)[0]


@pytest.mark.heavy(family="alone")
@pytest.mark.parametrize("theme", fifth(["mixed", "order", "classes"]))
def test_thresholds_moved_together_change_nothing(theme: str) -> None:
    """A sample of the long forms: all thresholds at one end, or each at any."""
    rng = random.Random(f"25 {theme}")
    *_, least, most = all_ends()
    for _ in range(2):
        check(random_question(rng, theme), [least, most, random_ends(rng)])
    check(random_question(rng, theme), [least, most], remote=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("theme", ["mixed", "order", "classes"])
def test_each_threshold_moved_alone_changes_nothing(theme: str, seed: int) -> None:
    rng = random.Random(f"{seed} {theme}")
    check(random_question(rng, theme), [*all_ends(), *(random_ends(rng) for _ in range(10))])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("theme", ["mixed", "order", "classes"])
def test_a_remote_table_has_the_same_thresholds(theme: str, seed: int) -> None:
    rng = random.Random(f"remote {seed} {theme}")
    check(random_question(rng, theme), [*all_ends(), random_ends(rng)], remote=True)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 132), marks=pytest.mark.slow)])
def test_a_pair_that_breaks_two_order_rules_is_listed_once(seeds: range) -> None:
    """Pairs of order rules that share a column, both signs, names in any order."""
    for seed in seeds:
        question = order_pair(random.Random(seed))
        with open_table(question.table, constraints=question.texts) as opened:
            edges = [pair for u, v in opened.slice().edges.batches() for pair in zip(u, v, strict=True)]
        assert len(edges) == len(set(edges)) == len(truth(question).conflicts), question.texts


ISSUE_25 = [
    "not(t1.p>t2.q)",
    "not(t1.d=t2.d&t1.n>t2.n&t1.m<t2.m)",
    "not(t1.e=t2.e&t1.n>t2.n&t1.m<t2.m)",
]


@pytest.mark.heavy(family="privacy")
@pytest.mark.parametrize("rows", [7, 8])
def test_one_row_at_the_threshold_changes_a_count_by_what_it_may(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs of a first group are listed, 21 of 7 rows and 28 of 8; twenty pairs break both order rules."""
    pairs = np.repeat(np.arange(20), 2)
    group = np.concatenate([-1 - np.arange(rows), pairs])
    table = pa.table(
        {
            "p": np.concatenate([np.ones(rows, int), np.full(40, -5)]),
            "q": np.concatenate([np.zeros(rows, int), np.full(40, 5)]),
            "d": group,
            "e": group,
            "n": np.concatenate([np.zeros(rows, int), np.tile([1, 0], 20)]),
            "m": np.concatenate([np.zeros(rows, int), np.tile([0, 1], 20)]),
        }
    )
    monkeypatch.setattr(MOST_LISTED, "at", 27)
    shown: list[str] = []
    with open_table(table, constraints=ISSUE_25, progress=shown.append) as opened:
        of = SliceStatistics(opened.slice())
        assert of.projected_edges([10**6]) == [rows * (rows - 1) // 2 + 20]
        assert of.projected_edges([2]) == [{7: 6, 8: 7}[rows] + 20]  # triangles, and a pair that is left over
    assert shown == ["opening the table", "reading the table", "ranking rows", "joining conflicts"]


def test_pairs_that_come_twice_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a join forgets: the edges of a table, and those that are listed beside blocks."""
    monkeypatch.setattr("dpdb.engine.sql.bind._not_earlier", lambda dc, earlier: [])
    question = order_pair(random.Random(0))
    crossing = ["not(t1.d=t2.d & t1.n>t2.m)", "not(t1.d=t2.d & t1.n>=t2.m)"]
    with open_table(question.table, constraints=[*crossing, "d -> e"]) as opened:
        with pytest.raises(EngineError, match="twice"):
            opened.slice().first_violations([0, 1], 10**6)
        with pytest.raises(EngineError, match="twice"):
            _ = opened.slice().edges

"""`two_sided` within a declared group size: exhaustive over small tables, whether the declaration is true or not."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache

import duckdb
import pyarrow as pa
import pytest
from noise_scripts import Zero, recorded
from small_graphs import SmallGraph

import dpdb
from dpdb.constraints import load_constraints
from dpdb.database.database import Database
from dpdb.engine.sql.bind import bind
from dpdb.engine.sql.joins import degree_terms
from dpdb.errors import ParameterError
from dpdb.measures.mechanism import Run
from dpdb.measures.mechanisms.at_one_theta import declared
from dpdb.measures.registry import measure_named
from dpdb.privacy.epsilon import NANO
from dpdb.privacy.noise import laplace_scale, replaced_noise
from dpdb.schema import TableSchema
from dpdb.sources.open import declared_schema

VALUES = (None, 0, 1)
RULES = {
    "a -> b": lambda s, t: s[0] is not None and s[0] == t[0] and None not in {s[1], t[1]} and s[1] != t[1],
    "not(t1.a=t2.b)": lambda s, t: (s[0] is not None and s[0] == t[1]) or (t[0] is not None and t[0] == s[1]),
    "not(t1.a<t2.a&t1.b>t2.b)": lambda s, t: (
        None not in {*s, *t} and ((s[0] < t[0] and s[1] > t[1]) or (t[0] < s[0] and t[1] > s[1]))
    ),
}


@cache
def within(rule: str, max_group: int) -> int:
    with Database() as database:
        schema: TableSchema = declared_schema(database, {"a": "INTEGER", "b": "INTEGER"})
        return degree_terms(bind(database, load_constraints(rule, schema.names), schema)).within(max_group)


def largest_group(rule: str, rows: tuple[tuple[int | None, int | None], ...]) -> int:
    """The largest group that the declaration is about: of `a`, of `a` or `b`, of all rows."""
    if rule.startswith("not(t1.a<"):
        return len(rows)
    columns = (0,) if rule == "a -> b" else (0, 1)
    return max((n for k in columns for n in Counter(row[k] for row in rows if row[k] is not None).values()), default=0)


@pytest.mark.heavy
@pytest.mark.parametrize("rule", RULES)
def test_a_true_declaration_bounds_every_degree(rule: str) -> None:
    """All multisets of up to five rows over NULL, 0 and 1."""
    seen = 0
    for size in range(1, 6):
        for rows in itertools.combinations_with_replacement(list(itertools.product(VALUES, VALUES)), size):
            conflicts = [
                pair for pair in itertools.combinations(range(size), 2) if RULES[rule](*(rows[k] for k in pair))
            ]
            degree = max(Counter(itertools.chain(*conflicts)).values(), default=0)
            assert degree <= within(rule, max(1, largest_group(rule, rows)))
            seen += 1
    assert seen == 2001


def graphs(nodes: int) -> list[tuple[tuple[int, int], ...]]:
    """All graphs of so many nodes, with their edges in the canonical order."""
    pairs = list(itertools.combinations(range(nodes), 2))
    return [edges for k in range(len(pairs) + 1) for edges in itertools.combinations(pairs, k)]


@pytest.mark.heavy
@pytest.mark.parametrize("measure", ["minimal_inconsistency", "problematic"])
def test_a_wrong_declaration_costs_the_upper_end_and_no_privacy(measure: str) -> None:
    """On every graph of four nodes, at every theta below, at and above its degrees, for every removed node.

    One draw, whose loss between neighbours never exceeds epsilon; and without noise the interval's centre is the
    measure where theta is at least every degree, and at most the measure where it is not.
    """
    worst = 0.0
    for edges in graphs(4):
        degrees = Counter(itertools.chain(*edges))
        exact = len(edges) if measure == "minimal_inconsistency" else len(degrees)
        for theta in (1, 2, 3, 4):
            mechanism = declared(measure_named(measure).mechanism("two_sided"), measure, theta)
            assert mechanism.shares(NANO) == (0, NANO)
            with replaced_noise(Zero()):
                answer = mechanism.answer(Run(SmallGraph(4, edges), NANO, 0.05))
            assert answer.noise_scale == laplace_scale(theta + (measure == "problematic"), NANO)
            assert answer.value == exact if theta >= max(degrees.values(), default=0) else answer.value <= exact
            assert answer.lower <= answer.value <= answer.upper
            for gone in range(4):
                left = tuple(edge for edge in edges if gone not in edge)
                other, draws = recorded(lambda m=mechanism, g=left: m.answer(Run(SmallGraph(4, g), NANO, 0.05)))
                assert len(draws) == 1
                assert other.noise_scale == answer.noise_scale
                worst = max(worst, abs(draws[0].value - answer.value) / answer.noise_scale)
    assert 0.7 < worst <= 1


@pytest.mark.heavy(family="long")
def test_it_goes_through_every_door_and_is_never_checked() -> None:
    table = pa.table({"a": ["x"] * 9, "b": ["1", *["2"] * 8]})
    with dpdb.open(table, constraints="a -> b", max_group=3) as session:  # wrong: the group has 9 rows
        one = session.dp_inconsistency("minimal_inconsistency", 50, mechanism="two_sided")
        assert (one.theta, one.noise_scale) == (2, pytest.approx(2 / 50))
        assert one.upper < 8  # the price of a wrong word
        assert "declares" in one.estimand
        [each] = session.dp_inconsistency("problematic", 50, mechanism="two_sided", each_constraint=True)
        assert each.theta == 2
        assert session.dp_inconsistency("minimal_inconsistency", 1).mechanism == "ladder"
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT 'x' AS a, CASE WHEN range = 0 THEN '1' ELSE '2' END AS b FROM range(9)")
    registration = dpdb.register(con, constraints="a -> b", max_group=3)
    call = "FROM dp_inconsistency('t', measure := 'problematic', epsilon := 50, mechanism := 'two_sided')"
    assert registration.execute(f"SELECT theta {call}").to_pylist() == [{"theta": 2}]
    registration.close()
    for wrong in (0, True, 2.5, "3"):
        with pytest.raises(ParameterError, match="max_group must be a whole number"):
            dpdb.open(table, constraints="a -> b", max_group=wrong)

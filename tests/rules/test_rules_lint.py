"""Lint says what is odd about constraints, and its claims about implied rules hold on every small table."""

from __future__ import annotations

import itertools
import random

import pyarrow as pa
import pytest

from dpdb.constraints import DenialConstraint, Operator, parse_constraint
from dpdb.owner import exact_measures
from dpdb.rules import lint
from dpdb.rules.entailment import entails, never_holds


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        (["zip -> city", "not(t2.city!=t1.city & t1.zip=t2.zip)"], [("duplicate", (2, 1))]),
        (["zip -> city", "zip, name -> city"], [("implied", (2, 1))]),
        (["UNIQUE(id)", "id -> name"], [("implied", (2, 1))]),
        (["not(t1.age<0)", "not(t1.age<-5)"], [("implied", (2, 1))]),
        (["not(t1.age<-5)", "not(t1.age<0)"], [("implied", (1, 2))]),
        (["not(t1.age<0)", "not(t1.age<0 & t1.zip=t2.zip & t1.x!=t2.x)"], [("implied", (2, 1))]),
        (["not(t1.a<=t2.a & t1.a>=t2.a)", "UNIQUE(a)"], [("implied", (2, 1))]),
        (["zip -> city", "city -> state", "zip -> state"], [("implied", (3, 1, 2))]),
        (["not(t1.a<0 & t1.a>5)"], [("contradiction", (1,))]),
        (["not(t1.a=t2.a & t1.a!=t2.a)"], [("contradiction", (1,))]),
        (["not(t1.p>t2.p & t1.q<t2.q)", "not(t1.p>t2.p & t1.q>t2.q)"], [("contradiction", (2, 1))]),
        (["not(t1.u!=t2.u & t1.v!=t2.v)"], [("quadratic", (1,))]),
        (["zip -> city", "UNIQUE(id)", "not(t1.age<0)"], []),
    ],
)
def test_what_lint_finds(rules: list[str], found: list[tuple[str, tuple[int, ...]]]) -> None:
    assert [(finding.kind, finding.rules) for finding in lint(rules)] == found


def _violates(dc: DenialConstraint, rows: tuple[tuple[int | None, int | None], ...]) -> bool:
    """Ask the definition: do these two rows, in one of their orders, or one of them alone, satisfy all predicates?"""
    compare = {
        Operator.EQ: int.__eq__, Operator.NE: int.__ne__, Operator.LT: int.__lt__,
        Operator.LE: int.__le__, Operator.GT: int.__gt__, Operator.GE: int.__ge__,
    }  # fmt: skip

    def value(ref: object, pair: tuple[tuple[int | None, int | None], ...]) -> int | None:
        if hasattr(ref, "column"):
            return pair[ref.tuple_index]["ab".index(ref.column)]
        return int(ref.value)  # type: ignore[attr-defined]

    def holds(pair: tuple[tuple[int | None, int | None], ...]) -> bool:
        sides = [(p.op, value(p.left, pair), value(p.right, pair)) for p in dc.predicates]
        return all(left is not None and right is not None and compare[op](left, right) for op, left, right in sides)

    first, second = rows
    pairs = [(first, first), (second, second)] if dc.is_single_tuple else [(first, second), (second, first)]
    return any(holds(pair) for pair in pairs)


def _random_rule(random_: random.Random) -> DenialConstraint:
    signs = ["=", "!=", "<", "<=", ">", ">="]
    single = random_.random() < 0.25
    parts = []
    for _ in range(random_.randint(1, 3)):
        left = f"t1.{random_.choice('ab')}"
        right = str(random_.randint(0, 1)) if single or random_.random() < 0.2 else f"t2.{random_.choice('ab')}"
        parts.append(left + random_.choice(signs) + right)
    return parse_constraint(f"not({'&'.join(parts)})")[0]


def test_implied_rules_and_contradictions_hold_on_every_pair_of_small_rows() -> None:
    random_ = random.Random(20261122)
    rows = list(itertools.product((None, 0, 1, 2), repeat=2))
    implied = hopeless = 0
    for _ in range(4000):
        special, general = _random_rule(random_), _random_rule(random_)
        if never_holds(special):
            hopeless += 1
            assert not any(_violates(special, pair) for pair in itertools.product(rows, repeat=2)), str(special)
        elif entails(special, general):
            implied += 1
            for pair in itertools.product(rows, repeat=2):
                assert not _violates(special, pair) or _violates(general, pair), (str(special), str(general), pair)
    assert implied > 50
    assert hopeless > 50


def test_an_implied_rule_changes_no_measure() -> None:
    random_ = random.Random(7)
    table = pa.table({name: [random_.choice([None, 1, 2, 3]) for _ in range(60)] for name in ("zip", "name", "city")})
    alone, both = ["zip -> city"], ["zip -> city", "zip, name -> city"]
    assert lint(both)
    assert exact_measures(table, alone, non_private=True) == exact_measures(table, both, non_private=True)

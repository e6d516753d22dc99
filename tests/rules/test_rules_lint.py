"""Lint says what is odd about constraints, and its claims about implied rules hold on every small table."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pyarrow as pa
import pytest
from case_share import fifth, of_all

from dpdb.constraints import DenialConstraint, Operator, parse_constraint
from dpdb.errors import ParameterError
from dpdb.owner import exact_measures
from dpdb.rules import lint
from dpdb.rules.linting import Entailing, entails, never_holds


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


@pytest.mark.heavy(family="alone")
def test_implied_rules_and_contradictions_hold_on_every_pair_of_small_rows() -> None:
    rows = list(itertools.product((None, 0, 1, 2), repeat=2))
    implied = hopeless = 0
    for seed in fifth(range(4000)):
        random_ = random.Random(20261122 + seed)
        special, general = _random_rule(random_), _random_rule(random_)
        if never_holds(special):
            hopeless += 1
            assert not any(_violates(special, pair) for pair in itertools.product(rows, repeat=2)), str(special)
        elif entails(special, general):
            implied += 1
            for pair in itertools.product(rows, repeat=2):
                assert not _violates(special, pair) or _violates(general, pair), (str(special), str(general), pair)
    assert implied > of_all(50)
    assert hopeless > of_all(50)


def test_an_implied_rule_changes_no_measure() -> None:
    random_ = random.Random(7)
    table = pa.table({name: [random_.choice([None, 1, 2, 3]) for _ in range(60)] for name in ("zip", "name", "city")})
    alone, both = ["zip -> city"], ["zip -> city", "zip, name -> city"]
    assert lint(both)
    of_alone, of_both = (exact_measures(table, rules, non_private=True) for rules in (alone, both))
    assert replace(of_alone, judged={}) == replace(of_both, judged={})  # `judged` is by rule


SHAPES = [
    "a{0} -> b{0}",
    "a -> b{0}",
    "a{0} -> a{1}",
    "not(t1.p>t2.p & t1.q{0}<t2.q{0})",
    "UNIQUE(a, b, c{0})",
    "CHECK (c{0} > 0)",
]


@pytest.mark.heavy
@pytest.mark.parametrize("shape", SHAPES)
def test_rules_over_other_columns_are_not_compared(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It took the square of their number: 8.8 s for 500."""
    compared = 0
    asked = Entailing.entails

    def counted(self: Entailing, general: Entailing) -> bool:
        nonlocal compared
        compared += 1
        return asked(self, general)

    monkeypatch.setattr(Entailing, "entails", counted)
    assert lint([shape.format(number, number + 1) for number in range(300)]) == ()
    assert compared <= 2 * 300


def test_rules_over_the_same_column_are_compared_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [f"not(t1.age<{number})" for number in range(40)]
    assert len(lint(rules)) == 39
    monkeypatch.setattr("dpdb.rules.linting.MOST_PAIRS", 40 * 39 - 1)
    with pytest.raises(ParameterError, match=r"lint would compare 1,560 pairs of constraints, at most 1,559"):
        lint(rules)


def test_which_rules_are_compared_loses_no_implied_one() -> None:
    random_ = random.Random(20261123)
    for _ in range(300):
        rules = [_random_rule(random_) for _ in range(random_.randrange(2, 7))]
        found = {finding.rules[0] for finding in lint(rules) if finding.kind in {"implied", "duplicate"}}
        sound = {number: rule for number, rule in enumerate(rules) if not never_holds(rule)}
        for one, other in itertools.permutations(sound, 2):
            if entails(sound[one], sound[other]) and (other < one or not entails(sound[other], sound[one])):
                assert one + 1 in found, (rules, one, other)


def test_derivations_use_the_first_rules_that_apply() -> None:
    rules = ["[] -> a", "b, d -> e", "[] -> d", "c, b -> e", "e -> f", "b, c -> f"]
    assert [finding.rules for finding in lint(rules)] == [(4, 1, 2, 3), (6, 1, 2, 3, 5)]


def test_characters_that_are_not_what_they_seem() -> None:
    odd = {
        '"ci\u200bty" -> zip': "ZERO WIDTH SPACE",
        '"ci\u00a0ty" -> zip': "NO-BREAK SPACE",
        "c\u0456ty -> zip": "CYRILLIC",
        "CHECK (state = 'A\u039b')": "GREEK",
    }
    for text, name in odd.items():
        [finding] = lint(text)
        assert (finding.kind, finding.rules) == ("characters", (1,))
        assert name in finding.message
    assert lint(["stra\u00dfe -> \u00f1", '"\u0433\u043e\u0440\u043e\u0434" -> zip', "a_1 -> b"]) == ()

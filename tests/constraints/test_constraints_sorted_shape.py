"""Shapes that one sort decides: every way of writing a constraint is one shape, which means what the text means."""

from __future__ import annotations

import itertools
import operator
import random
from typing import Any

import pytest

from dpdb.constraints import SortedKind, SortedShape, parse_constraint, sorted_shape

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}

Term = tuple[str, str, str]  # such as ("1a", "<", "2b"): t1.a < t2.b
Row = dict[str, Any]

ORDERS: list[list[Term]] = [
    [("1a", first, "2a"), ("1b", second, "2b")] for first, second in itertools.product(("<", "<=", ">", ">="), repeat=2)
]
CROSSES: list[list[Term]] = [[("1a", op, "2b")] for op in ("<", "<=", ">", ">=")]
INTERVALS: list[list[Term]] = [[("1a", op, "2b"), ("2a", op, "1b")] for op in ("<", "<=")]
KINDS = {SortedKind.ORDER: ORDERS, SortedKind.CROSS: CROSSES, SortedKind.INTERVALS: INTERVALS}
SHAPED = [(kind, terms) for kind, rules in KINDS.items() for terms in rules]


def writings(terms: list[Term]) -> list[list[Term]]:
    """All orders of the terms, their sides either way, and t1 and t2 exchanged."""
    found = []
    for order in itertools.permutations(terms):
        for flips in itertools.product((False, True), repeat=len(order)):
            sides = [
                (right, FLIPPED[op], left) if flip else (left, op, right)
                for flip, (left, op, right) in zip(flips, order, strict=True)
            ]
            found.append(sides)
            found.append([(swapped(left), op, swapped(right)) for left, op, right in sides])
    return found


def swapped(side: str) -> str:
    return str(3 - int(side[0])) + side[1:]


def text(terms: list[Term]) -> str:
    return "not(" + " & ".join(f"t{a[0]}.{a[1:]} {op} t{b[0]}.{b[1:]}" for a, op, b in terms) + ")"


def violated(terms: list[Term], one: Row, other: Row) -> bool:
    rows = {"1": one, "2": other}
    values = [(rows[left[0]][left[1:]], op, rows[right[0]][right[1:]]) for left, op, right in terms]
    return all(a is not None and b is not None and COMPARED[op](a, b) for a, op, b in values)


def meant(shape: SortedShape) -> list[Term]:
    """The constraint that the shape stands for, by its docstring."""
    equal: list[Term] = [(f"1{name}", "=", f"2{name}") for name in shape.equal]
    first, second = "=" * shape.first_ties, "=" * shape.second_ties
    a, b = shape.first, shape.second
    if shape.kind is SortedKind.CROSS:
        return [*equal, (f"1{a}", ">" + first, f"2{b}")]
    if shape.kind is SortedKind.INTERVALS:
        return [*equal, (f"1{a}", "<" + first, f"2{b}"), (f"2{a}", "<" + first, f"1{b}")]
    way = ">" if shape.same_way else "<"
    return [*equal, (f"1{a}", ">" + first, f"2{a}"), (f"1{b}", way + second, f"2{b}")]


@pytest.mark.heavy
@pytest.mark.parametrize(("kind", "terms"), SHAPED, ids=lambda value: text(value) if isinstance(value, list) else "")
@pytest.mark.parametrize("grouped", [False, True])
def test_every_writing_is_one_shape_that_means_the_same_pairs(
    kind: SortedKind, terms: list[Term], grouped: bool
) -> None:
    group: list[Term] = [("1g", "=", "2g")] if grouped else []
    shapes = {sorted_shape(parse_constraint(text(written))[0]) for written in writings([*terms, *group])}
    assert len(shapes) == 1
    [shape] = shapes
    assert shape is not None
    assert shape.kind is kind
    assert shape.equal == (("g",) if grouped else ())
    assert shape.first_ties or not shape.second_ties
    draw = random.Random(text(terms))
    rows = [{name: draw.choice([0, 1, 2, None]) for name in "abg"} for _ in range(60)]
    for one, other in itertools.combinations(rows, 2):
        by_text = violated([*terms, *group], one, other) or violated([*terms, *group], other, one)
        by_shape = violated(meant(shape), one, other) or violated(meant(shape), other, one)
        assert by_text == by_shape


def test_conditions_must_hold_of_both_rows() -> None:
    [both] = parse_constraint("not(t1.a > t2.b & t1.c = 1 & t2.c = 1 & t1.d <= t1.a & t2.d <= t2.a)")
    shape = sorted_shape(both)
    assert shape is not None
    assert [str(both.predicates[place]) for place in shape.conditions] == ["t1.c=1", "t1.d<=t1.a"]
    assert shape == sorted_shape(
        parse_constraint("not(t1.a > t2.b & t1.c = 1 & t2.c = 1 & t1.d <= t1.a & t2.a >= t2.d)")[0]
    )


@pytest.mark.parametrize(
    "rule",
    [
        "a -> b",
        "UNIQUE(a)",
        "not(t1.a > t2.a)",
        "not(t1.a > 3)",
        "not(t1.a > t1.b)",
        "not(t1.a > t2.a & t1.b < t2.b & t1.c < t2.c)",
        "not(t1.a > t2.a & t1.b < t2.b & t1.c != t2.c)",
        "not(t1.a > t2.a & t1.b < t2.b & t1.c = 1)",
        "not(t1.a > t2.b & t1.c = 1)",
        "not(t1.a > t2.b & t1.c != t2.c)",
        "not(t1.a > t2.b & t1.c > t2.c)",
        "not(t1.a > t2.b & t1.a > t2.c)",
        "not(t1.a > t2.b & t1.c = t2.d)",
        "not(t1.a != t2.b)",
        "not(t1.a = t2.b)",
        "not(t1.a < t2.b & t2.a <= t1.b)",
        "not(t1.a < t2.b & t2.a > t1.b)",
        "not(t1.a < t2.b & t2.b < t1.c)",
        "not(t1.a < t2.b & t2.a < t1.b & t1.c < t2.c)",
    ],
)
def test_other_constraints_have_no_such_shape(rule: str) -> None:
    [constraint] = parse_constraint(rule)
    assert sorted_shape(constraint) is None

"""Constraints as values: validation, operators, and what canonical forms keep."""

import itertools
import operator
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st

from dpdb.constraints import (
    ColumnRef,
    Constant,
    DenialConstraint,
    Operator,
    Predicate,
    distinct,
    is_symmetric,
    parse_constraint,
)
from dpdb.errors import ParameterError

APPLY = {
    Operator.EQ: operator.eq,
    Operator.NE: operator.ne,
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
}


def one(text):
    (dc,) = parse_constraint(text)
    return dc


def value(side, pair):
    return side.value if isinstance(side, Constant) else pair[side.tuple_index][side.column]


def violates(dc, s, t):
    return all(APPLY[p.op](value(p.left, (s, t)), value(p.right, (s, t))) for p in dc.predicates)


def violating_pairs(dc, rows, *, ordered=False):
    pairs = [(i, j) for i, j in itertools.permutations(range(len(rows)), 2) if violates(dc, rows[i], rows[j])]
    return set(pairs) if ordered else {frozenset(pair) for pair in pairs}


columns = st.sampled_from("abc")
refs = st.builds(ColumnRef, st.sampled_from([0, 1]), columns)
sides = st.one_of(refs, st.builds(Constant, st.integers(0, 2)))
predicates = st.builds(Predicate, refs, st.sampled_from(Operator), sides)
constraints = st.builds(DenialConstraint, st.lists(predicates, min_size=1, max_size=4).map(tuple))
tables = st.lists(st.fixed_dictionaries({c: st.integers(0, 2) for c in "abc"}), min_size=2, max_size=5)


@pytest.mark.heavy(family="long")
@settings(deadline=None)
@given(constraints, tables)
def test_forms_keep_the_violating_pairs(dc, rows):
    expected = violating_pairs(dc, rows)
    assert violating_pairs(dc.canonical(), rows) == expected
    assert violating_pairs(dc.swapped(), rows) == expected
    assert violating_pairs(dc.oriented(), rows, ordered=True) == violating_pairs(dc, rows, ordered=True)
    if is_symmetric(dc) and not dc.is_single_tuple:
        assert all(
            (j, i) in violating_pairs(dc, rows, ordered=True) for i, j in violating_pairs(dc, rows, ordered=True)
        )


@pytest.mark.heavy(family="long")
@settings(deadline=None)
@given(constraints, st.randoms(use_true_random=False))
def test_canonical_forgets_only_writing(dc, random):
    assert dc.canonical() == dc.canonical().canonical() == dc.swapped().canonical()
    rewritten = [
        Predicate.of(p.right, p.op.flipped, p.left) if random.random() < 0.5 else p
        for p in random.sample(dc.predicates * 2, len(dc.predicates) * 2)
    ]
    assert DenialConstraint(tuple(rewritten)).canonical() == dc.canonical()
    assert distinct([dc, dc.swapped(), dc.canonical()]) == (dc,)


@settings(deadline=None)
@given(st.sampled_from(Operator), st.integers(0, 2), st.integers(0, 2))
def test_operators(op, a, b):
    assert APPLY[op](a, b) == APPLY[op.flipped](b, a)
    assert op.is_strict_order == (op.value in {"<", ">"})


@pytest.mark.heavy(family="long")
@settings(deadline=None)
@given(tables)
def test_tuple_order_in_every_style(rows):
    texts = [
        "not(t1.a<t2.b)",
        "not(t0.a<t1.b)",
        "not(t.a<s.b)",
        "not(t.a<t'.b)",
        "not(ti.a<tj.b)",
        "not(t_j.b>t_i.a)",
    ]
    results = [violating_pairs(one(text), rows, ordered=True) for text in texts]
    assert all(result == results[0] for result in results)


def test_single_tuple_is_about_t1():
    dc = DenialConstraint((Predicate(ColumnRef(1, "a"), Operator.LT, Constant(0)),))
    assert str(dc) == "not(t1.a<0)"
    assert dc.is_single_tuple
    assert dc.tuple_indices == (0,)
    assert dc.swapped() == dc
    assert not one("not(t1.a=1&t2.b=2)").is_single_tuple


def test_columns_and_renaming():
    dc = one("not(t1.b=t2.a&t1.a<5&t1.b!=t2.b)")
    assert dc.columns == ("a", "b")
    assert str(dc.renamed({"a": "x y", "b": "z"})) == 'not(t1.z=t2."x y"&t1."x y"<5&t1.z!=t2.z)'
    assert dc.predicates[0].columns == (ColumnRef(0, "b"), ColumnRef(1, "a"))
    assert dc.predicates[1].columns == (ColumnRef(0, "a"),)


def test_constants_differ_as_written():
    assert len({Constant(1), Constant(Decimal("1.0")), Constant(True), Constant("1")}) == 4
    assert Constant(Decimal("1")) == Constant(1)
    assert Constant(1) != 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: DenialConstraint(()),
        lambda: DenialConstraint(("not a predicate",)),
        lambda: DenialConstraint((Predicate(ColumnRef(0, "a"), Operator.EQ, ColumnRef(1, "a")),) * 65),
        lambda: ColumnRef(2, "a"),
        lambda: ColumnRef(0, ""),
        lambda: Constant(1.5),
        lambda: Constant(None),
        lambda: Constant(Decimal("NaN")),
        lambda: Constant(Decimal("Infinity")),
        lambda: Constant(Decimal("1e401")),
        lambda: Constant(10**100),
        lambda: Predicate(Constant(1), Operator.EQ, ColumnRef(0, "a")),
        lambda: Predicate(ColumnRef(0, "a"), "=", ColumnRef(0, "a")),
        lambda: Predicate.of(Constant(1), Operator.EQ, Constant(1)),
    ],
)
def test_invalid_values_are_refused(make):
    with pytest.raises(ParameterError):
        make()

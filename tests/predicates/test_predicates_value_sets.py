"""Value sets against membership, for random sets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from dpdb.predicates.region import disjoint, make_box, meet
from dpdb.predicates.value_sets import ValueSet

SOME = [None, *[k / 2 for k in range(-1, 12)]]

leaves = st.one_of(
    st.builds(ValueSet.points, st.lists(st.integers(0, 5), max_size=3)),
    st.builds(lambda v, c: ValueSet.below(v, closed=c), st.integers(0, 5), st.booleans()),
    st.builds(lambda v, c: ValueSet.above(v, closed=c), st.integers(0, 5), st.booleans()),
    st.sampled_from([ValueSet.everything(), ValueSet.present(), ValueSet.only_null(), ValueSet.nothing()]),
)
sets = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a: ~a, inner),
    ),
    max_leaves=4,
)


@pytest.mark.heavy(family="alone")
@settings(max_examples=150, deadline=None)
@given(sets, sets)
def test_algebra_is_membership(one: ValueSet, two: ValueSet) -> None:
    for value in SOME:
        assert (value in one & two) == (value in one and value in two)
        assert (value in one | two) == (value in one or value in two)
        assert (value in ~one) == (value not in one)
    assert ~~one == one
    assert one.is_empty == all(value not in one for value in SOME)
    assert one & two == two & one


@pytest.mark.heavy(family="long")
@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(sets, sets), min_size=1, max_size=4))
def test_a_union_is_split_into_disjoint_boxes(made: list[tuple[ValueSet, ValueSet]]) -> None:
    boxes = [box for x, y in made if (box := make_box({"x": x, "y": y})) is not None]
    parts = disjoint(boxes, 1000)
    assert parts is not None
    assert all(meet(one, two) is None for k, one in enumerate(parts) for two in parts[:k])

    def covered(some: list, x: object, y: object) -> bool:
        return any(all({"x": x, "y": y}[name] in values for name, values in box) for box in some)

    for x in SOME:
        for y in SOME:
            assert covered(boxes, x, y) == covered(parts, x, y)

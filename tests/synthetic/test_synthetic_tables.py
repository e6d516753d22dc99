"""Synthetic tables satisfy the constraints that they are made around, checked by the real engine."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

from dpdb.constraints import distinct, load_constraints
from dpdb.errors import ParameterError
from dpdb.owner.exact import exact_measures
from dpdb.owner.planned_table import consistent_rows
from dpdb.owner.synthetic_table import synthesize

COLUMNS = "abcde"


def made(constraints, *, types=None, rows=300, guesses=None, usual=17, seed=1):
    dcs = distinct(load_constraints(list(constraints)))
    named = sorted({name for dc in dcs for name in dc.columns})
    kinds = {name: (types or {}).get(name, "VARCHAR") for name in named}
    rng = np.random.default_rng(seed)
    return synthesize(dcs, kinds, rows=rows, distinct=guesses or {}, usual=usual, rng=rng)


def conflicts(table, constraints):
    exact = exact_measures(table.rows, list(constraints), non_private=True)
    return exact.minimal_inconsistency


@st.composite
def dependencies(draw):
    lhs = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=3, unique=True))
    rhs = draw(st.sampled_from([name for name in COLUMNS if name not in lhs]))
    return f"{', '.join(lhs)} -> {rhs}"


@st.composite
def orders(draw):
    first, second, *prefix = draw(st.permutations(COLUMNS))[: draw(st.integers(2, 4))]
    equal = "".join(f"t1.{name} = t2.{name} and " for name in prefix)
    direction = draw(st.sampled_from("<>"))
    return f"not({equal}t1.{first} < t2.{first} and t1.{second} {direction} t2.{second})"


@pytest.mark.heavy(family="alone")
@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    st.lists(dependencies(), max_size=5),
    st.lists(orders(), max_size=3),
    st.dictionaries(st.sampled_from(COLUMNS), st.integers(1, 60)),
    st.sampled_from(["VARCHAR", "BIGINT", "DOUBLE", "DATE"]),
)
def test_any_dependencies_and_order_constraints_hold(fds, ods, guesses, kind):
    constraints = [*fds, *ods] or ["a -> b"]
    named = {name for dc in load_constraints(constraints) for name in dc.columns}
    guesses = {name: count for name, count in guesses.items() if name in named}
    table = made(constraints, types=dict.fromkeys(COLUMNS, kind), guesses=guesses, rows=80)
    assert table.rows.num_rows == 80
    assert len(consistent_rows(table.rows, distinct(load_constraints(constraints)))) == 80
    for name, count in table.distinct.items():
        assert pc.count_distinct(table.rows[name]).as_py() <= count


KEYS = {
    "one column": ["UNIQUE(a)"],
    "two columns": ["UNIQUE(a, b)"],
    "a key and what it determines": ["UNIQUE(a)", "a -> b", "b -> c"],
    "beside a dependency": ["UNIQUE(a, b)", "a -> c", "c -> d"],
    "a column in two keys": ["UNIQUE(a, b)", "UNIQUE(a, c)"],
    "three keys in a circle": ["UNIQUE(a, b)", "UNIQUE(b, c)", "UNIQUE(c, a)"],
    "with a function": ["UNIQUE(a, b)", "c, d -> a"],
    "of columns that determine each other": ["UNIQUE(a, b)", "a -> b", "b -> a"],
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", KEYS)
def test_keys_hold(name):
    table = made(KEYS[name])
    assert conflicts(table, KEYS[name]) == 0


@pytest.mark.parametrize(
    ("constraints", "guesses", "expected"),
    [
        (["a -> b"], {"a": 40, "b": 6}, {"a": 40, "b": 6}),
        (["a -> b"], {"b": 60}, {"a": 60, "b": 60}),  # what determines has at least as many
        (["a -> b"], {}, {"a": 17, "b": 17}),
        (["a, b -> c"], {"a": 5, "c": 4}, {"a": 5, "b": 17, "c": 4}),
        (["not(t1.a != t2.a)"], {}, {"a": 1}),
    ],
)
def test_numbers_of_values_are_as_asked(constraints, guesses, expected):
    table = made(constraints, guesses=guesses, rows=4000)
    assert (table.distinct, table.notes) == (expected, ())
    assert {name: pc.count_distinct(table.rows[name]).as_py() for name in expected} == expected


def test_what_cannot_be_as_asked_is_said():
    table = made(["a -> b"], guesses={"a": 6, "b": 40})
    assert table.distinct == {"a": 6, "b": 6}
    assert table.notes == ("b has 6 distinct values, not 40: the constraints allow no more",)
    assert made(["a, b -> c", "d -> c"]).notes == ("a, b -> c is made to hold through a alone",)
    contradictory = ["not(t1.a < t2.a and t1.b < t2.b)", "not(t1.a < t2.a and t1.b > t2.b)"]
    assert made(contradictory).notes == ("b has one value: its order constraints contradict one another",)


def test_a_key_with_too_few_values_is_refused():
    with pytest.raises(
        ParameterError, match=r"the key \(a, b\) needs at least \d+ different values of 'a' for 300 rows"
    ):
        made(["UNIQUE(a, b)"], guesses={"a": 3, "b": 4})
    with pytest.raises(ParameterError, match="needs at least 300 different values of 'a'"):
        made(["UNIQUE(a)"], types={"a": "BOOLEAN"})


def test_a_seed_repeats_the_table():
    one, same, other = (made(["a, b -> c", "c -> d"], seed=seed).rows for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("kind", "constraints", "allowed"),
    [
        ("INTEGER", ["not(t1.a < 1000)"], lambda value: value >= 1000),
        ("INTEGER", ["not(t1.a <= 10)", "not(t1.a >= 20)"], lambda value: 10 < value < 20),
        ("BIGINT", ["not(t1.a > -5)"], lambda value: value <= -5),
        ("DOUBLE", ["not(t1.a < 0.5)"], lambda value: value >= 0.5),
        ("DECIMAL(9,2)", ["not(t1.a != 7)"], lambda value: value == 7),
        ("DATE", ["not(t1.a < '2024-02-29')"], lambda value: value >= date(2024, 2, 29)),
        ("BOOLEAN", [], lambda value: value in (True, False)),
    ],
)
def test_bounds_of_single_columns_hold(kind, constraints, allowed):
    table = made([*constraints, "b -> a"], types={"a": kind})
    assert all(map(allowed, table.rows["a"].to_pylist()))
    assert len(consistent_rows(table.rows, load_constraints(["b -> a"]))) == 300


def test_bounds_that_leave_nothing_are_refused():
    with pytest.raises(ParameterError, match="no whole number is a value of 'a'"):
        made(["not(t1.a < 3)", "not(t1.a > 2)", "b -> a"], types={"a": "INTEGER"})


def test_consistent_rows_are_a_maximal_set_without_conflicts():
    table = pa.table({"a": [1, 1, 1, 2, 2, 3, -1], "b": [1, 1, 2, 5, 5, 6, 7]})
    rules = load_constraints(["a -> b", "not(t1.a < 0)"])
    assert consistent_rows(table, rules).tolist() == [0, 1, 3, 4, 5]

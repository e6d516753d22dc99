"""CONoise: after an iteration the pair violates the constraint, by the changes that the paper describes."""

import itertools
import math
import operator
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from case_share import of_all
from hypothesis import given, settings, strategies as st

from dpdb.constraints import Constant, DenialConstraint, Operator, load_constraints
from dpdb.database.database import Database
from dpdb.engine.sql.bind import bind
from dpdb.errors import ConstraintTypeError, ParameterError
from dpdb.owner.dirt import conoise
from dpdb.owner.dirt.generators import PASSES
from dpdb.schema import Column, TableSchema

APPLY = {
    Operator.EQ: operator.eq, Operator.NE: operator.ne, Operator.LT: operator.lt,
    Operator.LE: operator.le, Operator.GT: operator.gt, Operator.GE: operator.ge,
}  # fmt: skip


@pytest.fixture(scope="module")
def database():
    with Database() as made:
        yield made


def violations(database, table, text):
    """Count violating ordered pairs of distinct rows (single rows) with the engine's own SQL."""
    (dc,) = load_constraints(text, table.column_names)
    with database.arrow_table("checked", table):
        schema = TableSchema(tuple(Column(*row) for row in database.describe("SELECT * FROM checked")))
        (bound,) = bind(database, [dc], schema)
        database.execute("CREATE OR REPLACE TEMP TABLE numbered AS SELECT *, row_number() OVER () AS n FROM checked")
    condition = bound.over("a", "b").sql("duckdb")
    pair = "a.n = b.n" if dc.is_single_tuple else "a.n <> b.n"
    return database.value(f"SELECT count(*) FROM numbered a, numbered b WHERE {pair} AND {condition}")


def side(ref, rows):
    return ref.value if isinstance(ref, Constant) else rows[ref.tuple_index][ref.column]


def violates(dc, rows):
    return all(APPLY[p.op](side(p.left, rows), side(p.right, rows)) for p in dc.predicates)


def satisfiable(dc):
    cells = sorted({(ref.tuple_index, ref.column) for p in dc.predicates for ref in p.columns})
    for values in itertools.product(range(-1, 4), repeat=len(cells)):
        rows = ({}, {})
        for (index, column), value in zip(cells, values, strict=True):
            rows[index][column] = value
        if violates(dc, rows):
            return True
    return False


columns_of_pairs = st.permutations("abcd")
operators = st.sampled_from(Operator)


@settings(deadline=None, max_examples=of_all(150))
@given(columns_of_pairs, st.lists(operators, min_size=1, max_size=4), st.data(), st.integers(0, 2**32))
def test_two_rows_violate_after_one_iteration(order, ops, data, seed):
    # Each predicate has a column of its own, as in the paper's constraints: they never contradict each other.
    text = "&".join(f"t1.{column}{op}t2.{column}" for column, op in zip(order, ops, strict=False))
    cells = st.lists(st.integers(0, 3), min_size=2, max_size=2)
    table = pa.table({c: data.draw(cells, label=c) for c in "abcd"})
    dc = load_constraints(f"not({text})")
    after = conoise(table, dc, iterations=1, seed=seed)
    rows = after.to_pylist()
    assert violates(dc[0], rows) or violates(dc[0], rows[::-1])
    changed = sum(table.column(c)[i] != after.column(c)[i] for c in "abcd" for i in range(2))
    assert changed <= len(ops)  # one side of each predicate that did not hold


refs = st.tuples(st.sampled_from(["t1", "t2"]), st.sampled_from("ab")).map(".".join)
rights = st.one_of(refs, st.integers(0, 2).map(str))
shared = st.lists(st.tuples(refs, operators, rights), min_size=1, max_size=2)


@settings(deadline=None, max_examples=of_all(200))
@given(shared, st.integers(0, 2**32))
def test_predicates_that_share_columns_are_gone_through_again(parts, seed):
    (dc,) = load_constraints(f"not({'&'.join(f'{left}{op}{right}' for left, op, right in parts)})")
    if not satisfiable(dc):
        return
    after = conoise(pa.table({"a": [0, 1], "b": [1, 1]}), [dc], iterations=20, seed=seed).to_pylist()
    pairs = [(row, row) for row in after] if dc.is_single_tuple else [after, after[::-1]]
    assert any(violates(dc, pair) for pair in pairs)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("not(t1.n<t2.n)", {"n": pa.array([0, 0], pa.uint8())}),
        ("not(t1.n>t2.n)", {"n": pa.array([127, 127], pa.int8())}),
        ("not(t1.s<t2.s)", {"s": ["", ""]}),
        ("not(t1.s!=t2.s)", {"s": ["x", "x"]}),
        ("not(t1.y<t2.y)", {"y": [b"", b""]}),
        ("not(t1.f>t2.f)", {"f": [math.nan, math.nan]}),
        ("not(t1.f>t2.f)", {"f": [math.inf, math.inf]}),
        ("not(t1.f<t2.f)", {"f": pa.array([0.1, 0.1], pa.float32())}),
        ("not(t1.f!=t2.f)", {"f": pa.array([1e38, 1e38], pa.float32())}),
        ("not(t1.b>t2.b)", {"b": [True, True]}),
        ("not(t1.d<t2.d)", {"d": [date(2024, 1, 1)] * 2}),
        ("not(t1.d!=t2.d)", {"d": [datetime(2024, 1, 1)] * 2}),
        ("not(t1.c!=t2.c)", {"c": pa.array([Decimal("9.9")] * 2, pa.decimal128(2, 1))}),
        ("not(t1.e!=t2.e)", {"e": pa.array(["x", "x"]).dictionary_encode()}),
        ("not(t1.i=t2.f)", {"i": [1, 2], "f": [0.5, 2.5]}),  # 0.5 is no integer: the float changes
        ("not(t1.i=t2.c)", {"i": [1, 2], "c": pa.array([Decimal("0.5")] * 2, pa.decimal128(2, 1))}),
        ("not(t1.c=t2.f)", {"c": pa.array([Decimal("0.1")] * 2, pa.decimal128(2, 1)), "f": [7.25, 0.3]}),
        ("not(t1.i<t2.f)", {"i": [5, 6], "f": [1.5, 2.5]}),
        ("not(t1.d=t2.t)", {"d": [date(2024, 1, 1)] * 2, "t": [datetime(2024, 1, 2, 3, 4)] * 2}),
        ("not(t1.d>t2.t)", {"d": [date(2024, 1, 1)] * 2, "t": [datetime(2024, 1, 2, 3, 4)] * 2}),
        ("not(t1.s=t2.s)", {"s": [None, "x"]}),
        ("not(t1.s!=t2.s)", {"s": [None, None, "x"]}),
        ("not(t1.i>5)", {"i": [1, 2]}),
        ("not(t1.i>=2.5&t1.i<=3.5)", {"i": [1, 2]}),
        ("not(t1.i=7&t2.i!=7)", {"i": [1, 2]}),
        ("not(t1.s='it''s')", {"s": ["a", "b"]}),
        ("not(t1.d>='2024-05-06')", {"d": [date(2024, 1, 1)] * 2}),
        ("not(t1.t<'2020-01-01 10:00:00')", {"t": [datetime(2024, 1, 1)] * 2}),
        ("not(t1.b=FALSE)", {"b": [True, True]}),
        ("not(t1.f>0.1)", {"f": pa.array([0.1, 0.1], pa.float32())}),
        ("not(t1.i>t1.j)", {"i": [1, 2], "j": [3, 4]}),
        ("not(t1.i=t2.i&t1.j<t2.j&t1.k!=t2.k)", {"i": [1, 2], "j": [1, 1], "k": ["x", "x"]}),
    ],
)  # fmt: skip
def test_every_type_and_operator_by_the_engines_own_comparison(database, text, row):
    table = pa.table(row)
    assert not violations(database, table, text) or None in table.column(0).to_pylist()
    for seed in range(5):
        after = conoise(table, load_constraints(text), iterations=1, seed=seed)
        after.validate(full=True)
        assert after.schema.equals(table.schema)
        assert violations(database, after, text) > 0, (seed, after.to_pydict())


def test_equality_copies_and_inequality_takes_a_domain_value():
    table = pa.table({"a": range(0, 2000, 2), "b": [7] * 500 + [9] * 500})
    after = conoise(table, load_constraints("a -> b"), iterations=50, seed=3)
    for name in "ab":
        assert set(after.column(name).to_pylist()) <= set(table.column(name).to_pylist())
    changed = [i for i in range(1000) if table.column("a")[i] != after.column("a")[i]]
    assert 40 <= len(changed) <= 50


def test_both_sides_are_chosen():
    table = pa.table({"a": [1, 2]})
    results = {tuple(conoise(table, load_constraints("not(t1.a=t2.a)"), iterations=1, seed=s)["a"].to_pylist())
               for s in range(40)}  # fmt: skip
    assert results == {(1, 1), (2, 2)}


def test_contradictions_and_columns_of_nulls_leave_the_table_usable():
    table = pa.table({"a": [1, 2], "n": pa.array([None, None], pa.int64())})
    for text in ("not(t1.a<t1.a)", "not(t1.a<t2.a&t1.a>t2.a)", "not(t1.n=t2.n)", "not(t1.a=2.5)"):
        after = conoise(table, load_constraints(text), iterations=5, seed=0)
        assert after.schema.equals(table.schema)
        assert after.column("n").null_count == 2
    assert PASSES > 1


def test_only_constrained_columns_change_and_the_seed_repeats():
    rng = np.random.default_rng(0)
    table = pa.table({c: rng.integers(0, 9, 300) for c in "abcd"})
    dcs = load_constraints(["a -> b", "not(t1.a<t2.a&t1.b>t2.b)"])
    after = conoise(table, dcs, seed=1)
    assert after.equals(conoise(table, dcs, iterations=200, seed=1))
    assert not after.equals(conoise(table, dcs, seed=2))
    assert after.select(["c", "d"]).equals(table.select(["c", "d"]))


def test_what_cannot_be_used_is_refused():
    table = pa.table({"a": [1, 2], "s": ["x", "y"]})
    for wrong in (0, -1, 2.0, True, "3"):
        with pytest.raises(ParameterError, match="iterations"):
            conoise(table, load_constraints("a -> s"), iterations=wrong)
    with pytest.raises(ParameterError, match="seed"):
        conoise(table, load_constraints("a -> s"), seed=-1)
    with pytest.raises(ParameterError, match="at least 2 row"):
        conoise(table.slice(0, 1), load_constraints("a -> s"))
    with pytest.raises(ConstraintTypeError, match=r"cannot compare 'a' \(int64\) with 's' \(string\)"):
        conoise(table, load_constraints("not(t1.a=t2.s)"))
    for text in ("not(t1.a='x')", "not(t1.a=TRUE)"):
        with pytest.raises(ConstraintTypeError, match="the constant"):
            conoise(table, load_constraints(text))
    single = conoise(table.slice(0, 1), load_constraints("not(t1.a>3)"), seed=0)
    assert single.column("a").to_pylist()[0] > 3
    assert isinstance(load_constraints("a -> s")[0], DenialConstraint)

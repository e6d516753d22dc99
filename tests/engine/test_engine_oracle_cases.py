"""Cases worth naming: NULL, NaN, types, shapes of constraints; each against the definition and with known numbers."""

import math
from datetime import date, datetime
from decimal import Decimal

import duckdb
import pytest
from helpers_engine import Table, agree, float32, run

from dpdb.constraints import DenialConstraint, parse_constraint
from dpdb.database.database import Database
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.bind import bind
from dpdb.errors import ConstraintTypeError
from dpdb.schema import Column, TableSchema
from dpdb.sources.open import open_source

NAN = math.nan
ONE = {"a": "BIGINT"}
TWO = {"a": "BIGINT", "b": "BIGINT"}
DAY, NEXT = date(2020, 1, 1), date(2020, 1, 2)
NOON = datetime(2020, 1, 1, 12)

# (name, types, rows, constraints, edges, self-conflicts)
CASES = [
    ("null violates nothing", TWO, [(None, 1), (None, 2), (1, None), (1, 2)], ["a -> b"], 0, 0),
    ("null inequality", TWO, [(1, None), (1, 2), (1, 3)], ["not(t1.a=t2.a&t1.b!=t2.b)"], 1, 0),
    ("nan equals nan", {"a": "DOUBLE"}, [(NAN,), (NAN,), (1.0,)], ["not(t1.a=t2.a)"], 1, 0),
    ("nan is greatest", {"a": "DOUBLE"}, [(NAN,), (math.inf,)], ["not(t1.a>t2.a)"], 1, 0),
    ("nan above a constant", {"a": "DOUBLE"}, [(NAN,), (1.0,)], ["not(t1.a>1e300)"], 0, 1),
    ("minus zero", {"a": "DOUBLE", "b": "DOUBLE"}, [(0.0, 1.0), (-0.0, 2.0)], ["a -> b"], 1, 0),
    ("minus zero is not below zero", {"a": "DOUBLE"}, [(0.0,), (-0.0,)], ["not(t1.a<t2.a)"], 0, 0),
    ("big integers are exact", ONE, [(2**53,), (2**53 + 1,)], ["not(t1.a=t2.a)"], 0, 0),
    ("bigint meets double", {"a": "BIGINT", "b": "DOUBLE"}, [(2**53 + 1, 2.0**53)], ["not(t1.a=t1.b)"], 0, 1),
    ("decimal meets integer", {"a": "DECIMAL(6,2)", "b": "SMALLINT"}, [(Decimal("1.00"), 1)], ["not(t1.a=t1.b)"], 0, 1),
    ("decimal above integer", {"a": "DECIMAL(6,2)", "b": "SMALLINT"}, [(Decimal("1.01"), 1)], ["not(t1.a>t1.b)"], 0, 1),
    ("fraction on integers", ONE, [(3,), (4,)], ["not(t1.a>3.5)"], 0, 1),
    ("float constant", {"a": "FLOAT"}, [(float32(0.1),)], ["not(t1.a=0.1)"], 0, 1),
    ("constant out of range", {"a": "SMALLINT"}, [(1,), (None,)], ["not(t1.a<100000)"], 0, 1),
    ("date meets timestamp", {"a": "DATE", "b": "TIMESTAMP"}, [(DAY, NOON), (NEXT, NOON)], ["not(t1.a<t1.b)"], 0, 1),
    ("date against noon", {"a": "DATE"}, [(DAY,), (NEXT,)], ["not(t1.a<'2020-01-01 12:00:00')"], 0, 1),
    ("code points", {"a": "VARCHAR"}, [("\U0001f600",), ("\uffff",)], ["not(t1.a>t2.a&t1.a>'\uffff')"], 1, 0),
    ("upper case first", {"a": "VARCHAR"}, [("B",), ("a",)], ["not(t1.a<'a')"], 0, 1),
    ("composed is not decomposed", {"a": "VARCHAR"}, [("é",), ("e\u0301",)], ["not(t1.a=t2.a)"], 0, 0),
    ("text of a number", {"a": "VARCHAR"}, [("5",), ("5.0",), ("x",)], ["not(t1.a='5')"], 0, 1),
    ("booleans are ordered", {"a": "BOOLEAN"}, [(True,), (False,), (None,)], ["not(t1.a>t2.a)"], 1, 0),
    ("boolean constant", {"a": "BOOLEAN"}, [(True,), (False,), (None,)], ["not(t1.a=true)"], 0, 1),
    ("equal rows conflict by a key", ONE, [(1,)] * 4, ["UNIQUE(a)"], 6, 0),
    ("equal rows and an asymmetric one", TWO, [(1, 1)] * 3, ["not(t1.a=t2.b)"], 3, 0),
    ("cross columns", TWO, [(1, 2), (2, 3), (3, 1)], ["not(t1.a=t2.b)"], 3, 0),
    ("no equality", TWO, [(1, 3), (2, 2), (3, 1)], ["not(t1.a<t2.a&t1.b>t2.b)"], 3, 0),
    ("one row", ONE, [(1,)], ["UNIQUE(a)"], 0, 0),
    ("no row", ONE, [], ["UNIQUE(a)", "not(t1.a>0)"], 0, 0),
    ("every pair", ONE, [(1,), (2,), (None,)], ["not(t1.a>=t2.a)"], 1, 0),
    ("no pair", ONE, [(1,), (1,)], ["not(t1.a<t2.a&t1.a>t2.a)"], 0, 0),
    ("self-conflicts leave the graph", TWO, [(1, 1), (1, 2), (1, -1)], ["a -> b", "not(t1.b<0)"], 1, 1),
    ("a pair constraint never hits one row", TWO, [(1, 1)], ["not(t1.a=t2.a&t1.b=t2.b)"], 0, 0),
    ("first of two", TWO, [(1, 1), (1, 2)], ["a -> b", "not(t1.a=t2.a)"], 1, 0),
    ("repeated constraint", TWO, [(1, 1), (1, 2)], ["a -> b", "not(t2.b!=t1.b&t2.a=t1.a)"], 1, 0),
    ("one-sided predicate on t2", TWO, [(1, 5), (1, 0)], ["not(t1.a=t2.a&t2.b>3&t1.b<1)"], 1, 0),
    ("same tuple both sides", TWO, [(1, 5), (1, 0)], ["not(t1.a=t2.a&t1.a<t1.b)"], 1, 0),
]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("types", "rows", "texts", "edges", "alone"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_case(database: Database, types, rows, texts, edges, alone) -> None:
    table = Table(types, rows)
    dcs = [dc for text in texts for dc in parse_constraint(text)]
    result = run(database, table, dcs)
    agree(table, dcs, result)
    assert (len(result.edges), result.self_conflicts) == (edges, alone)


def test_degree_bound_of_a_hub(database: Database) -> None:
    table = Table(TWO, [(1, 0), *[(1, 1)] * 5, (2, 0)])
    result = run(database, table, parse_constraint("a -> b"))
    assert (result.degree_bound, result.sensitivity) == (5, 1)


def test_degree_bound_of_cross_columns_after_the_common_cast(database: Database) -> None:
    # As doubles all three big integers are one value, so each may conflict with each.
    types = {"a": "BIGINT", "b": "DOUBLE"}
    table = Table(types, [(2**53, 2.0**53), (2**53 + 1, None), (2**53, None)])
    dcs = parse_constraint("not(t1.a=t2.b)")
    result = run(database, table, dcs)
    agree(table, dcs, result)
    assert (result.degree_bound, result.sensitivity) == (4, 2)


def test_a_column_called_size_is_grouped_by_value(database: Database) -> None:
    table = Table({"size": "BIGINT", "b": "BIGINT"}, [(1, 1), (1, 2), (1, 3), (9, 1)])
    result = run(database, table, parse_constraint("size -> b"))
    assert (len(result.edges), result.degree_bound) == (3, 2)


INCOMPARABLE = [
    ("BIGINT", "VARCHAR", "not(t1.x=t2.y)"),
    ("DATE", "BIGINT", "not(t1.x=t2.y)"),
    ("BOOLEAN", "BIGINT", "not(t1.x=t1.y)"),
    ("TIMESTAMP", "VARCHAR", "not(t1.x<t2.y)"),
    ("UUID", "VARCHAR", "not(t1.x=t2.y)"),
    ("INTEGER[]", "INTEGER", "not(t1.x=t2.x)"),
    ("STRUCT(a INTEGER)", "INTEGER", "not(t1.x=t2.x)"),
    ("BIGINT", "BIGINT", "not(t1.x='alice')"),
    ("DATE", "BIGINT", "not(t1.x='yesterday')"),
    ("DATE", "BIGINT", "not(t1.x=5)"),
    ("BOOLEAN", "BIGINT", "not(t1.x=1)"),
    ("BIGINT", "BIGINT", "not(t1.x=true)"),
    ("BIGINT", "BIGINT", "not(t1.x='1e999999999')"),
]


@pytest.mark.parametrize(("left", "right", "text"), INCOMPARABLE)
def test_incomparable_types_name_constraint_columns_and_types(database: Database, left, right, text) -> None:
    schema = TableSchema((Column("x", left), Column("y", right)))
    (dc,) = parse_constraint(text)
    with pytest.raises(ConstraintTypeError) as caught:
        bind(database, [dc], schema)
    message = str(caught.value)
    assert message.startswith(dc.label)
    assert "'x'" in message
    assert left in message
    assert "\n" not in message


SAME_TYPE = [
    "TINYINT", "INTEGER", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "DECIMAL(38,10)",
    "BLOB", "BIT", "UUID", "TIME", "TIME WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS",
    "TIMESTAMP WITH TIME ZONE", "INTERVAL", "JSON", "ENUM('x', 'y')",
]  # fmt: skip
SAMPLES = {
    "BLOB": ("'\\x01'", "'\\x02'"),
    "BIT": ("'01'", "'10'"),
    "UUID": ("'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000002'"),
    "TIME": ("'10:00'", "'11:00'"),
    "TIME WITH TIME ZONE": ("'10:00:00+00'", "'11:00:00+00'"),
    "INTERVAL": ("'1 day'", "'2 days'"),
    "JSON": ("'1'", "'2'"),
    "ENUM('x', 'y')": ("'x'", "'y'"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", SAME_TYPE)
def test_every_scalar_type_survives_the_way_in(database: Database, kind: str) -> None:
    if kind.startswith("TIMESTAMP"):
        one, two = "'2020-01-01 00:00:00'", "'2020-01-02 00:00:00'"
    else:
        one, two = SAMPLES.get(kind, ("'1'", "'2'"))
    one, two = f"{one}::{kind}", f"{two}::{kind}"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (k {kind}, v {kind})")
        connection.execute(f"INSERT INTO t VALUES ({one}, {one}), ({one}, {two}), ({two}, {two}), (NULL, {one})")
        database.execute("DROP TABLE IF EXISTS source_row")
        source = open_source(database, connection, table="t")
        constraints: list[DenialConstraint] = [*parse_constraint("k -> v"), *parse_constraint("not(t1.k>t1.v)")]
        part = LocalSlice(database, source, bind(database, constraints, source.schema), None, name="every_type")
        edges = [pair for us, vs in part.edges.batches() for pair in zip(us, vs, strict=True)]
        part.close()
    assert (len(edges), part.self_conflicts) == (1, 0)

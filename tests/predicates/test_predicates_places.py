"""Keys of values: their order and equality are the engine's, and ledgers written before can still be compared."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from random import Random

import pytest
from random_predicates import DECIMALS, FLOATS, INTEGERS, KINDS, pool
from sqlglot import exp

from dpdb.database.database import Database
from dpdb.engine.sql.comparison import equal_values, shown_as, texts_of
from dpdb.engine.sql.where import parse_where
from dpdb.predicates import Region, covered, is_enum
from dpdb.predicates.nodes import Literal
from dpdb.predicates.region import region_from_text
from dpdb.predicates.value_sets import neighbours, place
from dpdb.schema import Column, TableSchema, comparison_type

WIDE = Context(prec=40)
NOT_MODELLED = {"INTERVAL", "BIT", "TIME WITH TIME ZONE"}


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database(threads=1) as opened:
        yield opened


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_keys_is_the_order_of_the_engine(kind: str, database: Database) -> None:
    compared = comparison_type(kind)
    assert compared is not None
    texts = sorted(Random(kind).sample(pool(kind), min(len(pool(kind)), 90)))
    listed = ", ".join("('" + text.replace("'", "''") + "')" for text in texts)
    database.execute(
        f"CREATE OR REPLACE TABLE pool AS SELECT v::{compared} AS v, row_number() OVER () AS n "
        f"FROM (SELECT TRY_CAST(text AS {kind}) AS v FROM (VALUES {listed}) AS texts(text)) WHERE v IS NOT NULL"
    )
    shown = exp.select("n", exp.alias_(shown_as(compared, exp.column("v")), "v")).from_("pool").order_by("n")
    keys = {n: place(compared, value) for n, value in database.rows(shown)}
    assert len(keys) >= 2
    if compared in NOT_MODELLED:
        assert set(keys.values()) == {None}
        return
    pairs = database.rows("SELECT one.n, two.n, one.v = two.v, one.v < two.v FROM pool AS one CROSS JOIN pool AS two")
    for one, two, equal, less in pairs:
        if is_enum(compared):  # of their order see `listed`
            assert (keys[one] == keys[two]) == equal
            continue
        assert (keys[one] == keys[two], keys[one] < keys[two]) == (equal, less), (kind, keys[one], keys[two])


ASCENDING = ["-inf", "-3e38", "-1.5", "-1", "-0.5", "-1e-30", "0", "1e-30", "0.5", "1", "1.5", "3e38", "inf", "nan"]


@pytest.mark.parametrize("kind", FLOATS)
def test_negative_floats_lie_below_positive_ones_in_their_order(kind: str, database: Database) -> None:
    rows = [region(database, kind, f"x = '{text}'") for text in ASCENDING]
    for number, text in enumerate(ASCENDING):
        below = region(database, kind, f"x < '{text}'")
        assert [below.overlaps(row) for row in rows] == [other < number for other in range(len(rows))], (kind, text)


def random_numbers(kind: str) -> list[str]:
    rng = Random(kind)
    signs = [rng.choice((1, -1)) for _ in range(1500)]
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        return [str(max(low, min(high, sign * rng.getrandbits(rng.randint(1, 128))))) for sign in signs]
    width, scale = map(int, kind[8:-1].split(","))
    units = [sign * rng.randrange(10 ** rng.randint(1, width)) for sign in signs]
    return [f"{Decimal(unit).scaleb(-scale, WIDE):f}" for unit in units]


@pytest.mark.heavy
@pytest.mark.parametrize("kind", [*INTEGERS, *DECIMALS])
def test_a_number_lies_among_the_neighbours_of_the_double_that_it_becomes(kind: str, database: Database) -> None:
    listed = ", ".join(f"'{text}'" for text in random_numbers(kind))
    found = database.rows(f"SELECT v::VARCHAR, TRY_CAST(v AS DOUBLE) FROM (SELECT unnest([{listed}])::{kind} AS v)")
    assert len(found) == 1500
    for text, double in found:
        low, high = neighbours(double)
        assert Fraction(low) <= Fraction(text) <= Fraction(high), (kind, text)


def region(database: Database, kind: str, where: str) -> Region:
    return covered(parse_where(database, where, TableSchema((Column("x", kind),))).tree)


# Lines that commit 79e3559 wrote into ledgers.
WRITTEN_BEFORE = [
    ("BIGINT", "x >= 65", '[{"x":[[[65,false]],false,false]}]'),
    ("BIGINT", "x IN (1, 2, NULL)", '[{"x":[[[1,false],[1,true],[2,false],[2,true]],false,false]}]'),
    ("BIGINT", "x = 1.5", '[{"x":[[[1,false],[2,true]],false,false]}]'),
    ("DECIMAL(6,2)", "x = 1.25", '[{"x":[[[{"fraction":"5/4"},false],[{"fraction":"5/4"},true]],false,false]}]'),
    ("DOUBLE", "x < 0.1", '[{"x":[[[{"fraction":"3602879701896397/36028797018963968"},false]],true,false]}]'),
    ("FLOAT", "x <= 0.1", '[{"x":[[[{"fraction":"13421773/134217728"},true]],true,false]}]'),
    ("VARCHAR", "x < 'b'", '[{"x":[[["b",false]],true,false]}]'),
    ("BOOLEAN", "x", '[{"x":[[[0,false],[0,true]],true,false]}]'),
    ("BOOLEAN", "x = false", '[{"x":[[[0,false],[0,true]],false,false]}]'),
    ("DATE", "x >= DATE '2024-01-31'", '[{"x":[[["2024-01-31",false]],false,false]}]'),
    ("DATE", "x < '2024-01-31 12:00:00'", '[{"x":[[["2024-01-31\\u0000",true]],true,false]}]'),
    ("TIMESTAMP", "x < '2024-01-31'", '[{"x":[[["2024-01-31 00:00:00.000000",false]],true,false]}]'),
    ("TIME", "x > '12:00:00'", '[{"x":[[],true,false]}]'),
    ("INTERVAL", "x > '1 day'", '[{"x":[[],true,false]}]'),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "where", "line"), WRITTEN_BEFORE, ids=[f"{k}: {w}" for k, w, _ in WRITTEN_BEFORE])
def test_old_lines_still_meet_what_asks_for_the_same_rows(kind: str, where: str, line: str, database: Database) -> None:
    old = region_from_text(line)
    assert old.overlaps(region(database, kind, where))
    assert not old.overlaps(region(database, kind, "x IS NULL"))


@pytest.mark.parametrize(
    ("line", "kind", "where"),
    [
        ("x >= 65", "BIGINT", "x < 65"),
        ("x = 1.25", "DECIMAL(6,2)", "x <> 1.25"),
        ("x < 0.1", "DOUBLE", "x >= 0.1"),
        ("x < 'b'", "VARCHAR", "x >= 'b'"),
        ("x", "BOOLEAN", "NOT x"),
        ("x >= DATE '2024-01-31'", "DATE", "x < '2024-01-31'"),
        ("x < '2024-01-31 12:00:00'", "DATE", "x > '2024-01-31 11:00:00'"),
        ("x < '2024-01-31'", "TIMESTAMP", "x >= '2024-01-31'"),
    ],
)
def test_old_lines_are_still_told_apart_from_other_rows(line: str, kind: str, where: str, database: Database) -> None:
    old = next(region_from_text(text) for k, words, text in WRITTEN_BEFORE if (k, words) == (kind, line))
    assert not old.overlaps(region(database, kind, where))


# -- keys as values -------------------------------------------------------------------------------------------

SAME = [
    ("INTERVAL", ["1 month", "30 days", "29 days 24:00:00", "720 hours"]),
    ("DOUBLE", ["nan", "-nan", "NaN"]),
    ("DOUBLE", ["0", "-0.0", "1e-400"]),
    ("FLOAT", ["16777216", "16777217"]),
    ("UUID", ["00000000-0000-0000-0000-00000000000a", "{0000000000000000000000000000000A}"]),
    ("BLOB", ["a", "\\x61"]),
    ("TIMESTAMP WITH TIME ZONE", ["2020-01-01 00:00:00+00", "2020-01-01 01:00:00+01"]),
    ("TIMESTAMP_S", ["2020-01-01 00:00:00.4", "2020-01-01"]),
    ("UHUGEINT", ["1", "01", "1.0"]),
    ("VARCHAR", ["a", "a"]),
]


@pytest.mark.parametrize(("kind", "texts"), SAME)
def test_equal_values_are_found_whatever_their_texts(kind: str, texts: list[str], database: Database) -> None:
    for one, two in itertools.combinations(texts, 2):
        other = {"INTERVAL": "5 years", "UUID": "f" * 32, "BLOB": "z", "VARCHAR": "z"}.get(kind, "7")
        other = "1999-01-01" if kind.startswith("TIMESTAMP") else other
        literals = [Literal(kind, text, text) for text in (other, one, two)]
        assert equal_values(database, literals) == (1, 2)
        assert equal_values(database, literals[:2]) is None


@pytest.mark.heavy(family="alone")
def test_a_thousand_keys_are_compared_in_one_query(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    literals = [Literal("DECIMAL(38,2)", f"{k}.50", "") for k in range(1000)]
    asked: list[object] = []
    real = Database.rows
    monkeypatch.setattr(Database, "rows", lambda self, query: asked.append(query) or real(self, query))
    assert equal_values(database, literals) is None
    assert equal_values(database, [*literals, Literal("DECIMAL(38,2)", "977.5", "")]) == (977, 1000)
    assert len(asked) == 2
    assert texts_of(database, literals)[:2] == ["0.50", "1.50"]
    assert len(asked) == 4

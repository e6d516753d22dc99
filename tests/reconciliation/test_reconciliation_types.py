"""Which types are compared, and as what: every pair of types is refused, or compared as the values are in Python."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from case_share import fifth
from stub_noise import StubNoise

import dpdb
from dpdb.errors import ParameterError, PredicateError, UnknownColumnError
from dpdb.privacy.noise import replaced_noise

BIG = 2**53

# By type, literals; many are the same number in several types, or would be after a cast to DOUBLE.
NUMBERS = {
    "TINYINT": ["0", "1", "127"],
    "INTEGER": ["0", "1", "127", "2147483647"],
    "UINTEGER": ["0", "1", "4294967295"],
    "BIGINT": ["0", "1", str(BIG), str(BIG + 1)],
    "UBIGINT": ["0", "1", str(BIG), str(BIG + 1), str(2**64 - 1)],
    "HUGEINT": ["0", "1", str(BIG + 1), str(2**64 - 1), str(10**38)],
    "UHUGEINT": ["0", "1", str(2**64 - 1), str(2**128 - 1)],
    "DECIMAL(9,2)": ["0", "1", "1.50", "-0.01"],
    "DECIMAL(18,4)": ["0", "1", "1.5000", "1.5001"],
    "DECIMAL(38,10)": ["0", "1", "1.5", "9999999999999999999999999999.9999999999"],
    "FLOAT": ["0", "'-0.0'", "1", "1.5", "0.1", "'nan'", "'-nan'", "'inf'"],
    "DOUBLE": ["0", "'-0.0'", "1", "1.5", "0.1", "'nan'", "'inf'", str(BIG), "1e300"],
}
OTHERS = {
    "BOOLEAN": ["true", "false"],
    "VARCHAR": ["'1'", "'a'", "'A'", "'a '", "'b'", "'\u00e9'", "'e\u0301'", "''"],
    "ENUM('a', 'b', 'A')": ["'a'", "'b'"],
    "BLOB": [r"'a'", r"'\x00'"],
    "UUID": ["'00000000-0000-0000-0000-000000000001'"],
    "TIME": ["'00:00:00'", "'12:00:00'"],
    "DATE": ["'2024-01-01'", "'2024-01-02'", "'infinity'"],
    "TIMESTAMP": ["'2024-01-01'", "'2024-01-01 00:00:00.000001'", "'infinity'"],
    "TIMESTAMP_S": ["'2024-01-01'", "'2024-01-01 00:00:01'"],
    "TIMESTAMP_NS": ["'2024-01-01'", "'2024-01-01 00:00:00.000000001'"],
    "TIMESTAMPTZ": ["'2024-01-01 00:00:00+00'", "'2024-01-01 01:00:00+01'", "'2024-01-01 01:00:00+00'"],
}
LITERALS = NUMBERS | OTHERS
REFUSED = {"INTERVAL": "'1 month'", "TIMETZ": "'12:00:00+01'", "INTEGER[]": "[1]"}


def canonical(value: Any) -> Any:
    """A value as one that is equal to the same value of another type, and to nothing else."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value if math.isinf(value) else Fraction(value)
    if isinstance(value, (int, Decimal)):
        return Fraction(value)
    if isinstance(value, dt.datetime):
        return value if value.tzinfo is None else ("zoned", value.astimezone(dt.UTC))
    return dt.datetime(value.year, value.month, value.day) if isinstance(value, dt.date) else value


def read(connection: duckdb.DuckDBPyConnection, table: str, kind: str) -> list[tuple[Any, Any]]:
    shown = "CAST(epoch_ns(v) AS HUGEINT)" if kind == "TIMESTAMP_NS" else "v"
    return connection.execute(f"SELECT k, {shown} FROM {table}").fetchall()


def in_python(value: Any, kind: str) -> Any:
    if value in (dt.date.max, dt.datetime.max):
        return "infinity"  # which is equal in each type, and comes to Python as the type's last value
    if kind == "TIMESTAMP_NS" and value is not None:
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=value // 1000)
        return moment if value % 1000 == 0 else ("ns", value)
    return canonical(value)


def counted_apart(left: list[tuple[Any, Any]], right: list[tuple[Any, Any]]) -> list[int]:
    keys = [{key for key, _ in side} for side in (left, right)]
    both = keys[0] & keys[1]
    of = [{key: Counter(value for k, value in side if k == key) for key in both} for side in (left, right)]
    return [len(keys[1] - keys[0]), len(keys[0] - keys[1]), sum(of[0][key] != of[1][key] for key in both)]


def is_compared(one: str, other: str) -> bool:
    """The rule of the manual, apart from the code: the same type, or exact numbers, texts, or times of one sort."""
    families = [
        {kind for kind in NUMBERS if kind not in ("FLOAT", "DOUBLE")},
        {"FLOAT", "DOUBLE"},
        {"VARCHAR", "ENUM('a', 'b', 'A')"},
        {"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_NS"},
    ]
    return one == other or any({one, other} <= family for family in families)


def digits(kind: str) -> tuple[int, int]:
    if kind.startswith("DECIMAL"):
        width, scale = (int(part) for part in kind[8:-1].split(","))
        return width - scale, scale
    return {"TINYINT": 3, "INTEGER": 10, "UINTEGER": 10, "BIGINT": 19, "UBIGINT": 20}.get(kind, 39), 0


def has_no_exact_type(one: str, other: str) -> bool:
    """No type of at most 38 digits, or of 128 bits, has all values of both."""
    if one == other or not {one, other} <= NUMBERS.keys() - {"FLOAT", "DOUBLE"}:
        return False
    if not any(kind.startswith("DECIMAL") for kind in (one, other)):
        unsigned = [kind.startswith("U") for kind in (one, other)]
        return "UHUGEINT" in (one, other) and not all(unsigned)
    whole, scale = (max(pair) for pair in zip(digits(one), digits(other), strict=True))
    return whole + scale > 38


PAIRS = list(itertools.product(LITERALS, LITERALS))


def values_of(connection: duckdb.DuckDBPyConnection, kinds: tuple[str, str], rng: random.Random) -> None:
    for name, kind in zip(("l", "r"), kinds, strict=True):
        connection.execute(f"CREATE OR REPLACE TABLE {name} (k INTEGER, v {kind})")
        rows = [(rng.randint(1, 12), rng.choice([*LITERALS[kind], "NULL"])) for _ in range(rng.randint(0, 24))]
        for key, literal in rows:
            connection.execute(f"INSERT INTO {name} SELECT {key}, CAST({literal} AS {kind})")


@pytest.mark.heavy(of=20)
@pytest.mark.parametrize("part", range(20))
def test_every_pair_of_types_is_refused_or_compared_exactly(part: int) -> None:
    rng = random.Random(part)
    for one, other in fifth(PAIRS[part::20]):
        with duckdb.connect() as connection:
            connection.execute("SET timezone = 'America/New_York'")
            values_of(connection, (one, other), rng)
            sides = [connection.table("l"), connection.table("r")]
            if not is_compared(one, other) or has_no_exact_type(one, other):
                with pytest.raises(ParameterError, match=r"columns: 'v' is .* on the left and .* on the right"):
                    dpdb.compare(*sides, "k", 1)
                continue
            expected = counted_apart(
                *(
                    [(key, in_python(value, kind)) for key, value in read(connection, name, kind)]
                    for name, kind in (("l", one), ("r", other))
                )
            )
            with replaced_noise(StubNoise()):
                found = [release.value for release in dpdb.compare(*sides, "k", 5)]
            assert found == expected, (one, other, read(connection, "l", one), read(connection, "r", other))


@pytest.mark.heavy(of=20)
@pytest.mark.parametrize("part", range(20))
def test_keys_of_every_pair_of_types_are_those_values(part: int) -> None:
    rng = random.Random(part)
    for one, other in fifth(PAIRS[part::20]):
        if not is_compared(one, other) or has_no_exact_type(one, other):
            continue
        with duckdb.connect() as connection:
            values_of(connection, (one, other), rng)
            sides = [connection.table("l"), connection.table("r")]
            keys = [
                [(in_python(value, kind), key) for key, value in read(connection, name, kind) if value is not None]
                for name, kind in (("l", one), ("r", other))
            ]
            with replaced_noise(StubNoise()):
                found = [release.value for release in dpdb.compare(*sides, "v", 5)]
            assert found == counted_apart(*keys), (one, other, keys)


def compared(left: str, right: str, **options: Any) -> list[float]:
    with duckdb.connect() as connection, replaced_noise(StubNoise()):
        connection.execute(f"CREATE TABLE l AS {left}")
        connection.execute(f"CREATE TABLE r AS {right}")
        sides = [connection.table("l"), connection.table("r")]
        return [release.value for release in dpdb.compare(*sides, **{"key": "k", "epsilon": 5} | options)]


@pytest.mark.heavy
@pytest.mark.parametrize("kind", REFUSED)
def test_types_whose_values_are_not_told_apart_are_refused_by_name(kind: str) -> None:
    table = f"SELECT 1 AS k, 2 AS a, CAST({REFUSED[kind]} AS {kind}) AS v"
    with pytest.raises(ParameterError, match=r"columns: 'v' has type .* leave it out: name those to compare"):
        compared(table, table)
    assert compared(table, table, columns=["a"]) == [0, 0, 0]
    with pytest.raises(ParameterError, match=r"key: 'v' has type .* name another key"):
        compared(table, table, key="v")


@pytest.mark.heavy
@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NFC"])
def test_collations_of_either_side_play_no_part(collation: str, tmp_path: Path) -> None:
    paths = [tmp_path / "l.duckdb", tmp_path / "r.duckdb"]
    for path, kind in zip(paths, (f"VARCHAR COLLATE {collation}", "VARCHAR"), strict=True):
        with duckdb.connect(path) as connection:
            connection.execute(f"CREATE TABLE t (k {kind}, v {kind})")
            connection.execute("INSERT INTO t VALUES ('a', 'x'), ('A', 'X'), ('\u00e9', 'y')")
    with replaced_noise(StubNoise()):
        assert [release.value for release in dpdb.compare(*paths, "k", 5)] == [0, 0, 0]
        with duckdb.connect(paths[0]) as connection:
            connection.execute("UPDATE t SET k = 'e\u0301' WHERE v = 'y'")
            connection.execute("UPDATE t SET v = 'x' WHERE v = 'X'")
        assert [release.value for release in dpdb.compare(*paths, "k", 5)] == [1, 1, 1]


@pytest.mark.heavy(family="long")
def test_untyped_text_is_text_and_is_refused_beside_numbers_with_the_remedy(tmp_path: Path) -> None:
    text, typed = tmp_path / "l.csv", tmp_path / "r.parquet"
    text.write_text("id,a\n1,x\n02,y\n3,\n")
    duckdb.sql("SELECT * FROM (VALUES (1, 'x'), (2, 'y'), (3, NULL)) AS t (id, a)").write_parquet(str(typed))
    refusal = r"key: 'id' is VARCHAR on the left and INTEGER .*'1' is not 1.*--left-schema 'id INTEGER'"
    with pytest.raises(ParameterError, match=refusal):
        dpdb.compare(text, typed, "id", 1)
    with replaced_noise(StubNoise()):
        found = dpdb.compare(text, typed, "id", 5, left_csv_schema={"id": "INTEGER"})
        assert [release.value for release in found] == [0, 0, 0]
        assert [release.value for release in dpdb.compare(text, text, "id", 5)] == [0, 0, 0]


@pytest.mark.heavy
@pytest.mark.parametrize(("one", "other", "words"), [
    ("VARCHAR", "BIGINT", "'1' is not 1"), ("BIGINT", "DOUBLE", "as DOUBLE 2^53 + 1 is 2^53"),
    ("TIMESTAMP", "TIMESTAMPTZ", "in each zone"), ("DECIMAL(38,20)", "BIGINT", "as DOUBLE"),
])  # fmt: skip
def test_the_refusal_names_values_that_would_be_mistaken(one: str, other: str, words: str) -> None:
    with pytest.raises(ParameterError) as refused:
        compared(f"SELECT 1 AS k, NULL::{one} AS v", f"SELECT 1 AS k, NULL::{other} AS v")
    assert words in str(refused.value)


@pytest.mark.heavy(family="long")
def test_columns_are_named_once_and_exist_on_both_sides() -> None:
    left, right = "SELECT 1 AS k, 2 AS a, 3 AS b", "SELECT 1 AS K, 5 AS a, 7 AS c"
    assert compared(left, right) == [0, 0, 1]  # b and c have no counterpart
    assert compared(left, right, columns=[]) == [0, 0, 0]
    assert compared(left, right, key=["k", "a"]) == [1, 1, 0]
    with pytest.raises(UnknownColumnError, match="right table: there is no column 'b'"):
        compared(left, right, columns=["b"])
    with pytest.raises(UnknownColumnError, match="left table: there is no column 'c'"):
        compared(left, right, columns=["c"])
    with pytest.raises(ParameterError, match="named twice"):
        compared(left, right, columns=["a", "A"])
    with pytest.raises(ParameterError, match="a column of the key"):
        compared(left, right, columns=["K"])
    with pytest.raises(ParameterError, match="at least one column"):
        compared(left, right, key=[])


def test_a_column_may_have_two_names() -> None:
    """Of keys 0 to 9 and 5 to 19 those below 10 differ; a name that has the sign is itself."""
    left = "SELECT i AS k, i AS a FROM range(10) t(i)"
    right = "SELECT i AS pid, i % 3 AS c, 0 AS a FROM range(5, 20) t(i)"
    assert compared(left, right, key="k=pid", columns=["a=c"]) == [10, 5, 5]
    assert compared(left, right, key="k = PID", columns=["a = c"], where="k < 7") == [0, 5, 2]
    assert compared('SELECT 1 AS k, 1 AS "a=b"', 'SELECT 1 AS k, 2 AS "A=B"', columns=["a=b"]) == [0, 0, 1]
    with pytest.raises(ParameterError, match="may be read in two ways"):
        compared('SELECT 1 AS k, 1 AS a, 1 AS "a=b"', 'SELECT 1 AS k, 1 AS c, 1 AS "b=c"', columns=["a=b=c"])
    with pytest.raises(ParameterError, match=r"'c' is a column of the key \(of the right table\)"):
        compared(left, right, key="k=c", columns=["a=c"])
    with pytest.raises(UnknownColumnError, match="right table: there is no column 'x'"):
        compared(left, right, key="k=pid", columns=["a=x"])


@pytest.mark.heavy(family="long")
def test_where_selects_keys() -> None:
    left, right = "SELECT i AS k, 1 AS a FROM range(10) t(i)", "SELECT i AS k, i AS a FROM range(5, 20) t(i)"
    assert compared(left, right) == [10, 5, 5]
    assert compared(left, right, where="k < 7") == [0, 5, 2]
    with pytest.raises(PredicateError, match="'a' is no column of the key"):
        compared(left, right, where="a = 1")
    with pytest.raises(PredicateError, match="selects no row"):
        compared(left, right, where="k = 1 AND k = 2")


@pytest.mark.heavy(family="long")
def test_a_unit_is_a_row_or_the_key_itself() -> None:
    table = "SELECT i AS k, i // 2 AS person FROM range(10) t(i)"
    assert compared(table, table, unit="k", max_rows=1) == [0, 0, 0]
    assert compared(table, table, rows_per_person=3) == [0, 0, 0]
    for wrong in ({"unit": "person", "max_rows": 2}, {"unit": "k", "max_rows": 1, "key": ["k", "person"]}):
        with pytest.raises(ParameterError, match="the unit of a comparison is a row, or the key itself"):
            compared(table, table, **wrong)
    with pytest.raises(ParameterError, match="2 rows per person and the right one 1"):
        compared(table, table, left_rows_per_person=2)
    with pytest.raises(ParameterError, match="no option or setting 'constraints'"):
        compared(table, table, constraints="k -> person")
    with pytest.raises(ParameterError, match="left_ledger and right_ledger"):
        compared(table, table, ledger="x")


@pytest.mark.heavy(family="long")
def test_a_key_as_the_unit_is_compared_by_all_its_rows() -> None:
    """Not by the rows that other releases of its ledger use: those of both sides would not be the same."""
    left = "SELECT i % 3 AS k, i AS a FROM range(30) t(i)"
    right = "SELECT i % 3 AS k, i + 3 * (i = 29)::INTEGER AS a, 'x' AS b FROM range(30) t(i)"
    assert compared(left, right) == compared(left, right, unit="k", max_rows=1) == [0, 0, 1]
    assert compared(left, left, unit="k", max_rows=2) == [0, 0, 0]


@pytest.mark.heavy
@pytest.mark.parametrize(("settings", "each", "scale"), [
    ({}, False, 2), ({}, True, 4), ({"rows_per_person": 3}, False, 6),
    ({"unit": "k", "max_rows": 3}, False, 1), ({"unit": "k", "max_rows": 3}, True, 3),
])  # fmt: skip
def test_the_noise_is_for_the_unit_and_the_columns(settings: dict[str, Any], each: bool, scale: float) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS k, 2 AS a, 3 AS b")
        connection.execute("CREATE TABLE r AS SELECT 1 AS k, 2 AS a, 3 AS b")
        sides = [connection.table("t"), connection.table("r")]
        found = dpdb.compare(*sides, "k", 1, each_column=each, **settings)
    assert {round(release.noise_scale, 6) for release in found} == {scale}
    assert [release.constraint for release in found] == [None, None, None, *(["a", "b"] if each else [])]

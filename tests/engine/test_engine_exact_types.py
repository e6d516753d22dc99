"""Exact statistics over every kind of value: two rows go by what the engine says of them alone."""

from __future__ import annotations

import itertools
from pathlib import Path

import duckdb
import pytest

from dpdb.engine import exact_statistic
from dpdb.opening import open_table

VALUES = {
    "DOUBLE": "'nan' '-nan' -0.0 0.0 '-inf' 1.5",
    "DECIMAL(38,2)": "1.10 1.1 -1.10 0",
    "HUGEINT": "170141183460469231731687303715884105727 170141183460469231731687303715884105726 -1",
    "TIMESTAMPTZ": "'2024-01-01T00:00:00+00' '2024-01-01T01:00:00+01' '2024-01-02T00:00:00+00'",
    "TIMETZ": "'00:00:00+00' '01:00:00+01' '02:00:00+00'",
    "INTERVAL": "'1month' '30days' '720hours' '29days'",
    "VARCHAR": "'a' 'A' '' 'ä'",
    "BLOB": r"'\x00' '\x00\x00' 'a'",
    "UUID": "'00000000-0000-0000-0000-000000000001' '00000000-0000-0000-0000-000000000002'",
    "BIT": "'1' '01' '11'",
    "BOOLEAN": "true false",
    "ENUM('x','y')": "'x' 'y'",
    "DATE": "'infinity' '2024-01-01'",
}
SETS = [  # over a pair, its two rows, and a value
    ["pair, {0} -> place"],
    ["pair -> {0}"],
    ["UNIQUE(pair, {0})"],
    ["pair -> {0}, place"],
    ["pair, {0} -> place", "pair, place -> {0}"],
    ["UNIQUE(pair, {0})", "UNIQUE(pair, place)"],
    ["pair -> place", "pair, {0} -> place"],
    ["pair -> {0}", "UNIQUE(pair, {0}, place)"],
]


@pytest.mark.heavy(family="alone")
def test_two_rows_are_in_conflict_as_the_engine_compares_their_values(tmp_path: Path) -> None:
    """NaN, both zeros, NULL, zones, months and days, bits, and the largest numbers, in columns of both sides."""
    names = {f"v{place}": (kind, [*values.split(), "NULL"]) for place, (kind, values) in enumerate(VALUES.items())}
    most = max(len(values) for _, values in names.values())
    pairs = [
        [(values[i % len(values)], values[j % len(values)]) for _, values in names.values()]
        for i, j in itertools.product(range(most), repeat=2)
    ]
    rows = [
        f"({number}, {place}, {', '.join(values)})"
        for number, of_columns in enumerate(pairs)
        for place, values in enumerate(zip(*of_columns, strict=True))
    ]
    path = tmp_path / "kinds.duckdb"
    with duckdb.connect(path) as connection:
        columns = ", ".join(f"{name} {kind}" for name, (kind, _) in names.items())
        connection.execute(f"CREATE TABLE kinds (pair INTEGER, place INTEGER, {columns})")
        connection.execute(f"INSERT INTO kinds VALUES {', '.join(rows)}")
    found = 0
    for asked in SETS:
        rules = [[rule.format(name) for rule in asked] for name in names]
        with open_table(path, constraints=[rule for each in rules for rule in each], table="kinds") as table:
            sets = [
                [bound for bound in table.constraints if name in bound.columns or bound.columns == ("pair", "place")]
                for name in names
            ]
            statistics = [exact_statistic(each, table.schema) for each in sets]
            counted = table.count_all(None, [one for one in statistics if one is not None])
            texts = [" OR ".join(f"({bound.over('p', 'q').sql('duckdb')})" for bound in each) for each in sets]
        assert None not in statistics
        with duckdb.connect(path, read_only=True) as connection:
            for text, number in zip(texts, counted, strict=True):
                query = (
                    f"SELECT count(*) FROM kinds p, kinds q WHERE p.pair = q.pair AND p.place < q.place AND ({text})"
                )
                assert connection.sql(query).fetchall() == [(number,)], text
                found += number
    assert found > 0

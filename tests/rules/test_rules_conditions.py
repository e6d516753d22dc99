"""Conditions of PostgreSQL and dbt in dpdb's words: the same truth value for every row, NULL included."""

from __future__ import annotations

from random import Random

import duckdb
import pytest
from case_share import of_all

from dpdb.rules.texts import checked

VALUES = {
    "a": "NULL, 0, 1, 2", "x": "NULL, 1, 3", "b": "NULL, TRUE, FALSE", "y": "NULL, TRUE, FALSE",
    "k": "NULL, 'a', 'Ab', 'b'", "d": "NULL, DATE '2024-01-01', DATE '2023-01-01'",
}  # fmt: skip
WRITTEN = {
    "b is true": "b IS NOT NULL AND b",
    "b is not true": "NOT (b IS NOT NULL AND b)",
    "b is unknown": "b IS NULL",
    "a is not distinct from 1": "a IS NOT NULL AND a = 1",
    "a is distinct from x": "NOT ((a IS NULL AND x IS NULL) OR (a IS NOT NULL AND x IS NOT NULL AND a = x))",
    "a is not distinct from null": "a IS NULL",
    "d >= '2024-01-01'::date": "d >= DATE '2024-01-01'",
    "a = 1 /* c */": "a = 1",
    "a = 1 -- c\n or b": "a = 1 OR b",
    "k = ANY (ARRAY['a'::text, 'b'::text])": "k IN ('a', 'b')",
    "k <> ALL (ARRAY['a', 'b'])": "NOT k IN ('a', 'b')",
    "(k)::text = ANY ((ARRAY['a'::character varying])::text[])": "CAST((k) AS TEXT) IN ('a')",
    "(a > 0) IS NOT FALSE": "NOT (a IS NOT NULL AND NOT (a > 0))",
    "k ILIKE 'A%'": "LOWER(k) LIKE 'a%'",
    "k NOT ILIKE 'a%'": "NOT LOWER(k) LIKE 'a%'",
    "(a > 0) = true": "a > 0",
    "(a IS NULL) <> (b IS NULL)": "(a IS NULL AND NOT (b IS NULL)) OR (NOT (a IS NULL) AND b IS NULL)",
    "(x NOT IN (1, 2)) = y": "(NOT x IN (1, 2) AND y) OR (NOT (NOT x IN (1, 2)) AND NOT y)",
    "a = 1": "a = 1",  # what dpdb reads stays as it is
    "a BETWEEN 1 AND 2 AND  b": "a BETWEEN 1 AND 2 AND b",
}


@pytest.fixture(scope="module")
def rows() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    tables = ", ".join(f"(SELECT unnest([{values}]) AS {name})" for name, values in VALUES.items())
    made.execute(f"CREATE TABLE t AS SELECT * FROM {tables}")
    return made


def _differing(rows: duckdb.DuckDBPyConnection, condition: str) -> int:
    ours = checked(condition).removeprefix("CHECK ")
    query = f"SELECT count(*) FROM t WHERE ({condition}\n) IS DISTINCT FROM {ours}"
    return rows.execute(query).fetchall()[0][0]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("condition", "written"), WRITTEN.items())
def test_a_condition_in_our_words(rows: duckdb.DuckDBPyConnection, condition: str, written: str) -> None:
    assert checked(condition) == f"CHECK ({written})"
    assert _differing(rows, condition) == 0


def _condition(random: Random, depth: int) -> str:
    atoms = [
        "b", "y", "a = 1", "a < x", "a IN (1, x)", "x IN (1, 2)", "a BETWEEN x AND 1", "k LIKE 'a%'", "k ILIKE 'A%'",
        "a IS NULL", "k = ANY (ARRAY['a', 'Ab'])", "d <> '2023-01-01'::date", "a IS DISTINCT FROM x", "a + 1 > x",
        "k NOT ILIKE '%b'", "k NOT IN ('a')",
    ]  # fmt: skip
    if depth == 0:
        return f"({random.choice(atoms)})"
    one, other = (_condition(random, random.randrange(depth)) for _ in range(2))
    return random.choice(
        [f"({one} AND {other})", f"({one} OR {other})", f"(NOT {one})", f"({one} = {other})", f"({one} <> {other})"]
        + [f"({one} IS {word})" for word in ("TRUE", "FALSE", "NOT TRUE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN")]
    )


def test_any_nesting_means_the_same(rows: duckdb.DuckDBPyConnection) -> None:
    random = Random(5)
    conditions = {_condition(random, random.choice([1, 1, 2, 3])) for _ in range(of_all(200))}
    assert len(conditions) > of_all(150)
    for condition in sorted(conditions):
        assert _differing(rows, condition) == 0, condition


@pytest.mark.parametrize(
    "condition", ["CASE WHEN a > 1 THEN b END", "k ILIKE 'é%'", "a = ANY (SELECT 1)", "random() < 1"]
)
def test_what_has_no_words_here_stays_as_it_is_and_is_refused_later(condition: str) -> None:
    assert checked(condition) == f"CHECK ({condition})"

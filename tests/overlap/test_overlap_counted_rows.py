"""The rows of a line of `dpdb overlap`: what DuckDB selects for it is covered, and no more than must be."""

from __future__ import annotations

from itertools import product

import duckdb
import pytest

from dpdb.errors import PredicateError, UnknownColumnError
from dpdb.opening import declared_table
from dpdb.overlap.report import counted_rows
from dpdb.predicates import Region

TYPES = {"a": "INTEGER", "b": "DOUBLE", "c": "VARCHAR"}
VALUES = [(None, 0, 1, 2), (None, 0.5, 1.0, float("nan")), (None, "x", "X", "y")]


def rows_of(line: str) -> Region:
    with declared_table(TYPES) as columns:
        return counted_rows(line, columns)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("SELECT count(*) FROM t WHERE a = 1", "a = 1"),
        ("select sum(b) from s.t as u where u.a = 1 and t.b = 2", "a = 1"),
        ("SELECT c, count(*) FROM t WHERE T.a = 1 GROUP BY c HAVING count(*) > 3", "a = 1"),
        ("SELECT count(*) FROM t", "every row"),
        ("a = 1", "a = 1"),
        ("(a = 1)", "a = 1"),
        ("FALSE", "no row"),
        ("c ILIKE 'x%' AND (a > 0 AND lower(c) = 'x' AND b + 1 = 2) AND a < 2", "a > 0 and a < 2"),
        ("(c ILIKE 'x%' AND a = 1)", "a = 1"),
        ("a = 'one' AND c = 'x'", "c = 'x'"),
        ("SELECT count(*) FROM t USING SAMPLE 10% WHERE a = 1", "every row"),
        ("SELECT count(*) FROM t, u WHERE a = 1", "every row"),
        ("SELECT count(*) FROM t JOIN u USING (a) WHERE a = 1", "every row"),
        ("SELECT (SELECT max(a) FROM t) FROM t WHERE a = 1", "every row"),
        ("SELECT b AS a, count(*) FROM t WHERE a = 1", "every row"),
        ("SELECT count(*) FROM t AS u(b, a) WHERE a = 1", "every row"),
        ("SELECT count(*) FROM read_csv('f') WHERE a = 1", "every row"),
        ("SELECT 1 FROM t WHERE a = 1 UNION SELECT 2 FROM t", "every row"),
        ("WITH c AS (SELECT 1) SELECT count(*) FROM c WHERE a = 1", "every row"),
        ("a = (SELECT 1)", "every row"),
        ("a IN (SELECT 1)", "every row"),
        ("s.a = 1", "every row"),
    ],
)
def test_counting_queries(line: str, words: str) -> None:
    found = rows_of(line)
    assert found.describe() == words
    assert found.notes or words != "every row" or "WHERE" not in line


@pytest.mark.heavy
@pytest.mark.parametrize("line", ["a =", "a = 1; DROP TABLE t", "a = 1 GROUP BY b", "'", "SELECT 1 FROM t; SELECT 2"])
def test_what_is_no_condition_is_refused(line: str) -> None:
    with pytest.raises(PredicateError):
        rows_of(line)


def test_columns_exist() -> None:
    with pytest.raises(UnknownColumnError, match="'d'"):
        rows_of("c ILIKE 'x' AND d = 1")


PARTS = (
    "a = 1", "NOT a > 0", "b >= 1", "c IN ('x', 'y')", "c ILIKE 'x'", "a IS NOT DISTINCT FROM 1", "NOT (c ILIKE 'x')",
    "coalesce(a, 2) = 2", "(a = 1 AND c ILIKE 'x')", "(a = 2 OR c ILIKE 'y')", "b = 'nan'",
    "TRY_CAST(b AS INTEGER) = 1",
)  # fmt: skip


@pytest.mark.heavy(family="long")
def test_what_duckdb_selects_is_covered() -> None:
    """Beside parts that releases refuse, in every pair of parts."""
    rows = list(product(*VALUES))
    selected = 0
    with duckdb.connect() as database, declared_table(TYPES) as columns:
        database.execute(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, kind in TYPES.items())})")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        for one, two in product(PARTS, repeat=2):
            for line in (f"{one} AND {two}", f"{one} OR {two}", f"NOT ({one} AND {two})"):
                region = counted_rows(f"SELECT count(*) FROM t WHERE {line}", columns)
                found = database.execute(f"SELECT a, b, c FROM t WHERE {line}").fetchall()
                selected += len(found)
                assert [row for row in found if not region.covers(dict(zip(TYPES, row, strict=True)))] == [], line
    assert selected > 0

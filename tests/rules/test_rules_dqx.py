"""DQX: each check of a file is taken, with the rows that fail there, or listed with the reason."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dpdb.rules import import_rules

FILE = """
- criticality: warn
  check: {function: is_not_null_and_not_empty, arguments: {column: s, trim_strings: true}}
- {criticality: error, check: {function: is_not_null, for_each_column: [a, b]}}
- {filter: a < 3, name: small, check: {function: is_in_list, arguments: {column: s, allowed: [x, y]}}}
- check: {function: is_not_null_and_is_in_list, arguments: {column: s, allowed: [X], case_sensitive: false}}
- check: {function: is_in_range, arguments: {column: a, min_limit: 1, max_limit: b + 1}}
- check: {function: is_not_in_range, arguments: {column: a, min_limit: 1, max_limit: 2}}
- check: {function: is_not_less_than, arguments: {column: a, limit: 1}}
- check: {function: is_equal_to, arguments: {column: s, value: "'x'"}}
- check: {function: sql_expression, arguments: {expression: a > b, negate: true, msg: too large}}
- check: {function: is_unique, arguments: {columns: [a, b]}}
- {criticality: warn, check: {function: is_unique, arguments: {columns: [a], nulls_distinct: false}}}
- check: {function: foreign_key, arguments: {columns: [a], ref_columns: [id], ref_table: shops}}
- check: {function: is_aggr_not_greater_than, arguments: {column: a, aggr_type: count, limit: 10}}
- check: {function: regex_match, arguments: {column: s, regex: '^x'}}
- check: {function: is_in_list, arguments: {column: s, allowed: [x], odd: 1}}
- check: {function: own_check, arguments: {column: s}}
- {check: {function: is_not_null, arguments: {column: a}}, strange: 1}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "checks.yml").write_text(FILE)
    return tmp_path / "checks.yml"


def test_every_check_is_taken_or_listed(file: Path) -> None:
    imported = import_rules(file)
    assert imported.kind == "DQX checks"
    assert [f"{rule.text} {rule.limits}".strip() for rule in imported.rules] == [
        "CHECK (s IS NOT NULL AND trim(s) <> '') warn above 0",
        "NOT NULL(a)",
        "NOT NULL(b)",
        "CHECK (s IN ('x', 'y')) WHERE a < 3",
        "CHECK (s IS NOT NULL AND lower(s) IN ('x'))",
        "CHECK (a >= 1 AND a <= b + 1)",
        "CHECK (a < 1 OR a > 2)",
        "CHECK (a >= 1)",
        "CHECK (s = 'x')",
        "CHECK (NOT (a > b))",
        "UNIQUE(a, b)",
        "UNIQUE(a) warn above 0",
        "not(t1.a IS NULL & t2.a IS NULL) warn above 0",
        "a IN shops.id",
    ]
    assert imported.rules[3].name == "small"
    assert [item.origin for item in imported.left_out] == [
        "is_aggr_not_greater_than(a)", "regex_match(s)", "is_in_list(s)", "own_check(s)", "is_not_null(a)",
    ]  # fmt: skip


# The condition under which a row fails there, as SQL of Spark has it.
FAILS = {
    "CHECK (s IS NOT NULL AND trim(s) <> '')": "s IS NULL OR trim(s) = ''",
    "CHECK (s IN ('x', 'y')) WHERE a < 3": "a < 3 AND NOT (s IN ('x', 'y'))",
    "CHECK (s IS NOT NULL AND lower(s) IN ('x'))": "s IS NULL OR NOT (lower(s) IN ('x'))",
    "CHECK (a >= 1 AND a <= b + 1)": "a < 1 OR a > b + 1",
    "CHECK (a < 1 OR a > 2)": "a >= 1 AND a <= 2",
    "CHECK (a >= 1)": "a < 1",
    "CHECK (s = 'x')": "s <> 'x'",
    "CHECK (NOT (a > b))": "a > b",
}


def test_the_same_rows_fail() -> None:
    made = duckdb.connect()
    made.execute(
        "CREATE TABLE t AS SELECT a, b, s FROM (VALUES (NULL), (0), (1), (2), (3)) x(a), "
        "(VALUES (NULL), (0), (1)) y(b), (VALUES (NULL), (''), (' '), ('x'), ('X'), ('y')) z(s)"
    )
    for text, fails in FAILS.items():
        condition, _, where = text.removeprefix("CHECK ").partition(" WHERE ")
        ours = f"({condition} IS FALSE) AND ({where or 'TRUE'})"
        query = f"SELECT count(*) FROM t WHERE (({ours}) IS TRUE) <> (({fails}) IS TRUE)"
        assert made.execute(query).fetchall() == [(0,)], text

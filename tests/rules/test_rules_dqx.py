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
- {filter: a < 3, name: small, check: {function: is_in_list, arguments: {column: s, allowed: ["'x'", "'y'"]}}}
- check: {function: is_not_null_and_is_in_list, arguments: {column: s, allowed: ["'X'"], case_sensitive: false}}
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
- check: {function: is_in_list, arguments: {column: s, allowed: ["'x'"], odd: 1}}
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
        "row_count WHERE a IS NOT NULL fail above 10",
        "CHECK (regexp_matches(s, '^x'))",
    ]
    assert imported.rules[3].name == "small"
    assert [item.origin for item in imported.left_out] == [
        "is_in_list(s)", "own_check(s)", "is_not_null(a)",
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
    "CHECK (regexp_matches(s, '^x'))": "NOT regexp_matches(s, '^x')",
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


# By `get_limit_expr` of version 0.16: whole numbers, dates and moments in ISO's form, else SQL of Spark.
LIMITS = [
    ("3", "3"),
    ('"03"', "03"),
    ('"2025-01-21"', "'2025-01-21'"),
    ("2025-01-21", "'2025-01-21'"),
    ('"2025-01-21 10:00:00"', "'2025-01-21 10:00:00'"),
    ('"2025-01-21T10:00"', "'2025-01-21 10:00:00'"),
    ("b + 1", "b + 1"),
    ("\"'x'\"", "'x'"),
]


@pytest.mark.parametrize(("said", "written"), LIMITS)
def test_limits_are_read_as_there(tmp_path: Path, said: str, written: str) -> None:
    (tmp_path / "c.yml").write_text(f"- check: {{function: is_not_less_than, arguments: {{column: a, limit: {said}}}}}")
    assert [rule.text for rule in import_rules(tmp_path / "c.yml").rules] == [f"CHECK (a >= {written})"]


MEMBERS = [
    ("\"'it''s'\", \"'1'\", 2, '3', '2025-01-21'", "a IN ('it''s', '1', 2, 3, '2025-01-21')"),
    ("word", "a text before DQX 0.16, and a column since: word; for a text write \"'word'\""),
    ('"b + 1"', "a text before DQX 0.16, and a column since: b + 1; for a text write \"'b + 1'\""),
    ("", "the list of values is empty"),
]


@pytest.mark.parametrize(("said", "written"), MEMBERS)
def test_a_word_without_quotes_is_no_member_of_a_list(tmp_path: Path, said: str, written: str) -> None:
    """A text in quotes was another text with quotes before 0.16, where nobody wrote it; a word is left out."""
    (tmp_path / "c.yml").write_text(f"- check: {{function: is_in_list, arguments: {{column: a, allowed: [{said}]}}}}")
    imported = import_rules(tmp_path / "c.yml")
    assert [rule.text.removeprefix("CHECK (")[:-1] for rule in imported.rules] + [
        item.reason for item in imported.left_out
    ] == [written]


SPARK = [
    ("is_in_range, arguments: {column: a.b, min_limit: 1, max_limit: 2}", "it is about a field inside a column"),
    ("sql_expression, arguments: {expression: 'a like \"x%\"'}", "what stands in double quotes is a text in Spark"),
    ("sql_expression, arguments: {expression: 'a = \\t'}", "a backslash means something else"),
    ("is_not_less_than, arguments: {column: a, limit: '2025-01-21T10:00:00+02:00'}", "is a moment of a time zone"),
    ("has_valid_string_case, arguments: {column: a, case: upper}", "dpdb has no such format"),
    ("is_not_null, arguments: {column: a}}, filter: 'b = \"x\"'", "what stands in double quotes is a text in Spark"),
]


@pytest.mark.parametrize(("said", "reason"), SPARK)
def test_what_spark_reads_otherwise_is_left_out(tmp_path: Path, said: str, reason: str) -> None:
    end = "}" if "filter" in said else "}}"
    (tmp_path / "c.yml").write_text(f"- {{check: {{function: {said}{end}")
    imported = import_rules(tmp_path / "c.yml")
    assert imported.rules == ()
    assert [reason in item.reason for item in imported.left_out] == [True]


def test_what_says_nothing_of_rows_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "c.yml").write_text(
        "- {run_config_name: default, message_expr: \"'odd'\", check: {function: is_empty, arguments: {column: s}}}\n"
        "- check: {function: is_not_in_list, arguments: {column: a, forbidden: [1, 2]}}\n"
    )
    assert [rule.text for rule in import_rules(tmp_path / "c.yml").rules] == [
        "CHECK (s = '')",
        "CHECK (a NOT IN (1, 2))",
    ]

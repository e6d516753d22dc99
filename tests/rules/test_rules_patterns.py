"""Regular expressions and formats of other tools' files: each is taken, with the rows that fail there, or listed."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from dpdb.owner import exact_measures
from dpdb.rules import import_rules

ROWS = ["A1", "b2", "a@x.org", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "", "n/a", "A1\n", "1.2.3.4", None]
TABLE = pa.table({"c": pa.array(ROWS, pa.string())})

GREAT_EXPECTATIONS = """
{"expectations": [
 {"type": "expect_column_values_to_match_regex", "kwargs": {"column": "c", "regex": "^[A-Z]"}},
 {"type": "expect_column_values_to_not_match_regex", "kwargs": {"column": "c", "regex": "\\\\d", "mostly": 0.9}},
 {"type": "expect_column_values_to_match_regex_list", "kwargs": {"column": "c", "regex_list": ["a", "b"]}},
 {"type": "expect_column_values_to_match_regex_list",
  "kwargs": {"column": "c", "regex_list": ["a", "b"], "match_on": "all"}},
 {"type": "expect_column_values_to_not_match_regex_list", "kwargs": {"column": "c", "regex_list": ["a", "b"]}},
 {"type": "expect_column_values_to_match_regex", "kwargs": {"column": "c", "regex": "(?=a)"}},
 {"type": "expect_column_values_to_match_regex", "kwargs": {"column": "c", "regex": 5}}]}
"""
DBT = r"""
models:
  - name: t
    columns:
      - name: c
        tests:
          - dbt_expectations.expect_column_values_to_match_regex: {regex: '^a', flags: i, is_raw: true}
          - dbt_expectations.expect_column_values_to_not_match_regex: {regex: '\d$'}
          - dbt_expectations.expect_column_values_to_match_regex_list: {regex_list: ['a', 'b'], match_on: any}
          - dbt_expectations.expect_column_values_to_match_regex: {regex: '^a', flags: s}
"""
SODA = r"""
checks for t:
  - invalid_count(c) = 0: {valid regex: '^[a-z]'}
  - invalid_count(c) = 0: {invalid regex: '\d', missing regex: 'n.a'}
  - missing_count(c) = 0: {missing regex: '^$', missing values: [n/a]}
  - invalid_count(c) = 0: {valid format: email}
  - invalid_count(c) = 0: {valid format: phone number}
"""
ODCS = r"""
kind: DataContract
apiVersion: v3.1.0
id: x
version: 1.0.0
status: active
schema:
  - name: t
    properties:
      - name: c
        logicalType: string
        logicalTypeOptions: {pattern: '^[A-Za-z]'}
        quality:
          - {metric: invalidValues, mustBe: 0, arguments: {pattern: '\w', validValues: [A1, b2]}}
"""
DQX = r"""
- check: {function: regex_match, arguments: {column: c, regex: '^[A-Z]'}}
- check: {function: regex_match, arguments: {column: c, regex: '@', negate: true}}
- check: {function: is_valid_date, arguments: {column: c}}
"""


def has(pattern: str, text: str | None) -> bool | None:
    return None if text is None else re.search(pattern, text) is not None


UUID_OR_EMAIL = "^[^@]+@[^@]+[.][a-z]+$"
FILES = {
    "suite.json": (GREAT_EXPECTATIONS, 2, [
        lambda c: has("^[A-Z]", c) is False,
        lambda c: has("[0-9]", c) is True,
        lambda c: has("a|b", c) is False,
        lambda c: has("a.*b|b.*a", c) is False,
        lambda c: has("a|b", c) is True,
    ]),
    "schema.yml": (DBT, 1, [
        lambda c: has("^[aA]", c) is False,
        lambda c: has(r"[0-9]\Z", c) is True,
        lambda c: has("a|b", c) is False,
    ]),
    "soda.yml": (SODA, 1, [
        lambda c: has("^[a-z]", c) is False,
        lambda c: has("n.a", c) is False and has("[0-9]", c) is True,
        lambda c: c is None,
        lambda c: c in ("", "n/a"),
        lambda c: has(UUID_OR_EMAIL, c) is False,
    ]),
    "x.odcs.yaml": (ODCS, 0, [
        lambda c: has("^[A-Za-z]", c) is False,
        lambda c: c is not None and c not in ("A1", "b2"),
    ]),
    "dqx.yml": (DQX, 1, [lambda c: has("^[A-Z]", c) is False, lambda c: has("@", c) is True]),
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", FILES)
def test_the_rows_that_fail_are_those_of_the_tool(tmp_path: Path, name: str) -> None:
    text, left_out, fails = FILES[name]
    (tmp_path / name).write_text(text)
    imported = import_rules(tmp_path / name)
    assert len(imported.left_out) == left_out, [(item.origin, item.reason) for item in imported.left_out]
    assert len(imported.rules) == len(fails), [rule.text for rule in imported.rules]
    for rule, failing in zip(imported.rules, fails, strict=True):
        found = exact_measures(TABLE, [rule.text], non_private=True).self_conflicts
        assert found == sum(map(failing, ROWS)), rule.text


def test_what_is_no_expression_is_left_out_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(GREAT_EXPECTATIONS)
    reasons = [item.reason for item in import_rules(tmp_path / "suite.json").left_out]
    assert "invalid perl operator" in reasons[0]
    assert reasons[1] == "a regular expression is a text"


@pytest.mark.heavy(family="long")
def test_conditions_as_postgresql_writes_them(tmp_path: Path) -> None:
    (tmp_path / "t.sql").write_text(
        "CREATE TABLE t (c text CHECK ((c ~ '^[A-Z]'::text)), CHECK (c !~* 'X' IS TRUE), CHECK (c ~* ANY ('{a}')));"
    )
    imported = import_rules(tmp_path / "t.sql")
    counted = [exact_measures(TABLE, [rule.text], non_private=True).self_conflicts for rule in imported.rules]
    assert counted == [6, 2], [rule.text for rule in imported.rules]
    assert len(imported.left_out) == 1

"""Checks of other tools on how many distinct values there are: what is taken as which line, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdb.rules import import_rules
from dpdb.suites import load_suite


def expectation(name: str, **kwargs: object) -> dict[str, object]:
    return {"type": name, "kwargs": kwargs}


UNIQUE = "expect_column_unique_value_count_to_be_between"
GX = json.dumps(
    {
        "name": "values",
        "expectations": [
            expectation(UNIQUE, column="a", min_value=3, max_value=9),
            expectation(
                UNIQUE, column="b c", min_value=3, strict_min=True, row_condition="x > 2", condition_parser="pandas"
            ),
            expectation(UNIQUE, column="c", max_value=9) | {"severity": "warning"},
            expectation(UNIQUE, column="d"),
            expectation("expect_column_distinct_values_to_be_in_set", column="e", value_set=["x", "y"]),
            expectation("expect_column_distinct_values_to_equal_set", column="e", value_set=["x", "y"]),
        ],
        "meta": {"great_expectations_version": "1.4.0"},
    }
)
DBT = """
models:
  - name: orders
    columns:
      - name: a
        data_tests:
          - dbt_expectations.expect_column_unique_value_count_to_be_between:
              {min_value: 3, max_value: 9, strictly: true}
          - dbt_expectations.expect_column_distinct_count_to_equal: {value: 4, row_condition: "b > 0"}
          - dbt_expectations.expect_column_distinct_count_to_be_greater_than: {value: 4, severity: warn}
          - dbt_expectations.expect_column_distinct_values_to_be_in_set: {value_set: [x, y]}
          - dbt_expectations.expect_column_distinct_count_to_equal_other_table: {compare_model: ref("b")}
          - dbt_expectations.expect_column_unique_value_count_to_be_between: {min_value: 3, group_by: [b]}
          - dbt_utils.at_least_one
          - dbt_utils.not_constant: {where: "b > 1"}
"""
SODA = """
checks for orders:
  - distinct_count(a) between 3 and 9
  - distinct_count(a) = 4
  - distinct_count(b):
      warn: when < 2
      fail: when > 7
      filter: a > 1
  - distinct_count(a) > x
"""
TAKEN = {
    GX: [
        "distinct_count(a)  fail below 3",
        "distinct_count(a)  fail above 9",
        'distinct_count("b c") WHERE x > 2  fail below 4',
        "distinct_count(c)  warn above 9",
        "CHECK (e IN ('x', 'y'))",
    ],
    DBT: [
        "distinct_count(a)  fail below 4",
        "distinct_count(a)  fail above 8",
        "distinct_count(a) WHERE b > 0  fail below 4",
        "distinct_count(a) WHERE b > 0  fail above 4",
        "distinct_count(a)  warn below 5",
        "distinct_count(a)  fail below 1",
        "distinct_count(a) WHERE b > 1  fail below 2",
    ],
    SODA: [
        "distinct_count(a)  fail below 3",
        "distinct_count(a)  fail above 9",
        "distinct_count(a)  fail below 4",
        "distinct_count(a)  fail above 4",
        "distinct_count(b) WHERE a > 1  warn below 2",
        "distinct_count(b) WHERE a > 1  fail above 7",
    ],
}
LEFT = {
    GX: ["it allows every number of rows", "it is about the table as a whole, not about rows"],
    DBT: ["it is about the table as a whole, not about rows", "dpdb does not know its option group_by"],
    SODA: ["> x is no range of numbers of rows"],
}


@pytest.mark.heavy
@pytest.mark.parametrize(("text", "ending"), [(GX, "json"), (DBT, "yml"), (SODA, "yml")], ids=["gx", "dbt", "soda"])
def test_numbers_of_values_are_taken_or_left_out(tmp_path: Path, text: str, ending: str) -> None:
    file = tmp_path / f"rules.{ending}"
    file.write_text(text)
    found = import_rules(file)
    lines = [f"{rule.text}{'  ' if rule.limits else ''}{rule.limits}" for rule in found.rules]
    assert [line for line in TAKEN[text] if line not in lines] == []
    assert [line for line in lines if line not in TAKEN[text] and "IN (" not in line] == []
    assert sorted(each.reason for each in found.left_out) == sorted(LEFT[text])
    assert len(load_suite("\n".join(rule.line() for rule in found.rules)).lines) == len(lines)

"""Smallest and largest values, shares of values, formats of numbers and types of columns in other tools' files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import dpdb
from dpdb.owner import exact_measures
from dpdb.rules import import_rules
from dpdb.rules.found import OF_ITS_DATABASE
from dpdb.suites import Session, load_suite

VALUES = [None, 0, 1, 5, 9, 10]
TABLE = pa.table({"n": pa.array(VALUES, pa.int64()), "t": pa.array([None, "", "a", "ab", "abc", "abcd"], pa.string())})

GREAT_EXPECTATIONS = [
    ("expect_column_min_to_be_between", {"column": "n", "min_value": 1}),
    ("expect_column_min_to_be_between", {"column": "n", "min_value": 1, "strict_min": True}),
    ("expect_column_max_to_be_between", {"column": "n", "max_value": 9, "row_condition": "n > 5"}),
    ("expect_column_proportion_of_non_null_values_to_be_between", {"column": "n", "min_value": 0.8}),
]
SUITE = json.dumps({"expectations": [{"type": name, "kwargs": kwargs} for name, kwargs in GREAT_EXPECTATIONS]})
DBT = """
models:
  - name: t
    columns:
      - name: n
        tests:
          - dbt_expectations.expect_column_min_to_be_between: {min_value: 1, config: {severity: warn}}
          - dbt_expectations.expect_column_max_to_be_between: {max_value: 9, strictly: true, row_condition: "n <> 10"}
          - dbt_expectations.expect_column_to_exist
    tests:
      - dbt_expectations.expect_table_columns_to_contain_set: {column_list: [N], transform: upper}
      - dbt_expectations.expect_table_columns_to_not_contain_set: {column_list: [ssn]}
      - dbt_expectations.expect_table_columns_to_match_set: {column_list: [t, n]}
      - dbt_expectations.expect_table_columns_to_match_ordered_list: {column_list: [t, n]}
"""
SODA = """
checks for t:
  - min(n) >= 1
  - max(n): {warn: when > 9, fail: when >= 20}
  - min_length(t) > 0
  - max_length(t) <= 3
"""
DQX = """
- check: {function: is_aggr_not_less_than, arguments: {column: n, aggr_type: min, limit: 1}}
- check: {function: is_aggr_not_greater_than, arguments: {column: n, aggr_type: max, limit: 9}}
  filter: n <> 10
- check: {function: is_aggr_not_less_than, arguments: {column: '*', limit: 3}}
- check: {function: is_aggr_not_greater_than, arguments: {column: n, aggr_type: count, limit: 3}}
- check: {function: is_aggr_equal, arguments: {column: n, aggr_type: count_distinct, limit: 5}}
"""
# Each line's number, counted by hand: rows that break it; rows; values. None is of a line about columns.
FILES: dict[str, tuple[str, list[int | None], list[str]]] = {
    "suite.json": (SUITE, [1, 5, 2, 1, 2, 1], ["", "fail below 1", "", "", "fail below 1", "fail above 20%"]),
    "schema.yml": (DBT, [None, None, None, None, 1, 1, None], ["", "", "", "", "warn above 0", "", ""]),
    "soda.yml": (SODA, [1, 1, 0, 1, 1], ["", "warn above 0", "", "", ""]),
    "dqx.yml": (
        DQX, [1, 0, 6, 5, 5, 5], ["", "", "fail below 3", "fail above 3", "fail below 5", "fail above 5"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_ends_are_rules_of_every_row(tmp_path: Path, name: str) -> None:
    text, numbers, limits = FILES[name]
    (tmp_path / name).write_text(text)
    found = import_rules(tmp_path / name)
    assert not found.left_out, found.left_out
    assert [rule.limits for rule in found.rules] == limits, [rule.line() for rule in found.rules]
    counted = [number for number in numbers if number is not None]
    rules = [rule for rule in found.rules if not rule.text.startswith("schema")]
    suite = load_suite("\n".join(rule.line() for rule in rules))
    with Session(TABLE, constraints=suite.rules, budget=1) as session:
        assert [int(each.value) for each in session.exact_checks(suite, non_private=True)] == counted


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.json", json.dumps({"expectations": [{"type": GREAT_EXPECTATIONS[0][0], "kwargs": said}]}), why)
        for said, why in [
            ({"column": "n", "max_value": 5}, "decided by some row"),
            ({"column": "n", "min_value": 1, "max_value": 5}, "decided by some row"),
            ({"column": "n"}, "neither a smallest nor a largest"),
            ({"column": "n", "min_value": 1, "new_option": 5}, "new_option"),
        ]
    ]
    + [
        ("a.yml", f"checks for t:\n  - {check}\n", why)
        for check, why in [
            ("min(n) <= 1", "decided by some row"),
            ("max(n) = 1", "no comparison"),
            ("max(n) between 1 and 2", "no comparison"),
            ("min(n): {fail: when > 5}", "decided by some row"),
            ("min(n)", "no threshold"),
            ("min(n) > 1: {valid min: 3}", "valid min"),
            ("schema: {fail: {when wrong column type: {n: int}}}", OF_ITS_DATABASE),
            ("invalid_count(t) = 0: {valid format: date us}", "has not Soda's format"),
        ]
    ]
    + [
        ("b.yml", f"- check: {{function: {function}, arguments: {{column: n, {more}}}}}\n", why)
        for function, more, why in [
            ("is_aggr_not_less_than", "aggr_type: max, limit: 1", "decided by some row"),
            ("is_aggr_not_less_than", "aggr_type: avg, limit: 1", "table as a whole"),
            ("is_aggr_not_less_than", "limit: 1, group_by: [n]", "group_by"),
            ("has_valid_schema", "expected_schema: n INT", "compatible"),
        ]
    ],
)
def test_what_some_row_decides_is_left_out_with_the_reason(tmp_path: Path, name: str, text: str, why: str) -> None:
    (tmp_path / name).write_text(text)
    found = import_rules(tmp_path / name, table="t")
    assert not found.rules
    [left] = found.left_out
    assert why in left.reason


SIGNS, KINDS = (
    ("", "positive ", "negative "),
    ("integer", "decimal", "decimal point", "decimal comma", "percentage point"),
)
WRITTEN = ["1", "+1", "-1", " - 1 ", "0", "-0", "1.5", "-1,5", ".5", "1.", "1.5%", " -.5 %", "0,0", "0.0 %", "", "x",
           "1 2", "+ 1", "1%", "00", "--1", None]  # fmt: skip


def means(sign: str, kind: str, text: str) -> bool:
    """Say in plain Python whether a text is such a number."""
    bare = text.strip(" ")
    if kind.startswith("percentage"):
        if not bare.endswith("%"):
            return False
        bare = bare[:-1].strip(" ")
    minus, plus = bare.startswith("-"), bare.startswith("+")
    digits = bare[minus or plus :].strip(" ")
    marks = {"integer": "", "decimal": ".,"}.get(kind, "," if kind.endswith("comma") else ".")
    parts = re.split(f"[{marks}]", digits) if marks else [digits]
    *before, last = parts
    shaped = last.isdigit() and len(before) < 2 and (not before or before[0] == "" or before[0].isdigit())
    zero = shaped and not digits.strip("0.,")
    return bool(shaped) and {"": True, "positive ": not minus, "negative ": minus or (zero and not plus)}[sign]


@pytest.mark.parametrize("kind", KINDS)
def test_formats_of_numbers_are_those_of_soda(tmp_path: Path, kind: str) -> None:
    lines = [f"  - invalid_count(t) = 0: {{valid format: {sign}{kind}}}" for sign in SIGNS]
    (tmp_path / "soda.yml").write_text("\n".join(["checks for t:", *lines]))
    found = import_rules(tmp_path / "soda.yml")
    assert (len(found.rules), found.left_out) == (3, ())
    for sign, rule in zip(SIGNS, found.rules, strict=True):
        wanted = [text for text in WRITTEN if text is not None and not means(sign, kind, text)]
        query = f"SELECT t FROM (SELECT unnest($texts) AS t) WHERE NOT ({rule.text.removeprefix('CHECK ')})"
        broken = [text for (text,) in duckdb.execute(query, {"texts": WRITTEN}).fetchall()]
        assert sorted(broken) == sorted(wanted), (sign, kind)
        table = pa.table({"t": pa.array(WRITTEN, pa.string())})
        assert exact_measures(table, [rule.text], non_private=True).self_conflicts == len(wanted)


def contract(servers: Any) -> str:
    properties = [
        {"name": "n", "physicalType": "BIGINT", "logicalType": "integer"},
        {"name": "t", "physicalType": "VARCHAR"},
    ]
    return json.dumps({
        "kind": "DataContract", "apiVersion": "v3.1.0", "id": "x", "servers": servers,
        "schema": [{"name": "t", "properties": properties}],
    })  # fmt: skip


@pytest.mark.parametrize(
    ("servers", "why"),
    [
        ([], OF_ITS_DATABASE),
        ([{"type": "snowflake"}], "types are those of snowflake, not of DuckDB"),
        ([{"type": "duckdb"}, {"type": "postgres"}], "types are those of duckdb, postgres, not of DuckDB"),
    ],
)
def test_types_come_where_the_file_says_whose_they_are(tmp_path: Path, servers: Any, why: str) -> None:
    (tmp_path / "c.yaml").write_text(contract(servers))
    found = import_rules(tmp_path / "c.yaml")
    assert [(left.origin, left.reason) for left in found.left_out] == [("physicalType of n, t", why)]
    (tmp_path / "c.yaml").write_text(contract([{"type": "duckdb"}]))
    found = import_rules(tmp_path / "c.yaml")
    assert ([rule.text for rule in found.rules], found.left_out) == (["schema has (n BIGINT, t VARCHAR)"], ())
    checked = dpdb.check(TABLE, found.text(), 1)
    assert ([check.verdict for check in checked], checked.epsilon) == (["pass"], 0)


def test_types_of_an_enforced_contract_of_dbt_are_listed(tmp_path: Path) -> None:
    (tmp_path / "schema.yml").write_text(
        "models:\n  - {name: t, config: {contract: {enforced: true}}, columns: [{name: n, data_type: int}]}\n"
    )
    [left] = import_rules(tmp_path / "schema.yml").left_out
    assert (left.origin, left.reason) == ("data_type of n", OF_ITS_DATABASE)

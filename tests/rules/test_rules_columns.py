"""Checks of other tools on a table's columns become `schema` lines, which read no row: same verdicts, no cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dpdb
from dpdb.rules import import_rules

EXISTS, SET = "expect_column_to_exist", "expect_table_columns_to_match_set"
ORDERED = "expect_table_columns_to_match_ordered_list"
TABLE = pa.table({"id": [1], "order": [2]})


def imported(folder: Path, name: str, kwargs: dict[str, Any], **more: Any) -> Any:
    suite = {"expectation_suite_name": "s", "expectations": [{"expectation_type": name, "kwargs": kwargs, **more}]}
    (folder / "suite.json").write_text(json.dumps(suite))
    return import_rules(folder / "suite.json")


# The last one is what Great Expectations says of a table with columns id and order.
@pytest.mark.parametrize(
    ("name", "kwargs", "line", "passes"),
    [
        (EXISTS, {"column": "id"}, "schema has (id)", True),
        (EXISTS, {"column": "gone", "column_index": None}, "schema has (gone)", False),
        (SET, {"column_set": ["order", "id"]}, 'schema is ("order", id)', True),
        (SET, {"column_set": ["id"]}, "schema is (id)", False),
        (SET, {"column_set": ["id"], "exact_match": True}, "schema is (id)", False),
        (SET, {"column_set": ["id"], "exact_match": False}, "schema has (id)", True),
        (ORDERED, {"column_list": ["id", "order"]}, 'schema is (id, "order") in order', True),
        (ORDERED, {"column_list": ["order", "id"]}, 'schema is ("order", id) in order', False),
    ],
)
def test_an_expectation_of_columns(tmp_path: Path, name: str, kwargs: Any, line: str, passes: bool) -> None:
    found = imported(tmp_path, name, kwargs)
    assert ([rule.text for rule in found.rules], found.left_out) == ([line], ())
    results = dpdb.check(TABLE, found.text())
    assert ([check.verdict for check in results], results.epsilon) == (["pass" if passes else "fail"], 0)
    assert found.of_columns(["id"]).rules == found.rules, "a column that is not there is what it looks for"


def test_a_warning_stays_one(tmp_path: Path) -> None:
    found = imported(tmp_path, EXISTS, {"column": "gone"}, severity="warning")
    results = dpdb.check(TABLE, found.text())
    assert [(check.verdict, check.severity) for check in results] == [("fail", "warn")]
    assert results.exit_code == 0


@pytest.mark.parametrize(
    ("name", "kwargs", "why"),
    [
        (EXISTS, {"column": "id", "column_index": 3}, "column_index"),
        (EXISTS, {"column": "i\nd"}, "cannot stand in a line"),
        (EXISTS, {"column": "id", "strange": 1}, "strange"),
        (SET, {"column_set": []}, "empty"),
        (SET, {"column_set": ["a", "A"]}, "each column once"),
    ],
)
def test_what_no_line_says_is_left_out(tmp_path: Path, name: str, kwargs: Any, why: str) -> None:
    found = imported(tmp_path, name, kwargs)
    assert not found.rules
    [left] = found.left_out
    assert why in left.reason


def soda(folder: Path, check: Any) -> Any:
    (folder / "checks.yml").write_text(json.dumps({"checks for t": [{"schema": check}]}))
    return import_rules(folder / "checks.yml", table="t")


def test_a_schema_check_of_soda(tmp_path: Path) -> None:
    said = {"when required column missing": ["id", "gone"], "when forbidden column present": ["ssn"]}
    found = soda(tmp_path, {"fail": said, "warn": {"when forbidden column present": ["order"]}})
    lines = ["schema has (id, gone)", "schema has no (ssn)", 'schema has no ("order")']
    assert ([rule.text for rule in found.rules], found.left_out) == (lines, ())
    results = dpdb.check(TABLE, found.text())
    assert [(check.verdict, check.severity) for check in results] == [
        ("fail", "fail"),
        ("pass", "fail"),
        ("fail", "warn"),
    ]
    assert results.epsilon == 0


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ({"fail": {"when forbidden column present": ["pii_%"]}}, "no patterns of names"),
        (
            {"fail": {"when required column missing": ["id"], "when wrong column type": {"id": "int"}}},
            "wrong column type",
        ),
        ({"warn": {"when schema changes": "any"}}, "which columns are required"),
        ({"fail": {}, "name": "n"}, "which columns are required"),
    ],
)
def test_what_soda_says_beyond_is_left_out_whole(tmp_path: Path, check: Any, why: str) -> None:
    found = soda(tmp_path, check)
    assert not found.rules
    [left] = found.left_out
    assert why in left.reason

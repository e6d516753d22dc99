"""A number beside a column that the file declares as text is left out, with what to write; lint names it of a table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.doors.cli.main import main
from dpdb.opening import open_table
from dpdb.rules import import_rules, lint
from dpdb.rules.text_columns import is_text

DDL = """
CREATE TABLE t (
    amt text CHECK (amt > 9), zip varchar(5) CHECK (zip IN ('12345')), n int CHECK (n > 1), d text,
    code char(3) CHECK (lower(code) <> 10 AND n > 2),
    CONSTRAINT c CHECK (n > 0 OR amt BETWEEN 1 AND 5), CHECK (CAST(amt AS double precision) > 9),
    CHECK (d >= DATE '2020-01-01'), CHECK (length(d) > 3), CHECK (d >= '2020-01-01')
);
ALTER TABLE t ADD CONSTRAINT z CHECK (NOT (zip = 12345));
"""
DBT = """
models:
  - name: t
    data_tests:
      - dbt_utils.expression_is_true: {expression: "amt > 9 or n = 2"}
    columns:
      - name: amt
        data_type: varchar
        data_tests:
          - dbt_utils.accepted_range: {min_value: 0}
          - accepted_values: {values: [1, 2]}
          - accepted_values: {values: [1, 2], quote: false}
          - not_null
      - {name: n, data_type: integer, data_tests: [{dbt_utils.accepted_range: {min_value: 0}}]}
"""
CONTRACT = """
kind: DataContract
apiVersion: v3.0.0
schema:
  - name: t
    properties:
      - {name: amt, logicalType: string, logicalTypeOptions: {minimum: 3, minLength: 2}}
      - {name: n, logicalType: integer, logicalTypeOptions: {minimum: 3}}
"""
SODA = """
dataset: a/b/t
columns:
  - {name: amt, data_type: varchar, checks: [{invalid: {valid_min: 3}}]}
  - {name: n, data_type: integer, checks: [{invalid: {valid_min: 3}}]}
"""
FILES = {
    "t.sql": (
        DDL,
        ["CHECK (zip IN ('12345'))", "CHECK (n > 1)", "CHECK (CAST(amt AS DOUBLE) > 9)", "CHECK (LENGTH(d) > 3)",
         "CHECK (d >= '2020-01-01')"],
        ["CAST(amt AS DOUBLE)", 'CAST(LOWER("code") AS DOUBLE)', 'CAST("amt" AS DOUBLE)', "CAST(d AS DATE)",
         "CAST(zip AS DOUBLE)"],
    ),
    "schema.yml": (
        DBT,
        ["CHECK (amt IN ('1', '2'))", "NOT NULL(amt)", "CHECK (n >= 0)"],
        ["CAST(amt AS DOUBLE)", "CAST(amt AS DOUBLE)", 'CAST("amt" AS DOUBLE)'],
    ),
    "t.odcs.yaml": (CONTRACT, ["CHECK (length(amt) >= 2)", "CHECK (n >= 3)"], ["CAST(amt AS DOUBLE)"]),
    "soda.yml": (SODA, ["CHECK (n >= 3)"], ["CAST(amt AS DOUBLE)"]),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_numbers_beside_declared_text_are_left_out(name: str, tmp_path: Path) -> None:
    text, taken, remedies = FILES[name]
    (tmp_path / name).write_text(text)
    found = import_rules(tmp_path / name)
    assert [rule.text for rule in found.rules] == taken
    assert len(found.left_out) == len(remedies)
    for item, remedy in zip(found.left_out, remedies, strict=True):
        assert "is text, and" in item.reason
        assert remedy in item.reason


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("text", True), ("VARCHAR(5)", True), ("character varying(3)", True), ("nvarchar2(9)", True), ("String", True),
        ("mediumtext", True), ("char", True), ("ENUM('1')", True), ("int", False), ("numeric(3)", False),
        ("timestamp", False), ("text[]", False), ("integer", False), (None, False), (3, False),
    ],
)  # fmt: skip
def test_which_types_are_text(declared: object, expected: bool) -> None:
    assert is_text(declared) is expected


def test_lint_of_a_table_names_what_its_columns_do_not_bear(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "t.parquet"
    pq.write_table(pa.table({"amt": ["10", "9"], "zip": ["1", "2"], "n": [1, 2]}), place)
    rules = ["amt >= 9", "zip = '12345'", "not(t1.amt<t2.n)", "zip -> n", "amt -> n"]
    assert lint(rules) == ()
    with open_table(place, rows=False) as table:
        found = lint(rules, table=table)
    assert [(each.kind, each.rules) for each in found] == [("type", (1,)), ("type", (3,))]
    assert all("write CAST(amt AS DOUBLE)" in each.message for each in found)
    assert main(["rules", "lint", *rules, "--source", str(place)]) == 1
    assert capsys.readouterr().out.count(": type: ") == 2
    assert main(["rules", "lint", *rules[1:2], "--source", str(place)]) == 0
    assert main(["rules", "lint", *rules, "--schema", "amt INTEGER"]) == 2
    assert "give --source, too" in capsys.readouterr().err

"""What published definitions showed: nested fields, counts in SQL, pandas' conditions, second thresholds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import duckdb
import pandas as pd
import pytest
from case_share import of_all
from published_definitions import TOOLS, definitions

from dpdb.errors import ParameterError
from dpdb.rules import ImportedRules, import_rules
from dpdb.rules.pandas_conditions import pandas_condition


def _imported(tmp_path: Path, text: str) -> ImportedRules:
    (tmp_path / "f.yml").write_text(text)
    return import_rules(tmp_path / "f.yml")


def _lines(imported: ImportedRules) -> list[str]:
    return [f"{rule.text} {rule.limits}".strip() for rule in imported.rules] + [
        f"# {item.origin}: {item.reason}" for item in imported.left_out
    ]


CONTRACT = """
kind: DataContract
apiVersion: v3.1.0
schema:
  - name: orders
    properties:
      - name: address
        properties:
          - {name: street, required: true, logicalTypeOptions: {minLength: 1}}
          - {name: lines, items: {unique: true, quality: [{metric: nullValues, mustBe: 0}]}}
      - name: day
        logicalTypeOptions: {format: yyyy-MM-dd}
        quality:
          - {type: custom, engine: dqx, implementation: {criticality: warn, check: {function: is_not_null}}}
          - {type: custom, engine: dqx, implementation: {check: {function: is_unique}}}
    quality:
      - {type: sql, query: "SELECT COUNT(*) FROM ${table}", mustBeGreaterThan: 1000}
      - {type: sql, query: "select count(*) n from shop.orders", mustBeBetween: [1, 9], severity: warning}
      - {type: sql, query: "select count(*) from others", mustBeGreaterThan: 0}
      - {type: sql, query: "SELECT count_if(total < 0) FROM {model} WHERE day IS NOT NULL", mustBe: 0}
      - {type: sql, query: "SELECT count(*) FILTER (WHERE total < 0 OR total > 9) FROM {model}", mustBeLessThan: 3}
      - {type: sql, query: "SELECT avg(total) FROM orders", mustBeLessThan: 3}
      - {type: text, description: All is well}
"""


def test_nothing_of_a_contract_vanishes(tmp_path: Path) -> None:
    inside, whole = "it is about a field inside a column", "it is about the table as a whole, not about rows"
    assert _lines(_imported(tmp_path, CONTRACT)) == [
        "NOT NULL(day) warn above 0",
        "UNIQUE(day)",
        "row_count fail below 1001",
        "row_count warn below 1",
        "row_count warn above 9",
        "CHECK (NOT (day IS NOT NULL AND total < 0))",
        "CHECK (NOT (total < 0 OR total > 9)) fail above 2",
        f"# address.street: required: {inside}",
        f"# address.street: minLength: {inside}",
        f"# address.lines.items: unique: {inside}",
        f"# address.lines.items: nullValues: {inside}",
        "# day: format: dpdb has no format yyyy-MM-dd",
        "# table: sql: its query returns every row",
        f"# table: sql: {whole}",
        "# table: text: it is said in words",
    ]


SODA = """
dataset: shop/orders
diagnostics: store_check_results
checks:
  - row_count: {threshold: {must_be_greater_than: 10, additional: {must_be_greater_than: 100, level: warn}}}
  - row_count: {threshold: {must_be_greater_than: 10, additional: {must_be_greater_than: 100}}}
  - freshness: {column: day, threshold: {must_be_less_than: 12}}
"""


def test_a_second_threshold_is_a_second_limit(tmp_path: Path) -> None:
    assert _lines(_imported(tmp_path, SODA)) == [
        "row_count fail below 11",
        "row_count warn below 101",
        "freshness(day) < 12 hours",
        "# row_count: its two thresholds have one level",
    ]


DBT = """
models:
  - name: orders
    data_tests:
      - dbt_expectations.expression_is_true: {expression: a < b, row_condition: b > 0}
    columns:
      - {name: a, data_tests: [{not_null: {config: {where: 1 = 1}}}, {unique: {where: 1=2}}]}
    versions:
      - v: 2
        data_tests: [{dbt_utils.expression_is_true: {expression: a < 3}}]
        columns: [{name: a, data_tests: [unique], constraints: [{type: not_null}]}]
"""


def test_tests_of_versions_are_listed_and_conditions_that_always_hold_are_none(tmp_path: Path) -> None:
    of_version = "it is of one version of the model: import the file of that version by itself"
    shown = _lines(_imported(tmp_path, DBT))
    assert shown[:2] == ["CHECK (a < b) WHERE b > 0", "NOT NULL(a)"]
    assert shown[2].startswith("# unique(a): dpdb cannot read")
    assert shown[3:] == [
        f"# v2: dbt_utils.expression_is_true: {of_version}",
        f"# v2: unique(a): {of_version}",
        f"# v2: constraint not_null(a): {of_version}",
    ]


# -- conditions of pandas ---------------------------------------------------------------------------------------------

ROWS = pd.DataFrame(
    [(a, b, c) for a in (None, 0, 1, 2) for b in (None, -1, 1.5) for c in (None, "x", "y & z")], columns=["a", "b", "c"]
)


def _a_condition(random: Random) -> str:
    def part() -> str:
        name, values = random.choice([("a", (0, 1, -2)), ("b", (1.5, -1)), ("c", ('"x"', "'y & z'"))])
        signs = ["==", "!="] if name == "c" else ["==", "!=", "<", "<=", ">", ">="]
        said = f"{name} {random.choice(signs)} {random.choice(values)}"
        return f"({said})" if random.random() < 0.4 else said

    parts = [part() for _ in range(random.choice([1, 2, 3]))]
    joined = parts[0]
    for each in parts[1:]:
        joined = f"{joined} {random.choice(['&', '|', 'and', 'or'])} {each}"
    return joined


def test_conditions_of_pandas_select_its_rows() -> None:
    """200 conditions (a fifth by default), by pandas itself, over all 36 rows of three columns, some values missing."""
    random, made = Random(47), duckdb.connect()
    made.execute("CREATE TABLE t AS SELECT row_number() OVER () - 1 AS n, a, b, c FROM ROWS")
    made.execute("UPDATE t SET a = NULL WHERE isnan(a)")
    made.execute("UPDATE t SET b = NULL WHERE isnan(b)")
    for _ in range(of_all(200)):
        text = _a_condition(random)
        ours = made.execute(f"SELECT n FROM t WHERE {pandas_condition(text)} ORDER BY n").fetchall()
        assert [n for (n,) in ours] == list(ROWS.query(text).index), text


@pytest.mark.parametrize("text", ["a", "~(a == 1)", "a == b", "a + 1 > 2", "0 < a < 2", "a == [1]", "f(a)", "a ==", ""])
def test_other_conditions_of_pandas_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="comparisons of a column and a constant"):
        pandas_condition(text)


# -- published definitions --------------------------------------------------------------------------------------------

REPOSITORY: dict[str, tuple[str, str, Callable[[str], str]]] = {
    "dbt": (
        "models: [{name: t, columns: [{name: a, tests: [not_null, own]}], data_tests: [dbt_utils.recency]}]",
        "m.yml", str,
    ),
    "gx": (
        '{"expectation_type": "expect_column_values_to_not_be_null", "datasets": [{"data": {}, "tests": ['
        '{"in": {"column": "a"}}, {"in": {"column": "a", "odd": 1}}, {"in": {}}]}]}', "case.json", str
    ),
    "soda": ("dataset: d\nchecks: [row_count: , schema: , odd: ]\n", "README.md", lambda text: f"```yaml\n{text}```\n"),
    "odcs": (
        "kind: DataContract\napiVersion: v3\nschema: [{name: t, properties: [{name: a, required: true, "
        "logicalTypeOptions: {multipleOf: 2}, quality: [{type: text}]}]}]\n", "test.py",
        lambda text: f'X = """\n{text}"""\n'
    ),
    "dqx": (
        "[{'check': {'function': 'is_not_null', 'arguments': {'column': 'a'}}}, {'check': {'function': 'own'}},"
        " {'check': {'function': 'is_not_null'}}]", "test.py", lambda text: f"CHECKS = {text}\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", REPOSITORY)
def test_published_definitions_are_counted_one_by_one(tmp_path: Path, tool: str) -> None:
    text, name, written = REPOSITORY[tool]
    (tmp_path / name).write_text(written(text))
    found = list(definitions(tmp_path, TOOLS[tool], unread := Counter()))
    assert [(bool(each.rules), bool(each.left_out)) for each in found] == [(True, False), (False, True), (False, True)]
    assert not unread

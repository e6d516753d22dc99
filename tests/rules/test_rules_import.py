"""Files of other tools become constraint texts that dpdb itself reads, and what does not is named with its reason."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from dpdb.constraints import load_constraints
from dpdb.errors import ParameterError
from dpdb.owner import exact_measures
from dpdb.rules import ImportedRules, import_rules
from dpdb.rules.found import Found, ImportedRule


def _imported(folder: Path, name: str, text: str, table: str | None = None) -> ImportedRules:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return import_rules(path, table)


def _texts(imported: ImportedRules) -> list[str]:
    return [rule.text for rule in imported.rules]


def _left_out(imported: ImportedRules) -> dict[str, str]:
    return {item.origin: item.reason for item in imported.left_out}


DBT = """
models:
  - name: orders
    constraints:
      - {type: primary_key, columns: [id, part]}
      - {type: check, expression: "total >= 0"}
      - {type: foreign_key, columns: [customer]}
      - {type: foreign_key, columns: [shop, day], to: ref('shops'), to_columns: [shop, opens]}
      - {type: foreign_key, columns: [clerk], expression: "staff.clerks (id)"}
    tests:
      - dbt_utils.unique_combination_of_columns: {combination_of_columns: [day, shop]}
      - dbt_utils.expression_is_true: {arguments: {expression: "shipped >= ordered"}}
      - dbt_utils.expression_is_true: {expression: "a = {{ var('a') }}"}
      - {name: own, test_name: dpdb.denial_constraint, arguments: {constraint: "not(t1.a<t2.a & t1.b>t2.b)"}}
    columns:
      - name: status
        tests:
          - not_null
          - accepted_values: {values: [open, closed], config: {where: "day > '2026-01-01'"}}
          - accepted_values: {values: [1, 2], quote: false}
          - relationships: {to: ref('states'), field: code}
          - dbt_utils.relationships_where: {to: "source('a','all')", field: s, from_condition: x > 1, to_condition: 1=1}
          - dbt_utils.relationships_where: {to: ref('b'), field: s, to_condition: "y > 1"}
          - unique: {config: {enabled: false}}
          - some_package.never_seen
      - name: customer_name
        data_tests:
          - dbt_utils.functional_dependency: {depends_on: [customer_id]}
          - dbt_utils.not_empty_string
      - name: total
        data_tests:
          - dbt_utils.accepted_range: {min_value: 0, max_value: "limit_total", inclusive: false}
          - dbt_expectations.expect_column_values_to_be_between: {min_value: 0, max_value: 9.5}
      - name: order
        data_tests: [unique: {config: {where: "live"}}]
"""


def test_a_dbt_schema(tmp_path: Path) -> None:
    imported = _imported(tmp_path, "schema.yml", DBT)
    assert (imported.kind, imported.table) == ("dbt schema", "orders")
    assert _texts(imported) == [
        "UNIQUE(day, shop)",
        "UNIQUE(day) WHERE shop IS NULL",
        "UNIQUE(shop) WHERE day IS NULL",
        "not(t1.day IS NULL & t2.day IS NULL & t1.shop IS NULL & t2.shop IS NULL)",
        "CHECK (shipped >= ordered)",
        "not(t1.a<t2.a & t1.b>t2.b)",
        "UNIQUE(id, part)",
        "NOT NULL(id)",
        "NOT NULL(part)",
        "CHECK (total >= 0)",
        "(shop, day) IN shops(shop, opens)",
        "clerk IN staff.clerks.id",
        "NOT NULL(status)",
        "CHECK (status IN ('open', 'closed')) WHERE day > '2026-01-01'",
        "CHECK (status IN (1, 2))",
        "status IN states.code",
        'status IN "all".s WHERE x > 1',
        "customer_id -> customer_name",
        "CHECK (trim(customer_name) <> '')",
        "CHECK (total > 0 AND total < limit_total)",
        "CHECK (total >= 0 AND total <= 9.5)",
        'UNIQUE("order") WHERE live',
    ]
    assert _left_out(imported) == {
        "constraint foreign_key(customer)": "it does not say which columns of which table",
        "dbt_utils.expression_is_true": "it has a template, which only its own tool fills in",
        "dbt_utils.relationships_where(status)": (
            "to_condition: a condition on the rows of the other table; name a view of them instead"
        ),
        "unique(status)": "it is not enabled",
        "some_package.never_seen(status)": "dpdb does not know this test",
    }


def test_a_dbt_project_is_read_without_its_packages(tmp_path: Path) -> None:
    for folder, table in (("models", "orders"), ("dbt_packages/other", "theirs"), (".hidden", "secret")):
        (tmp_path / folder).mkdir(parents=True)
        text = f"models: [{{name: {table}, columns: [{{name: id, tests: [unique]}}]}}]"
        (tmp_path / folder / "a.yml").write_text(text, encoding="utf-8")
    assert import_rules(tmp_path).table == "orders"


DDL = """
CREATE TABLE made (key int PRIMARY KEY);
CREATE TABLE shop.orders (
    id integer PRIMARY KEY, customer int NOT NULL REFERENCES customers(id), status text CHECK (status IN ('a', 'b')),
    a int UNIQUE, b int REFERENCES made, c int REFERENCES other,
    CONSTRAINT whole CHECK (a < b OR b IS NULL), UNIQUE (a, b), FOREIGN KEY (a) REFERENCES x (y),
    EXCLUDE USING gist (room WITH =, during WITH &&)
);
ALTER TABLE ONLY shop.orders ADD CONSTRAINT second PRIMARY KEY (a, b);
ALTER TABLE orders ALTER COLUMN status SET NOT NULL;
CREATE UNIQUE INDEX live ON orders (customer) WHERE status = 'a';
CREATE UNIQUE INDEX low ON orders (lower(status));
CREATE INDEX slow ON orders (b);
SET search_path = shop;
"""


def test_sql_ddl(tmp_path: Path) -> None:
    imported = _imported(tmp_path, "schema.sql", DDL, "orders")
    assert _texts(imported) == [
        "UNIQUE(id)",
        "NOT NULL(id)",
        "NOT NULL(customer)",
        "customer IN customers.id",
        "CHECK (status IN ('a', 'b'))",
        "UNIQUE(a)",
        "b IN made.key",
        "CHECK (a < b OR b IS NULL)",
        "UNIQUE(a, b)",
        "a IN x.y",
        "NOT NULL(a)",
        "NOT NULL(b)",
        "NOT NULL(status)",
        "UNIQUE(customer) WHERE status = 'a'",
    ]
    assert list(_left_out(imported).values()) == [
        "it names no column of other: write c IN other.COLUMN",
        "write it as a denial constraint: not(t1... & t2...)",
        "it is over expressions",
    ]


@pytest.mark.parametrize("key", ["type", "expectation_type"])
def test_a_great_expectations_suite(tmp_path: Path, key: str) -> None:
    said = [
        ("expect_column_values_to_not_be_null", {"column": "id", "mostly": 0.95}),
        ("expect_column_values_to_be_unique", {"column": "id"}),
        ("expect_compound_columns_to_be_unique", {"column_list": ["a", "b"]}),
        ("expect_column_values_to_be_in_set", {"column": "state", "value_set": ["O'Hare", None, 3]}),
        ("expect_column_values_to_be_between", {"column": "age", "min_value": 0, "strict_min": True}),
        ("expect_column_value_lengths_to_equal", {"column": "code", "value": 4}),
        ("expect_column_pair_values_a_to_be_greater_than_b", {"column_A": "end", "column_B": "start"}),
        ("expect_select_column_values_to_be_unique_within_record", {"column_list": ["a", "b", "c"]}),
        ("expect_column_values_to_match_like_pattern", {"column": "code", "like_pattern": "A%"}),
        ("expect_column_values_to_be_unique", {"column": "id", "row_condition": "live", "condition_parser": "spark"}),
        ("expect_column_values_to_be_unique", {"column": "id", "row_condition": "col('x') > 1"}),
        ("expect_column_values_to_match_regex", {"column": "code", "regex": "x"}),
        ("expect_column_mean_to_be_between", {"column": "age", "min_value": 1}),
        ("expect_column_values_to_be_in_set", {"column": "state"}),
    ]
    suite = {"name": "s", "expectations": [{key: name, "kwargs": options} for name, options in said], "meta": {}}
    imported = _imported(tmp_path, "suite.json", json.dumps(suite))
    assert _texts(imported) == [
        "NOT NULL(id)",
        "UNIQUE(id)",
        "UNIQUE(a, b)",
        "UNIQUE(a) WHERE b IS NULL",
        "UNIQUE(b) WHERE a IS NULL",
        "CHECK (state IN ('O''Hare', 3))",
        "CHECK (age > 0)",
        "CHECK (length(code) = 4)",
        'CHECK ("end" IS NULL AND start IS NULL OR "end" IS NOT NULL AND start IS NOT NULL AND "end" > start)',
        "CHECK (a IS NULL AND b IS NULL AND c IS NULL OR a <> b AND (a IS NOT NULL OR b IS NOT NULL) "
        "AND a <> c AND (a IS NOT NULL OR c IS NOT NULL) AND b <> c AND (b IS NOT NULL OR c IS NOT NULL))",
        "CHECK (code LIKE 'A%')",
        "UNIQUE(id) WHERE live",
        "CHECK (regexp_matches(code, 'x'))",
    ]
    assert (imported.rules[0].limits, imported.rules[0].note) == ("fail above 5%", None)
    assert len(imported.left_out) == 3


SODA = """
checks for orders:
  - row_count > 0
  - duplicate_count(id, part) = 0
  - missing_count(status) < 5
  - missing_percent(email) = 0%:
      missing values: [n/a, '']
  - invalid_count(status) = 0:
      valid values: [open, closed]
      filter: day > 3
  - invalid_percent(age) < 1 %:
      valid min: 0
      valid max: 120
  - invalid_count(phone) = 0:
      valid format: phone number
  - values in (state) must exist in states (code)
  - failed rows:
      fail condition: shipped < ordered
"""

SODA_CONTRACT = """
dataset: source/db/orders
columns:
  - name: id
    checks: [missing:, duplicate:, {type: no_missing}]
  - name: size
    valid_values: ['S', 'M']
    checks:
      - invalid: {threshold: {metric: percent, must_be_less_than: 1}}
checks:
  - duplicate: {columns: [a, b]}
  - failed_rows: {expression: "a > b"}
  - schema:
"""


def test_soda_checks(tmp_path: Path) -> None:
    imported = _imported(tmp_path, "checks.yml", SODA)
    assert _texts(imported) == [
        "row_count",
        "UNIQUE(id, part)",
        "NOT NULL(status)",
        "NOT NULL(email)",
        "CHECK (email NOT IN ('n/a', ''))",
        "CHECK (status IN ('open', 'closed')) WHERE day > 3",
        "CHECK (age >= 0 AND age <= 120)",
        "state IN states.code",
        "CHECK (NOT (shipped < ordered))",
    ]
    assert [rule.limits for rule in imported.rules] == [
        "fail below 1", "", "fail above 4", "", "", "", "fail above 0.9949%", "", "",
    ]  # fmt: skip
    assert len(imported.left_out) == 1


def test_a_soda_contract(tmp_path: Path) -> None:
    imported = _imported(tmp_path, "contract.yml", SODA_CONTRACT)
    assert imported.table == "orders"
    assert _texts(imported) == [
        "NOT NULL(id)",
        "UNIQUE(id)",
        "CHECK (size IN ('S', 'M'))",
        "UNIQUE(a, b)",
        "UNIQUE(a) WHERE b IS NULL",
        "UNIQUE(b) WHERE a IS NULL",
        "not(t1.a IS NULL & t2.a IS NULL & t1.b IS NULL & t2.b IS NULL)",
        "CHECK (NOT (a > b))",
    ]
    assert [item.origin for item in imported.left_out] == ["schema"]


ODCS = """
apiVersion: v3.1.0
kind: DataContract
schema:
  - name: orders
    physicalName: tbl_orders
    quality:
      - {metric: duplicateValues, mustBe: 0, arguments: {properties: [a, b]}}
      - {metric: rowCount, mustBeGreaterThan: 10}
      - {type: custom, engine: dpdb, implementation: "zip -> city"}
      - {type: custom, engine: soda, implementation: {type: duplicate, columns: [c, d]}}
      - {type: custom, engine: montecarlo, implementation: "x"}
    properties:
      - {name: part, primaryKey: true, primaryKeyPosition: 2}
      - {name: id, primaryKey: true, primaryKeyPosition: 1, unique: true}
      - name: age
        required: true
        logicalTypeOptions: {minimum: 0, exclusiveMaximum: 130, pattern: "x"}
        quality:
          - {metric: invalidValues, arguments: {validValues: [1, null]}, mustBeLessThan: 5, unit: percent}
        relationships: [{to: people.age}, {to: /schema/persons/properties/years}, {to: nowhere}]
    relationships: [{from: [orders.id, orders.part], to: [persons.years, persons.id], type: foreignKey}]
  - {name: persons, physicalName: tbl_persons, properties: [{name: years, physicalName: n_years}]}
  - {name: empty}
"""


def test_an_open_data_contract(tmp_path: Path) -> None:
    imported = _imported(tmp_path, "orders.odcs.yaml", ODCS)
    assert imported.table == "tbl_orders"
    assert _texts(imported) == [
        "UNIQUE(id, part)",
        "NOT NULL(id)",
        "NOT NULL(part)",
        "UNIQUE(id)",
        "NOT NULL(age)",
        "CHECK (age >= 0)",
        "CHECK (age < 130)",
        "CHECK (regexp_matches(age, 'x'))",
        "age IN people.age",
        "age IN tbl_persons.n_years",
        "CHECK (age IN (1))",
        "UNIQUE(a, b)",
        "row_count",
        "zip -> city",
        "UNIQUE(c, d)",
        "UNIQUE(c) WHERE d IS NULL",
        "UNIQUE(d) WHERE c IS NULL",
        "not(t1.c IS NULL & t2.c IS NULL & t1.d IS NULL & t2.d IS NULL)",
        "(id, part) IN tbl_persons(n_years, id)",
    ]
    assert len(imported.left_out) == 2


def test_the_text_is_a_constraints_file(tmp_path: Path) -> None:
    imported = _imported(tmp_path, "schema.yml", DBT)
    written = tmp_path / "rules.txt"
    written.write_text(imported.text(), encoding="utf-8")
    assert len(load_constraints(written)) == len(imported.rules)
    assert all(item.reason in imported.text() for item in imported.left_out)


TWO = "models: [{name: a, columns: [{name: x, tests: [unique]}]}, {name: B, columns: [{name: x, tests: [not_null]}]}]"


def test_several_tables_need_a_name(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="several tables, name one with --table: a, B"):
        _imported(tmp_path, "two.yml", TWO)
    assert _texts(_imported(tmp_path, "two.yml", TWO, "b")) == ["NOT NULL(x)"]
    with pytest.raises(ParameterError, match="has no rules for 'c'"):
        _imported(tmp_path, "two.yml", TWO, "c")


def test_a_file_that_names_no_table_is_about_the_one_that_is_named(tmp_path: Path) -> None:
    text = json.dumps({"expectations": [{"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "id"}}]})
    assert _texts(_imported(tmp_path, "suite.json", text, "visits")) == ["NOT NULL(id)"]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", "is no JSON"),
        ("a.yml", "a: [", "is no YAML, line"),
        ("a.yml", "[" * 100_000, "is no YAML"),
        ("a.yml", "just: text", "is none of"),
        ("a.yml", "!!python/object/apply:os.system [x]", "is no YAML"),
        ("a.yml", "", "is none of"),
        ("a.yml", "models: [{name: a}]", "has no rules"),
        ("a.sql", "CREATE TABLE a (b int CHECK (", "is no SQL of dialect 'postgres'"),
        ("a.sql", "SELECT 1", "has no rules"),
    ],
)
def test_what_is_no_file_of_rules_is_one_clear_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as raised:
        _imported(tmp_path, name, text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("item", ["null", "3", "[]", "{}", "[[1]]", "text", "{name: {}}", "{name: [1], tests: 3}"])
@pytest.mark.parametrize(
    "frame",
    [
        "models: [{0}, {{name: a, columns: {0}, tests: {0}}}, {{name: a, columns: [{{name: x, tests: [{0}]}}]}}]",
        "{{checks for a: {0}, dataset: a, columns: {0}, checks: [{0}]}}",
        "{{kind: DataContract, apiVersion: v3, schema: [{0}, {{name: a, properties: {0}, quality: [{0}]}}]}}",
        "{{expectations: [{0}, {{type: {0}, kwargs: {0}}}]}}",
    ],
)
def test_odd_shapes_are_refused_or_left_out(tmp_path: Path, frame: str, item: str) -> None:
    try:
        imported = _imported(tmp_path, "odd.yml", frame.format(item))
    except ParameterError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either is right
    else:
        assert imported.text()


_BOUND_BY_NO_TABLE = [
    "greatest(a, b) = 1", "a > now()", "a > current_date", "a ^ 2 > 4", "(a = b) IS DISTINCT FROM c",
    "a & b = 1", "a = 1 # b", "a = 1 OR 1 = 1", "sum(a) = 3", "a = 1 OR random() < b", "a IN (1, sqrt(b))",
    "trim(both 'x' from c) = 'y'", "lower(a = 1) = 'x'",
]  # fmt: skip
_BOUND = [
    "a + b > 3", "NOT (a > 1 AND b < 2) OR c IS NULL", "(a = 1 OR b = 2)", "c LIKE 'x%' AND a BETWEEN 1 AND 2",
    "abs(a - b) * -1 < a % 2", "c NOT IN ('x', 'y')", "length(trim(c)) = 3", "NOT (a IS NOT NULL)", "a = 1 AND TRUE",
]  # fmt: skip


@pytest.mark.parametrize("condition", _BOUND_BY_NO_TABLE)
def test_a_condition_that_every_table_would_refuse_is_left_out(tmp_path: Path, condition: str) -> None:
    """It was taken, and then refused the whole file of rules."""
    test = {"dbt_utils.expression_is_true": {"expression": condition}}
    text = json.dumps({"models": [{"name": "t", "data_tests": [test, {"unique": {"column_name": "a"}}]}]})
    imported = _imported(tmp_path, "a.yml", text)
    assert _texts(imported) == ["UNIQUE(a)"]
    assert len(imported.left_out) == 1


@pytest.mark.heavy
@pytest.mark.parametrize("condition", _BOUND)
def test_a_condition_that_is_taken_is_bound_by_a_table(tmp_path: Path, condition: str) -> None:
    test = {"dbt_utils.expression_is_true": {"expression": condition}}
    imported = _imported(tmp_path, "a.yml", json.dumps({"models": [{"name": "t", "data_tests": [test]}]}))
    rows = pa.table({"a": [1, 2], "b": [2, 3], "c": ["x", "y"]})
    assert exact_measures(rows, _texts(imported), non_private=True, measures=["drastic"]).rows == 2


def test_equal_rules_keep_the_origins_and_notes_of_all(tmp_path: Path) -> None:
    tests = "[unique, unique, {unique: {config: {severity: warn}}}, dbt_expectations.expect_column_values_to_be_unique]"
    imported = _imported(tmp_path, "a.yml", f"models: [{{name: t, columns: [{{name: a, data_tests: {tests}}}]}}]")
    assert [(rule.name, rule.limits, rule.origin, rule.note) for rule in imported.rules] == [
        ("unique_t_a", "", "unique(a)", "also dbt_expectations.expect_column_values_to_be_unique(a)"),
        ("unique_t_a (2)", "warn above 0", "unique(a)", None),
    ]


def test_a_rule_is_compared_with_no_other_one() -> None:
    """Each was compared with all before it, which took quadratic time."""
    compared = []

    class Text(str):
        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return super().__eq__(other)

        __hash__ = str.__hash__

    found = Found()
    for number in range(500):
        for _ in range(2):  # the second one is known
            found.add(ImportedRule("t", Text(f"NOT NULL(c{number})"), "file"))
    assert (len(found.rules), len(compared) < 1_000) == (500, True)

"""Whole projects and scripts of other tools: what one statement or test is left out for, and that nothing vanishes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dpdb.doors.cli.main import main
from dpdb.errors import ParameterError
from dpdb.rules import import_rules, import_tables

PROJECT = {
    "dbt_project.yml": "name: shop\ntest-paths: [tests]\ndata_tests: {+severity: warn, shop: {+limit: 100}}\n",
    "models/schema.yml": """
models:
  - name: orders
    columns:
      - {name: '"Zip Code"', data_tests: [not_null, {unique: {config: {severity: error}}}]}
      - {name: qty, data_tests: [positive]}
unit_tests: [{name: adds_up, model: orders}]
data_tests: [{name: no_refund, config: {severity: error, error_if: '> 3', warn_if: '> 1'}}]
""",
    "tests/no_refund.sql": "select id, amount from {{ ref('orders') }} o where o.amount < 0 -- refunds\n",
    "tests/deep/late.sql": """{{ config(severity='error', tags=['x']) }}
        SELECT * FROM {{ source('s', 'orders') }} WHERE d IS NOT TRUE;""",
    "tests/total.sql": "select sum(amount) from {{ ref('orders') }} having sum(amount) < 0",
    "tests/joined.sql": "select 1 from {{ ref('orders') }} join {{ ref('customers') }} using (id) where amount < 0",
    "tests/looped.sql": "{% for x in [1] %} select 1 from {{ ref('orders') }} where {{ x }} = amount {% endfor %}",
    "tests/nowhere.sql": "select 1",
    "tests/generic/positive.sql": "{% test positive(model, column_name) %} select 1 {% endtest %}",
    "dbt_packages/other/tests/theirs.sql": "select * from {{ ref('orders') }} where a = 1",
    ".hidden/tests/x.sql": "select",
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in PROJECT.items():
        path = tmp_path / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "shop"


def test_a_project_is_taken_or_listed_test_by_test(project: Path) -> None:
    imported = import_rules(project, "orders")
    assert [rule.line() for rule in imported.rules] == [
        'not_null_orders__Zip_Code_: NOT NULL("Zip Code")  warn above 0',
        'unique_orders__Zip_Code_: UNIQUE("Zip Code")',
        'late: CHECK (NOT (NOT (d IS NOT NULL AND d)))',
        'no_refund: CHECK (NOT (amount < 0))  warn above 1, fail above 3',
    ]  # fmt: skip
    assert {item.origin: item.reason.partition(" ")[0] for item in imported.left_out} == {
        "unit test adds_up": "it",
        "positive(qty)": "the",
        "joined": "a",
        "looped": "it",
        "nowhere": "a",
        "total": "its",
    }


def test_what_is_said_of_a_folder_holds_for_its_tests_and_the_rest_is_listed(project: Path) -> None:
    """As dbt does: a folder's own words before those of the folder around it, a test's own before all."""
    said = {
        "name": "shop",
        "tests": {"+limit": 7},
        "data_tests": {
            "other_package": {"+severity": "warn"},
            "shop": {
                "+severity": "warn",
                "deep": {"+severity": "error", "late": {"+enabled": False}},
                "gone": {"x": {}},
            },
            "deep": {"+enabled": False},
        },
    }
    (project / "dbt_project.yml").write_text(json.dumps(said))
    inside = PROJECT["tests/no_refund.sql"]
    for most, name in enumerate(("deep/unsaid.sql", "deep/deeper/too.sql", "shallow.sql"), 1):
        (project / "tests" / name).parent.mkdir(exist_ok=True)
        (project / "tests" / name).write_text(inside.replace("< 0", f"< {most}"))
    (project / "models/deep").mkdir()
    (project / "models/deep/m.yml").write_text("models: [{name: orders, columns: [{name: qty, tests: [not_null]}]}]")
    imported = import_rules(project, "orders")
    limits = {rule.name: rule.limits for rule in imported.rules}
    assert limits == {
        "not_null_orders__Zip_Code_": "warn above 0",
        "unique_orders__Zip_Code_": "",
        "not_null_orders_qty": "",
        "late": "",
        "no_refund": "warn above 1, fail above 3",
        "shallow": "warn above 0",
        "too": "",
        "unsaid": "",
    }
    origins = {item.origin for item in imported.left_out if item.origin.startswith("dbt_project")}
    assert origins == {
        f"dbt_project.yml: data_tests: {place}" for place in ("other_package", "deep", "shop: deep: late", "shop: gone")
    }


def test_what_is_said_of_all_tests_holds_for_each(project: Path) -> None:
    (project / "dbt_project.yml").write_text("name: shop\ndata_tests: {+where: qty > 0}")
    assert 'NOT NULL("Zip Code") WHERE qty > 0' in [rule.text for rule in import_rules(project, "orders").rules]
    (project / "dbt_project.yml").write_text("name: shop\ndata_tests: {shop: {+enabled: false}}")
    assert import_rules(project, "orders").rules == ()


def test_a_suite_for_each_table(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "models" / "more.yml").write_text("models: [{name: items, columns: [{name: a, tests: [unique]}]}]")
    assert [each.table for each in import_tables(project)] == ["items", "orders"]
    assert main(["rules", "import", str(project), "--out", str(tmp_path / "suites")]) == 0
    assert sorted(path.name for path in (tmp_path / "suites").iterdir()) == ["items.suite.txt", "orders.suite.txt"]
    assert main(["rules", "import", str(project), "--out", str(tmp_path / "s"), "--table", "items"]) == 2
    assert "leave out --table" in capsys.readouterr().err


def test_rules_of_columns_that_a_table_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    (tmp_path / "r.yml").write_text(
        "models: [{name: t, columns: [{name: a, tests: [unique]}, {name: z, tests: [unique]}]}]"
    )
    assert main(["rules", "import", str(tmp_path / "r.yml"), "--source", str(tmp_path / "t.csv")]) == 0
    shown = capsys.readouterr().out
    assert "UNIQUE(a)" in shown
    assert "# unique(z): the table has no column 'z'" in shown
    assert "UNIQUE(z)" not in shown


SCRIPT = r"""
\restrict abc
CREATE TABLE public.orders (id integer NOT NULL, status text,
    CONSTRAINT known CHECK ((status = ANY (ARRAY['a'::text, 'b'::text]))));
COPY public.orders (id, status) FROM stdin;
1	it's "odd
2	\N
\.
ALTER TABLE ONLY public.orders ADD CONSTRAINT orders_pkey PRIMARY KEY NONCLUSTERED (id);
GO
CREATE TABLE bad (a int NOT NULL CHECK (((a > 0));
CREATE TRIGGER x BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION f(((;
CREATE TABLE good (a int NOT NULL)
GO
"""


def test_a_statement_that_cannot_be_read_leaves_out_itself(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(SCRIPT)
    found = {each.table: each for each in import_tables(tmp_path / "dump.sql")}
    assert [rule.line() for rule in found["orders"].rules] == [
        "NOT NULL(id)", "known: CHECK (status IN ('a', 'b'))", "orders_pkey: UNIQUE(id)",
    ]  # fmt: skip
    assert [rule.text for rule in found["good"].rules] == ["NOT NULL(a)"]
    assert not found["bad"].rules
    assert [item.origin for item in found["bad"].left_out] == ["CREATE TABLE bad (a int NOT NULL CHECK (((a > 0))"]
    (tmp_path / "cut.sql").write_text("COPY t (a) FROM stdin;\n1\n" * 50_000)
    with pytest.raises(ParameterError, match="the data of COPY have no end"):
        import_rules(tmp_path / "cut.sql")
    (tmp_path / "none.sql").write_text("CREATE TABLE (((;")
    with pytest.raises(ParameterError, match="no SQL of dialect 'postgres'"):
        import_rules(tmp_path / "none.sql")


QUERIES = [
    ("SELECT * FROM t WHERE a > 3", "CHECK (NOT (a > 3))"),
    ("select t.a, b as c from t where t.a is true", "CHECK (NOT (a IS NOT NULL AND a))"),
    ("SELECT a FROM t", None), ("SELECT DISTINCT a FROM t WHERE a > 3", None), ("DELETE FROM t WHERE a > 3", None),
    ("SELECT * FROM u WHERE a > 3", None), ("SELECT * FROM t, u WHERE a > 3", None), ("SELECT 1", None),
    ("SELECT max(a) FROM t WHERE a > 3", None),
    ("SELECT * FROM t WHERE a IN (SELECT b FROM u)", None), ("SELECT * FROM t WHERE a > 3 LIMIT 1", None),
    ("SELECT * FROM t WHERE a > 3; SELECT 1", None), ("SELECT row_number() OVER () FROM t WHERE a > 3", None),
    ("WITH t AS (SELECT 1 AS a) SELECT * FROM t WHERE a > 3", None), ("SELECT (", None),
    ("SELECT * FROM t TABLESAMPLE BERNOULLI (10) WHERE a > 3", None), ("SELECT unnest(b) FROM t WHERE a > 3", None),
    ("SELECT * FROM t AS x (b, a) WHERE a > 3", None), ("SELECT generate_series(1, a) FROM t WHERE a > 3", None),
    ("SELECT * FROM (SELECT 1 AS a) AS t WHERE a > 3", None), ("SELECT * FROM t AS x WHERE y.a > 3", None),
]  # fmt: skip


@pytest.mark.parametrize(("query", "text"), QUERIES)
def test_a_query_of_failing_rows(tmp_path: Path, query: str, text: str | None) -> None:
    """In all tools that have such queries; GX and contracts write the table as a template, which is the same."""
    name = query.replace("FROM t", "FROM {batch}")
    expectation = {"type": "unexpected_rows_expectation", "kwargs": {"unexpected_rows_query": name}}
    files = {
        "gx.json": json.dumps({"meta": {"table": "t"}, "expectations": [expectation]}),
        "soda.yml": json.dumps({"checks for t": [{"failed rows": {"name": "x", "fail query": query}}]}),
        "contract.yml": json.dumps({"dataset": "d/t", "checks": [{"failed_rows": {"query": query}}]}),
    }
    for file, content in files.items():
        (tmp_path / file).write_text(content)
        imported = import_rules(tmp_path / file)
        assert [rule.text for rule in imported.rules] == ([] if text is None else [text]), file
        assert len(imported.left_out) == (text is None)


@pytest.mark.parametrize(
    ("query", "beside", "line"),
    [
        ("SELECT COUNT(*) FROM ${object} WHERE a > 3", {"mustBe": 0}, "CHECK (NOT (a > 3))"),
        ("SELECT count(*) AS n FROM t WHERE a > 3", {"mustBeLessThan": 5}, "CHECK (NOT (a > 3))  fail above 4"),
        ("SELECT COUNT(*) FROM ${table} WHERE a > 3", {"mustBeGreaterThan": 5}, None),
        ("SELECT COUNT(*) FROM ${table} WHERE a > 3", {}, None),
        ("SELECT COUNT(*) FROM ${table}", {"mustBe": 0}, '"table: sql": row_count  fail above 0'),
        ("SELECT COUNT(*) FROM ${table}", {}, None),
        ("SELECT COUNT(*) FROM ${table} TABLESAMPLE SYSTEM (1)", {"mustBe": 0}, None),
        ("SELECT COUNT(DISTINCT a) FROM ${table} WHERE a > 3", {"mustBe": 0}, None),
        ("SELECT * FROM ${table} WHERE a > 3", {"mustBe": 0}, None),
    ],
)
def test_a_contract_counts_by_a_query(tmp_path: Path, query: str, beside: dict[str, int], line: str | None) -> None:
    rule = {"type": "sql", "query": query, **beside}
    contract = {"kind": "DataContract", "apiVersion": "v3", "schema": [{"name": "t", "quality": [rule]}]}
    (tmp_path / "c.yaml").write_text(json.dumps(contract))
    imported = import_rules(tmp_path / "c.yaml")
    assert [rule.line() for rule in imported.rules] == ([] if line is None else [line])
    assert len(imported.left_out) == (line is None)


def test_odd_places_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.yml")
    for place in (tmp_path, tmp_path / "pipe.yml", tmp_path / "none", "/dev/null", "/proc/self"):
        assert main(["rules", "import", str(place)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


BEFORE, OF_T = "rules above have the name from before", "rules of t may hold here, too: import those"


@pytest.mark.parametrize(
    ("statement", "table", "left"),
    [
        ("DROP INDEX one_a", "t", ["DROP INDEX one_a: see whether a rule above is gone"]),
        ("DROP INDEX IF EXISTS other", "t", []),
        ("DROP TABLE t", "t", ["DROP TABLE t: see whether a rule above is gone"]),
        ("ALTER TABLE t RENAME COLUMN a TO b", "t", [f"ALTER TABLE: RENAME COLUMN a TO b: {BEFORE}"]),
        ("ALTER TABLE t RENAME TO t2", "t", [f"ALTER TABLE: RENAME TO t2: {BEFORE}"]),
        ("CREATE TABLE u (LIKE t INCLUDING ALL)", "u", [f"LIKE t: {OF_T}"]),
        ("CREATE TABLE u (b int) INHERITS (t)", "u", [f"INHERITS t: {OF_T}"]),
        ("CREATE TABLE u PARTITION OF t FOR VALUES IN (1)", "u", [f"PARTITION OF t: {OF_T}"]),
    ],
)  # fmt: skip
def test_no_statement_about_a_rule_vanishes(tmp_path: Path, statement: str, table: str, left: list[str]) -> None:
    script = tmp_path / "s.sql"
    script.write_text(
        f"DROP TABLE IF EXISTS t;\nCREATE TABLE t (a int);\nCREATE UNIQUE INDEX one_a ON t (a);\n{statement};"
    )
    found = import_rules(script, table)
    assert [f"{item.origin}: {item.reason}" for item in found.left_out] == left
    assert [rule.text for rule in found.rules] == (["UNIQUE(a)"] if table == "t" else [])


@pytest.mark.parametrize(
    ("said", "texts"),
    [
        ({"minimum": 0, "exclusiveMinimum": True}, ["CHECK (x > 0)"]),
        (
            {"minimum": 0, "exclusiveMinimum": False, "maximum": 9, "exclusiveMaximum": True},
            ["CHECK (x >= 0 AND x < 9)"],
        ),
        ({"minimum": 0, "exclusiveMaximum": 9}, ["CHECK (x >= 0)", "CHECK (x < 9)"]),
        ({"exclusiveMinimum": 0}, ["CHECK (x > 0)"]),
        ({"minimum": 0, "maximum": 9}, ["CHECK (x >= 0 AND x <= 9)"]),
        ({"exclusiveMinimum": True}, []),
        ({"maximum": 9, "exclusiveMinimum": True}, ["CHECK (x <= 9)"]),
    ],
)
def test_ends_of_a_contract_are_in_or_out_as_its_version_says(
    tmp_path: Path, said: dict[str, object], texts: list[str]
) -> None:
    """Version 3.0 has `exclusiveMinimum: true` beside `minimum`, 3.1 a number of its own."""
    column = {"name": "x", "required": "true", "logicalTypeOptions": said}
    contract = {"kind": "DataContract", "apiVersion": "v3.0.2", "schema": [{"name": "t", "properties": [column]}]}
    (tmp_path / "c.yaml").write_text(json.dumps(contract))
    imported = import_rules(tmp_path / "c.yaml")
    assert [rule.text for rule in imported.rules] == texts
    alone = said.get("exclusiveMinimum") is True and "minimum" not in said
    left = ["x: exclusiveMinimum"] * alone
    assert sorted(item.origin for item in imported.left_out) == sorted(["x: required", *left])


def test_a_severity_that_only_dbt_knows_leaves_a_test_out(tmp_path: Path) -> None:
    (tmp_path / "s.yml").write_text("""
models:
  - name: t
    columns:
      - name: a
        tests: [{not_null: {config: {severity: "{{ 'warn' }}"}}}, {unique: {config: {severity: WARN}}}]
""")
    imported = import_rules(tmp_path / "s.yml")
    assert [rule.line() for rule in imported.rules] == ["unique_t_a: UNIQUE(a)  warn above 0"]
    assert [item.origin for item in imported.left_out] == ["not_null(a)"]

"""Files that somebody wrote to do harm: what is written from them has the rules that were taken, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdb.constraints import load_constraints, parse_constraint
from dpdb.errors import ParameterError
from dpdb.rules import ImportedRules, import_rules
from dpdb.suites import load_suite

_ODD = [
    "a\n{0}",
    "a\r{0}",
    "a\x0b{0}",
    "a\x85{0}",
    "a\u2028{0}",
    "a # {0}",
    "a -- {0}",
    'a"\n{0}\n"',
    "\x1b[2Ja",
    "\ud800",
]
ODD = [text.format("UNIQUE(injected)") for text in _ODD]


def _imported(folder: Path, name: str, text: str) -> ImportedRules:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return import_rules(path)


def _assert_no_more_than_taken(imported: ImportedRules, folder: Path) -> None:
    """The file that is written means what was taken, and shows a terminal nothing but characters."""
    text = imported.text()
    assert all(character == "\n" or ord(character) >= 32 for character in text)
    assert len(imported.rules) + len(imported.left_out) > 0
    if imported.rules:
        written = folder / "rules.txt"
        written.write_text(text, encoding="utf-8")
        taken = [constraint for rule in imported.rules for constraint in parse_constraint(rule.text)]
        assert list(load_constraints(written)) == taken
        assert "injected" not in {column for constraint in taken for column in constraint.table_columns}


@pytest.mark.parametrize("odd", ODD)
def test_names_and_values_bring_no_line_of_their_own(tmp_path: Path, odd: str) -> None:
    tests = [{"accepted_values": {"values": [odd]}}, "unique", {odd: {}}, {"unique": {"where": odd}}]
    model = {"name": odd, "columns": [{"name": "a", "tests": tests}, {"name": odd, "tests": ["unique"]}]}
    own = {"name": odd, "tests": [{"denial_constraint": {"constraint": odd}}]}
    _assert_no_more_than_taken(_imported(tmp_path, "schema.yml", json.dumps({"models": [model, own]})), tmp_path)
    said = [{"type": "expect_column_values_to_be_in_set", "kwargs": {"column": odd, "value_set": [odd]}}]
    suite = {"meta": {"table": odd}, "expectations": said}
    _assert_no_more_than_taken(_imported(tmp_path, "suite.json", json.dumps(suite)), tmp_path)


@pytest.mark.parametrize(
    "odd", [*ODD, '"', 'a": x', "'", "\u202e", "x" * 10_000, "k: a -> injected", "not", "row_count", "1e5"]
)
def test_names_of_checks_bring_no_line_of_their_own(tmp_path: Path, odd: str) -> None:
    column = {"name": "a", "tests": [{"unique": {"name": odd}}, {"not_null": {"name": odd}}]}
    files = {
        "schema.yml": {"models": [{"name": "t", "columns": [column]}]},
        "soda.yml": {"checks for t": [{"missing_count(a) < 5": {"name": odd}}, {"row_count > 3": {"name": odd}}]},
        "odcs.yml": {
            "kind": "DataContract",
            "apiVersion": "v3",
            "schema": [{"name": "t", "quality": [{"metric": "rowCount", "name": odd, "mustBeGreaterThan": 3}],
                        "properties": [{"name": "a", "quality": [{"metric": "nullValues", "name": odd}]}]}],
        },
    }  # fmt: skip
    for name, document in files.items():
        imported = _imported(tmp_path, name, json.dumps(document))
        suite = load_suite(imported.text(), ["a"])
        assert [str(line.rule) for line in suite.lines] == [
            str(parse_constraint(rule.text)[0]) if rule.text != "row_count" else "None" for rule in imported.rules
        ]
        assert len(suite.lines) == 2
        assert [line.name for line in suite.lines] == [rule.name or rule.text for rule in imported.rules]


def test_names_in_ddl_bring_no_line_of_their_own(tmp_path: Path) -> None:
    columns = """"a\nUNIQUE(injected)" int UNIQUE, b text CHECK (b <> 'x\ny'), c int UNIQUE"""
    ddl = f'CREATE TABLE "t\na -> injected #" ({columns})'
    imported = _imported(tmp_path, "a.sql", ddl)
    assert [rule.text for rule in imported.rules] == ["UNIQUE(c)"]
    _assert_no_more_than_taken(imported, tmp_path)


@pytest.mark.parametrize(
    ("constraint", "taken"),
    [
        ("not(t1.a = t2.a\n    & t1.b != t2.b)\n", ["not(t1.a = t2.a & t1.b != t2.b)"]),
        ("a -> b # their line breaks end comments\n WHERE c = 1", []),
    ],
)
def test_constraints_of_several_lines_become_one_or_are_left_out(
    tmp_path: Path, constraint: str, taken: list[str]
) -> None:
    model = {"name": "t", "tests": [{"denial_constraint": {"constraint": constraint}}]}
    imported = _imported(tmp_path, "schema.yml", json.dumps({"models": [model]}))
    assert [rule.text for rule in imported.rules] == taken
    _assert_no_more_than_taken(imported, tmp_path)


def test_a_long_rule_can_be_read_again(tmp_path: Path) -> None:
    ddl = f"CREATE TABLE t (a text CHECK (a IN ({', '.join(repr(f'{i:01000}') for i in range(96))})))"
    imported = _imported(tmp_path, "a.sql", ddl)
    assert len(imported.rules) == 1
    _assert_no_more_than_taken(imported, tmp_path)


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 9)
)
FAN = "t: &t [{}]\nc: &c [{}]\nmodels: [{}]\n".format(
    ", ".join(["unique"] * 999),
    ", ".join(["{name: a, tests: *t}"] * 999),
    ", ".join(["{name: m, columns: *c}"] * 999),
)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yml", BOMB + "models: [{name: *a8, columns: [{name: a, tests: [unique]}]}]", "more than 1,000,000 values"),
        ("a.yml", FAN, "more than 1,000,000 values"),
        ("a.yml", "models: &m [{name: a, tests: *m}]", "an alias stands inside what it names"),
        (
            "a.yml",
            "models: [{name: a, columns: [{name: a, tests: [unique], tests: [not_null]}]}]",
            "'tests' stands twice",
        ),
        ("a.json", '{"expectations": [{"type": "x"}], "expectations": []}', "'expectations' stands twice"),
        ("a.yml", "models:\0", "is no YAML: unacceptable character"),
        ("a.yml", f"checks for t: [{{row_count: {{warn: 0x{'f' * 5000}}}}}]", "more than 300 digits"),
        ("a.yml", f"models: [{{0x{'f' * 1000}: a}}]", "more than 300 digits"),
        ("a.json", f'{{"expectations": [{{"kwargs": {{"value_set": [{"9" * 400}]}}}}]}}', "more than 300 digits"),
        ("a.sql", "CREATE TABLE t (a int CHECK (a = " + "ARRAY[" * 30 + "]" * 30 + "))", "too many possible readings"),
    ],
)
def test_what_would_take_for_ever_or_lose_rules_is_one_clear_line(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(ParameterError, match=message) as raised:
        _imported(tmp_path, name, text)
    assert "\n" not in str(raised.value)


def test_a_merged_key_may_be_said_again(tmp_path: Path) -> None:
    text = "b: &b {name: a, tests: [unique]}\nmodels: [{name: t, columns: [{<<: *b, name: c}]}]"
    assert [rule.text for rule in _imported(tmp_path, "a.yml", text).rules] == ["UNIQUE(c)"]


def test_a_device_is_not_read_for_ever() -> None:
    with pytest.raises(ParameterError, match="larger than 16 MiB"):
        import_rules("/dev/zero")


def _dbt(test: str) -> str:
    return f"models: [{{name: t, columns: [{{name: a, tests: [{test}]}}]}}]"


def _contract(table: str) -> str:
    return f"{{kind: DataContract, apiVersion: v3, schema: [{{name: t, {table}}}]}}"


def _suite(name: str, options: str) -> str:
    return f"{{expectations: [{{type: {name}, kwargs: {{{options}}}}}]}}"


@pytest.mark.parametrize(
    "text",
    [
        _dbt("{dbt_utils.accepted_range: {min_value: .nan, max_value: .inf}}"),
        _dbt("{accepted_values: {values: [.nan], quote: false}}"),
        _dbt("{accepted_values: {values: [[b]]}}"),
        _dbt("{unique: {where: {a: 1}}}"),
        _dbt("{unique: {where: []}}"),
        "checks for t: [{missing_count(a) = 0: {filter: {a: 1}}}]",
        "checks for t: [{failed rows: {fail condition: a > 1, filter: [1]}}]",
        _contract("quality: [{engine: soda, implementation: {}}]"),
        _contract("properties: [{unique: true}]"),
        _contract("quality: [{metric: rowCount, mustBe: 1, unit: percent}]"),
        "{dataset: t, columns: [{name: a, checks: [{missing: {must_be: [1]}}]}]}",
        _contract("properties: [{name: a, logicalTypeOptions: {minimum: []}}]"),
        _suite("expect_column_values_to_be_in_set", "column: a, value_set: {$P: 1}"),
    ],
)
def test_what_is_no_value_or_condition_is_left_out(tmp_path: Path, text: str) -> None:
    imported = _imported(tmp_path, "a.yml", text)
    assert imported.rules == ()
    assert len(imported.left_out) == 1


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (_contract("properties: [{name: a, quality: [{metric: nullValues, unit: [rows]}]}]"), ["NOT NULL(a)"]),
        (
            _contract(
                "properties: [{name: a, primaryKey: true, primaryKeyPosition: 1}, "
                "{name: b, primaryKey: true, primaryKeyPosition: x}]"
            ),
            ["UNIQUE(b, a)", "NOT NULL(b)", "NOT NULL(a)"],
        ),
        (_suite("expect_compound_columns_to_be_unique", "column_list: abc"), ["UNIQUE(abc)"]),
    ],
)
def test_odd_options_beside_a_rule_do_no_harm(tmp_path: Path, text: str, rules: list[str]) -> None:
    assert [rule.text for rule in _imported(tmp_path, "a.yml", text).rules] == rules


@pytest.mark.parametrize(("dialect", "taken"), [("postgres", 0), ("sqlite", 0), ("snowflake", 1)])
def test_division_of_whole_numbers_is_not_taken_for_another(tmp_path: Path, dialect: str, taken: int) -> None:
    """There 3 / 2 is 1, here 1.5."""
    path = tmp_path / "a.sql"
    path.write_text("CREATE TABLE t (a int CHECK (a / 2 = 1))", encoding="utf-8")
    assert len(import_rules(path, None, dialect).rules) == taken

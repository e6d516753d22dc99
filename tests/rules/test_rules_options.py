"""Options of checks: each that is translated selects the rows that its tool selects, and no other is dropped unsaid."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import duckdb
import pytest

from dpdb.owner import exact_measures
from dpdb.rules import ImportedRules, import_rules

Row: TypeAlias = tuple[Any, ...]


def _imported(folder: Path, text: str, name: str = "a.yml") -> ImportedRules:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return import_rules(path, "t")


def _suite(name: str, options: dict[str, Any], **beside: object) -> str:
    return json.dumps({"meta": {"table": "t"}, "expectations": [{"type": name, "kwargs": options, **beside}]})


def _sodacl(check: str, beside: str = "") -> str:
    return f"checks for t:\n  - {check}\n{beside}"


def _model(test: str) -> str:
    return f"models: [{{name: t, data_tests: [{test}]}}]"


def _on_column(test: str, column: str = "a") -> str:
    return f"models: [{{name: t, columns: [{{name: {column}, data_tests: [{test}]}}]}}]"


def _breaking(
    folder: Path, imported: ImportedRules, rows: Sequence[Row], columns: str = "a INTEGER, b INTEGER"
) -> set[int]:
    """The rows in a conflict, by their places, as the owner sees them."""
    assert imported.left_out == ()
    database, listed = folder / "t.duckdb", folder / "listed.csv"
    for file in (database, listed):
        file.unlink(missing_ok=True)
    with duckdb.connect(database) as made:
        made.execute(f"CREATE TABLE t ({columns})")
        if rows:
            made.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
    rules = [rule.text for rule in imported.rules]
    exact_measures(database, rules, non_private=True, table="t", violations=listed, measures=["drastic"])
    with listed.open(encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    return {int(line[key]) for line in found for key in ("row_1", "row_2") if line[key]}


# -- Great Expectations: rows with missing values -------------------------------------------------------------------

PAIRS: list[Row] = list(product([None, 1, 2], repeat=2))
_PAIR_WORDS = {"both_values_are_missing": all, "either_value_is_missing": any, "neither": lambda _: False}
_LIST_WORDS = {"all_values_are_missing": all, "any_value_is_missing": any, "never": lambda _: False}
_HOLDS: dict[str, tuple[dict[str, Any], Callable[[Any, Any], bool]]] = {
    "expect_column_pair_values_to_be_equal": ({}, lambda a, b: a == b),
    "expect_column_pair_values_a_to_be_greater_than_b": ({}, lambda a, b: a > b),
    "expect_column_pair_values_A_to_be_greater_than_B": ({"or_equal": True}, lambda a, b: a >= b),
}


def _is_missing(row: Row) -> list[bool]:
    return [value is None for value in row]


@pytest.mark.heavy
@pytest.mark.parametrize("said", [None, *_PAIR_WORDS])
@pytest.mark.parametrize("name", _HOLDS)
def test_pairs_with_missing_values(tmp_path: Path, name: str, said: str | None) -> None:
    options, holds = _HOLDS[name]
    ignored = _PAIR_WORDS[said or "both_values_are_missing"]
    options = {"column_A": "a", "column_B": "b", **options, **({"ignore_row_if": said} if said else {})}
    imported = _imported(tmp_path, _suite(name, options))
    expected = {
        place for place, row in enumerate(PAIRS) if not ignored(_is_missing(row)) and (None in row or not holds(*row))
    }
    assert _breaking(tmp_path, imported, PAIRS) == expected


@pytest.mark.heavy
@pytest.mark.parametrize("said", [None, *_PAIR_WORDS])
def test_pairs_of_a_set_with_missing_values(tmp_path: Path, said: str | None) -> None:
    allowed = [[1, 1], [2, None]]
    ignored = _PAIR_WORDS[said or "both_values_are_missing"]
    options = {"column_A": "a", "column_B": "b", "value_pairs_set": allowed, "ignore_row_if": said}
    imported = _imported(tmp_path, _suite("expect_column_pair_values_to_be_in_set", options))
    expected = {place for place, row in enumerate(PAIRS) if not ignored(_is_missing(row)) and list(row) not in allowed}
    assert _breaking(tmp_path, imported, PAIRS) == expected


_TWICE: list[Row] = [(None, None, None), (1, None, None), (1, 2, None), (1, 1, 2)]
TRIPLES: list[Row] = [*product([None, 1, 2], repeat=3), *_TWICE]
_THREE = "a INTEGER, b INTEGER, c INTEGER"


def _of_lists(name: str, row: Row) -> bool:
    """Whether a row of TRIPLES that is not ignored passes: NULL is a value like others, but for sums."""
    if name == "expect_compound_columns_to_be_unique":
        return TRIPLES.count(row) == 1
    if name == "expect_multicolumn_sum_to_equal":
        return None not in row and sum(row) == 4
    return len(set(row)) == len(row)


@pytest.mark.heavy
@pytest.mark.parametrize("said", [None, *_LIST_WORDS])
@pytest.mark.parametrize(
    "name",
    [
        "expect_compound_columns_to_be_unique",
        "expect_select_column_values_to_be_unique_within_record",
        "expect_multicolumn_values_to_be_unique",
        "expect_multicolumn_sum_to_equal",
    ],
)
def test_lists_of_columns_with_missing_values(tmp_path: Path, name: str, said: str | None) -> None:
    options: dict[str, Any] = {"column_list": ["a", "b", "c"], "ignore_row_if": said}
    if name == "expect_multicolumn_sum_to_equal":
        options["sum_total"] = 4
    ignored = _LIST_WORDS[said or "all_values_are_missing"]
    expected = {
        place for place, row in enumerate(TRIPLES) if not ignored(_is_missing(row)) and not _of_lists(name, row)
    }
    assert _breaking(tmp_path, _imported(tmp_path, _suite(name, options)), TRIPLES, _THREE) == expected


@pytest.mark.parametrize(
    ("parser", "condition", "where"),
    [
        ("spark", "b > 1", "b > 1"),
        ("great_expectations", 'col("b").notNull()', "b IS NOT NULL"),
        ("great_expectations__experimental__", 'col("b") >= -1.5', "b >= -1.5"),
        ("great_expectations__experimental__", "col(\"b\") == 'x y'", "b = 'x y'"),
        ("pandas", "b > 1 & c != 'x'", "(b > 1) AND (c <> 'x' OR c IS NULL)"),
        ("pandas", "~(b > 1)", None),
        ("great_expectations", 'col("b") > 1 and col("a") > 1', None),
    ],
)
def test_conditions_of_rows(tmp_path: Path, parser: str, condition: str, where: str | None) -> None:
    options = {"column": "a", "row_condition": condition, "condition_parser": parser}
    imported = _imported(tmp_path, _suite("expect_column_values_to_be_unique", options))
    assert [rule.text for rule in imported.rules] == ([] if where is None else [f"UNIQUE(a) WHERE {where}"])
    assert len(imported.left_out) == (where is None)


# -- Soda: missing and invalid values, configurations, parts ----------------------------------------------------------

TEXTS: list[Row] = [("x", 1), ("x", 2), ("n/a", 1), ("n/a", 2), (None, 1), (None, 2), ("yy", 1), ("yy", 1), ("zzz", 3)]
_TEXT = "a VARCHAR, b INTEGER"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_sodacl("duplicate_count(a) = 0: {missing values: [n/a]}"), {0, 1, 6, 7}),
        (_sodacl("invalid_count(a) = 0: {missing values: [n/a], valid max length: 2}"), {8}),
        (_sodacl("invalid_count(a) = 0: {invalid values: [x], valid length: 2, missing values: [n/a]}"), {0, 1, 8}),
        (_sodacl("invalid_count(a) = 0: {valid values: [x], include null: true}"), {2, 3, 4, 5, 6, 7, 8}),
        (_sodacl("missing_count(a) = 0", "configurations for t: {missing values for a: [n/a]}"), {2, 3, 4, 5}),
        (
            _sodacl(
                "invalid_count(a) = 0: {valid values: [x]}",
                "configurations for t: {missing values for a: [n/a], valid values for a: [yy], valid min for b: 3}",
            ),
            {8},
        ),
        ("checks for t [p]: [duplicate_count(a) = 0: {filter: b > 0}]\nfilter t [p]: {where: b = 1}", {6, 7}),
        ("dataset: d/t\nfilter: b = 1\ncolumns: [{name: a, missing_values: [n/a], checks: [missing:]}]", {2, 4}),
        ("dataset: d/t\ncolumns: [{name: a, missing_values: [n/a], checks: [duplicate:]}]", {0, 1, 6, 7}),
        (
            "dataset: d/t\ncolumns: [{name: a, missing_values: [n/a], valid_values: [x], checks: [invalid: "
            "{missing_values: [yy]}]}]",
            {2, 3, 8},
        ),
        (
            "dataset: d/t\ncolumns: [{name: a, valid_values: [x], valid_length: 9, checks: [invalid: "
            "{invalid_values: [yy]}]}]",
            {6, 7},
        ),
        ("dataset: d/t\ncolumns: [{name: a, valid_values: [], checks: [invalid:]}]", {0, 1, 2, 3, 6, 7, 8}),
        ("dataset: d/t\nchecks: [duplicate: {columns: [a]}]", set(range(8))),
        ("dataset: d/t\nchecks: [duplicate: {columns: [a, b], filter: b = 1}]", {6, 7}),
    ],
)
def test_options_of_soda_select_its_rows(tmp_path: Path, text: str, expected: set[int]) -> None:
    assert _breaking(tmp_path, _imported(tmp_path, text), TEXTS, _TEXT) == expected


# -- dbt ----------------------------------------------------------------------------------------------------------


def _overlap(ranges: list[Row], gaps: str, zero_length: bool) -> bool:
    """As dbt_utils asks: in order of their ends, each range of a partition ends before the next begins."""
    if any(low is None or high is None for low, high in ranges):
        return True
    if any(low > high or (low == high and not zero_length) for low, high in ranges):
        return True
    ends = [(one[1], other[0]) for one, other in pairwise(sorted(ranges))]
    return any(end > begin or (end == begin and gaps == "required") for end, begin in ends)


def _random_ranges(random: Random) -> list[Row]:
    lows = [
        random.choice([None, *range(9)] if random.random() < 0.1 else range(9)) for _ in range(random.randint(1, 3))
    ]
    return [(low, None if low is None else low + random.choice([0, 1, 1, 2, 3])) for low in lows]


@pytest.mark.heavy
@pytest.mark.parametrize("gaps", ["allowed", "required"])
@pytest.mark.parametrize("zero_length", [False, True])
def test_ranges_that_exclude_one_another(tmp_path: Path, gaps: str, zero_length: bool) -> None:
    options = (
        f"lower_bound_column: low, upper_bound_column: high, gaps: {gaps}, "
        f"zero_length_range_allowed: {str(zero_length).lower()}"
    )
    random = Random(f"{gaps} {zero_length}")
    parts = {part: _random_ranges(random) for part in (None, *range(60))}
    rows = [(part, *each) for part, ranges in parts.items() for each in ranges]
    failing = {part for part, ranges in parts.items() if _overlap(ranges, gaps, zero_length)}
    assert 0 < len(failing) < len(parts)
    columns = "part INTEGER, low INTEGER, high INTEGER"
    imported = _imported(tmp_path, _model(f"dbt_utils.mutually_exclusive_ranges: {{{options}, partition_by: part}}"))
    assert {rows[place][0] for place in _breaking(tmp_path, imported, rows, columns)} == failing
    imported = _imported(tmp_path, _model(f"dbt_utils.mutually_exclusive_ranges: {{{options}}}"))
    for part in (next(iter(failing)), next(part for part in parts if part not in failing)):
        alone = [row for row in rows if row[0] == part]
        assert bool(_breaking(tmp_path, imported, alone, columns)) == (part in failing)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_model("dbt_utils.unique_combination_of_columns: {combination_of_columns: [a, b]}"), {0, 1, 2, 3, 5, 6}),
        (_model("dbt_expectations.expect_compound_columns_to_be_unique: {column_list: [a, b]}"), {0, 1, 2, 3}),
        (
            _model(
                "dbt_expectations.expect_compound_columns_to_be_unique: "
                "{column_list: [a, b], ignore_row_if: any_value_is_missing, row_condition: 1=1}"
            ),
            {0, 1},
        ),
        (
            _model("dbt_expectations.expect_select_column_values_to_be_unique_within_record: {column_list: [a, b]}"),
            {0, 1, 2, 3},
        ),
        (_model("dbt_expectations.expect_column_pair_values_to_be_equal: {column_A: a, column_B: b}"), {4}),
        (
            _on_column("dbt_expectations.expect_column_values_to_be_in_set: {value_set: [1], quote_values: false}"),
            {4, 5, 6},
        ),
        (_on_column("dbt_expectations.expect_column_values_to_be_between: {min_value: b, strictly: true}"), {0, 1, 4}),
        (_on_column("unique: {where: a < 9, config: {where: b > 0}}"), {0, 1}),
        (_on_column("not_accepted_values: {values: [2], quote: false}"), {4}),
    ],
)
def test_options_of_dbt_select_its_rows(tmp_path: Path, text: str, expected: set[int]) -> None:
    rows = [(1, 1), (1, 1), (1, None), (1, None), (2, 3), (None, None), (None, None)]
    assert _breaking(tmp_path, _imported(tmp_path, text), rows) == expected


def test_empty_texts_with_blanks_and_without(tmp_path: Path) -> None:
    rows = [("",), (" ",), ("a",), (None,)]
    for options, expected in (("trim_whitespace: false", {0}), ("trim_whitespace: true", {0, 1})):
        imported = _imported(tmp_path, _on_column(f"dbt_utils.not_empty_string: {{{options}}}"))
        assert _breaking(tmp_path, imported, rows, "a VARCHAR") == expected


# -- SQL ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rules", "left_out"),
    [
        (
            "CREATE TABLE t (a int, b int, UNIQUE NULLS NOT DISTINCT (a))",
            ["UNIQUE(a)", "not(t1.a IS NULL & t2.a IS NULL)"],
            [],
        ),
        ("CREATE TABLE t (a text, UNIQUE (lower(a)))", [], ["it is over expressions"]),
        (
            "CREATE TABLE t (a int REFERENCES p (x) MATCH FULL ON DELETE CASCADE DEFERRABLE)",
            [],
            ["dpdb does not know its option MATCH FULL"],
        ),
        ("CREATE TABLE t (a int REFERENCES p (x) ON DELETE SET NULL INITIALLY DEFERRED)", ["a IN p.x"], []),
        ("ALTER TABLE t ADD COLUMN a int UNIQUE", ["UNIQUE(a)"], []),
        (
            "CREATE TABLE t (a date CHECK (a > date '2020-01-31'), CHECK (a < '2021-01-31'::timestamptz))",
            ["CHECK (a > DATE '2020-01-31')", "CHECK (a < TIMESTAMPTZ '2021-01-31')"],
            [],
        ),
        (
            "CREATE TABLE t (a int); CREATE UNIQUE INDEX i ON t (a) NULLS NOT DISTINCT",
            [],
            ["sqlglot does not read this statement"],
        ),
    ],
)
def test_options_of_ddl(tmp_path: Path, text: str, rules: list[str], left_out: list[str]) -> None:
    imported = _imported(tmp_path, text, "a.sql")
    assert [rule.text for rule in imported.rules] == rules
    assert [item.reason for item in imported.left_out] == left_out


# -- what nobody reads ------------------------------------------------------------------------------------------------

_EXPECTED = {
    "expect_column_values_to_not_be_null": {"column": "a"},
    "expect_column_values_to_be_null": {"column": "a"},
    "expect_column_values_to_be_unique": {"column": "a"},
    "expect_column_values_to_be_in_set": {"column": "a", "value_set": [1]},
    "expect_column_values_to_not_be_in_set": {"column": "a", "value_set": [1]},
    "expect_column_values_to_be_between": {"column": "a", "min_value": 1},
    "expect_column_value_lengths_to_be_between": {"column": "a", "max_value": 1},
    "expect_column_value_lengths_to_equal": {"column": "a", "value": 1},
    "expect_column_values_to_match_like_pattern": {"column": "a", "like_pattern": "x%"},
    "expect_column_values_to_not_match_like_pattern": {"column": "a", "like_pattern": "x%"},
    "expect_column_values_to_match_like_pattern_list": {"column": "a", "like_pattern_list": ["x%"]},
    "expect_column_values_to_not_match_like_pattern_list": {"column": "a", "like_pattern_list": ["x%"]},
    "expect_compound_columns_to_be_unique": {"column_list": ["a", "b"]},
    "expect_select_column_values_to_be_unique_within_record": {"column_list": ["a", "b"]},
    "expect_multicolumn_sum_to_equal": {"column_list": ["a", "b"], "sum_total": 1},
    "expect_column_pair_values_to_be_equal": {"column_A": "a", "column_B": "b"},
    "expect_column_pair_values_a_to_be_greater_than_b": {"column_A": "a", "column_B": "b"},
    "expect_column_pair_values_to_be_in_set": {"column_A": "a", "column_B": "b", "value_pairs_set": [[1, 1]]},
}
_DBT = {
    "unique": "",
    "not_null": "",
    "accepted_values": "values: [1], ",
    "relationships": "to: ref('p'), field: x, ",
    "dbt_utils.not_accepted_values": "values: [1], ",
    "dbt_utils.accepted_range": "min_value: 1, ",
    "dbt_utils.expression_is_true": "expression: '> 1', ",
    "dbt_utils.not_empty_string": "",
    "dbt_utils.relationships_where": "to: ref('p'), field: x, ",
    "dbt_utils.functional_dependency": "depends_on: [b], ",
    "dbt_expectations.expect_column_values_to_be_unique": "",
    "dbt_expectations.expect_column_values_to_be_in_set": "value_set: [1], ",
    "dbt_expectations.expect_column_values_to_be_between": "min_value: 1, ",
}
_TABLE_TESTS = {
    "dbt_utils.unique_combination_of_columns": "combination_of_columns: [a, b], ",
    "dbt_utils.mutually_exclusive_ranges": "lower_bound_column: a, upper_bound_column: b, ",
    "dpdb.denial_constraint": "constraint: a -> b, ",
    "dbt_expectations.expect_compound_columns_to_be_unique": "column_list: [a, b], ",
}
_SODA = {
    "missing_count(a) = 0": "",
    "duplicate_count(a, b) = 0": "",
    "invalid_count(a) = 0": "valid min: 1, ",
    "values in (a) must exist in p (x)": "",
    "failed rows": "fail condition: a > 1, ",
}
_ODCS = "kind: DataContract\napiVersion: v3\nschema: [{{name: t, {0}}}]"
NEVER_SEEN = "never_seen: 1"
TEXTS_OF_TOOLS = [
    *(_suite(name, {**options, "never_seen": 1}) for name, options in _EXPECTED.items()),
    _suite("expect_column_values_to_be_unique", {"column": "a"}, never_seen=1),
    *(_on_column(f"{name}: {{{options}{NEVER_SEEN}}}") for name, options in _DBT.items()),
    *(_model(f"{name}: {{{options}{NEVER_SEEN}}}") for name, options in _TABLE_TESTS.items()),
    _on_column("unique: {config: {never_seen: 1}}"),
    _on_column("unique: {arguments: {never_seen: 1}}"),
    _on_column("unique: 7"),
    _on_column("{unique: null, config: {where: a > 1}}"),
    *(
        f"models: [{{name: t, constraints: [{{type: {kind}, columns: [a], {rest}{NEVER_SEEN}}}]}}]"
        for kind, rest in {
            "unique": "", "primary_key": "", "not_null": "", "check": "expression: a > 1, ",
            "foreign_key": "to: p, to_columns: [x], ",
        }.items()
    ),
    *(_sodacl(f"{check}: {{{options}{NEVER_SEEN}}}") for check, options in _SODA.items()),
    _sodacl("missing_count(a) = 0", "configurations for t: {never seen for a: 1}"),
    "checks for t [p]: [duplicate_count(a) = 0]",
    "checks for t [p]: [duplicate_count(a) = 0]\nfilter t [p]: {where: a > 1, when: 1}",
    *(
        f"dataset: d/t\ncolumns: [{{name: a, valid_min: 1, checks: [{kind}: {{{NEVER_SEEN}}}]}}]"
        for kind in ("missing", "duplicate", "invalid")
    ),
    f"dataset: d/t\ncolumns: [{{name: a, {NEVER_SEEN}, checks: [missing:]}}]",
    f"dataset: d/t\n{NEVER_SEEN}\ncolumns: [{{name: a, checks: [missing:]}}]",
    f"dataset: d/t\nchecks: [duplicate: {{columns: [a, b], {NEVER_SEEN}}}]",
    f"dataset: d/t\nchecks: [failed_rows: {{expression: a > 1, {NEVER_SEEN}}}]",
    *(
        _ODCS.format(f"properties: [{{name: a, quality: [{{metric: {metric}, {NEVER_SEEN}}}]}}]")
        for metric in ("nullValues", "duplicateValues", "missingValues", "invalidValues, arguments: {validValues: [1]}")
    ),
    _ODCS.format("properties: [{name: a, quality: [{metric: missingValues, arguments: {never_seen: 1}}]}]"),
    _ODCS.format("quality: [{metric: duplicateValues, arguments: {properties: [a], never_seen: 1}}]"),
    _ODCS.format("properties: [{name: a, relationships: [{to: p.x, never_seen: 1}]}]"),
    _ODCS.format("quality: [{engine: dpdb, implementation: a -> b, never_seen: 1}]"),
    _ODCS.format("properties: [{name: a, quality: [{engine: soda, implementation: {type: missing, never_seen: 1}}]}]"),
    _ODCS.format("properties: [{name: a, quality: [{engine: soda, implementation: {type: missing}, never_seen: 1}]}]"),
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS_OF_TOOLS)
def test_an_option_that_nobody_reads_leaves_the_check_out(tmp_path: Path, text: str) -> None:
    imported = _imported(tmp_path, text)
    assert [rule.text for rule in imported.rules] == []
    assert len(imported.left_out) == 1
    if NEVER_SEEN in text.replace('"', ""):  # the same check without that option is taken
        assert "never" in imported.left_out[0].reason
        without = text.replace(NEVER_SEEN, "never_seen: null").replace('"never_seen": 1', '"never_seen": null')
        assert _imported(tmp_path, without).rules


@pytest.mark.parametrize(
    "text",
    [
        "models: [{name: t, never_seen: 1, data_tests: [dpdb.denial_constraint: {constraint: a -> b}]}]",
        "models: [{name: t, columns: [{name: a, never_seen: 1, data_tests: [unique]}]}]",
        _ODCS.format("never_seen: 1, properties: [{name: a, unique: true}]"),
        _ODCS.format("properties: [{name: a, never_seen: 1, unique: true}]"),
        _ODCS.format("properties: [{name: a, unique: true, logicalTypeOptions: {never_seen: 1}}]"),
    ],
)
def test_a_key_of_a_table_or_column_that_nobody_reads_is_named(tmp_path: Path, text: str) -> None:
    imported = _imported(tmp_path, text)
    assert len(imported.rules) == 1
    assert ["never_seen" in item.origin for item in imported.left_out] == [True]


def test_a_share_that_is_none_leaves_the_expectation_out(tmp_path: Path) -> None:
    for mostly in (1.1, -0.3, "One", True):
        text = _suite("expect_column_values_to_be_unique", {"column": "a", "mostly": mostly})
        assert _imported(tmp_path, text).rules == ()

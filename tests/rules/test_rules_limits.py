"""Limits of other tools are kept where the number that they are about is one of dpdb's, and are comments elsewhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import duckdb
import pytest

from dpdb.constraints import VIOLATIONS, is_key
from dpdb.rules import ImportedRules, import_rules
from dpdb.suites import Suite, SuiteLine, load_suite

Row: TypeAlias = tuple[int | None, int | None]
Verdict: TypeAlias = str  # pass, warn or fail


def _imported(folder: Path, text: str, name: str = "a.yml") -> ImportedRules:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return import_rules(path, "t")


def _suite(name: str, options: dict[str, Any], **beside: object) -> str:
    return json.dumps({"meta": {"table": "t"}, "expectations": [{"type": name, "kwargs": options, **beside}]})


def _sodacl(check: str, beside: str = "") -> str:
    return f"checks for t:\n  - {check}\n{beside}"


def _contract(check: str) -> str:
    return f"dataset: d/t\ncolumns: [{{name: a, checks: [{check}]}}]"


def _on_column(test: str) -> str:
    return f"models: [{{name: t, columns: [{{name: a, data_tests: [{test}]}}]}}]"


def _odcs(quality: str) -> str:
    return f"kind: DataContract\napiVersion: v3\nschema: [{{name: t, properties: [{{name: a, quality: [{quality}]}}]}}]"


# -- the numbers of other tools, by their own definitions -------------------------------------------------------------


def _present(rows: list[Row]) -> list[int]:
    return [a for a, _ in rows if a is not None]


def _values_twice(rows: list[Row]) -> int:
    """dbt's failures of `unique` and SodaCL's `duplicate_count`: groups of GROUP BY ... HAVING count(*) > 1."""
    return sum(count > 1 for count in Counter(_present(rows)).values())


def _rows_of_values_twice(rows: list[Row]) -> int:
    """Great Expectations' unexpected rows of `to_be_unique`: pandas' duplicated(keep=False), NULLs dropped."""
    counts = Counter(_present(rows))
    return sum(counts[value] > 1 for value in _present(rows))


def _rows_less_distinct(rows: list[Row]) -> int:
    """Soda contracts' `duplicate`: rows tested less missing ones less distinct values."""
    return len(_present(rows)) - len(set(_present(rows)))


def _nulls(rows: list[Row]) -> int:
    return len(rows) - len(_present(rows))


def _above_2(rows: list[Row]) -> int:
    return sum(a > 2 for a in _present(rows))


def _mostly(mostly: float, bad: Callable[[list[Row]], int], of: Callable[[list[Row]], int]) -> Callable[..., Verdict]:
    """Success where nothing is looked at, or the share that is expected is at least `mostly`."""
    least = Fraction(str(mostly))

    def verdict(rows: list[Row]) -> Verdict:
        return "pass" if of(rows) == 0 or Fraction(of(rows) - bad(rows), of(rows)) >= least else "fail"

    return verdict


def _count(of: Callable[[list[Row]], int], fails: Callable[[int], bool], warns: Callable[[int], bool] | None = None) \
        -> Callable[[list[Row]], Verdict]:  # fmt: skip
    def verdict(rows: list[Row]) -> Verdict:
        return "fail" if fails(of(rows)) else "warn" if warns is not None and warns(of(rows)) else "pass"

    return verdict


def _percent(of: Callable[[list[Row]], int], total: Callable[[list[Row]], int], fails: Callable[[Fraction], bool]) \
        -> Callable[[list[Row]], Verdict]:  # fmt: skip
    def verdict(rows: list[Row]) -> Verdict:
        return "fail" if total(rows) and fails(Fraction(100 * of(rows), total(rows))) else "pass"

    return verdict


def _sodacl_percent(of: Callable[[list[Row]], int], fails: Callable[[float], bool]) -> Callable[[list[Row]], Verdict]:
    """SodaCL rounds percentages, of all rows, to two decimals."""
    return _percent(of, _all, lambda percentage: fails(round(float(percentage), 2)))


def _all(rows: list[Row]) -> int:
    return len(rows)


def _not_null(rows: list[Row]) -> int:
    return len(_present(rows))


def _both(rows: list[Row]) -> list[Row]:
    return [row for row in rows if None not in row]


_A = {"column": "a"}
_PAIR = {"column_A": "a", "column_B": "b"}
_EITHER = "either_value_is_missing"
_UNEQUAL = lambda rows: sum(a != b for a, b in _both(rows))  # noqa: E731
KEPT = [
    # Great Expectations: of all rows, of those that are not NULL, of those that ignore_row_if leaves
    (_suite("expect_column_values_to_not_be_null", {**_A, "mostly": 0.75}), "fail above 25%",
     _mostly(0.75, _nulls, _all)),
    (_suite("expect_column_values_to_be_null", {**_A, "mostly": 0.2}), "fail above 80%", _mostly(0.2, _not_null, _all)),
    (
        _suite("expect_column_values_to_be_unique", {**_A, "mostly": 0.5}),
        "fail above 50% of non-null in duplicates",
        _mostly(0.5, _rows_of_values_twice, _not_null),
    ),
    (
        _suite("expect_column_values_to_be_between", {**_A, "max_value": 2, "mostly": 0.8}),
        "fail above 20% of non-null",
        _mostly(0.8, _above_2, _not_null),
    ),
    (
        _suite("expect_column_pair_values_to_be_equal", {**_PAIR, "mostly": 0.6, "ignore_row_if": _EITHER}),
        "fail above 40% of non-null",
        _mostly(0.6, _UNEQUAL, lambda rows: len(_both(rows))),
    ),
    (
        _suite("expect_column_pair_values_to_be_equal", {**_PAIR, "mostly": 0.6, "ignore_row_if": "neither"}),
        "fail above 40%",
        _mostly(0.6, lambda rows: len(rows) - len(_both(rows)) + _UNEQUAL(rows), _all),
    ),
    (
        _suite("expect_column_values_to_be_between", {**_A, "max_value": 2}, severity="warning"),
        "warn above 0",
        _count(_above_2, lambda _: False, lambda n: n > 0),
    ),
    # dbt: values that occur more than once, rows
    (_on_column("unique: {config: {error_if: '>1'}}"), "warn above 0 duplicate values, fail above 1 duplicate values",
     _count(_values_twice, lambda n: n > 1, lambda n: n != 0)),
    (_on_column("unique: {error_if: '>=2', warn_if: '> 1'}"), "fail above 1 duplicate values",
     _count(_values_twice, lambda n: n >= 2, lambda n: n > 1)),
    (_on_column("unique: {error_if: '> 1', warn_if: '> 2'}"), "fail above 1 duplicate values",
     _count(_values_twice, lambda n: n > 1)),
    (_on_column("not_null: {config: {severity: warn, warn_if: '> 2', error_if: '> 3'}}"), "warn above 2",
     _count(_nulls, lambda _: False, lambda n: n > 2)),
    (_on_column("dbt_utils.accepted_range: {max_value: 2, config: {warn_if: '>1', error_if: '>3', limit: 9}}"),
     "warn above 1, fail above 3", _count(_above_2, lambda n: n > 3, lambda n: n > 1)),
    (_on_column("dbt_expectations.expect_column_values_to_be_unique: {config: {error_if: '> 2', warn_if: '> 2'}}"),
     "fail above 2 duplicate values", _count(_values_twice, lambda n: n > 2)),
    # Soda
    (_sodacl("duplicate_count(a) < 2"), "fail above 1 duplicate values", _count(_values_twice, lambda n: n >= 2)),
    (_sodacl("duplicate_percent(a) <= 20%"), "fail above 20.0049% duplicate values",
     _sodacl_percent(_values_twice, lambda p: p > 20)),
    (_sodacl("missing_count(a): {warn: when between 1 and 3, fail: when > 3}"), "warn above 0, fail above 3",
     _count(_nulls, lambda n: n > 3, lambda n: 1 <= n <= 3)),
    (_sodacl("missing_percent(a) < 25 %"), "fail above 24.9949%", _sodacl_percent(_nulls, lambda p: p >= 25)),
    (_sodacl("missing_percent(a) < 33.33"), "fail above 33.3249%", _sodacl_percent(_nulls, lambda p: p >= 33.33)),
    (_sodacl("missing_percent(a) <= 33.33"), "fail above 33.3349%", _sodacl_percent(_nulls, lambda p: p > 33.33)),
    (_sodacl("missing_percent(a) <= 100%"), "fail above 100%", None),
    (_sodacl("missing_percent(a) = 0"), "", _sodacl_percent(_nulls, lambda p: p != 0)),
    (_sodacl("invalid_percent(a) between 0 and 30: {valid max: 2}"), "fail above 30.0049%",
     _sodacl_percent(_above_2, lambda p: p > 30)),
    (_sodacl("failed rows: {fail condition: a > 2, warn: when > 1}"), "warn above 1",
     _count(_above_2, lambda _: False, lambda n: n > 1)),
    (_contract("duplicate: {threshold: {must_be_less_than_or_equal: 2}}"), "fail above 2",
     _count(_rows_less_distinct, lambda n: n > 2)),
    (_contract("duplicate: {threshold: {metric: percent, must_be_less_than_or_equal: 30}}"),
     "fail above 30% of non-null",
     _percent(_rows_less_distinct, _not_null, lambda p: p > 30)),
    (_contract("missing: {threshold: {level: warn, must_be_between: {greater_than_or_equal: 0, less_than: 3}}}"),
     "warn above 2", _count(_nulls, lambda _: False, lambda n: n >= 3)),
    (_contract("missing: {threshold: {metric: percent, must_be_less_than: 50, additional: {level: warn, "
               "must_be_less_than_or_equal: 10}}}"), "warn above 10%, fail above 49.9999%", None),
    (_contract("{type: duplicate_count, must_be_less_than: 2}"), "fail above 1 duplicate values",
     _count(_values_twice, lambda n: n >= 2)),
    # Open Data Contracts
    (_odcs("{metric: nullValues, mustBeLessOrEqualTo: 10, unit: percent, severity: warning}"), "warn above 10%",
     lambda rows: "warn" if rows and Fraction(_nulls(rows), len(rows)) > Fraction(1, 10) else "pass"),
    (_odcs("{metric: invalidValues, arguments: {validValues: [1, 2]}, mustBeBetween: [0, 2]}"), "fail above 2",
     _count(_above_2, lambda n: n > 2)),
]  # fmt: skip


def _tables(number: int) -> list[list[Row]]:
    random = Random(number)
    values = [None, 1, 2, 3, 4]
    return [
        [(random.choice(values[: random.randint(2, 5)]), random.choice(values)) for _ in range(random.randint(0, 12))]
        for _ in range(number)
    ]


TABLES = _tables(300)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute("CREATE TABLE t (part INTEGER, a INTEGER, b INTEGER)")
    made.executemany("INSERT INTO t VALUES (?, ?, ?)", [(k, *row) for k, rows in enumerate(TABLES) for row in rows])
    return made


def _by_part(database: duckdb.DuckDBPyConnection, query: str) -> dict[int, int]:
    return dict(database.execute(query).fetchall())


def _statistic(line: SuiteLine, database: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """Our number of each table, by its definition: rows that break a rule on one row, or groups of a key."""
    assert line.rule is not None
    if not is_key(line.rule):
        column = line.text.removeprefix("NOT NULL").strip("() ")
        condition = f"{column} IS NOT NULL" if line.text.startswith("NOT NULL") else line.text.removeprefix("CHECK ")
        return _by_part(database, f"SELECT part, count(*) FROM t WHERE ({condition}) IS FALSE GROUP BY part")
    columns = ", ".join(line.rule.table_columns)
    number = {VIOLATIONS: "sum(n - 1)", "duplicate values": "count(*)", "rows in duplicates": "sum(n)"}[line.statistic]
    groups = f"SELECT part, count(*) AS n FROM t WHERE ({columns}) IS NOT NULL GROUP BY part, {columns} HAVING n > 1"
    return _by_part(database, f"SELECT part, {number}::INTEGER FROM ({groups}) GROUP BY part")


def _verdicts(suite: Suite, database: duckdb.DuckDBPyConnection) -> list[Verdict]:
    [line] = suite.lines
    assert line.rule is not None
    found = _statistic(line, database)
    given = " AND ".join(f"{column} IS NOT NULL" for column in line.rule.table_columns)
    counts = {
        "share": _by_part(database, "SELECT part, count(*) FROM t GROUP BY part"),
        "share of non-null": _by_part(database, f"SELECT part, count(*) FROM t WHERE {given} GROUP BY part"),
    }
    verdicts = []
    for part in range(len(TABLES)):
        said = {
            limit.severity
            for limit in line.limits
            if found.get(part, 0) > limit.amount * (counts[limit.unit].get(part, 0) if limit.unit != "rows" else 1)
        }
        verdicts.append("fail" if "fail" in said else "warn" if said else "pass")
    return verdicts


@pytest.mark.heavy
@pytest.mark.parametrize(("text", "limits", "verdict"), KEPT)
def test_a_kept_limit_fails_the_tables_that_its_tool_fails(
    tmp_path: Path, database: duckdb.DuckDBPyConnection, text: str, limits: str, verdict: Callable[[list[Row]], Verdict]
) -> None:
    imported = _imported(tmp_path, text)
    assert [(rule.limits, rule.note) for rule in imported.rules] == [(limits, None)]
    if verdict is not None:
        theirs = [verdict(rows) for rows in TABLES]
        assert _verdicts(load_suite(imported.text()), database) == theirs
        assert len({*theirs}) > 1


STRICT = [
    # percentages of the rows that meet a condition
    (_suite("expect_column_values_to_be_unique", {**_A, "mostly": 0.9, "row_condition": "b > 1"}), "mostly 0.9"),
    (_sodacl("duplicate_percent(a) < 5%", "").replace("for t:", "for t [p]:") + "filter t [p]: {where: b > 1}", "< 5%"),
    # a row in which one of two values is missing is looked at, one in which both are is not
    (_suite("expect_column_pair_values_to_be_equal", {**_PAIR, "mostly": 0.9}), "mostly 0.9"),
    # more digits than a limit has, or a parameter
    (_suite("expect_column_values_to_not_be_null", {**_A, "mostly": 0.99999999}), "mostly 0.99999999"),
    (_suite("expect_column_values_to_be_null", {**_A, "mostly": {"$PARAMETER": "m"}}), "mostly {'$PARAMETER': 'm'}"),
    # distinct wrong values, unknown tests, sums, counts that a limit cuts
    (_on_column("accepted_values: {values: [1], quote: false, config: {error_if: '> 3'}}"), "error_if > 3"),
    (_on_column("dbt_utils.not_accepted_values: {values: [1], quote: false, error_if: '> 3'}"), "error_if > 3"),
    (_sodacl("duplicate_count(a) < 5: {missing values: [0]}"), "< 5"),
    # the standard does not say what is counted
    (_odcs("{metric: duplicateValues, mustBeLessThan: 5, unit: percent}"), "mustBeLessThan 5, unit percent"),
    (_odcs("{metric: nullValues, mustBeLessThan: 5, unit: items}"), "mustBeLessThan 5, unit items"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), STRICT)
def test_another_limit_is_a_comment_and_nothing_is_tolerated(tmp_path: Path, text: str, words: str) -> None:
    imported = _imported(tmp_path, text)
    [rule] = imported.rules
    assert (rule.limits, rule.note) == ("", f"tolerated there: {words}")
    assert f"(tolerated there: {words})" in imported.text()
    [line] = load_suite(imported.text()).lines
    assert [str(limit) for limit in line.limits] == ["fail above 0"]


_DIRT = "it fails where no row does, and a limit of dpdb is a most"
_NO_MOST = "it passes where more rows fail than where it fails, and a limit of dpdb is a most"
_CALCULATED = "that some rows fail does not say that the test does"
NO_LIMIT = [
    (_on_column("unique: {config: {error_if: '< 3'}}"), f"error_if < 3: {_DIRT}"),
    (_on_column("not_null: {config: {error_if: '= 0'}}"), f"error_if = 0: {_DIRT}"),
    (_on_column("not_null: {config: {warn_if: '<= 2'}}"), f"warn_if <= 2: {_DIRT}"),
    (_on_column("unique: {config: {error_if: '= 10'}}"), f"error_if = 10: {_NO_MOST}"),
    (_on_column("unique: {config: {error_if: 'between 2 and 5'}}"), "dpdb does not know error_if between 2 and 5"),
    (_on_column("unique: {config: {severity: warn, warn_if: '> 10', limit: 5}}"), "it passes whatever the rows are"),
    (_on_column("dbt_utils.not_null_proportion: {at_least: 0, at_most: 0.9}"), f"at_most: {_DIRT}"),
    (_on_column("unique: {config: {fail_calc: sum(n), error_if: '> 3'}}"), f"fail_calc sum(n): {_CALCULATED}"),
    (_on_column("not_null: {fail_calc: cast((count(*)=0) as int)}"),
     f"fail_calc cast((count(*)=0) as int): {_CALCULATED}"),
    (_on_column("dbt_utils.not_null_proportion: {at_least: 0.9, fail_calc: sum(a)}"),
     f"fail_calc sum(a): {_CALCULATED}"),
    (_sodacl("missing_count(a) > 5"), _DIRT),
    (_sodacl("missing_count(a) = 5"), _DIRT),
    (_sodacl("missing_percent(a): {fail: when < 100}"), _DIRT),
    (_sodacl("missing_count(a) between 1 and 5"), _DIRT),
    (_sodacl("missing_count(a): {fail: when between 1 and 5}"), _NO_MOST),
    (_sodacl("missing_count(a): {fail: when not between 1 and 5}"), _DIRT),
    (_sodacl("missing_count(a): {fail: when > 5, warn: when < 1}"), _DIRT),
    (_contract("missing: {threshold: {must_not_be: 3}}"), _NO_MOST),
    (_contract("missing: {threshold: {must_not_be: 0}}"), _DIRT),
    (_contract("missing: {threshold: {must_be_less_than: 3, must_be_greater_than: 1}}"),
     "dpdb does not know must be less than and must be greater than together"),
    (_odcs("{metric: nullValues, mustNotBe: 0}"), _DIRT),
    (_odcs("{metric: nullValues, mustBeGreaterThan: 0}"), _DIRT),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), NO_LIMIT)
def test_what_is_no_largest_number_is_left_out(tmp_path: Path, text: str, reason: str) -> None:
    imported = _imported(tmp_path, text)
    assert not imported.rules
    assert [item.reason for item in imported.left_out] == [reason]


def test_percentages_of_some_rows_are_of_those_that_the_rule_selects(tmp_path: Path) -> None:
    mostly = {**_A, "mostly": 0.75, "row_condition": "b > 1"}
    for text, line in [
        (_sodacl("missing_percent(a) <= 25: {filter: b > 1}"),
         "NOT NULL(a) WHERE b > 1  fail above 25.0049% of selected"),
        (_sodacl("missing_count(a) < 3: {filter: b > 1}"), "NOT NULL(a) WHERE b > 1  fail above 2"),
        (_contract("missing: {threshold: {metric: percent, must_be_less_than_or_equal: 25}, filter: b > 1}"),
         "NOT NULL(a) WHERE b > 1  fail above 25% of selected"),
        (_on_column("dbt_utils.not_null_proportion: {at_least: 0.75, config: {where: b > 1}}"),
         "NOT NULL(a) WHERE b > 1  fail above 25% of selected"),
        (_suite("expect_column_values_to_not_be_null", mostly), "NOT NULL(a) WHERE b > 1  fail above 25% of selected"),
        (_suite("expect_column_values_to_be_between", {**mostly, "max_value": 2}),
         "CHECK (a <= 2) WHERE (b > 1) AND a IS NOT NULL  fail above 25% of selected"),
    ]:  # fmt: skip
        [rule] = _imported(tmp_path, text).rules
        assert f"{rule.text}  {rule.limits}" == line
        assert len(load_suite(f"{line}\n").lines) == 1


# -- thresholds of every kind: what each tool says of a number of failures, by its own words --------------------------

SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda n, k: n < k, "<=": lambda n, k: n <= k, "=": lambda n, k: n == k, "!=": lambda n, k: n != k,
    ">": lambda n, k: n > k, ">=": lambda n, k: n >= k,
}  # fmt: skip
Threshold: TypeAlias = tuple[str, Callable[[int], Verdict]]
MANY = 12  # failures, of as many rows


def _a_dbt_threshold(random: Random) -> Threshold:
    said = {name: (random.choice([*SIGNS]), random.randint(0, 4)) for name in ("error_if", "warn_if")}
    for name in random.sample([*said], random.choice([0, 0, 1])):
        said[name] = ("!=", 0)
    most = random.choice([MANY, MANY, 3])
    settings = {name: f"{sign} {number}" for name, (sign, number) in said.items()}
    severity = random.choice(["error", "warn"])

    def verdict(n: int) -> Verdict:
        met = {name: SIGNS[sign](min(n, most), number) for name, (sign, number) in said.items()}
        return "fail" if severity == "error" and met["error_if"] else "warn" if met["warn_if"] else "pass"

    config = {"severity": severity, "limit": most, **settings}
    return _on_column(json.dumps({"not_null": {"config": config}})), verdict


def _a_soda_condition(random: Random) -> tuple[str, Callable[[float], bool]]:
    low, high = sorted((random.choice([0, 0, 1, 3]), random.randint(0, 6)))
    if random.random() < 0.3:
        return f"between {low} and {high}", lambda n: low <= n <= high
    if random.random() < 0.3:
        return f"not between {low} and {high}", lambda n: not low <= n <= high
    sign = random.choice([*SIGNS])
    return f"{sign} {high}", lambda n: SIGNS[sign](n, high)


def _a_soda_threshold(random: Random) -> Threshold:
    if random.random() < 0.4:
        words, passes = _a_soda_condition(random)
        if words.startswith("not "):
            words, passes = "= 0", lambda n: n == 0
        return _sodacl(f"missing_count(a) {words}"), lambda n: "pass" if passes(n) else "fail"
    (fail, fails), (warn, warns) = _a_soda_condition(random), _a_soda_condition(random)
    given = random.choice([{"fail": fail}, {"warn": warn}, {"fail": fail, "warn": warn}])
    said = ", ".join(f"{name}: when {words}" for name, words in given.items())

    def verdict(n: int) -> Verdict:
        return "fail" if "fail" in given and fails(n) else "warn" if "warn" in given and warns(n) else "pass"

    return _sodacl(f"missing_count(a): {{{said}}}"), verdict


def _a_comparison(random: Random, names: dict[str, str]) -> tuple[str, object, Callable[[float], bool]]:
    sign, name = random.choice([*names.items()])
    number = random.randint(0, 4)
    return name, number, lambda n: SIGNS[sign](n, number)


_MUST = {"=": "must_be", "!=": "must_not_be", "<": "must_be_less_than", "<=": "must_be_less_than_or_equal",
         ">": "must_be_greater_than", ">=": "must_be_greater_than_or_equal"}  # fmt: skip
_MUST_ODCS = {"=": "mustBe", "!=": "mustNotBe", "<": "mustBeLessThan", "<=": "mustBeLessOrEqualTo",
              ">": "mustBeGreaterThan", ">=": "mustBeGreaterOrEqualTo"}  # fmt: skip


def _a_contract_threshold(random: Random) -> Threshold:
    name, number, passes = _a_comparison(random, _MUST)
    level = random.choice(["warn", "fail"])
    said = json.dumps({"missing": {"threshold": {"level": level, name: number}}})
    return _contract(said), lambda n: "pass" if passes(n) else level


def _an_odcs_threshold(random: Random) -> Threshold:
    name, number, passes = _a_comparison(random, _MUST_ODCS)
    said = json.dumps({"metric": "nullValues", name: number})
    return _odcs(said), lambda n: "pass" if passes(n) else "fail"


KINDS = (_a_dbt_threshold, _a_soda_threshold, _a_contract_threshold, _an_odcs_threshold)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("make", KINDS)
def test_no_verdict_of_any_threshold_is_another(tmp_path: Path, make: Callable[[Random], Threshold]) -> None:
    """Kept where all numbers up to a largest one pass; then each verdict is the tool's own."""
    random, seen = Random(47), Counter[bool]()
    for _ in range(200):
        text, verdict = make(random)
        theirs = [verdict(n) for n in range(MANY + 1)]
        grades = [("pass", "warn", "fail").index(word) for word in theirs]
        is_most = grades == sorted(grades) and grades[0] == 0 < grades[-1]
        imported = _imported(tmp_path, text)
        assert bool(imported.rules) + bool(imported.left_out) == 1, text
        if imported.rules:
            [line] = load_suite(imported.text()).lines
            ours = [
                max((limit.severity == "fail") + 1 if n > limit.amount else 0 for limit in line.limits)
                for n in range(MANY + 1)
            ]
            assert ours == grades, text
        else:
            assert not is_most, text
        seen[bool(imported.rules)] += 1
    assert min(seen[True], seen[False]) >= 20


def test_a_check_of_several_rules_has_no_limit_of_its_own(tmp_path: Path) -> None:
    """Its number is of all of them together."""
    text = _sodacl("missing_count(a) < 9: {missing values: [0]}")
    assert [(rule.limits, rule.note) for rule in _imported(tmp_path, text).rules] == [("", "tolerated there: < 9")] * 2
    key = "dbt_utils.unique_combination_of_columns: {combination_of_columns: [a, b], config: {severity: warn}}"
    rules = _imported(tmp_path, f"models: [{{name: t, data_tests: [{key}]}}]").rules
    assert [(rule.name, rule.limits) for rule in rules] == [
        ("dbt_utils_unique_combination_of_columns_t_a__b" + after, "warn above 0")
        for after in ("", " (2)", " (3)", " (4)")
    ]


ROWS = "expect_table_row_count_to_be_between"
ROW_COUNTS = [
    (_suite(ROWS, {"min_value": 10, "max_value": 20}), ["row_count  fail below 10", "row_count  fail above 20"]),
    (_suite(ROWS, {"min_value": 0, "max_value": 9, "strict_max": True}, severity="info"), ["row_count  warn above 8"]),
    (_suite("expect_table_row_count_to_equal", {"value": 7}), ["row_count  fail below 7", "row_count  fail above 7"]),
    (_suite(ROWS, {"min_value": 1, "max_value": 2**63 - 1}), ["row_count  fail below 1"]),
    (_suite(ROWS, {"min_value": 2**63 - 1}), []),
    (_suite(ROWS, {"min_value": 0}), []),
    (_suite(ROWS, {"min_value": 5, "max_value": 4}), []),
    (_suite(ROWS, {"min_value": "many"}), []),
    (_sodacl("row_count > 0"), ["row_count  fail below 1"]),
    (_sodacl("row_count between 5 and 10: {filter: b > 1}"),
     ["row_count WHERE b > 1  fail below 5", "row_count WHERE b > 1  fail above 10"]),
    (_sodacl("row_count: {warn: when < 9, fail: when = 0}"), ["row_count  warn below 9", "row_count  fail below 1"]),
    (_sodacl("row_count >= 1: {filter: f(b) > 1}"), []),
    (_sodacl("row_count != 1"), []),
    (_sodacl("row_count same as u"), []),
    (_sodacl("row_count > 0: {never_seen: 1}"), []),
    ("dataset: d/t\nchecks: [row_count:]", ["row_count  fail below 1"]),
    ("dataset: d/t\nchecks: [{row_count: {threshold: {level: warn, must_be_between: {greater_than: 3, less_than: 9}}}}"
     "]",
     ["row_count  warn below 4", "row_count  warn above 8"]),
    (_odcs("{metric: rowCount, mustBeBetween: [100, 120], severity: warning}"),
     ["row_count  warn below 100", "row_count  warn above 120"]),
    (_odcs("{metric: rowCount, mustBeGreaterOrEqualTo: 3}"), ["row_count  fail below 3"]),
    (_odcs("{metric: rowCount, mustNotBe: 3}"), []),
    (f"models: [{{name: t, tests: [dbt_expectations.{ROWS}: {{min_value: 2, config: {{severity: warn}}}}]}}]",
     ["row_count  warn below 2"]),
    (f"models: [{{name: t, tests: [dbt_expectations.{ROWS}: {{min_value: 2, group_by: [a]}}]}}]", []),
    (_on_column("dbt_utils.not_null_proportion: {at_least: 0.95}"), ["NOT NULL(a)  fail above 5%"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "lines"), ROW_COUNTS)
def test_numbers_of_rows(tmp_path: Path, text: str, lines: list[str]) -> None:
    imported = _imported(tmp_path, text)
    assert [f"{rule.text}  {rule.limits}" for rule in imported.rules] == lines
    assert len(imported.left_out) == (not lines)
    assert not lines or len(load_suite(imported.text()).lines) == len(lines)


def test_names_are_those_of_the_tool(tmp_path: Path) -> None:
    cases = [
        (_on_column("unique"), "unique_t_a"),
        (_on_column("{unique: {name: ids are unique}}"), "ids are unique"),
        (_on_column("accepted_values: {values: [x y, z], config: {severity: warn}}"), "accepted_values_t_a__x_y__z"),
        (_on_column("dbt_utils.accepted_range: {arguments: {max_value: 2}}"), "dbt_utils_accepted_range_t_a__2"),
        ("sources: [{name: s, tables: [{name: t, columns: [{name: a, tests: [not_null]}]}]}]", "source_not_null_s_t_a"),
        (_suite("expect_column_values_to_be_unique", _A), "expect_column_values_to_be_unique(a)"),
        (_sodacl("missing_count(a) < 5"), "missing_count(a) < 5"),
        (_sodacl("missing_count(a) < 5: {name: \"a's there\"}"), "a's there"),
        (_contract("missing: {name: a there}"), "a there"),
        (_odcs("{metric: nullValues, name: Q-1 a there}"), "Q-1 a there"),
        (_odcs("{engine: dpdb, implementation: 'own: a -> b', name: Q-1}"), None),
    ]  # fmt: skip
    for text, name in cases:
        [rule] = _imported(tmp_path, text).rules
        assert rule.name == name
        [line] = load_suite(rule.line(), ["a", "b"]).lines
        assert line.name == (name or "own")
    ddl = _imported(tmp_path, 'CREATE TABLE t (a int NOT NULL, CONSTRAINT "t-a" UNIQUE (a), CHECK (a > 1))', "a.sql")
    assert [rule.name for rule in ddl.rules] == [None, "t-a", None]


@pytest.mark.heavy(family="alone")
def test_names_are_those_that_dbt_makes(tmp_path: Path) -> None:
    builders = pytest.importorskip("dbt.parser.generic_test_builders", reason="dbt is not installed")
    for package, test, given in [
        (None, "unique", {}),
        (None, "accepted_values", {"values": ["a b", "c-d", 3], "quote": True}),
        (None, "relationships", {"to": "ref('customers')", "field": "id"}),
        ("dbt_utils", "expression_is_true", {"expression": "> 0 AND a < 3"}),
    ]:
        kind = test if package is None else f"{package}_{test}"
        _, full = builders.synthesize_generic_test_names(kind, "t", {"model": "t", "column_name": "a", **given})
        said = f"{package}.{test}" if package else test
        [rule] = _imported(tmp_path, _on_column(json.dumps({said: {**given, "config": {"severity": "warn"}}}))).rules
        assert rule.name == full
    long = _on_column(json.dumps({"accepted_values": {"values": [f"value {number}" for number in range(99)]}}))
    [rule] = _imported(tmp_path, long).rules
    short, _ = builders.synthesize_generic_test_names(
        "accepted_values", "t", {"column_name": "a", "values": [f"value {number}" for number in range(99)]}
    )
    assert rule.name == short


def test_each_line_of_an_imported_suite_has_a_name_of_its_own(tmp_path: Path) -> None:
    limited = "{metric: nullValues, mustBeLessThan: 5, unit: percent}"
    said = "{engine: dpdb, implementation: 'x: a -> b'}, {engine: dpdb, implementation: 'X: b -> a'}"
    named = "{name: 'UNIQUE(a)', metric: nullValues, mustBe: 0}, {name: x, metric: nullValues, mustBeLessThan: 9}"
    properties = f"{{name: a, required: true, unique: true, quality: [{limited}, {said}, {named}]}}"
    imported = _imported(
        tmp_path,
        f"{{kind: DataContract, apiVersion: v3.0.2, schema: [{{name: t, properties: [{properties}]}}]}}",
    )
    assert [line.split("  # ")[0] for line in imported.text().splitlines() if line and line[0] != "#"] == [
        "NOT NULL(a)",
        "UNIQUE(a)",
        '"a: nullValues": NOT NULL(a)  fail above 4.9999%',
        "x: a -> b",
        '"x (2)": NOT NULL(a)  fail above 8',
    ]
    assert [item.reason for item in imported.left_out] == ["another check is called 'X', too"]
    assert len(load_suite(imported.text()).lines) == 5


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            _on_column("unique: {config: {where: 'b = 1 -- those', error_if: '>10', warn_if: '>10'}}"),
            "UNIQUE(a) WHERE b = 1  fail above 10 duplicate values",
        ),
        (_sodacl("row_count > 2: {filter: 'b > 1 -- those'}"), "row_count WHERE b > 1  fail below 3"),
        (_odcs("{engine: dpdb, implementation: 'a -> b; # so far', mustBeLessThan: 5}"), "a -> b  fail above 4"),
        (_odcs("{engine: dpdb, implementation: \"a = '#'\", mustBeLessThan: 5}"), "a = '#'  fail above 4"),
    ],
)
def test_a_comment_swallows_no_limit(tmp_path: Path, text: str, line: str) -> None:
    [rule] = _imported(tmp_path, text).rules
    assert f"{rule.text}  {rule.limits}" == line
    assert len(load_suite(rule.line() + "\n").lines[0].limits) == 1


def test_one_rule_in_two_spellings_has_two_names(tmp_path: Path) -> None:
    said = "{engine: dpdb, implementation: a -> b, mustBeLessThan: 5}, {engine: dpdb, implementation: a  ->  b}"
    imported = _imported(tmp_path, _odcs(said))
    assert [line.name for line in load_suite(imported.text()).lines] == ["a -> b", "a: engine dpdb"]

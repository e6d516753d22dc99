"""Imported definitions say what their tool's own run says: dbt and Great Expectations run beside, on the same table.

The tools are run by a Python of their own, as they need other versions of packages than dpdb: the variables
`DPDB_DBT_PYTHON` (dbt-core<2, dbt-duckdb) and `DPDB_GX_PYTHON` (great_expectations, pyarrow) name it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

import dpdb
from dpdb.rules import ImportedRules, import_rules, import_tables
from dpdb.suites import load_suite

TOOLS = Path(__file__).parent / "tools"
HOSPITAL = Path(__file__).resolve().parents[2] / "examples" / "data" / "hospital.parquet"
GRADES = ("pass", "warn", "fail")


def _run(variable: str, script: str, *arguments: Path) -> Any:
    python = os.environ.get(variable)
    if not python:
        pytest.skip(f"{variable} names no Python that has the tool")
    done = subprocess.run(
        [python, str(TOOLS / script), *map(str, arguments)], capture_output=True, text=True, check=True, timeout=1800
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return 2,000 rows of the bundled table with some NULLs and swapped numbers, and columns of few values."""
    made = tmp_path_factory.mktemp("table") / "hospital.parquet"
    duckdb.sql(f"""
        COPY (
            SELECT row_number() OVER () AS id, provider_number, city, zip_code, phone_number, measure_code,
                CASE WHEN hash(provider_number, measure_code, 1) % 50 = 0 THEN NULL ELSE state END AS state,
                CASE WHEN hash(provider_number, measure_code, 2) % 40 = 0 THEN NULL
                    ELSE (hash(provider_number, measure_code, 3) % 12)::INTEGER END AS low,
                CASE WHEN hash(provider_number, measure_code, 4) % 30 = 0 THEN NULL
                    ELSE (hash(provider_number, measure_code, 3) % 12 + hash(measure_code) % 5)::INTEGER END AS high,
                CASE WHEN hash(provider_number, measure_code, 5) % 200 = 0 THEN 7
                    ELSE row_number() OVER () END::BIGINT AS code
            FROM (SELECT * FROM '{HOSPITAL}' LIMIT 2000)
        ) TO '{made}'
    """)
    return made


def _verdict(imported: ImportedRules, table: Path, **settings: Any) -> str:
    """Return the worst of the exact verdicts of the lines that a definition became."""
    suite = load_suite(imported.text())
    with dpdb.open(table, constraints=suite.rules, **settings) as session:
        checks = session.exact_checks(suite, non_private=True)
    return GRADES[max(0 if check.verdict == "pass" else GRADES.index(check.severity) for check in checks)]


# -- Great Expectations -----------------------------------------------------------------------------------------------


def _an_expectation(random: Random) -> dict[str, Any]:
    number = random.choice(["low", "high", "code", "zip_code"])
    text = random.choice(["state", "city", "measure_code"])
    low, high = sorted(random.sample(range(16), 2))
    ends = random.choice([{"min_value": low, "max_value": high}, {"min_value": low}, {"max_value": high}])
    several = random.choice([["low", "high"], ["provider_number", "measure_code"], ["state", "low"]])
    ignored = random.choice(["all_values_are_missing", "any_value_is_missing", "never"])
    of_pair = random.choice(["both_values_are_missing", "either_value_is_missing", "neither"])
    states = random.choice([["AL"], ["AL", "AK"], ["AK"], ["AL", "AK", "AZ", "AR"]])
    pair = {"column_A": "high", "column_B": "low", "ignore_row_if": of_pair}
    kind, said = random.choice([
        ("expect_column_values_to_not_be_null", {"column": random.choice([number, text])}),
        ("expect_column_values_to_be_null", {"column": random.choice([number, text])}),
        ("expect_column_values_to_be_unique", {"column": random.choice(["id", "code", "low", "state"])}),
        ("expect_column_values_to_be_in_set", {"column": "state", "value_set": states}),
        ("expect_column_values_to_not_be_in_set", {"column": "state", "value_set": states}),
        ("expect_column_values_to_be_in_set", {"column": "low", "value_set": list(range(low, high))}),
        ("expect_column_values_to_be_between",
         {"column": random.choice(["low", "high"]), **ends, "strict_min": random.random() < 0.3}),
        ("expect_column_value_lengths_to_be_between", {"column": text, **ends}),
        ("expect_column_value_lengths_to_equal", {"column": "state", "value": random.choice([2, 3])}),
        ("expect_compound_columns_to_be_unique", {"column_list": several, "ignore_row_if": ignored}),
        ("expect_select_column_values_to_be_unique_within_record",
         {"column_list": ["low", "high"], "ignore_row_if": ignored}),
        ("expect_multicolumn_sum_to_equal",
         {"column_list": ["low", "high"], "sum_total": high, "ignore_row_if": ignored}),
        ("expect_column_pair_values_a_to_be_greater_than_b", {**pair, "or_equal": random.random() < 0.5}),
        ("expect_column_pair_values_to_be_equal", pair),
        ("expect_table_row_count_to_be_between",
         {"min_value": random.choice([0, 1, 2000, 2001]), "max_value": random.choice([None, 2000, 2001])}),
        ("expect_table_row_count_to_equal", {"value": random.choice([1999, 2000])}),
    ])  # fmt: skip
    if not kind.startswith("expect_table") and random.random() < 0.7:
        said = {**said, "mostly": random.choice([0.0, 0.01, 0.2, 0.5, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 1.0])}
    if not kind.startswith("expect_table") and random.random() < 0.2:
        condition = random.choice(["id <= 1000", "state == 'AL'", "low != 3 & high > 2"])
        said = {**said, "row_condition": condition, "condition_parser": "pandas"}
    return {"type": kind, "kwargs": said}


@pytest.mark.slow
def test_great_expectations_says_the_same(table: Path, tmp_path: Path) -> None:
    """400 expectations with `mostly` of every kind; a limit that is not kept tolerates nothing, and says so."""
    random = Random(47)
    given = [_an_expectation(random) for _ in range(400)]
    (tmp_path / "given.json").write_text(json.dumps(given))
    theirs = _run("DPDB_GX_PYTHON", "run_gx.py", table, tmp_path / "given.json")
    seen = Counter[object]()
    for expectation, success in zip(given, theirs, strict=True):
        (tmp_path / "one.json").write_text(json.dumps({"expectations": [expectation]}))
        imported = import_rules(tmp_path / "one.json", "t")
        if success is None or imported.left_out:
            seen["not run there" if success is None else imported.left_out[0].reason] += 1
            continue
        ours = _verdict(imported, table)
        is_kept = not any("tolerated there" in (rule.note or "") for rule in imported.rules)
        seen[is_kept, success] += 1
        assert ours == ("pass" if success else "fail") or (not is_kept and ours == "fail"), expectation
    print(dict(seen))
    assert min(seen[True, True], seen[True, False]) >= 50


# -- dbt --------------------------------------------------------------------------------------------------------------


def _a_dbt_test(random: Random) -> tuple[str, str, dict[str, Any]]:
    """Return a column, a test and its options."""
    kind = random.choice(["unique", "not_null", "accepted_values", "relationships"])
    column = {"unique": ["id", "code", "low", "state"], "not_null": ["id", "low", "high", "state"],
              "accepted_values": ["state", "low"], "relationships": ["low", "high"]}[kind]  # fmt: skip
    chosen = random.choice(column)
    said: dict[str, Any] = {}
    if kind == "accepted_values":
        said = {"values": random.choice([["AL"], ["AL", "AK"]])} if chosen == "state" else {"quote": False}
        said.setdefault("values", list(range(random.choice([5, 11, 12]))))
    if kind == "relationships":
        said = {"to": "ref('lows')", "field": "low"}
    config: dict[str, Any] = {}
    for name in ("error_if", "warn_if"):
        if random.random() < 0.5:
            sign = random.choice([">", ">", ">", ">=", ">=", "!=", "<", "<=", "="])
            config[name] = f"{sign} {random.choice([0, 1, 5, 20, 40, 47, 60, 1000])}"
    if random.random() < 0.3:
        config["severity"] = random.choice(["warn", "error"])
    if random.random() < 0.2:
        config["where"] = random.choice(["id <= 1000", "low > 3", "1=1"])
    if random.random() < 0.15:
        config["limit"] = random.choice([1, 10, 100])
    return chosen, kind, {**({"arguments": said} if said else {}), **({"config": config} if config else {})}


def _a_singular_test(random: Random) -> str:
    condition = random.choice(["low > high", "high - low >= 4", "state is null", "not (state in ('AL', 'AK'))",
                               "low is distinct from 3", "zip_code::bigint < 36000", "state ilike 'a%'"])  # fmt: skip
    config = random.choice(["", "{{ config(severity='warn') }}", "{{ config(error_if='> 100', warn_if='> 10') }}",
                            "{{ config(error_if='< 3') }}", "{{ config(limit=5, error_if='>= 5') }}"])  # fmt: skip
    return f"{config} select * from {{{{ ref('hospital') }}}} as h where {condition}"


def _project(
    folder: Path, table: Path, tests: Sequence[tuple[str, str, dict[str, Any]]], singular: Sequence[str]
) -> None:
    files = {
        "dbt_project.yml": {"name": "peer", "profile": "peer", "version": "1.0", "model-paths": ["models"]},
        "profiles.yml": {
            "peer": {"target": "d", "outputs": {"d": {"type": "duckdb", "path": f"{folder}/peer.duckdb"}}}
        },
    }
    columns: dict[str, list[Any]] = {}
    for number, (column, kind, said) in enumerate(tests):
        columns.setdefault(column, []).append({kind: {"name": f"test_{number}", **said}})
    said = {"models": [
        {"name": "hospital", "columns": [{"name": name, "data_tests": each} for name, each in columns.items()]}
    ]}  # fmt: skip
    for name, document in {**files, "models/schema.yml": said}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(document))
    (folder / "models" / "hospital.sql").write_text(f"select * from '{table}'")
    (folder / "models" / "lows.sql").write_text("select 0 as low union all select 1 union all select 12")
    (folder / "tests").mkdir()
    for number, query in enumerate(singular):
        (folder / "tests" / f"singular_{number}.sql").write_text(query)


@pytest.mark.slow
def test_dbt_says_the_same(table: Path, tmp_path: Path) -> None:
    """300 tests of the four kinds that dbt brings, and 60 singular ones, with thresholds of every kind."""
    random = Random(47)
    tests = [_a_dbt_test(random) for _ in range(300)]
    _project(tmp_path / "peer", table, tests, [_a_singular_test(random) for _ in range(60)])
    theirs = _run("DPDB_DBT_PYTHON", "run_dbt.py", tmp_path / "peer")
    duckdb.sql(f"COPY (SELECT unnest([0, 1, 12])::INTEGER AS low) TO '{tmp_path}/lows.parquet'")

    def parents(text: str) -> dict[str, Any]:
        return {"public_parents": {"lows": tmp_path / "lows.parquet"}} if " IN lows." in text else {}

    [imported] = [each for each in import_tables(tmp_path / "peer") if each.table == "hospital"]
    seen = Counter[object]()
    for rule in imported.rules:
        ours = _verdict(ImportedRules("dbt", "hospital", (rule,), ()), table, **parents(rule.text))
        is_kept = "tolerated there" not in (rule.note or "")
        seen[is_kept, theirs[rule.name]] += 1
        grade = GRADES.index(theirs[rule.name])
        assert ours == theirs[rule.name] or (not is_kept and GRADES.index(ours) > grade), (rule, theirs[rule.name])
    print(dict(seen), Counter(item.reason.partition(": ")[2] for item in imported.left_out))
    assert min(seen[True, said] for said in GRADES) >= 20

"""Real dbt: the example project built twice in one day, one release per call, spent once; the package of generic tests.

Of the package: what passes, fails, warns and is refused, and what each costs. A build takes seconds: by default one of
these tests runs, by the commit (`case_share`).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from dbt_runs import copied_project, dbt, results, spent

from dpdb.ledger import Ledger

ZIP = {"depends_on": ["zip_code"]}
DAY = ("--vars", "{run_date: 2026-01-31}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copied_project(tmp_path)


def published(project: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(project / "hospital_quality.duckdb", read_only=True) as connection:
        return connection.execute("FROM hospital_quality ORDER BY release_id").fetchall()


def asked_by(project: Path, who: str) -> None:
    """Give the profile a name and the count of rows a label."""
    profile, model = project / "profiles.yml", project / "models" / "hospital_quality.sql"
    profile.write_text(f"{profile.read_text().rstrip()}\n            who: {who}\n")
    model.write_text(model.read_text().replace("run_id := 'rows", "label := 'rows of the day', run_id := 'rows"))


@pytest.mark.heavy(family="dbt")
def test_a_day_of_builds(project: Path) -> None:
    asked_by(project, "nightly dbt")
    Ledger.create(project / "hospital.ledger", 1.4).close()
    assert dbt(project, "deps").returncode == 0
    first = dbt(project, "build", "--vars", "{run_date: 2026-01-31}")
    assert first.returncode == 0, first.stdout
    nodes = results(project)
    # about 50 rows to repair at scale 3.4: the gate's 200 is exceeded with probability below exp(-40)
    assert (nodes["hospital_quality"], nodes["repair_gate"]) == ("success", "pass")
    assert (nodes["zip_code_gives_city"], nodes["cities_are_in_one_state"]) == ("pass", "pass")
    releases = published(project)
    assert (len(releases), spent(project)) == (6, 1.4)

    with Ledger.open(project / "hospital.ledger") as ledger:
        told = ledger.history()
    assert {debit.analyst for debit in told} == {"nightly dbt"}
    assert [debit.run_id for debit in told if debit.label == "rows of the day"] == ["rows 2026-01-31"]

    lower = next(row[3] for row in releases if row[0] == "repair" and row[10] is None)
    gated = dbt(project, "build", "--vars", f"{{run_date: 2026-01-31, most_repairs: {lower - 1}}}")
    assert gated.returncode == 1
    assert [name for name, status in results(project).items() if status not in ("success", "pass")] == ["repair_gate"]
    assert (published(project), spent(project)) == (releases, 1.4)

    tomorrow = dbt(project, "run", "--vars", "{run_date: 2026-02-01}")
    assert tomorrow.returncode == 1
    assert "BudgetExceededError: " in tomorrow.stdout
    assert (published(project), spent(project)) == (releases, 1.4)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"constraints": "a -> b", "ledgers": "x"}, "unknown 'ledgers'"),
        ({"ledger": "x", "exact": "yes"}, "exact is true or false, got 'yes'"),
    ],
)
def test_mistakes_in_the_profile(config: dict[str, str], says: str) -> None:
    from dbt_common.exceptions import DbtConfigError

    from dpdb.dbt import Plugin

    with pytest.raises(DbtConfigError, match=says):
        Plugin("dpdb", config)


# -- the package of generic tests --------------------------------------------------------------------------------------


def a_test(kind: str, name: str, config: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
    return {f"dpdb.{kind}": {"name": name, "arguments": arguments, "config": config or {}}}


def project_with(folder: Path, columns: dict[str, list[Any]], table: list[Any], *, exact: bool = False) -> Path:
    """Make a project whose only model is the table, with tests of columns and of the table."""
    project = copied_project(folder)
    (project / "models" / "hospital_quality.sql").unlink()
    (project / "tests" / "repair_gate.sql").unlink()
    shutil.copytree(project / "package", project / "dbt_packages" / "dpdb")  # what `dbt deps` does
    described = yaml.safe_load((project / "models" / "schema.yml").read_text())
    tested = [{"name": name, "data_tests": tests} for name, tests in columns.items()]
    described["models"] = [{"name": "hospital", "columns": tested, "data_tests": table}]
    (project / "models" / "schema.yml").write_text(yaml.safe_dump(described))
    profiles = yaml.safe_load((project / "profiles.yml").read_text())
    config = profiles["hospital_quality"]["outputs"]["dev"]["plugins"][0]["config"]
    del config["constraints"]
    config |= {"exact": True} if exact else {}
    (project / "profiles.yml").write_text(yaml.safe_dump(profiles))
    return project


@pytest.mark.heavy(family="dbt")
def test_private_tests(tmp_path: Path) -> None:
    """About 25 rows are to be deleted for zip -> city. Noise of scale 5 moves them by 90 with probability e^-18."""
    fd = "functional_dependency"
    city = [
        a_test(fd, "passes", **ZIP, epsilon=0.2, fail_above=150),
        a_test(fd, "fails", {"store_failures": True}, **ZIP, epsilon=1, fail_above=0.25),
        a_test(fd, "warns", {"warn_if": "> 0", "error_if": "> 150"}, **ZIP, epsilon=1),
        a_test(fd, "is_only_warned", {"severity": "warn"}, **ZIP, epsilon=1, fail_above=0),
        a_test(fd, "of_a_slice", {"where": "state = 'AL'"}, **ZIP, epsilon=0.2, fail_above=150),
        a_test(fd, "has_no_epsilon", **ZIP, fail_above=1),
        a_test(fd, "has_no_threshold", **ZIP, epsilon=0.2),
        a_test(fd, "has_a_bad_threshold", **ZIP, epsilon=0.2, fail_above="few"),
        a_test(fd, "has_no_such_measure", **ZIP, epsilon=0.2, fail_above=1, measure="drastic"),
        a_test(fd, "has_no_such_column", depends_on=["zip_codes"], epsilon=0.2, fail_above=1),
        a_test(fd, "has_a_free_where", {"where": "city in (select 'x')"}, **ZIP, epsilon=0.2, fail_above=1),
        a_test("denial_constraint", "is_known", constraint="NOT NULL(city)", epsilon=0.2, fail_above=150),
        a_test("owner_exact_functional_dependency", "is_not_allowed", **ZIP),
    ]
    table = [
        a_test("denial_constraint", "computes", constraint="not(lower(t1.city)='it''s')", epsilon=0.2, fail_above=150),
        a_test(
            "unique_combination_of_columns", "is_a_key",
            combination_of_columns=["provider_number", "measure_code"], epsilon=0.2, fail_above=150,
        ),
        a_test(fd, "is_too_dear", depends_on="zip_code", dependent="state", epsilon=2.6, fail_above=150),
    ]  # fmt: skip
    project = project_with(tmp_path, {"city": city}, table)
    Ledger.create(project / "hospital.ledger", 4).close()
    done = dbt(project, "build", *DAY)
    statuses, messages = results(project), results(project, "message")
    passed = {"passes", "of_a_slice", "computes", "is_a_key", "is_known"}
    assert {name for name, status in statuses.items() if status == "pass"} == passed, done.stdout
    # With probability below 1e-6 the noise of scale 1 takes all of 25 rows away.
    assert (statuses["fails"], statuses["warns"], statuses["is_only_warned"]) == ("fail", "warn", "warn"), done.stdout
    refused = {
        "has_no_epsilon": "epsilon is missing",
        "has_no_threshold": "give fail_above, a public threshold",
        "has_a_bad_threshold": "fail_above is a number of at least 0, got few",
        "has_no_such_measure": "there is no measure 'drastic'",
        "has_no_such_column": "the table has no column 'zip_codes'; nearest is 'zip_code'",
        "has_a_free_where": "PredicateError",
        "is_not_allowed": "exact tests are for owners, who allow them by exact: true",
        "is_too_dear": "BudgetExceededError",
    }
    assert {name for name, status in statuses.items() if status == "error"} == set(refused), done.stdout
    for name, words in refused.items():
        assert words in messages[name], (name, messages[name])
    paid = spent(project)
    assert paid == pytest.approx(2)  # .2 for each that passes (the slice beside), 1 for the three that share a release

    # the same run again: the same answers, and nothing is spent; what is stored is the released row
    stored = stored_row(project)
    again = dbt(project, "retry")  # of what failed, with the variables of before
    assert (again.returncode, results(project)["fails"]) == (1, "fail")
    assert (spent(project), stored_row(project)) == (paid, stored)
    assert stored["value"] == dpdb_answers(project)[stored["release_id"]]
    assert f"Got {stored['failures']} results" in again.stdout

    # a run of another name, and an invocation, are paid anew
    other = dbt(project, "test", "--vars", "{dpdb_run: invocation}", "--select", "passes")
    assert (other.returncode, spent(project)) == (0, pytest.approx(paid + 0.2))


@pytest.mark.heavy(family="dbt")
def test_checks_of_one_invocation_share_one_run(tmp_path: Path) -> None:
    """About 25 rows are to be deleted for zip -> city, far from 5,000; no noise of 1 / epsilon = 1 fails 9,000 rows."""
    of_suite = {"suite": "nightly"}
    tests = [
        a_test("check", "zips", **of_suite, check="zip_city"),
        a_test("check", "volume", **of_suite, check="volume", within=5000),
        a_test("check", "too_small", **of_suite, check="too small"),
        a_test("check", "warned", **of_suite, check="warned"),
        a_test("check", "whole_suite", **of_suite),
        a_test("check", "no_such_check", **of_suite, check="zip_citi"),
        a_test("check", "no_such_suite", suite="nightly.txt", check="zip_city"),
        a_test("check", "has_a_where", {"where": "state = 'AL'"}, **of_suite),
        a_test("check", "of_a_date", suite="dated", date="2026-11-21"),
        a_test("check", "of_no_date", suite="dated"),
    ]
    project = project_with(tmp_path, {}, tests)
    (project / "nightly.txt").write_text(
        "zip_city: zip_code -> city fail above 5000\nvolume: row_count fail below 1000\n"
        '"too small": row_count fail below 100000\nwarned: row_count warn above 10\n'
    )
    (project / "dated.txt").write_text("CAST(city AS DATE) <> {date} fail above 100\n")
    with_suites(project, {"hospital": {"nightly": "nightly.txt", "dated": "dated.txt"}})
    Ledger.create(project / "hospital.ledger", 3).close()
    done = dbt(project, "build")
    assert results(project) == {
        "of_a_date": "pass", "of_no_date": "error",
        "hospital": "success", "zips": "pass", "volume": "pass", "too_small": "fail", "warned": "warn",
        "whole_suite": "fail", "no_such_check": "error", "no_such_suite": "error", "has_a_where": "error",
    }, done.stdout  # fmt: skip
    messages = results(project, "message")
    assert "suite 'nightly' has no check 'zip_citi'" in messages["no_such_check"]
    assert "no suite 'nightly.txt' is registered" in messages["no_such_suite"]
    assert "a suite has conditions of its own" in messages["has_a_where"]
    with Ledger.open(project / "hospital.ledger") as ledger:
        runs = sorted(ledger.history(), key=lambda run: str(run.run_id))
    invocation = json.loads((project / "target" / "run_results.json").read_text())["metadata"]["invocation_id"]
    assert [run.run_id for run in runs] == [
        f"dbt check dated 2026-11-21 {invocation}",
        f"dbt check nightly {invocation}",
    ]
    first = spent(project)
    assert 0.25 < first < 1

    # one test alone runs the suite all the same, as a run of its own
    alone = dbt(project, "test", "--select", "zips")
    assert (alone.returncode, results(project)) == (0, {"zips": "pass"}), alone.stdout
    assert spent(project) > first


def with_suites(project: Path, suites: dict[str, dict[str, str]]) -> None:
    profiles = yaml.safe_load((project / "profiles.yml").read_text())
    profiles["hospital_quality"]["outputs"]["dev"]["plugins"][0]["config"]["suites"] = suites
    (project / "profiles.yml").write_text(yaml.safe_dump(profiles))


def stored_row(project: Path) -> dict[str, Any]:
    with duckdb.connect(project / "hospital_quality.duckdb", read_only=True) as connection:
        query = 'SELECT *, ceil("value")::BIGINT AS failures FROM main_dbt_test__audit.fails'
        [row] = connection.sql(query).to_arrow_table().to_pylist()
    return dict(row)


def dpdb_answers(project: Path) -> dict[str, float]:
    """Return all values that the ledger has released."""
    with Ledger.open(project / "hospital.ledger") as ledger:
        answers = [json.loads(answer.answer) for answer in ledger.answers() if answer.answer]
    return {release["release_id"]: release["value"] for releases in answers for release in releases}


@pytest.mark.heavy(family="dbt")
def test_exact_tests_keep_the_rows_in_conflict(tmp_path: Path) -> None:
    constraint = "not(t1.phone_number=t2.phone_number&t1.hospital_name!=t2.hospital_name)"
    exact, stored = "owner_exact_denial_constraint", {"store_failures": True}
    city = [a_test("owner_exact_functional_dependency", "cities", stored, **ZIP)]
    table = [
        a_test(exact, "phones", stored | {"where": "state <> 'AL'"}, constraint=constraint),
        a_test(exact, "as_a_view", stored | {"store_failures_as": "view"}, constraint=constraint),
        a_test(exact, "holds", constraint="not(t1.state IS NULL & t1.state = 'x')"),
    ]
    project = project_with(tmp_path, {"city": city}, table, exact=True)
    Ledger.create(project / "hospital.ledger", 1).close()
    done = dbt(project, "build")
    wanted = {"hospital": "success", "cities": "fail", "phones": "fail", "as_a_view": "error", "holds": "pass"}
    assert results(project) == wanted, done.stdout
    source = project.parent / "data" / "hospital.parquet"
    with duckdb.connect(project / "hospital_quality.duckdb", read_only=True) as connection:
        connection.execute(f"CREATE TEMP VIEW h AS FROM read_parquet('{source}')")
        pairs = "SELECT count(*) FROM h a, h b WHERE "
        expected = {
            "cities": pairs + "a.zip_code = b.zip_code AND a.city < b.city",
            "phones": pairs + "a.phone_number = b.phone_number AND a.hospital_name < b.hospital_name "
            "AND a.state <> 'AL' AND b.state <> 'AL'",
        }
        counts = results(project, "failures")
        for name, query in expected.items():
            kept = connection.sql(f"FROM main_dbt_test__audit.{name}").to_arrow_table()
            [(true,)] = connection.execute(query).fetchall()
            assert kept.num_rows == counts[name] == true > 0
            assert {"constraint", "row_1", "row_2", "zip_code_1", "zip_code_2"} <= set(kept.column_names)
        row = connection.execute("SELECT zip_code_1 = zip_code_2, city_1 <> city_2 FROM main_dbt_test__audit.cities")
        assert set(row.fetchall()) == {(True, True)}
    assert spent(project) == 0


@pytest.mark.heavy(family="dbt")
def test_orphans_are_counted_where_rows_of_both_tables_are_protected(tmp_path: Path) -> None:
    """100 of 400 orders have no customer. Noise of scale 3 moves them by 60 with probability e^-20."""
    project = copied_project(tmp_path)
    shutil.rmtree(project / "models")
    shutil.rmtree(project / "tests")
    shutil.copytree(project / "package", project / "dbt_packages" / "dpdb")
    models = project / "models"
    models.mkdir()
    (models / "customers.sql").write_text("select range as id from range(300)")
    (models / "orders.sql").write_text(
        "-- depends_on: {{ ref('customers') }}\nselect range as customer_id from range(400)"
    )
    orphans = {"constraint": "customer_id IN customers.id", "epsilon": 1}
    tests = [
        a_test("denial_constraint", "few_orphans", **orphans, fail_above=160),
        a_test("denial_constraint", "hardly_any_orphans", **orphans, fail_above=40),
    ]
    described = {"version": 2, "models": [{"name": "orders", "data_tests": tests}]}
    (models / "schema.yml").write_text(yaml.safe_dump(described))
    profiles = yaml.safe_load((project / "profiles.yml").read_text())
    plugin = profiles["hospital_quality"]["outputs"]["dev"]["plugins"][0]
    ledgers = {"orders": "hospital.ledger", "customers": "customers.ledger"}
    plugin["config"] = {"ledger": ledgers, "private_parents": ["customers"], "max_children": 3}
    Ledger.create(project / "customers.ledger", 9).close()
    (project / "profiles.yml").write_text(yaml.safe_dump(profiles))
    Ledger.create(project / "hospital.ledger", 1).close()
    done = dbt(project, "build", *DAY)
    wanted = {"customers": "success", "orders": "success", "few_orphans": "pass", "hardly_any_orphans": "fail"}
    assert results(project) == wanted, done.stdout
    assert spent(project) == pytest.approx(1)

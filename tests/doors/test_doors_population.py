"""Where a unit's limit leaves rows out, every door says of which rows its number is; the true numbers are SQL's.

Noise is none here, so each number is the exact one of the rows used. All rows of a customer are alike, so it does not
matter which of them are used, and SQL can count them.
"""

from __future__ import annotations

import asyncio
import json
import zipfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import duckdb
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.constraints import Limit, load_lines, of_used_rows, written_lines
from dpdb.doors.cli.main import main
from dpdb.doors.jobs.outcome import message_of
from dpdb.doors.jobs.run_job import run as run_job
from dpdb.doors.server.analysts import Analyst, add_analyst
from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Asker, Desk
from dpdb.doors.server.mcp_tools import Tools
from dpdb.doors.sql import FrontEnd
from dpdb.errors import ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.release import Release, population_of
from dpdb.rules import import_rules
from dpdb.suites import TableSet, check_words, load_suite

ROWS = "rows used, at most 2 of each customer_id"
SETTINGS: dict[str, Any] = {"unit": "customer_id", "max_rows": 2}
OPTIONS = ["--unit", "customer_id", "--max-rows", "2"]
SUITE = """many: row_count  fail below 6000 of used rows
"in some state": row_count WHERE state = 1  warn below 100 of used rows
cities: state -> city  fail above 5% of used rows
known: NOT NULL(city)  fail above 1% of used rows
doubles: UNIQUE(customer_id)  fail above 5000 duplicate values
rare: state -> city WHERE state = 2  fail above 10 rows
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,500 customers with 4 rows each, 10 rows of nobody; of each state's 500 customers 20 have another city."""
    place = tmp_path_factory.mktemp("population")
    duckdb.sql(
        "COPY (SELECT k % 2500 AS customer_id, k % 2500 % 5 AS state, CASE WHEN k % 2500 < 100 THEN 99 ELSE "
        "k % 2500 % 5 END AS city FROM range(10000) r(k) UNION ALL SELECT NULL, 0, 0 FROM range(10)) "
        f"TO '{place / 'orders.parquet'}'"
    )
    (place / "suite.txt").write_text(SUITE)
    (place / "rules.txt").write_text("state -> city\n")
    return place


@pytest.fixture(autouse=True)
def no_noise() -> Iterator[None]:
    with replaced_noise(StubNoise()):
        yield


def used(folder: Path, counted: str = "count(*)", condition: str = "true") -> int:
    """Count apart: the first two rows of each customer, none of nobody."""
    found = duckdb.sql(
        f"SELECT {counted} FROM (FROM '{folder / 'orders.parquet'}' WHERE customer_id IS NOT NULL QUALIFY "
        f"row_number() OVER (PARTITION BY customer_id) <= 2) WHERE {condition}"
    ).fetchall()
    return int(found[0][0])


def truths(folder: Path) -> tuple[int, int]:
    """The rows used, and the fewest to delete: of each state all but those of its most frequent city."""
    rows, to_delete = used(folder), used(folder, condition="city = 99")
    assert (rows, to_delete) == (5_000, 200)
    return rows, to_delete


def says(text: str) -> None:
    """A reader is told of which rows the number is, and never that it is a number of rows of the table."""
    assert ROWS in text
    assert "number of rows  " not in text


@pytest.mark.heavy(family="long")
def test_numbers_in_python_name_their_rows(folder: Path) -> None:
    rows, to_delete = truths(folder)
    rules = load_suite(SUITE).rules
    with dpdb.open(folder / "orders.parquet", constraints=rules, budget=1000, **SETTINGS) as session:
        found = session.check(SUITE, 100)
    with dpdb.open(folder / "orders.parquet", constraints="state -> city", budget=1000, **SETTINGS) as session:
        count = session.dp_count(10)
        repair = session.dp_inconsistency("repair", 10)
        share = session.dp_inconsistency("problematic", 100, rate=True)
        where = session.diagnose("state", [0, 1, 2, 3, 4], 100)
    assert (count.value, repair.value) == (rows, to_delete)
    # of each state 40 rows are in conflict with 960, and all 1,000 are in some
    assert share.value == 1
    for release in (count, repair, share):
        assert release.population == population_of(release) == ROWS
        for text in (str(release), release._repr_html_(), json.dumps(release.to_dict())):
            says(text)
        assert " used" in release._repr_html_()
    table = dpdb.release.Releases([count]).to_arrow().to_pylist()
    assert (table[0]["value"], table[0]["population"]) == (rows, ROWS)
    verdicts = {check.name: check.verdict for check in found}
    assert verdicts == {
        "many": "fail", "in some state": "pass", "cities": "pass", "known": "pass", "doubles": "pass", "rare": "fail",
    }  # fmt: skip
    assert {check.population for check in found} == {ROWS}
    says(found._repr_html_())
    assert all(row["population"] == ROWS for row in found.to_arrow().to_pylist())
    # the loosest bounds of a failure hold, too: 5,000 rows used are too few, of 10,010
    many = found[0]
    assert many.upper is not None
    assert many.upper < 6000 < used(folder) * 2
    assert check_words(many).endswith(f"used rows (fail below 6,000 of used rows); {ROWS}")
    assert where.population == ROWS
    says(where._repr_html_())
    assert dpdb.diagnosis.Diagnosis.from_dict(json.loads(where.to_json())) == where


@pytest.mark.heavy(family="long")
def test_commands_name_their_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, to_delete = truths(folder)
    source, rules = str(folder / "orders.parquet"), ["--constraints", str(folder / "rules.txt")]
    calls = {
        f"{rows:,}": ["count", source],
        f"{to_delete:,}": ["measure", source, *rules, "--measure", "repair"],
        f"= {rows:,}": ["count", source, "--verbose"],
        f'"value": {rows}': ["count", source, "--format", "json"],
        "state = ": ["diagnose", source, *rules, "--by", "state", "--keys", "0,1"],
    }
    for said, words in calls.items():
        assert main([*words, *OPTIONS, "--epsilon", "10", "--quiet"]) == 0
        shown = capsys.readouterr().out
        says(shown)
        assert said in shown
    assert main(["check", source, str(folder / "suite.txt"), *OPTIONS, "--epsilon", "100", "--quiet"]) == 1
    shown = capsys.readouterr().out
    says(shown)
    assert "fail below 6,000 of used rows" in shown
    assert "used rows above 5%" in shown or "at most 5%" in shown
    assert main(["check", source, str(folder / "suite.txt"), *OPTIONS, "--dry-run", "--quiet"]) == 0
    says(capsys.readouterr().out)
    gate = ["measure", source, *rules, "--measure", "repair", "--fail-above", "repair=100", *OPTIONS]
    assert main([*gate, "--epsilon", "10", "--quiet"]) == 1
    says(capsys.readouterr().err)


def test_sql_names_its_rows(folder: Path) -> None:
    rows, to_delete = truths(folder)
    statement = "SELECT value, population FROM dp_count('orders', 1)"
    with (
        dpdb.open(folder / "orders.parquet", constraints="state -> city", budget=10, **SETTINGS) as session,
        FrontEnd(session, "orders") as door,
    ):
        assert door.run(statement).table.to_pylist() == [{"value": rows, "population": ROWS}]
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE orders AS FROM '{folder / 'orders.parquet'}'")
        with dpdb.register(connection, constraints={"orders": "state -> city"}, budget=10, **SETTINGS):
            assert connection.sql(statement).fetchall() == [(rows, ROWS)]
            asked = "SELECT value, population FROM dp_inconsistency('orders', 'repair', 1)"
            assert connection.sql(asked).fetchall() == [(to_delete, ROWS)]


JOB = """name = "orders"
source = "orders.parquet"
constraints = ["state -> city"]
ledger = "job.ledger"
results = "results.duckdb"
unit = "customer_id"
max_rows = 2
[[release]]
name = "rows"
measure = "count"
epsilon = 10
[[release]]
name = "dirt"
measure = "repair"
epsilon = 10
[release.gate]
repair = 100
[[check]]
suite = "suite.txt"
epsilon = 100
"""


@pytest.mark.heavy(family="long")
def test_jobs_name_their_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the page, in JUnit's file, in the message of an alert, in the results, and in the history."""
    rows, to_delete = truths(folder)
    (folder / "job.toml").write_text(JOB)
    Ledger.create(folder / "job.ledger", 1000).close()
    junit, page = folder / "junit.xml", folder / "page.html"
    assert main(["run", str(folder / "job.toml"), "--run-id", "2026-11-20", "--junit", str(junit), "--quiet"]) == 1
    says(capsys.readouterr().err)
    cases = {case.get("name"): case for case in Xml.parse(junit).getroot().iter("testcase")}
    assert "many fail below 6,000 of used rows" in cases
    for name, case in cases.items():
        if name != "run":
            says("".join(each.get("message") or each.text or "" for each in case))
    with duckdb.connect(str(folder / "results.duckdb"), read_only=True) as results:
        numbers = results.sql("SELECT measure, value, population FROM dpdb_results").fetchall()
        assert {*numbers} == {("count", rows, ROWS), ("repair", to_delete, ROWS)}
        assert results.sql("SELECT DISTINCT population FROM dpdb_results_checks").fetchall() == [(ROWS,)]
    assert main(["report", str(folder / "results.duckdb"), "--out", str(page)]) == 0
    html = page.read_text()
    says(html)
    assert f"<strong>{rows:,}</strong> rows used" in html
    assert "fail below 6,000 of used rows" in html
    assert f"All numbers are of {ROWS}." in html
    capsys.readouterr()
    assert main(["budget", "answers", str(folder / "job.ledger")]) == 0
    says(capsys.readouterr().out)
    again = run_job(folder / "job.toml", "2026-11-20")
    says(again._repr_html_())
    lines = [check_words(check) for outcome in again for check in outcome.checks or ()]
    says(message_of("orders", "2026-11-20", "fail", lines))


@pytest.mark.heavy(family="long")
def test_a_server_names_its_rows_to_programs_and_models(folder: Path) -> None:
    rows, _ = truths(folder)
    Ledger.create(folder / "served.ledger", 1000).close()
    (folder / "serve.toml").write_text(
        '[server]\nport = 0\nrelease_seconds = 0.02\n[tables.orders]\nsource = "orders.parquet"\n'
        'constraints = ["state -> city"]\nledger = "served.ledger"\nunit = "customer_id"\nmax_rows = 2\n'
        'suites = { nightly = "suite.txt" }\n'
    )
    configuration = load_configuration(folder / "serve.toml")
    add_analyst(configuration, "ann")
    ann = Asker(Analyst("ann", "analyst"), "test", "here")

    async def asked() -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
        desk = Desk(configuration)
        try:
            tools = Tools(desk)
            statement = "SELECT value, population FROM dp_count('orders', 100)"  # other than 5,000: once in 10^21
            number, refused = await tools.call(ann, "run", {"statement": statement})
            assert not refused, number
            checked, refused = await tools.call(ann, "check", {"suite": "nightly", "epsilon": 100})
            assert not refused, checked
            return number.values, checked.values, await desk.history(ann)
        finally:
            desk.close()

    number, checked, history = asyncio.run(asked())
    assert number["rows"] == [[rows, ROWS]]
    assert number["releases"][0]["population"] == ROWS
    found = checked["checks"][0]
    assert {check["population"] for check in found["checks"]} == {ROWS}
    assert {check["population"] for check in found["words"]} == {ROWS}
    assert found["words"][0]["limit"] == "fail below 6,000 of used rows"
    assert "used rows" in found["words"][0]["how_many"]
    says(json.dumps(history))


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("row_count fail below 9000", "fail below 9000 of used rows"),
        ("row_count WHERE state = 1 warn above 3, fail above 9", "warn above 3 of used rows"),
        ("state -> city fail above 1%", "fail above 1% of used rows"),
        ("state -> city fail above 1% of non-null", "fail above 1% of non-null used rows"),
        ("NOT NULL(city) WHERE state = 1 fail above 1% of selected", "fail above 1% of selected used rows"),
        ("UNIQUE(city) fail above 1% duplicate values", "fail above 1% duplicate values of used rows"),
        ("UNIQUE(city) fail above 1% in duplicates", "fail above 1% in duplicates of used rows"),
    ],
)
def test_a_limit_that_reads_as_of_all_rows_is_refused_with_its_words(folder: Path, line: str, written: str) -> None:
    """And with these words it is taken, on a table of which all rows are used, too, as the same check."""
    rules = load_suite(line).rules
    with dpdb.open(folder / "orders.parquet", constraints=rules, budget=1, **SETTINGS) as session:
        with pytest.raises(ParameterError) as refused:
            session.check(line, 1)
        assert ROWS in str(refused.value)
        assert f"write {written!r}" in str(refused.value)
        assert session.spent() == 0
        assert session.check(of_used_rows(line), 1)[0].population == ROWS
    with dpdb.open(folder / "orders.parquet", constraints=rules, budget=1) as session:
        assert session.check(of_used_rows(line), 1)[0].population is None
    assert load_suite(line).digest == load_suite(of_used_rows(line)).digest
    assert written in of_used_rows(line)


def test_every_limit_that_is_written_is_read_again() -> None:
    shares = ("share", "share of non-null", "share of selected")
    for unit in ("rows", *shares):
        for statistic in ("violations", "duplicate values", "rows in duplicates"):
            if unit == "share of selected" and statistic != "violations":
                continue
            limit = Limit("fail", "above", Fraction(1, 1 if unit == "rows" else 4), unit, True)
            (line,) = load_lines(written_lines(f"UNIQUE(a) WHERE b = 1  {limit.written(statistic)}"), None, None)
            assert (line.limits, line.statistic) == ((limit,), statistic)


def test_limits_beside_private_parents_with_few_children_are_of_used_rows(folder: Path) -> None:
    """Where keys have at most K children of a private parent; of a public one all rows are used."""
    duckdb.sql(f"COPY (SELECT k AS customer_id FROM range(2000) r(k)) TO '{folder / 'customers.parquet'}'")
    lines = "customer_id IN customers.customer_id fail above 5000\nrow_count fail below 5500"
    rules, parents = load_suite(lines).rules, {"customers": folder / "customers.parquet"}
    options: dict[str, Any] = {"constraints": rules, "budget": 1000}
    with dpdb.open(folder / "orders.parquet", **options, private_parents=parents, max_children=3) as session:
        with pytest.raises(ParameterError, match="at most 3 of each customer_id; write 'fail below 5500 of used rows'"):
            session.check(lines, 100)
        found = session.check(lines + " of used rows", 1000)
        count = session.dp_count(1)
        # three rows of each of 2,500 customers, and all that are nobody's
        assert (count.value, count.population) == (7_510, "rows used, at most 3 of each customer_id")
        assert [check.verdict for check in found] == ["pass", "pass"]
    with dpdb.open(folder / "orders.parquet", **options, public_parents=parents) as session:
        assert session.check(lines, 100)[0].population is None
        assert (session.dp_count(1).value, session.dp_count(1).population) == (10_010, None)


@pytest.mark.heavy(family="long")
def test_sets_of_tables_say_it_where_rows_are_counted(folder: Path, tmp_path: Path) -> None:
    for name in ("tables", "suites"):
        (tmp_path / name).mkdir()
    (tmp_path / "tables" / "orders.parquet").write_bytes((folder / "orders.parquet").read_bytes())
    suite = tmp_path / "suites" / "orders.suite.txt"
    suite.write_text("NOT NULL(city) fail above 1%\nstate -> city fail above 100")
    options: dict[str, Any] = {"unit": "customer_id", "budget": 1000}
    with TableSet(tmp_path / "tables", tmp_path / "suites", **options) as units:
        assert [check.population for check in units.check(epsilon=100)] == [None, None]
    with (
        TableSet(tmp_path / "tables", tmp_path / "suites", **options, max_rows=2) as rows,
        pytest.raises(ParameterError, match="write 'fail above 1% of used rows'"),
    ):
        rows.check(epsilon=100)
    suite.write_text(suite.read_text().replace("1%", "1% of used rows"))
    with TableSet(tmp_path / "tables", tmp_path / "suites", **options, max_rows=2) as rows:
        found = rows.check(epsilon=100)
        assert [(check.population, check.verdict) for check in found] == [(ROWS, "pass"), (ROWS, "fail")]
    with pytest.raises(ParameterError, match="units are counted here"):
        TableSet(tmp_path / "tables", tmp_path / "suites", **options)


def test_importers_write_the_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "checks.yml"
    path.write_text(
        "checks for orders:\n  - row_count > 8999\n  - missing_percent(city) < 3 %\n  - missing_count(city) < 9"
    )
    written = [rule.limits for rule in import_rules(path, used_rows=True).rules]
    assert [rule.limits for rule in import_rules(path).rules] == [each.replace(" of used rows", "") for each in written]
    assert written[0] == "fail below 9000 of used rows"
    assert written[1].endswith("% of used rows")
    assert "used" not in written[2]
    assert main(["rules", "import", str(path), "--used-rows"]) == 0
    assert load_suite(capsys.readouterr().out).lines[0].limits[0].used


# -- what was recorded before -----------------------------------------------------------------------------------------


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """A ledger as commit c0dcfd8a wrote it: a kept suite with one run, a count and a repair, and their receipts."""
    with zipfile.ZipFile(Path(__file__).parents[1] / "golden" / "orders_before.zip") as packed:
        packed.extractall(tmp_path)
    for path in tmp_path.iterdir():
        path.chmod(0o600)
    return tmp_path


OLD_SUITE = "many: row_count fail below 1\ncities: state -> city  fail above 90%\n"


def test_a_kept_suite_of_before_goes_on_with_its_words_and_its_money(before: Path) -> None:
    with dpdb.open(
        before / "orders.csv", constraints="state -> city", ledger=before / "orders.ledger", **SETTINGS
    ) as session:
        spent = session.spent()
        old = session.check(OLD_SUITE, 1, keep="nightly", run_id="monday")  # answered again, as it was recorded
        assert [(check.verdict, check.population) for check in old] == [("pass", None)] * 2
        as_before = session.check(OLD_SUITE, 1, keep="nightly", run_id="tuesday")
        with_words = session.check(
            "\n".join(map(of_used_rows, OLD_SUITE.splitlines())), 1, keep="nightly", run_id="wednesday"
        )
        for found, run in ((as_before, 2), (with_words, 3)):
            assert found.run == run
            assert [(check.verdict, check.population) for check in found] == [("pass", ROWS)] * 2
        assert session.spent() == spent == 3
        with pytest.raises(ParameterError, match="reads as if it were of all rows"):
            session.check(OLD_SUITE, 1, keep="another", run_id="thursday")
        count = session.dp_count(1, where="state = '1'", run_id="first")
        assert count.population is None
        assert population_of(count) == "rows used, at most 2 rows per value of customer_id and none where it is NULL"
        assert "rows used, at most 2 rows per value" in str(count)


def test_releases_of_all_rows_say_nothing_of_it(folder: Path) -> None:
    with dpdb.open(folder / "orders.parquet", budget=10) as session:
        count = session.dp_count(1)
    assert isinstance(count, Release)
    assert (count.value, count.population, population_of(count)) == (10_010, None, None)
    assert "used" not in str(count)

"""`dp_check` in a connection: a registered suite, never a path; once per statement; kept suites as they were opened."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from stub_noise import StubNoise
from visits_table import RULE

import dpdb
from dpdb.errors import LedgerError, ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise

SUITE = f"rule: {RULE} warn above 1, fail above 20 rows\nrow_count fail above 900"
DATED = """all: row_count fail above 300
early: row_count WHERE day < {date} fail above 250
rule: CHECK (day >= {date}) fail above 250"""
SUITES = {"visits": {"nightly": SUITE, "dated": DATED}}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    Ledger.create(tmp_path / "visits.ledger", 3).close()
    return tmp_path / "visits.ledger"


def test_a_statement_runs_a_suite_once(connection: duckdb.DuckDBPyConnection, noise: StubNoise) -> None:
    with replaced_noise(noise), dpdb.register(connection, budget=10, suites=SUITES) as registration:
        registration.execute("DESCRIBE FROM dp_check('nightly')")
        registration.execute("EXPLAIN FROM dp_check('nightly')")
        assert (registration.spent("visits"), noise.draws) == (0, 0)
        rows = registration.execute(
            "SELECT a.name, a.verdict, b.epsilon FROM dp_check('nightly') a JOIN dp_check('nightly') b "
            "USING (name, severity)"
        ).to_pylist()
        assert [tuple(row.values()) for row in rows] == [("rule", "pass", 0.25)] * 2 + [("row_count", "pass", 0.25)]
        assert registration.spent("visits") == 0.25  # the first share: what was not needed came back
        registration.execute("FROM dp_check('nightly', 2, table_name := 'main.visits')")
        registration.execute("FROM dp_count('visits', epsilon := 1)")
        assert registration.spent("visits") == 1.75  # one budget of the table


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("dp_check('nightly.txt')", r"no suite 'nightly.txt' is registered \(registered: nightly, dated\)"),
        ("dp_check(NULL)", "suite is NULL"),
        ("dp_check('nightly', sizes := 3)", "sizes is true or false, got '3'"),
        ("dp_check('nightly', sizes := 'yes')", "sizes is true or false, got 'yes'"),
        ("dp_check('nightly', certain := 'no')", "certain is 'fail' or 'pass', got 'no'"),
        ("dp_check('nightly', -1)", "epsilon must be positive"),
        ("dp_check('nightly', NULL)", "epsilon is NULL: give a value"),
        ("dp_check('nightly', '1_0')", "epsilon must be a positive number"),
        ("dp_check('nightly', run_id := 'monday')", "run_id needs a ledger"),
        ("dp_check('dated')", r"suite 'dated' is about a date: say which, as in date => '2026-11-21'"),
        ("dp_check('dated', date => 'today')", "date: 'today' is no date"),
        ("dp_check('nightly', by_column => 'state')", "by= and keys= go together"),
        ("dp_check('nightly', by_column => 'state', group_keys => [])", "keys must be a list of at least one value"),
        ("dp_check('nightly', table_name := 'others')", "suite 'nightly' is of table 'visits', not of others"),
    ],
)
def test_mistakes_in_a_call_cost_nothing(connection: duckdb.DuckDBPyConnection, call: str, says: str) -> None:
    connection.execute("CREATE TABLE others AS SELECT 1 AS x")
    with dpdb.register(connection, suites=SUITES) as registration:
        with pytest.raises(ParameterError, match=says):
            registration.execute(f"FROM {call}")
        assert registration.spent("visits") == 0


@pytest.mark.parametrize(
    ("suites", "says"),
    [
        ({"nightly": SUITE}, "suites is a mapping from table name to"),
        ({"visits": {"a": SUITE}, "others": {"a": SUITE}}, "two tables have a suite 'a'"),
        ({"visits": {"a": "no_such_file.txt"}}, "no_such_file.txt"),
    ],
)
def test_mistakes_in_the_registration(connection: duckdb.DuckDBPyConnection, suites: object, says: str) -> None:
    with pytest.raises(dpdb.DpdbError, match=says):
        dpdb.register(connection, suites=suites)  # type: ignore[arg-type]


@pytest.mark.heavy(family="long")
def test_slices_and_dates_are_as_for_releases(
    connection: duckdb.DuckDBPyConnection, noise: StubNoise, tmp_path: Path
) -> None:
    """Without noise a check fails that is 100 rows beyond its limit: the margin is 66 rows."""
    connection.execute(
        "CREATE TABLE days AS SELECT if(k < 400, 'CA', 'NY') AS state, DATE '2026-11-01' + (k % 2)::INT AS day "
        "FROM range(700) s(k)"
    )
    path = tmp_path / "dated.txt"
    path.write_text(DATED)
    with replaced_noise(noise), dpdb.register(connection, budget=10, suites={"days": {"dated": path}}) as registration:
        path.write_text("no suite any more")  # it was read when it was registered

        def verdicts(more: str) -> list[tuple[object, ...]]:
            asked = f"SELECT name, key, verdict FROM dp_check('dated', date => '2026-11-02'{more})"
            return [tuple(row.values()) for row in registration.execute(asked).to_pylist()]

        registration.execute("DESCRIBE FROM dp_check('dated', date => '2026-11-02', by_column => 'state')")
        assert (registration.spent("days"), noise.draws) == (0, 0)
        assert verdicts(", by_column => 'state', group_keys => ['NY', 'CA', 'TX']") == [
            ("all", "NY", "pass"), ("early", "NY", "pass"), ("rule", "NY", "pass"),
            ("all", "CA", "fail"), ("early", "CA", "pass"), ("rule", "CA", "pass"),
            ("all", "TX", "pass"), ("early", "TX", "pass"), ("rule", "TX", "pass"),
        ]  # fmt: skip
        assert 0.25 < registration.spent("days") < 1  # slices are charged as one
        assert verdicts("") == [("all", None, "fail"), ("early", None, "fail"), ("rule", None, "fail")]
        where = "state = ''CA'' AND day = DATE ''2026-11-02''"
        assert verdicts(f", where_clause => '{where}'") == [
            ("all", None, "pass"), ("early", None, "pass"), ("rule", None, "pass"),
        ]  # fmt: skip


@pytest.mark.heavy(family="long")
def test_a_run_id_is_answered_again(connection: duckdb.DuckDBPyConnection, ledger: Path) -> None:
    with dpdb.register(connection, ledger=ledger, suites=SUITES, who="ana") as registration:
        asked = "SELECT name, verdict, lower, upper, run_id FROM dp_check('nightly', run_id := 'monday')"
        first, again = registration.execute(asked), registration.execute(asked)
        assert first.equals(again)
        assert 0 < registration.spent("visits") < 3
        with pytest.raises(LedgerError, match="another request"):
            registration.execute("FROM dp_check('nightly', 0.5, run_id := 'monday')")


@pytest.mark.heavy(family="long")
def test_a_kept_suite_runs_as_its_owner_opened_it(connection: duckdb.DuckDBPyConnection, ledger: Path) -> None:
    with dpdb.open(connection, table="visits", constraints=RULE, ledger=ledger) as owner:
        owner.check(SUITE, 2, keep="nightly", runs=30)
    with dpdb.register(connection, ledger=ledger, budget=2.5, suites=SUITES, who="ana") as registration:
        for _ in range(2):
            found = registration.execute("SELECT DISTINCT suite, epsilon_reserved FROM dp_check('nightly', 2)")
            assert found.to_pylist() == [{"suite": "nightly", "epsilon_reserved": 2.0}]
        assert registration.spent("visits") == 2
        assert registration.remaining("visits") == 1  # of neither ledger nor the registration's own budget
        with pytest.raises(ParameterError, match="kept with epsilon 2, and its runs cost nothing: leave epsilon out"):
            registration.execute("FROM dp_check('nightly', 1)")
    with (
        dpdb.register(connection, ledger=ledger, suites={"visits": {"nightly": RULE}}) as registration,
        pytest.raises(LedgerError, match="was opened with other rules or limits"),
    ):
        registration.execute("FROM dp_check('nightly')")
    with Ledger.open(ledger) as opened:
        opened.owner.close_suite("nightly")
    with (
        dpdb.register(connection, ledger=ledger, suites=SUITES) as registration,
        pytest.raises(LedgerError, match="kept suite 'nightly' was closed"),
    ):
        registration.execute("FROM dp_check('nightly')")

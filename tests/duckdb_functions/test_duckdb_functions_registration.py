"""Registering and closing; which table is meant; whose constraints, budget and ledger; errors and their originals."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from stub_noise import StubNoise
from visits_table import RULE, VISITS

import dpdb
from dpdb.errors import (
    BudgetExceededError,
    ConstraintSyntaxError,
    EngineError,
    LedgerError,
    ParameterError,
    PredicateError,
    SourceError,
    UnknownColumnError,
)
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise

MISTAKES = [
    ("SELECT dp_count('nowhere', epsilon := 1)", SourceError, "no table or view 'nowhere'.*memory.main.visits"),
    ("SELECT dp_count(NULL, epsilon := 1)", ParameterError, "table_name is NULL"),
    ("SELECT dp_count('\"', epsilon := 1)", SourceError, "no table or view"),
    ("SELECT dp_count('a.b.c.d', epsilon := 1)", SourceError, "no table or view"),
    ("SELECT dp_count('visits', -1)", ParameterError, "epsilon"),
    ("SELECT dp_count('visits', NULL)", ParameterError, "epsilon is NULL"),
    ("SELECT dp_count('visits', rho := NULL)", ParameterError, "rho is NULL"),
    ("SELECT dp_count('visits', 'abc')", ParameterError, "epsilon must be a positive number"),
    ("SELECT dp_count('visits', true)", ParameterError, "epsilon must be a positive number"),
    ("SELECT dp_count('visits')", ParameterError, "what a release costs is never a default"),
    ("FROM dp_inconsistency('visits')", ParameterError, "what a release costs is never a default"),
    ("SELECT dp_count('visits', rho := 'abc')", ParameterError, "rho must be a positive number"),
    ("SELECT dp_count('visits', rho := 'nan')", ParameterError, "rho must be positive and finite"),
    ("SELECT dp_count('visits', confidence := 2, epsilon := 1)", ParameterError, "confidence"),
    ("FROM dp_count('visits', by_column := 'state', epsilon := 1)", ParameterError, "go together"),
    (
        "FROM dp_count('visits', by_column := 'state', group_keys := [NULL], epsilon := 1)",
        ParameterError,
        "not a value",
    ),
    (
        "FROM dp_count('visits', by_column := 'zip', group_keys := ['1', '01'], epsilon := 1)",
        ParameterError,
        "same value",
    ),
    ("SELECT dp_count('visits', where_clause := 'nope = 1', epsilon := 1)", UnknownColumnError, "no column 'nope'"),
    ("SELECT dp_count('visits', where_clause := 'zip > (SELECT 1)', epsilon := 1)", PredicateError, "where"),
    ("SELECT dp_inconsistency('visits', 'repairs', epsilon := 1)", ParameterError, "did you mean 'repair'"),
    ("SELECT dp_inconsistency('visits', NULL, epsilon := 1)", ParameterError, "measure is NULL"),
    ("SELECT dp_inconsistency('visits', mechanism := 'magic', epsilon := 1)", ParameterError, "unknown mechanism"),
    ("SELECT dp_inconsistency('visits', max_degree := 0, epsilon := 1)", ParameterError, "max_degree"),
    ("SELECT dp_count('visits', run_id := 'monday', epsilon := 1)", ParameterError, "run_id needs a ledger"),
    ("SELECT dp_count('visits', 101)", BudgetExceededError, "requested epsilon 101, remaining 100, short by 1"),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("statement", "kind", "says"), MISTAKES)
def test_mistakes_cost_nothing_and_give_the_original_error(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise, statement, kind, says
) -> None:
    with pytest.raises(kind, match=says) as caught:
        registration.execute(statement)
    assert type(caught.value) is kind
    assert isinstance(caught.value.__cause__, duckdb.InvalidInputException)
    with pytest.raises(duckdb.InvalidInputException) as plain:
        connection.execute(statement).fetchall()
    # DuckDB's exception has no cause, but all of the original's text
    assert f"{kind.__name__}: {caught.value}" in str(plain.value)
    assert type(registration.last_error) is kind
    assert (noise.draws, registration.spent("visits")) == (0, 0)


def test_attributes_of_the_original_come_back(registration: dpdb.Registration) -> None:
    with pytest.raises(BudgetExceededError) as caught:
        registration.execute("SELECT dp_count('visits', 101)")
    assert (caught.value.requested, caught.value.remaining) == (101, 100)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT dp_count(epsilon := 1)",
        "SELECT dp_count('visits', foo := 1, epsilon := 1)",
        "SELECT dp_count('visits', 'abc'::INT)",
        "SELECT 1 +",
    ],
)
def test_other_errors_are_duckdbs(registration: dpdb.Registration, noise: StubNoise, statement: str) -> None:
    with pytest.raises(duckdb.Error):
        registration.execute(statement)
    assert (noise.draws, registration.last_error) == (0, None)


def test_a_failure_after_the_debit_says_one_constant_thing(connection: duckdb.DuckDBPyConnection) -> None:
    def fail() -> None:
        raise ValueError("alice")

    noise = StubNoise(fail)
    with replaced_noise(noise), dpdb.register(connection, constraints=RULE, budget=3) as registration:
        with pytest.raises(EngineError, match="failed after its budget was debited") as caught:
            registration.execute("SELECT dp_count('visits', epsilon := 1)")
        assert "alice" not in str(caught.value)
        assert registration.spent("visits") == 1


def test_ctrl_c_is_an_original_too(connection: duckdb.DuckDBPyConnection) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    noise = StubNoise(interrupt)
    with replaced_noise(noise), dpdb.register(connection, constraints=RULE) as registration:
        with pytest.raises(KeyboardInterrupt):
            registration.execute("SELECT dp_count('visits', epsilon := 1)")
        with pytest.raises(duckdb.ParserException):
            registration.execute("SELECT 1 +")


# -- which table ----------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["visits", "VISITS", "main.visits", "memory.visits", "memory.main.visits", '"visits"'])
def test_spellings_of_one_table_share_its_budget(registration: dpdb.Registration, name: str) -> None:
    assert registration.execute("SELECT dp_count(?, 40).value AS n", [name])["n"].to_pylist() == [6.0]
    assert registration.execute('SELECT dp_count(\'"memory"."main"."visits"\', 40).value AS n').num_rows == 1
    assert registration.remaining(name) == 20


@pytest.mark.heavy(family="long")
def test_names_mean_what_they_mean_in_the_connection(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration
) -> None:
    connection.execute("ATTACH ':memory:' AS other; CREATE SCHEMA other.s")
    connection.execute("CREATE TABLE other.s.visits AS FROM visits LIMIT 2; CREATE TABLE other.lone AS FROM visits")
    query = "SELECT dp_count(?, epsilon := 1).value AS n"
    assert registration.execute(query, ["other.s.visits"])["n"].to_pylist() == [2.0]
    assert registration.execute(query, ["other.lone"])["n"].to_pylist() == [6.0]
    connection.execute("USE other.s")
    assert registration.execute(query, ["visits"])["n"].to_pylist() == [2.0]
    assert registration.execute(query, ["lone"])["n"].to_pylist() == [6.0]
    assert registration.execute(query, ["memory.visits"])["n"].to_pylist() == [6.0]
    assert registration.spent("other.s.visits") == 2


@pytest.mark.heavy(family="long")
def test_views_can_be_measured_and_unusual_names(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration
) -> None:
    connection.execute("CREATE VIEW californian AS FROM visits WHERE state = 'CA'")
    connection.execute('CREATE TABLE "my ""visits"".x" AS FROM visits')
    query = "SELECT dp_count(?, epsilon := 1).value AS n"
    assert registration.execute(query, ["californian"])["n"].to_pylist() == [3.0]
    assert registration.execute(query, ['"my ""visits"".x"'])["n"].to_pylist() == [6.0]
    assert registration.spent("visits") == 0


def test_what_one_connection_keeps_to_itself_is_refused(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration
) -> None:
    connection.execute("CREATE TEMP TABLE passing AS FROM visits")
    connection.register("frame", pa.table({"zip": [1], "city": ["a"]}))
    python_variable = pa.table({"zip": [1], "city": ["a"]})
    for name in ("passing", "frame", "python_variable"):
        with pytest.raises(SourceError, match="temporary tables, registered data frames"):
            registration.execute("SELECT dp_count(?, epsilon := 1)", [name])
    assert python_variable.num_rows == 1


def test_a_view_that_fails_names_no_value(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration
) -> None:
    connection.execute("CREATE VIEW broken AS SELECT zip, city, city::INTEGER AS number FROM visits")
    with pytest.raises(SourceError, match="owner's log") as caught:
        registration.execute("SELECT dp_count('broken', epsilon := 1)")
    assert "Could not convert" not in str(caught.value)


# -- settings per table ---------------------------------------------------------------------------------------


def test_each_table_has_its_own_constraints_budget_and_ledger(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    connection.execute("CREATE SCHEMA s; CREATE TABLE s.claims AS SELECT range AS id, range % 2 AS kind FROM range(4)")
    ledgers = {"visits": tmp_path / "visits.ledger", "S.Claims": tmp_path / "claims.ledger"}
    for path in ledgers.values():
        Ledger.create(path, 5).close()
    with dpdb.register(
        connection,
        constraints={"visits": [RULE], "s.claims": "kind -> id"},
        budget={"memory.main.visits": 2, "claims": None},
        ledger=ledgers,
    ) as registration:
        registration.execute("SELECT dp_count('visits', epsilon := 1), dp_inconsistency('s.claims', epsilon := 1)")
        assert (registration.remaining("visits"), registration.remaining("s.claims")) == (1, 4)
        connection.execute("CREATE TABLE third AS FROM visits")
        with pytest.raises(ParameterError, match=r"no constraints registered for table 'third' .*visits, s.claims"):
            registration.execute("SELECT dp_count('third', epsilon := 1)")


@pytest.mark.heavy(family="long")
def test_a_ledger_belongs_to_one_table(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    Ledger.create(path, 5).close()
    connection.execute("CREATE TABLE claims AS SELECT 'a' AS city, 1 AS zip")
    with dpdb.register(connection, constraints=RULE, ledger=path) as registration:
        registration.execute("SELECT dp_count('visits', epsilon := 1)")
        with pytest.raises(LedgerError):
            registration.execute("SELECT dp_count('claims', epsilon := 1)")


@pytest.mark.heavy(family="long")
def test_more_tables_than_open_sessions(connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration) -> None:
    for number in range(7):
        connection.execute(f"CREATE TABLE t{number} AS FROM visits")
    for _ in range(2):
        for number in range(7):
            registration.execute(f"SELECT dp_count('t{number}', 10)")
    assert [registration.spent(f"t{number}") for number in range(7)] == [20] * 7


def test_rows_per_person(connection: duckdb.DuckDBPyConnection) -> None:
    with dpdb.register(connection, constraints=RULE, rows_per_person=3) as registration:
        (row,) = registration.execute("FROM dp_count('visits', epsilon := 1)").to_pylist()
    assert (row["noise_scale"], row["epsilon"]) == (pytest.approx(3), 1)
    assert "up to 3 rows of one person" in row["guarantee"]


# -- life -----------------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_closing_takes_the_functions_away(connection: duckdb.DuckDBPyConnection, noise: StubNoise) -> None:
    cursor = connection.cursor()
    with replaced_noise(noise), dpdb.register(connection, constraints=RULE) as registration:
        with pytest.raises(duckdb.CatalogException):
            cursor.execute("SELECT dp_count('visits', epsilon := 1)")
        registration.add_cursor(cursor)
        cursor.execute("SELECT dp_count('visits', epsilon := 1)").fetchall()
    registration.close()
    for each in (connection, cursor):
        for form in ("SELECT dp_count('visits', epsilon := 1)", "FROM dp_inconsistency('visits', epsilon := 1)"):
            with pytest.raises(duckdb.CatalogException, match="does not exist"):
                each.execute(form)
    for use in (lambda: registration.execute("SELECT 1"), lambda: registration.spent("visits")):
        with pytest.raises(ParameterError, match="closed"):
            use()
    assert connection.execute(
        "SELECT function_name FROM duckdb_functions() WHERE function_name ~ 'dp').fetchall()"[:-12]
    )
    assert "_dpdb" not in str(connection.fetchall())
    assert noise.draws == 1
    with dpdb.register(connection, constraints=RULE) as again:
        assert again.execute("FROM dp_count('visits', epsilon := 1)").num_rows == 1


@pytest.mark.heavy(family="long")
def test_the_functions_stay_without_the_handle(connection: duckdb.DuckDBPyConnection) -> None:
    dpdb.register(connection, constraints=RULE)
    gc.collect()
    assert len(connection.execute("FROM dp_count('visits', epsilon := 1)").fetchall()) == 1


@pytest.mark.heavy(family="long")
def test_a_dropped_connection_takes_everything_with_it(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    connection = duckdb.connect(path)
    connection.execute(VISITS)
    registration = dpdb.register(connection, constraints=RULE)
    registration.execute("SELECT dp_count('visits', epsilon := 1)")
    with pytest.raises(SourceError):
        registration.execute("SELECT dp_count('nowhere', epsilon := 1)")
    function = weakref.ref(registration._function)
    del registration, connection
    gc.collect()
    assert function() is None
    with duckdb.connect(path, config={"threads": 1}) as another:  # refused if the first were still open
        assert another.execute("SELECT count(*) FROM visits").fetchall() == [(6,)]


@pytest.mark.heavy(family="long")
def test_nothing_is_written_into_the_file(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(VISITS)
        dpdb.register(connection, constraints=RULE).execute("SELECT dp_count('visits', epsilon := 1)")
    with duckdb.connect(path, read_only=True) as connection:
        found = connection.execute("SELECT function_name FROM duckdb_functions() WHERE function_name LIKE '%dp%_%'")
        assert not [name for (name,) in found.fetchall() if "dpdb" in name or name.startswith("dp_")]
        with dpdb.register(connection, constraints=RULE) as registration:
            assert registration.execute("FROM dp_count('visits', epsilon := 1)").num_rows == 1


@pytest.mark.heavy(family="privacy")
def test_a_process_that_closes_nothing_ends_quietly() -> None:
    program = (
        f"import duckdb, dpdb; con = duckdb.connect(); con.execute('''{VISITS}'''); cur = con.cursor();"
        f"r = dpdb.register(con, constraints={RULE!r}); r.add_cursor(cur);"
        "cur.execute(\"FROM dp_count('visits', 1)\").fetchall(); con.execute(\"FROM dp_count('visits', 1)\").fetchall()"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_connections_that_cannot_be_registered(connection: duckdb.DuckDBPyConnection) -> None:
    def register(constraints: object = RULE, **settings: object) -> None:
        dpdb.register(connection, constraints=constraints, **settings)  # type: ignore[arg-type]

    for constraints, kind in (("zip -> ", ConstraintSyntaxError), ({}, ParameterError), ("absent.txt", ParameterError)):
        with pytest.raises(kind):
            register(constraints)
    with pytest.raises(ParameterError, match="budget"):
        register(budget=-1)
    connection.execute("BEGIN")
    with pytest.raises(ParameterError, match="inside a transaction"):
        register()
    connection.execute("ROLLBACK")
    dpdb.register(connection, constraints=RULE)
    with pytest.raises(ParameterError, match="already"):
        register()
    connection.close()
    with pytest.raises(ParameterError, match="cannot be used"):
        register()


@pytest.mark.heavy(family="long")
def test_parents_are_tables_of_the_connection_and_are_read_again_when_they_change() -> None:
    """At an epsilon at which noise other than 0 has a probability below 1e-60."""
    value = "SELECT value FROM dp_inconsistency('c', measure := 'problematic', epsilon := 1000)"
    with duckdb.connect() as con:
        con.execute("CREATE TABLE c AS SELECT i % 5 AS k FROM range(50) t(i); CREATE TABLE p AS FROM range(3) t(id)")
        with dpdb.register(con, constraints="k IN p.id", public_parents=["p"]) as registration:
            before = registration.execute(value).to_pylist()
            con.execute("INSERT INTO p VALUES (3)")
            assert (before, registration.execute(value).to_pylist()) == ([{"value": 20.0}], [{"value": 10.0}])
        unit = {"unit": "k", "max_rows": 2}
        with dpdb.register(con, constraints="k IN p.id", private_parents="p", **unit) as registration:
            assert registration.execute(value).to_pylist() == [{"value": 2.0}]


@pytest.mark.heavy(family="privacy")
def test_calls_cannot_give_the_rows_of_a_private_parent_to_other_units() -> None:
    """Each call is private for its own units; a budget of both would be of neither."""
    ask = "FROM dp_inconsistency('c', constraints := '{}', epsilon := 1)".format
    with duckdb.connect() as con:
        con.execute("CREATE TABLE c AS SELECT i % 5 AS k FROM range(50) t(i)")
        con.execute("CREATE TABLE p AS SELECT i AS id, i + 1 AS next FROM range(3) t(i); CREATE TABLE q AS FROM p")
        parents = {"private_parents": ["p", "q"], "unit": "k", "max_rows": 2}
        with dpdb.register(con, budget=9, **parents) as registration:
            for rule in ("k IN p.id", "k IN q.next", "UNIQUE(k)"):
                registration.execute(ask(rule))
            spent = registration.spent("c")
            with pytest.raises(dpdb.DpdbError, match="counts for rows of p by 'id'"):
                registration.execute(ask("k IN p.next"))
            assert registration.spent("c") == spent
            registration.execute(ask("k IN p.id"))
        parents["private_parents"] = ["p", "main.p"]
        with (
            dpdb.register(con, budget=9, **parents) as registration,
            pytest.raises(dpdb.DpdbError, match="are one table, and not both are public"),
        ):
            registration.execute(ask("k IN p.id"))

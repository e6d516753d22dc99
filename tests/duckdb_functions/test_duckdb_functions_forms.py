"""Every form of statement: how often noise is drawn, what is spent, what comes back.

`repair` and `dp_count` draw once per release, so draws count releases; each costs epsilon 1 here unless it says so.
"""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.release.published.release_fields import RELEASE_SCHEMA

ONE_RELEASE = {
    "scalar": "SELECT dp_count('visits', epsilon := 1)",
    "field of a scalar": "SELECT (dp_inconsistency('visits', epsilon := 1)).value",
    "two fields": "SELECT dp_count('visits', epsilon := 1).value, dp_count('visits', epsilon := 1).lower",
    "from": "SELECT * FROM dp_inconsistency('visits', epsilon := 1)",
    "call": "CALL dp_inconsistency('visits', epsilon := 1)",
    "named": "FROM dp_inconsistency('visits', measure := 'repair', epsilon := 1.0)",
    "named by arrow": "FROM dp_inconsistency('visits', epsilon => 1, measure => 'repair')",
    "by position": "FROM dp_inconsistency('visits', 'repair', 1)",
    "count of rows": "SELECT count(*) FROM dp_count('visits', epsilon := 1)",
    "CTE twice": "WITH q AS (FROM dp_count('visits', epsilon := 1)) SELECT * FROM q UNION ALL SELECT * FROM q",
    "CTE inlined twice": "WITH q AS NOT MATERIALIZED (FROM dp_count('visits', epsilon := 1)) FROM q UNION ALL FROM q",
    "same call thrice": "FROM dp_count('visits', epsilon := 1) UNION ALL FROM dp_count('visits', epsilon := 1.00) "
    "UNION ALL SELECT unnest(dp_count('visits', epsilon := 1))",
    "compared with itself": "SELECT dp_count('visits', epsilon := 1) = dp_count('visits', epsilon := 1)",
    "once per row": "SELECT zip, dp_count('visits', epsilon := 1).value FROM visits",
    "in many chunks": "SELECT sum(dp_count('visits', epsilon := 1).value) FROM range(5000)",
    "in an aggregate": "SELECT state, max(dp_count('visits', 1).value) FROM visits GROUP BY ALL HAVING count(*) > 0",
    "in predicates": "SELECT v FROM (SELECT dp_count('visits', 1).value AS v) WHERE v > 0 AND v < 1e9 ORDER BY v",
    "in a join": "SELECT * FROM visits JOIN dp_count('visits', epsilon := 1) AS r ON r.value > zip",
    "in a subquery": "SELECT (SELECT value FROM dp_count('visits', 1)), EXISTS (FROM dp_count('visits', 1))",
    "in a lambda": "SELECT [dp_count(name, epsilon := 1).value FOR name IN ['visits', 'visits']]",
    "table name from a subquery": "SELECT * FROM dp_count((SELECT 'visits'), epsilon := 1)",
    "create table": "CREATE TABLE result AS FROM dp_count('visits', epsilon := 1)",
    "insert into the table itself": "INSERT INTO visits SELECT 'WA', dp_count('visits', epsilon := 1).value, 'q'",
    "update the table itself": "UPDATE visits SET zip = dp_count('visits', epsilon := 1).value",
    "delete": "DELETE FROM visits WHERE zip > dp_count('visits', epsilon := 1).value",
    "explain analyze": "EXPLAIN ANALYZE SELECT dp_count('visits', epsilon := 1)",
    "summarize": "SUMMARIZE FROM dp_count('visits', epsilon := 1)",
    "query in text": "SELECT * FROM query('FROM dp_count(''visits'', epsilon := 1)')",
    "pivot, which executes its input twice": "PIVOT (FROM dp_count('visits', 1)) ON measure USING sum(value)",
    "pivot of given values": "PIVOT (FROM dp_count('visits', epsilon := 1)) ON measure IN ('count') USING sum(value)",
    "table branch not taken": "SELECT CASE WHEN zip > 9 THEN (SELECT value FROM dp_count('visits', 1)) END FROM visits",
}

NO_RELEASE = {
    "explain scalar": "EXPLAIN SELECT dp_count('visits', epsilon := 1)",
    "explain table": "EXPLAIN FROM dp_inconsistency('visits', epsilon := 1)",
    "explain all plans": "EXPLAIN (FORMAT json) FROM dp_count('visits', epsilon := 1)",
    "describe scalar": "DESCRIBE SELECT dp_count('visits', epsilon := 1)",
    "describe table": "DESCRIBE FROM dp_inconsistency('visits', epsilon := 1)",
    "prepare scalar": "PREPARE one AS SELECT dp_count('visits', epsilon := 1)",
    "prepare table": "PREPARE rows AS FROM dp_count('visits', epsilon := 1)",
    "limit 0 scalar": "SELECT dp_count('visits', epsilon := 1) LIMIT 0",
    "limit 0 table": "FROM dp_count('visits', epsilon := 1) LIMIT 0",
    "where false scalar": "SELECT dp_count('visits', epsilon := 1) WHERE false",
    "where false table": "SELECT * FROM dp_count('visits', epsilon := 1) WHERE false",
    "columns of a dbt model": "SELECT * FROM (SELECT * FROM dp_count('visits', 1)) AS model WHERE false LIMIT 0",
    "empty from": "SELECT dp_count('visits', epsilon := 1) FROM visits WHERE zip > 9",
    "empty lateral": "SELECT r.* FROM (SELECT 'visits' v FROM visits WHERE zip > 9) t, dp_count(t.v, epsilon := 1) r",
    "branch not taken": "SELECT CASE WHEN zip > 9 THEN dp_count('visits', epsilon := 1).value END FROM visits",
    "constant branch not taken": "SELECT CASE WHEN 1 > 2 THEN dp_count('visits', epsilon := 1).value END",
    "coalesce": "SELECT coalesce(zip, dp_count('visits', epsilon := 1).value) FROM visits",
    "create view": "CREATE VIEW later AS FROM dp_count('visits', epsilon := 1)",
    "create macro": "CREATE MACRO later() AS dp_count('visits', epsilon := 1)",
}


@pytest.mark.heavy
@pytest.mark.parametrize("statement", ONE_RELEASE.values(), ids=ONE_RELEASE)
def test_one_release(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise, statement: str
) -> None:
    connection.execute(statement).fetchall()
    assert noise.draws == 1
    assert registration.spent("visits") == 1


@pytest.mark.heavy
@pytest.mark.parametrize("form", ["scalar", "from", "call", "create table", "pivot, which executes its input twice"])
def test_one_release_through_the_handle(registration: dpdb.Registration, noise: StubNoise, form: str) -> None:
    registration.execute(ONE_RELEASE[form])
    assert noise.draws == 1
    assert registration.spent("visits") == 1


@pytest.mark.heavy(family="long")
def test_no_release(connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise) -> None:
    for form, statement in NO_RELEASE.items():
        shown = str(connection.execute(statement).fetchall())
        assert noise.draws == 0, form
        assert "6.0" not in shown, form
    assert registration.spent("visits") == 0


@pytest.mark.heavy(family="long")
def test_the_same_row_in_every_form(registration: dpdb.Registration) -> None:
    forms = (
        "FROM dp_count('visits', 1) UNION ALL SELECT unnest(dp_count('visits', 1)) UNION ALL SELECT unnest(s) FROM q"
    )
    table = registration.execute(f"WITH q AS (SELECT dp_count('visits', epsilon := 1) AS s) {forms}")
    assert table.schema.names == RELEASE_SCHEMA.names
    assert [field.type for field in table.schema] == [field.type for field in RELEASE_SCHEMA]
    first, *others = table.to_pylist()
    assert others == [first, first]
    assert (first["measure"], first["value"], first["quantity"], first["where"]) == ("count", 6.0, "rows", None)


@pytest.mark.heavy(family="long")
def test_all_arguments_of_dp_inconsistency(registration: dpdb.Registration) -> None:
    (row,) = registration.execute(
        "FROM dp_inconsistency('visits', 'minimal_inconsistency', 50, where_clause := 'zip < 2', "
        "mechanism := 'em', confidence := 0.9, max_degree := 8)"
    ).to_pylist()
    assert (row["mechanism"], row["confidence"], row["epsilon"], row["where"]) == ("em", 0.9, 50, "zip < 2")


@pytest.mark.heavy(family="long")
def test_groups_are_rows_in_the_order_of_their_keys(registration: dpdb.Registration, noise: StubNoise) -> None:
    query = "FROM dp_inconsistency('visits', epsilon := 2, by_column := 'state', group_keys := ['NY', 'CA', 'TX'])"
    rows = registration.execute(query).to_pylist()
    assert [row["where"] for row in rows] == ["state = 'NY'", "state = 'CA'", "state = 'TX'"]
    assert [row["value"] for row in rows] == [0, 1, 0]
    assert noise.draws == 3
    assert registration.spent("visits") == 2
    counts = registration.execute("SELECT value FROM dp_count('visits', 1, by_column := 'zip', group_keys := [2, 1])")
    assert counts["value"].to_pylist() == [1, 5]


@pytest.mark.heavy(family="long")
def test_all_measures_are_rows(registration: dpdb.Registration) -> None:
    measures = registration.execute("SELECT measure FROM dp_inconsistency('visits', 'all', 1)")["measure"].to_pylist()
    assert measures == ["minimal_inconsistency", "problematic", "repair"]
    assert registration.spent("visits") == 1


@pytest.mark.parametrize("arguments", ["'all'", "by_column := 'state', group_keys := ['CA']"])
def test_several_answers_are_refused_as_a_scalar(
    registration: dpdb.Registration, noise: StubNoise, arguments: str
) -> None:
    with pytest.raises(dpdb.DpdbError, match="several answers; ask for them as rows"):
        registration.execute(f"SELECT dp_inconsistency('visits', {arguments}, epsilon := 1)")
    assert (noise.draws, registration.spent("visits")) == (0, 0)


@pytest.mark.parametrize("form", ["SELECT dp_count({}).value", "SELECT value FROM dp_count({})"])
def test_parameters(connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, form: str) -> None:
    by_position = connection.execute(form.format("?, epsilon := ?, where_clause := ?"), ["visits", 0.5, "zip = 1"])
    assert by_position.fetchall() == [(5.0,)]
    by_name = connection.execute(form.format("$t, epsilon := $e"), {"t": "visits", "e": 0.25})
    assert by_name.fetchall() == [(6.0,)]
    assert registration.execute(form.format("?, 0.25"), ["visits"]).column(0).to_pylist() == [6.0]
    assert registration.spent("visits") == 1


@pytest.mark.heavy(family="long")
def test_a_list_of_keys_as_a_parameter(connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration) -> None:
    query = "SELECT value FROM dp_count('visits', by_column := 'state', group_keys := ?, epsilon := 1)"
    assert connection.execute(query, [["NY", "CA"]]).fetchall() == [(2.0,), (3.0,)]


@pytest.mark.parametrize("form", ["SELECT dp_count('visits', epsilon := 1)", "FROM dp_count('visits', epsilon := 1)"])
def test_each_execution_of_a_prepared_statement_is_a_release(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise, form: str
) -> None:
    connection.execute(f"PREPARE again AS {form}")
    for executions in (1, 2, 3):
        connection.execute("EXECUTE again").fetchall()
        assert noise.draws == executions
    connection.executemany("SELECT dp_count(?, epsilon := 1)", [["visits"], ["visits"]])
    assert (noise.draws, registration.spent("visits")) == (5, 5)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "query",
    [
        "SELECT t.e, r.epsilon, r.value FROM asked AS t, dp_count(t.name, epsilon := t.e) AS r ORDER BY t.e",
        "SELECT t.e, r.epsilon, r.value FROM asked AS t, LATERAL dp_count(t.name, t.e) AS r ORDER BY t.e",
        "SELECT e, r.epsilon, r.value FROM (SELECT e, dp_count(name, e) AS r FROM asked) ORDER BY e",
    ],
)
def test_a_table_of_arguments_is_one_release_per_distinct_row(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise, query: str
) -> None:
    connection.execute("CREATE TABLE asked AS FROM (VALUES ('visits', 1), ('visits', 2), ('visits', 1)) AS t(name, e)")
    assert connection.execute(query).fetchall() == [(1, 1, 6), (1, 1, 6), (2, 2, 6)]
    assert (noise.draws, registration.spent("visits")) == (2, 3)


@pytest.mark.heavy(family="long")
def test_a_view_is_a_release_per_statement(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise
) -> None:
    connection.execute("CREATE VIEW quality AS FROM dp_count('visits', epsilon := 1)")
    connection.execute("SELECT a.release_id = b.release_id FROM quality AS a, quality AS b")
    assert connection.fetchall() == [(True,)]
    assert noise.draws == 1
    connection.execute("FROM quality").fetchall()
    assert (noise.draws, registration.spent("visits")) == (2, 2)


@pytest.mark.heavy(family="long")
def test_a_created_table_keeps_its_release(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise
) -> None:
    connection.execute("CREATE TABLE result AS FROM dp_count('visits', epsilon := 1)")
    looks = {str(connection.execute("FROM result").fetchall()) for _ in range(3)}
    assert (len(looks), noise.draws) == (1, 1)


@pytest.mark.heavy(family="long")
def test_two_statements_are_two_releases(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise
) -> None:
    ids = [registration.execute("FROM dp_count('visits', epsilon := 1)")["release_id"][0].as_py() for _ in range(2)]
    assert ids[0] != ids[1]
    assert (noise.draws, registration.spent("visits")) == (2, 2)
    connection.execute("FROM dp_count('visits', epsilon := 1); FROM dp_count('visits', epsilon := 1)").fetchall()
    assert (noise.draws, registration.spent("visits")) == (4, 4)


@pytest.mark.heavy(family="long")
def test_different_arguments_are_different_releases(registration: dpdb.Registration, noise: StubNoise) -> None:
    registration.execute("SELECT dp_count('visits', 1), dp_count('visits', 2), dp_inconsistency('visits', 'repair', 1)")
    assert (noise.draws, registration.spent("visits")) == (3, 4)


@pytest.mark.heavy(family="long")
def test_the_handles_result_is_kept(registration: dpdb.Registration, noise: StubNoise) -> None:
    result = registration.execute("FROM dp_count('visits', epsilon := 1)")
    assert str(result) == str(result)
    assert result.to_pylist() == result.to_pylist()
    assert noise.draws == 1


@pytest.mark.heavy(family="long")
def test_a_lazy_relation_is_a_statement_per_look(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise
) -> None:
    """DuckDB's `sql` keeps no result: this is what `Registration.execute` is for."""
    relation = connection.sql("FROM dp_count('visits', epsilon := 1)")
    assert noise.draws == 0
    relation.fetchall()
    relation.fetchall()
    assert noise.draws == 2


@pytest.mark.heavy(family="long")
def test_the_manuals_statements(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise
) -> None:
    manual = Path(__file__).resolve().parents[2] / "examples" / "manual" / "duckdb_and_dbt.md"
    section = manual.read_text().partition("## In a DuckDB connection")[2]
    (block,) = re.findall(r"```sql\n(.*?)```", section, flags=re.DOTALL)
    connection.execute("CREATE TABLE asked AS SELECT 'visits' AS name")
    answers = [connection.execute(statement).fetchall() for statement in block.split(";")[:-1]]
    assert [len(rows) for rows in answers] == [1, 1, 2, 1]
    assert answers[1:] == [[(2.0,)], [("state = 'CA'", 3), ("state = 'NY'", 2)], [("visits", 6, 0)]]
    assert (noise.draws, registration.spent("visits")) == (5, 1.2)


@pytest.mark.heavy(family="long")
def test_a_call_may_name_its_own_constraints(registration: dpdb.Registration, noise: StubNoise) -> None:
    own = "FROM dp_inconsistency('visits', constraints := 'UNIQUE(zip)', epsilon := 1)"
    both = f"{own} UNION ALL FROM dp_inconsistency('visits', epsilon := 1)"
    own, registered = registration.execute(both).column("value").to_pylist()
    assert (own, registered, noise.draws) == (4, 2, 2)  # one of 5 equal rows may stay
    assert registration.spent("visits") == 2
    with pytest.raises(dpdb.DpdbError, match="has no column 'zap'; nearest is 'zip'"):
        registration.execute("FROM dp_inconsistency('visits', constraints := 'zap -> city', epsilon := 1)")
    assert registration.spent("visits") == 2


@pytest.mark.heavy(family="long")
def test_constraints_of_a_call_are_never_a_file(registration: dpdb.Registration, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("zip,secret\n")
    for text in (str(path), "rules.txt"):
        with pytest.raises(dpdb.DpdbError) as caught:
            registration.execute(f"FROM dp_inconsistency('visits', constraints := '{text}', epsilon := 1)")
        assert "secret" not in str(caught.value)
        assert "file" not in str(caught.value)
    assert registration.spent("visits") == 0


@pytest.mark.heavy(family="long")
def test_without_registered_constraints_a_call_names_them(connection: duckdb.DuckDBPyConnection) -> None:
    with dpdb.register(connection, budget=2) as registered:
        named = "FROM dp_inconsistency('visits', constraints := 'zip -> city', epsilon := 1)"
        assert registered.execute(named).num_rows == 1
        with pytest.raises(dpdb.DpdbError, match="has no constraints to measure"):
            registered.execute("FROM dp_inconsistency('visits', epsilon := 1)")
        assert registered.spent("visits") == 1


@pytest.mark.heavy(family="long")
def test_rates_and_constraints_one_by_one_are_asked_as_in_python() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT range % 3 AS a, range % 2 AS b, range AS c FROM range(30)")
        with dpdb.register(con, constraints=["a -> b", "b -> a"], budget=5) as registered:
            each = registered.execute(
                "SELECT * FROM dp_inconsistency('t', measure := 'problematic', each_constraint := true, epsilon := 1)"
            )
            share = registered.execute("SELECT * FROM dp_inconsistency('t', 'repair', 1, rate := true)")
            with pytest.raises(dpdb.DpdbError, match="several answers"):
                registered.execute("SELECT dp_inconsistency('t', each_constraint := true, epsilon := 1)")
            for given, says in (
                ("rate := 3", "rate is true or false, got '3'"),
                ("each_constraint := 0.0", "each_constraint is true or false, got '0.0'"),
                ("theta := 2.5", "theta must be a whole number, got '2.5'"),
                ("max_degree := true", "max_degree must be a whole number, got 'true'"),
            ):
                with pytest.raises(dpdb.DpdbError, match=says):
                    registered.execute(f"FROM dp_inconsistency('t', measure := 'problematic', {given}, epsilon := 1)")
            assert registered.spent("t") == 2
    assert each.num_rows == 2
    assert share.num_rows == 1

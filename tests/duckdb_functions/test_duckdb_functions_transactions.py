"""What a release means between BEGIN and COMMIT, with other writers, and from several threads."""

from __future__ import annotations

import threading
from pathlib import Path

import duckdb
import pytest
from stub_noise import StubNoise
from visits_table import RULE, VISITS

import dpdb
from dpdb.doors.duckdb_functions.release_function import Call, Memo
from dpdb.errors import LedgerError, ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.release.ask import Ask

COUNT = "SELECT dp_count('visits', epsilon := 1).value"


def counted(connection: duckdb.DuckDBPyConnection) -> float:
    return float(connection.execute(COUNT).fetchall()[0][0])


@pytest.mark.heavy(family="long")
def test_the_same_call_of_a_transaction_is_the_same_release(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise
) -> None:
    connection.execute("BEGIN")
    ids = {registration.execute("FROM dp_count('visits', epsilon := 1)")["release_id"][0].as_py() for _ in range(3)}
    connection.execute("COMMIT")
    assert (len(ids), noise.draws, registration.spent("visits")) == (1, 1, 1)
    counted(connection)
    assert noise.draws == 2


@pytest.mark.heavy(family="long")
def test_rollback_gives_nothing_back(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise
) -> None:
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE result AS FROM dp_count('visits', 30)")
    connection.execute("ROLLBACK")
    assert (noise.draws, registration.remaining("visits")) == (1, 70)


@pytest.mark.heavy(family="long")
def test_a_transaction_measures_what_is_committed(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration
) -> None:
    connection.execute("BEGIN")
    connection.execute("INSERT INTO visits SELECT 'CA', 3, 'q' FROM range(10)")
    assert counted(connection) == 6
    connection.execute("CREATE TABLE fresh AS FROM visits")
    with pytest.raises(duckdb.InvalidInputException, match=r"SourceError: no table or view 'fresh'.*uncommitted"):
        connection.execute("SELECT dp_count('fresh', epsilon := 1)")
    connection.execute("ROLLBACK")  # in DuckDB a failed statement ends its transaction
    assert counted(connection) == 6


@pytest.mark.heavy(family="spending")
def test_changed_rows_are_read_again_and_the_budget_goes_on(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration
) -> None:
    assert counted(connection) == 6
    connection.execute("INSERT INTO visits SELECT 'CA', 3, 'q' FROM range(10)")
    assert counted(connection) == 16
    connection.execute("UPDATE visits SET zip = 4 WHERE zip = 3")
    query = "SELECT dp_count('visits', where_clause := 'zip = 4', epsilon := 1).value"
    assert connection.execute(query).fetchall() == [(10.0,)]
    connection.execute("ALTER TABLE visits ADD COLUMN age INTEGER")
    assert connection.execute(
        "SELECT dp_count('visits', where_clause := 'age IS NULL', epsilon := 1).value"
    ).fetchall() == [(16.0,)]
    assert registration.spent("visits") == 4


@pytest.mark.heavy(family="long")
def test_changes_are_noticed_whatever_the_columns_are_called(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration
) -> None:
    connection.execute(
        "CREATE TABLE odd AS SELECT 1 AS t, 2 AS zip, 3 AS city, 'b' AS \"ci\"\"ty\", {'x': 1} AS nested"
    )
    query = "SELECT dp_count('odd', where_clause := $where, epsilon := 1).value"
    where = {"where": '"ci""ty" = \'b\''}
    assert connection.execute(query, where).fetchall() == [(1.0,)]
    connection.execute('UPDATE odd SET "ci""ty" = \'c\'')
    assert connection.execute(query, where).fetchall() == [(0.0,)]
    connection.execute("CREATE TABLE nested AS SELECT [1] AS zip, [2] AS city")
    with pytest.raises(duckdb.InvalidInputException, match="no column has a type that constraints can compare"):
        connection.execute("SELECT dp_count('nested', epsilon := 1)")


@pytest.mark.heavy(family="long")
def test_a_ledger_refuses_changed_rows_until_a_new_epoch(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    Ledger.create(path, 3).close()
    noise = StubNoise()
    with replaced_noise(noise), dpdb.register(connection, constraints=RULE, ledger=path) as registration:
        run = "SELECT dp_count('visits', run_id := 'monday', epsilon := 1).release_id AS id"
        first = registration.execute(run)
        assert registration.execute(run) == first
        assert (noise.draws, registration.spent("visits")) == (1, 1)
        connection.execute("CREATE OR REPLACE TABLE visits AS FROM visits ORDER BY city DESC")  # the same rows
        assert registration.execute(run) == first
        connection.execute("DELETE FROM visits WHERE zip = 2")
        with pytest.raises(LedgerError, match="epoch"):
            registration.execute(COUNT)
        assert noise.draws == 1


@pytest.mark.heavy(family="spending")
def test_threads_share_one_budget_and_draw_once_each(
    connection: duckdb.DuckDBPyConnection, registration: dpdb.Registration, noise: StubNoise
) -> None:
    cursors = [connection.cursor() for _ in range(8)]
    for cursor in cursors:
        registration.add_cursor(cursor)
    ids: list[str] = []
    refused: list[str] = []

    def work(cursor: duckdb.DuckDBPyConnection) -> None:
        query = "SELECT min(dp_count('visits', 5).release_id) FROM range(200)"
        for _ in range(3):
            try:
                ids.extend(row[0] for row in cursor.execute(query).fetchall())
            except duckdb.InvalidInputException as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work, args=(cursor,)) for cursor in cursors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    # budget 100 at 5 each
    assert len(refused) == 4
    assert all("BudgetExceededError" in text for text in refused)
    assert (len(ids), len(set(ids)), noise.draws) == (20, 20, 20)
    assert registration.remaining("visits") == 0


@pytest.mark.heavy(family="long")
def test_one_thread_is_enough(noise: StubNoise) -> None:
    with (
        duckdb.connect(config={"threads": 1}) as connection,
        replaced_noise(noise),
        dpdb.register(connection, constraints=RULE),
    ):
        connection.execute(VISITS)
        connection.execute("INSERT INTO visits SELECT 'TX', 7, 'd' FROM range(200000)")
        assert connection.execute(
            "SELECT max(dp_count('visits', epsilon := 1).value) FROM visits WHERE zip < 7"
        ).fetchall() == [(200006.0,)]
        assert noise.draws == 1


def test_the_memo_is_bounded_and_never_forgets_who_is_asking() -> None:
    calls = [Call("t", Ask("count", k)) for k in range(1, 5)]
    memo = Memo(capacity=3)
    for transaction in (1, 2):
        memo.reserve(transaction)
        memo.keep(transaction, calls[0], [{"value": transaction}])
    assert memo.find(1, calls[0]) == [{"value": 1}]
    for call in calls[1:3]:
        memo.reserve(2)
        memo.keep(2, call, [])
    assert memo.find(1, calls[0]) is None
    assert memo.find(2, calls[0]) == [{"value": 2}]
    with pytest.raises(ParameterError, match="at most 3 releases"):
        memo.reserve(2)
    memo.reserve(3)
    assert memo.find(2, calls[0]) is None

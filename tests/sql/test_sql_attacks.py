"""Attacks on the SQL front end: refused with a reason, nothing read, drawn or spent, nothing private in any output."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from attack_statements import ATTACKS
from counting_noise import CountingNoise
from inside import public_file
from private_rows import RULE, private_rows, shows_private
from suite_door import door_with_suite

from dpdb.database import sql_file
from dpdb.doors.cli import main
from dpdb.doors.sql import AskedErrors, FrontEnd, Spoken
from dpdb.doors.sql.child import remote_database
from dpdb.doors.sql.child.messages import Limits
from dpdb.doors.sql.child.remote_database import RemoteDatabase
from dpdb.doors.sql.child.worker import _database, _Request
from dpdb.errors import OWNER_LOG, DpdbError, ParameterError, PredicateError, StatementRefusedError, UnknownColumnError
from dpdb.privacy.noise import replaced_noise

frame = private_rows()  # what a replacement scan of DuckDB would find in this process

# Arguments of releases are also refused by the session, with the errors of its own door.
REFUSALS = {
    "where": (PredicateError, UnknownColumnError),
    "arguments": (StatementRefusedError, ParameterError, UnknownColumnError),
    "checks": (StatementRefusedError, ParameterError, PredicateError, UnknownColumnError),
}


def placed(statement: str, folder: Path) -> str:
    names = {"@PRIVATE@": "visits.parquet", "@CSV@": "visits.csv", "@DB@": "visits.duckdb", "@DIR@": ""}
    for mark, name in names.items():
        statement = statement.replace(mark, str(folder / name))
    return statement


def test_the_suite_is_large() -> None:
    statements = [statement for group in ATTACKS.values() for statement in group]
    assert len(set(statements)) == len(statements) >= 300
    assert not shows_private(*statements)


@pytest.fixture(scope="module")
def door(folder: Path, public: dict[str, Path]) -> Iterator[FrontEnd]:
    """For all attacks, of which none leaves anything behind."""
    with door_with_suite(folder, public, budget=100) as opened:
        yield opened


@pytest.fixture(scope="module")
def remote(public: dict[str, Path]) -> Iterator[RemoteDatabase]:
    with closing(RemoteDatabase(public, Limits(seconds=5))) as opened:
        yield opened


@pytest.mark.heavy
@pytest.mark.parametrize("spoken", ["duckdb", "postgres"])
@pytest.mark.parametrize("group", ATTACKS)
def test_attacks_are_refused_before_anything_is_read_drawn_or_spent(
    group: str,
    spoken: Spoken,
    folder: Path,
    door: FrontEnd,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def read(*args: object, **kwargs: object) -> None:
        raise AssertionError("a refused statement must not read the table")

    files = sorted(folder.iterdir())
    noise = CountingNoise()
    admitted, shown = [], []
    with replaced_noise(noise):
        session = door.session
        monkeypatch.setattr("dpdb.engine.table.LocalSlice", read)
        monkeypatch.setattr("dpdb.engine.sql.input_rows.count_rows", read)
        for statement in ATTACKS[group]:
            try:
                door.run(placed(statement, folder), spoken)
            except REFUSALS.get(group, (StatementRefusedError,)) as refusal:
                shown.append(str(refusal))
            else:
                admitted.append(statement)
        assert not admitted
        assert (noise.draws, session.spent(), session.remaining(), door.kept) == (0, 0.0, 100.0, ())
        assert door.run("SELECT count(*) AS n FROM states").table.to_pylist() == [{"n": 3}]  # still whole
    assert len(shown) == len(ATTACKS[group])
    assert not shows_private(*shown, *capfd.readouterr(), caplog.text)
    assert sorted(folder.iterdir()) == files


@pytest.fixture
def sealed(remote: RemoteDatabase) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database that a worker opens, before it closes all files."""
    request = _Request("", "query", [], "answers", str(public_file(remote)), sql_file("settings"), Limits())
    with _database(request) as connection:
        yield connection


@pytest.mark.heavy
@pytest.mark.parametrize("group", [group for group in ATTACKS if group != "malformed"])
def test_where_statements_run_there_is_nothing_private_and_no_way_out(
    group: str, folder: Path, sealed: duckdb.DuckDBPyConnection, capfd: pytest.CaptureFixture[str]
) -> None:
    """The second wall: every attack runs as it is, without the decision on its tree and the check of its kind."""
    files = sorted(folder.iterdir())
    seen: list[object] = []
    for statement in ATTACKS[group]:
        watch = threading.Timer(5, sealed.interrupt)
        watch.start()
        try:
            seen.append(sealed.execute(placed(statement, folder)).fetchall())
        except (duckdb.Error, RuntimeError, ValueError, AttributeError, OverflowError) as error:  # NUL, far dates
            seen.append(error)
        finally:
            watch.cancel()
    assert len(seen) == len(ATTACKS[group])
    assert not shows_private(*seen, *capfd.readouterr())
    assert sorted(folder.iterdir()) == files


@pytest.mark.heavy
@pytest.mark.parametrize("group", [group for group in ATTACKS if group != "malformed"])
def test_some_of_them_in_processes(group: str, folder: Path, remote: RemoteDatabase) -> None:
    for statement in ATTACKS[group][::15]:
        with remote.statement(placed(statement, folder), {}) as process:
            try:
                process.rehearse()
                shown: object = process.run({}).to_pylist()
            except StatementRefusedError as error:
                shown = error
        assert not shows_private(shown)


def test_the_private_rows_are_there_to_be_found(folder: Path) -> None:
    """Without the front end DuckDB shows them to the same statements."""
    for statement in ("SELECT * FROM frame", "SELECT * FROM '@PRIVATE@'", "SELECT content FROM read_text('@CSV@')"):
        assert shows_private(duckdb.sql(placed(statement, folder)).fetchall())


@pytest.mark.heavy
@pytest.mark.parametrize("group", ATTACKS)
def test_attacks_at_the_command_line_give_one_line_and_exit_code_2(
    group: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    statement = placed(ATTACKS[group][0], folder)
    command = ["sql", str(folder / "visits.parquet"), "--constraints", RULE, "--budget", "1", statement]
    assert main(command) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("dpdb: ")
    assert err.count("\n") == 1
    assert not shows_private(err)


@pytest.mark.heavy(family="spending")
def test_an_error_after_the_debit_is_about_released_values(
    front_end: FrontEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_database, "_ERRORS", AskedErrors("statements that failed"))  # others may have filled it
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    OWNER_LOG.addHandler(handler)
    try:
        with pytest.raises(DpdbError, match="Could not convert string 'count'") as caught:
            front_end.run("SELECT CAST(measure AS INT) FROM dp_count('visits', where := 'age > 30', epsilon := 1)")
    finally:
        OWNER_LOG.removeHandler(handler)
    assert lines
    assert not shows_private(caught.value, *lines)
    front_end.run("FROM dp_count('visits', where := 'age > 30', epsilon := 1)")  # takes the kept answer away
    assert front_end.kept == ()

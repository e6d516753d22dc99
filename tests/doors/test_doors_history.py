"""Who asked and under which label stands in the ledger's history, whichever door the release went through."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpdb
from dpdb.doors.cli import main
from dpdb.errors import LedgerError, ParameterError, StatementRefusedError
from dpdb.ledger import Ledger

JOB = """name = "visits"
who = "joe"
source = "visits.parquet"
constraints = ["zip -> city"]
ledger = "visits.ledger"
results = "results.duckdb"
[[release]]
name = "rows"
measure = "count"
epsilon = 0.1
label = "nightly"
[[release]]
name = "repair"
measure = "repair"
epsilon = 0.2
"""

Told = list[tuple[str | None, str | None, str | None, float]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"zip": ["1", "1", "2"], "city": ["a", "b", "c"]}), tmp_path / "visits.parquet")
    Ledger.create(tmp_path / "visits.ledger", 3).close()
    return tmp_path


def told(folder: Path) -> Told:
    with Ledger.open(folder / "visits.ledger") as ledger:
        return [(debit.analyst, debit.label, debit.run_id, debit.charge) for debit in ledger.history()]


def sql(folder: Path, statement: str) -> int:
    asked = ["--constraints", "zip -> city", "--who", "ana", "--ledger", str(folder / "visits.ledger")]
    return main(["sql", str(folder / "visits.parquet"), *asked, statement])


@pytest.mark.heavy(family="long")
def test_a_job(folder: Path) -> None:
    (folder / "job.toml").write_text(JOB)
    for _ in range(2):
        assert main(["run", str(folder / "job.toml"), "--run-id", "monday"]) == 0
    assert told(folder) == [("joe", "nightly", "visits/monday/rows", 0.1), ("joe", None, "visits/monday/repair", 0.2)]
    (folder / "job.toml").write_text(JOB.replace("joe", "eve"))
    assert main(["run", str(folder / "job.toml"), "--run-id", "monday"]) == 2  # a run id is one asker's


def test_one_session_of_two_askers(folder: Path) -> None:
    with dpdb.open(folder / "visits.parquet", constraints="zip -> city", ledger=folder / "visits.ledger") as session:
        first = session.dp_count(0.1, who="ana", run_id="x")
        assert session.dp_count(0.1, who="ana", run_id="x").release_id == first.release_id
        for other in ("eve", None):
            with pytest.raises(LedgerError, match="was used under another name"):
                session.dp_count(0.1, who=other, run_id="x")
        session.dp_inconsistency("repair", 0.2, who="eve")
        with pytest.raises(ParameterError, match="who has 1 to 200 printable characters"):
            session.dp_count(0.1, who="a\nb")
    assert told(folder) == [("ana", None, "x", 0.1), ("eve", None, None, 0.2)]


def test_one_call_of_python(folder: Path) -> None:
    opened = {"constraints": "zip -> city", "ledger": folder / "visits.ledger"}
    dpdb.dp_inconsistency(folder / "visits.parquet", epsilon=0.2, who="ana", **opened)
    assert told(folder) == [("ana", None, None, 0.2)]
    with pytest.raises(ParameterError, match="no setting 'who'"):
        dpdb.open(folder / "visits.parquet", who="ana", **opened)


@pytest.mark.heavy(family="long")
def test_a_statement(folder: Path) -> None:
    assert sql(folder, "SELECT value FROM dp_count('visits', epsilon := 0.1, label := 'weekly')") == 0
    assert sql(folder, "SELECT value FROM dp_inconsistency('visits', 'all', 0.3, label := 'all of it')") == 0
    twice = "SELECT (SELECT value FROM dp_count('visits', {0})) - (SELECT value FROM dp_count('visits', {1}))"
    assert sql(folder, twice.format(*2 * ["epsilon := 0.5, label := 'one'"])) == 0
    assert told(folder) == [
        ("ana", "weekly", None, 0.1), ("ana", "all of it", None, 0.3), ("ana", "one", None, 0.5),
    ]  # fmt: skip
    before = told(folder)
    for bad in ("label := ''", "label := 3", "label := upper('x')", "label := 'a\nb'"):
        assert sql(folder, f"SELECT value FROM dp_count('visits', epsilon := 0.1, {bad})") == 2
    # One release cannot have two labels; neither is lost without a word.
    assert sql(folder, twice.format("epsilon := 0.5, label := 'one'", "epsilon := 0.5, label := 'two'")) == 2
    assert told(folder) == before


def test_a_second_label_is_refused_in_words(folder: Path) -> None:
    from dpdb.doors.sql import FrontEnd

    one, other = (f"SELECT value FROM dp_count('visits', epsilon := 0.5{more})" for more in (", label := 'one'", ""))
    with (
        dpdb.open(folder / "visits.parquet", constraints="zip -> city", budget=1) as session,
        FrontEnd(session, "visits", {}) as front_end,
        pytest.raises(StatementRefusedError, match="are one release, which has one label: not 'one' and None"),
    ):
        front_end.run(f"{one} UNION ALL {other}")


@pytest.mark.heavy(family="long")
def test_a_registered_connection(folder: Path) -> None:
    with duckdb.connect(folder / "w.duckdb") as connection:
        connection.execute(f"CREATE TABLE visits AS FROM read_parquet('{folder / 'visits.parquet'}')")
        ledger = folder / "visits.ledger"
        with dpdb.register(connection, constraints="zip -> city", ledger=ledger, who="lea") as registration:
            registration.execute("FROM dp_count('visits', epsilon := 0.1, label := 'weekly')")
            for label in ("first", "again"):  # the answer of a run keeps the label of its debit
                call = f"(dp_inconsistency('visits', epsilon := 0.2, label := '{label}', run_id := 'x')).value"
                registration.execute(f"SELECT {call}")
        assert told(folder) == [("lea", "weekly", None, 0.1), ("lea", "first", "x", 0.2)]
        with pytest.raises(ParameterError, match="who has 1 to 200 printable characters"):
            dpdb.register(connection, constraints="zip -> city", ledger=ledger, who="a\nb")

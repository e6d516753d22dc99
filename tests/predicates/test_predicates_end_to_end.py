"""Random predicates through `dp_count` and a ledger: what is spent is at least what the fullest row collects."""

from __future__ import annotations

from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest
from case_share import fifth
from charge_fuzz import Table
from text_reader import parse_where as read_as_text

import dpdb
from dpdb.database.database import Database
from dpdb.doors.sql import FrontEnd
from dpdb.errors import BudgetExceededError, ParameterError, PredicateError
from dpdb.ledger import Ledger
from dpdb.release import Session
from dpdb.release.ask import Ask
from dpdb.release.costs import Charge
from dpdb.release.parts import parse_slices

EPSILON = 50  # noise other than 0 with probability 4e-22 per answer
CALLS = 36
KINDS = [
    ["HUGEINT", "DOUBLE"],
    ["DECIMAL(38,2)"],
    ["INTERVAL", "VARCHAR"],
    ["TIMESTAMP", "DATE"],
    ["UHUGEINT"],
    ["BLOB"],
]
ROWS = pa.table({"a": [1, 1, 2, 3], "b": ["x", "y", "y", "z"]})


def asked(table: Table) -> list[dict[str, object]]:
    """Arguments of calls that are not refused."""
    calls: list[dict[str, object]] = []
    while len(calls) < CALLS:
        call: dict[str, object] = {"where": table.drawn.predicate(), "by": None, "keys": None}
        if len(calls) % 3 == 2:
            column = table.rng.choice(table.columns)
            call |= {"by": column.name, "keys": table.drawn.keys(column)}
            call["where"] = table.rng.choice([call["where"], None])
        try:
            parse_slices(table.opened, **call)  # type: ignore[arg-type]
        except (PredicateError, ParameterError):
            continue
        calls.append(call)
    return calls


@pytest.mark.parametrize("kinds", fifth(KINDS), ids="-".join)
def test_a_ledger_spends_at_least_what_the_fullest_row_collects(kinds: list[str], tmp_path: Path) -> None:
    source, ledger = tmp_path / "t.duckdb", tmp_path / "t.ledger"
    Ledger.create(ledger, EPSILON * CALLS).close()
    with Database(threads=1) as database:
        table = Table(database, Random(f"end to end/{kinds}"), kinds)
        database.write_file(source, {"rows": "SELECT * FROM raw"})
        collected = [0] * len(table.rows)
        with Session(source, ledger=ledger) as session:
            for call in asked(table):
                released = session.dp_count(EPSILON, **call)  # type: ignore[arg-type]
                parts = parse_slices(table.opened, **call).predicates  # type: ignore[arg-type]
                masks = table.selected([part.condition for part in parts if part is not None])
                answers = released if isinstance(released, tuple) else (released,)
                assert [answer.value for answer in answers] == [mask.bit_count() for mask in masks], call
                for place in range(len(collected)):
                    collected[place] += EPSILON * sum(mask >> place & 1 for mask in masks)
            assert max(collected) <= session.spent() < EPSILON * CALLS


EMPTY = ["false", "NOT true", "true AND false", "a = 1 AND a = 2", "a = NULL", "a < 1 AND a > 1", "a IN (NULL)"]


@pytest.mark.heavy
@pytest.mark.parametrize("where", EMPTY)
def test_what_selects_no_row_is_refused_by_every_call_and_costs_nothing(where: str, tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1, "zcdp").close()
    with Session(ROWS, constraints="a -> b", ledger=path) as session:
        for ask in (
            lambda: session.dp_count(0.1, where=where),
            lambda: session.dp_count(rho=0.1, where=where),
            lambda: session.dp_count(0.1, where=where, by="a", keys=[1]),
            lambda: session.dp_inconsistency("all", 0.1, where=where),
            lambda: session.dp_inconsistency("repair", 0.1, where=where, rate=True, by="b", keys=["x"]),
            lambda: session.dp_inconsistency("repair", 0.1, where=where, each_constraint=True, run_id="r"),
            lambda: session.prepare(Ask("count", 0.1, where=where)),
        ):
            with pytest.raises(PredicateError, match="selects no row"):
                ask()
        assert session.spent() == 0


def test_sql_refuses_it_too() -> None:
    with Session(ROWS, constraints="a -> b", budget=1) as session, FrontEnd(session, "t") as door:
        with pytest.raises(PredicateError, match="selects no row"):
            door.run("SELECT value FROM dp_count('t', epsilon := 0.5, where := 'false')")
        assert session.spent() == 0
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a, 'x' AS b")
        with dpdb.register(connection, constraints="a -> b", budget=1) as registered:
            with pytest.raises(PredicateError, match="selects no row"):
                registered.execute("SELECT value FROM dp_count('t', epsilon := 0.5, where_clause := 'NOT true')")
            assert registered.execute("SELECT count(*) FROM dp_count('t', epsilon := 1)").to_pylist()  # all is left


@pytest.mark.heavy
@pytest.mark.parametrize("where", ["true", "NOT false", "a = 1 OR true", "NOT (false AND a = NULL)"])
def test_what_folds_to_true_is_the_whole_table_for_engine_and_ledger(where: str, tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 4 * EPSILON).close()
    with Session(ROWS, constraints="a -> b", ledger=path) as session:
        assert session.dp_count(EPSILON, where=where).value == 4  # type: ignore[union-attr]
        assert session.dp_inconsistency("repair", EPSILON, where=where).value == 1  # type: ignore[union-attr]
        session.dp_count(EPSILON, where="a = 7")
        session.dp_count(EPSILON, where="a = 8")
        assert session.spent() == 3 * EPSILON
    with Ledger.open(path) as ledger:
        assert [entry.rows for entry in ledger.history()[:2]] == ["every row", "every row"]


def test_keys_that_the_predicate_excludes_are_answered_and_charged(tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1).close()
    with Session(ROWS, ledger=path) as session:
        for _ in range(2):  # excluded: rows with b = 'z' pay, nobody with a = 1
            session.dp_count("0.25", where="b = 'x'", by="b", keys=["z"])
        session.dp_count("0.5", where="b = 'z'")
        assert session.spent() == 1
        session.dp_count(1, where="b = 'x'")
        with pytest.raises(BudgetExceededError):
            session.dp_count("0.1", where="a = 2", by="b", keys=["y", "z"])
        session.dp_count(1, where="a = 2", by="b", keys=["y"])
        with pytest.raises(BudgetExceededError):
            session.dp_count("0.1", where="b = 'y'", by="a", keys=[2, 3])


def test_a_charge_for_no_row_cannot_be_made() -> None:
    """The last line of defence, in front of every account."""
    with pytest.raises(PredicateError, match="selects no row"):
        Charge((1,), 1, read_as_text("false"), {})

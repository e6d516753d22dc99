"""What statements spend: all or nothing, every answer once, and no answer lost."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest
from counting_noise import CountingNoise
from private_rows import RULE

import dpdb
from dpdb.doors.sql import FrontEnd
from dpdb.doors.sql.child.messages import Limits
from dpdb.errors import (
    BudgetExceededError,
    EngineError,
    LedgerError,
    ParameterError,
    PredicateError,
    SourceError,
    StatementRefusedError,
    UnknownColumnError,
)
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.release.ask import Ask


@pytest.fixture
def noise() -> Iterator[CountingNoise]:
    counting = CountingNoise()
    with replaced_noise(counting):
        yield counting


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "visits.ledger"
    Ledger.create(path, 1).close()
    return path


@pytest.mark.heavy(family="long")
def test_a_statement_over_budget_is_refused_as_a_whole(folder: Path, noise: CountingNoise) -> None:
    with (
        dpdb.open(folder / "visits.parquet", constraints=RULE, budget=1) as session,
        FrontEnd(session, "visits") as door,
    ):
        with pytest.raises(BudgetExceededError, match=r"requested epsilon 1\.2, remaining 1, short by 0\.2") as caught:
            door.run("SELECT dp_count('visits', 0.6).value, dp_inconsistency('visits', epsilon := 0.6).value")
        assert (session.spent(), noise.draws, door.kept, caught.value.exit_code) == (0, 0, (), 4)
        door.run("SELECT dp_count('visits', 0.6).value + dp_count('visits', 0.6).lower")  # one release
        assert session.spent() == 0.6


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("SELECT valu FROM dp_count('visits', epsilon := 1)", StatementRefusedError),
        ("SELECT 'x'::INT, dp_count('visits', epsilon := 1).value", StatementRefusedError),
        (
            "SELECT dp_count('visits', epsilon := 1).value, dp_count('visits', where := 'ag > 1', epsilon := 1).value",
            UnknownColumnError,
        ),
        (
            "SELECT dp_count('visits', epsilon := 1).value, dp_inconsistency('visits', 'repairs', epsilon := 1).value",
            ParameterError,
        ),
        ("SELECT dp_count('visits', epsilon := 1).value, nothing('x')", StatementRefusedError),
        ("SELECT dp_count('visits', epsilon := 1).value; SELECT", StatementRefusedError),
    ],
)
def test_a_typo_anywhere_costs_nothing(
    statement: str, error: type[dpdb.DpdbError], folder: Path, noise: CountingNoise
) -> None:
    with (
        dpdb.open(folder / "visits.parquet", constraints=RULE, budget=1) as session,
        FrontEnd(session, "visits") as door,
    ):
        with pytest.raises(error):
            door.run(statement)
        assert (session.spent(), noise.draws) == (0, 0)


@pytest.mark.heavy(family="long")
def test_an_answer_is_kept_for_the_corrected_statement(folder: Path, noise: CountingNoise) -> None:
    with (
        dpdb.open(folder / "visits.parquet", constraints=RULE, budget=2) as session,
        FrontEnd(session, "visits") as door,
    ):
        with pytest.raises(EngineError, match="Could not convert"):
            door.run("SELECT value, measure::INT FROM dp_count('visits', epsilon := 1)")
        assert (session.spent(), noise.draws, len(door.kept)) == (1, 1, 1)
        kept = door.kept[0]
        answer = door.run("SELECT release_id FROM dp_count('visits', epsilon := 1.0)").table.to_pylist()
        assert (answer, session.spent(), noise.draws, door.kept) == ([{"release_id": kept.release_id}], 1, 1, ())
        door.run("SELECT release_id FROM dp_count('visits', epsilon := 1)")  # asked again it is a new release
        assert (session.spent(), noise.draws) == (2, 2)


@pytest.mark.heavy(family="long")
def test_answers_made_before_a_failing_release_are_kept(
    folder: Path, noise: CountingNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise ValueError("canary_heron")

    with dpdb.open(folder / "visits.parquet", constraints=RULE) as session, FrontEnd(session, "visits") as door:
        with monkeypatch.context() as patch:
            patch.setattr("dpdb.release.measure_part.MeasurePart.answers", broken)
            with pytest.raises(EngineError, match="after its budget was debited") as caught:
                door.run(
                    "SELECT c.value, r.value FROM dp_count('visits', 1) c, dp_inconsistency('visits', epsilon := 1) r"
                )
        assert "canary" not in str(caught.value)
        assert [release.measure for release in door.kept] == ["count"]


# -- ledgers --------------------------------------------------------------------------------------------------

DISJOINT = (
    "SELECT a.value + b.value AS n FROM dp_count('visits', 1, 'age < 30') a, dp_count('visits', 1, 'age >= 30') b"
)
TOGETHER = "SELECT a.value + b.value AS n FROM dp_count('visits', 0.6) a, dp_count('visits', 0.6, 'age >= 30') b"


@pytest.mark.heavy(family="spending")
def test_disjoint_slices_of_one_statement_are_charged_once(folder: Path, ledger: Path, noise: CountingNoise) -> None:
    with (
        dpdb.open(folder / "visits.parquet", constraints=RULE, ledger=ledger) as session,
        FrontEnd(session, "visits") as door,
    ):
        with pytest.raises(BudgetExceededError, match=r"release 2 of 2 requests epsilon 0\.6.*nothing was spent"):
            door.run(TOGETHER)
        assert (session.spent(), noise.draws) == (0, 0)
        assert door.run(DISJOINT).table.to_pylist() == [{"n": 6.0}]
        assert (session.spent(), session.remaining()) == (1.0, 0.0)
        with pytest.raises(BudgetExceededError, match=r"requested epsilon 0\.1, remaining 0"):
            door.run("SELECT dp_count('visits', 0.1).value")


@pytest.mark.heavy(family="long")
def test_a_run_id_gives_the_recorded_answer(folder: Path, ledger: Path, noise: CountingNoise) -> None:
    asked = "SELECT release_id, value FROM dp_count('visits', 0.7, run_id := 'monday')"
    answers = []
    for _ in range(2):
        with (
            dpdb.open(folder / "visits.parquet", constraints=RULE, ledger=ledger) as session,
            FrontEnd(session, "visits") as door,
        ):
            answers.append(door.run(asked).table.to_pylist())
            assert (session.spent(), noise.draws) == (0.7, 1)
            with pytest.raises(StatementRefusedError, match="names two different releases"):
                door.run(
                    "SELECT dp_count('visits', 0.1, run_id := 'x').value, dp_count('visits', 0.2, run_id := 'x').value"
                )
            with pytest.raises(LedgerError, match="another request"):
                door.run("SELECT dp_count('visits', 0.2, run_id := 'monday').value")
            assert (session.spent(), noise.draws) == (0.7, 1)
    assert answers[0] == answers[1]


# -- the session's part ---------------------------------------------------------------------------------------


def test_preparing_checks_everything_and_spends_and_reads_nothing(
    folder: Path, noise: CountingNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*args: object, **kwargs: object) -> None:
        raise AssertionError("prepare must not read the table")

    with dpdb.open(folder / "visits.parquet", constraints=RULE, budget=1) as session:
        monkeypatch.setattr("dpdb.engine.table.LocalSlice", read)
        monkeypatch.setattr("dpdb.engine.sql.input_rows.count_rows", read)
        charge = session.prepare(Ask("all", 0.75, where="age > 30")).charge
        assert (charge.epsilon, session.spent(), noise.draws) == (750_000_000, 0, 0)
        with pytest.raises(PredicateError):
            session.prepare(Ask("count", where="error(note)", epsilon=1))
        session.check_together([charge])
        with pytest.raises(BudgetExceededError):
            session.check_together([charge, charge])
        assert session.remaining() == 1


# -- public tables and results ---------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_public_tables_are_checked_when_the_front_end_opens(folder: Path, session: dpdb.Session) -> None:
    with pytest.raises(ParameterError, match="the private table's name"):
        FrontEnd(session, "visits", {"VISITS": folder / "states.csv"})
    with pytest.raises(ParameterError, match="same name"):
        FrontEnd(session, "visits", {"a": folder / "states.csv", "A": folder / "states.csv"})
    with pytest.raises(SourceError, match="no such file"):
        FrontEnd(session, "visits", {"a": folder / "nothing.csv"})
    with pytest.raises(SourceError, match="Parquet or CSV"):
        FrontEnd(session, "visits", {"a": folder / "visits.duckdb"})


MANY = "(VALUES " + ", ".join(["(1)"] * 100) + ")"


@pytest.mark.heavy(family="long")
def test_a_result_that_is_too_large_keeps_the_answer(
    folder: Path, noise: CountingNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpdb.doors.sql.front_end.Limits", functools.partial(Limits, rows=20))
    with dpdb.open(folder / "visits.parquet", constraints=RULE) as session, FrontEnd(session, "visits") as door:
        with pytest.raises(StatementRefusedError, match="more than 20 rows; nothing was spent"):
            door.run(f"SELECT x FROM {MANY} t(x), (SELECT dp_count('visits', epsilon := 1).value)")
        with pytest.raises(EngineError, match="more than 20 rows"):
            door.run(f"SELECT x FROM {MANY} t(x), dp_count('visits', epsilon := 1)")
        assert (session.spent(), len(door.kept)) == (1, 1)
        assert door.run("SELECT value FROM dp_count('visits', epsilon := 1)").table.to_pylist() == [{"value": 6.0}]
        assert (session.spent(), noise.draws, door.kept) == (1, 1, ())

"""Sessions and commands that spend from a ledger: debit, draw, record, publish, in this order, for every door."""

from __future__ import annotations

import json
import os
import signal
from datetime import date, datetime
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_share import fifth, of_all
from fork_server import ForkServer
from stub_noise import StubNoise
from text_reader import parse_where as covered_rows

import dpdb
from dpdb.database.database import Database
from dpdb.doors.cli import main
from dpdb.engine.sql.where import parse_where
from dpdb.errors import BudgetExceededError, DpdbError, EngineError, LedgerError, ParameterError, SourceError
from dpdb.ledger import Ledger
from dpdb.predicates import covered
from dpdb.privacy import ZCDP
from dpdb.privacy.noise import replaced_noise
from dpdb.sources.open import open_source

TABLE = pa.table(
    {"zip": ["1", "1", "1", "2", "2"], "city": ["alice", "bob", "bob", "carol", "dave"], "age": [1, 2, 3, 4, 5]}
)
FD = "zip -> city"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    return path


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1).close()
    return path


def test_disjoint_slices_are_charged_once_and_sessions_add_up(source: Path, ledger: Path) -> None:
    for where in ("age < 3", "age >= 3", "age IS NULL"):
        with dpdb.open(source, constraints=FD, ledger=ledger) as session:
            session.dp_inconsistency("repair", 0.6, where=where)
            assert (session.spent(), session.remaining()) == (0.6, 0.4)
    with dpdb.open(source, constraints=FD, ledger=ledger) as session:
        session.dp_inconsistency("all", 0.4)
        assert (session.spent(), session.remaining()) == (1.0, 0.0)
        assert "ledger" in repr(session)


def test_a_refusal_draws_and_spends_nothing(source: Path, ledger: Path) -> None:
    noise = StubNoise()
    with replaced_noise(noise), dpdb.open(source, constraints=FD, ledger=ledger) as session:
        session.dp_inconsistency("repair", 0.7, where="zip = '1'")
        draws = noise.draws
        with pytest.raises(BudgetExceededError, match=r"requested epsilon 0\.4, remaining 0\.3 .*zip = '1'") as caught:
            session.dp_inconsistency("repair", 0.4, where="age < 4")
        assert (noise.draws, session.spent(), caught.value.remaining) == (draws, 0.7, 0.3)


def test_the_smaller_of_budget_and_ledger_holds(source: Path, ledger: Path) -> None:
    with dpdb.open(source, constraints=FD, ledger=ledger, budget=0.3) as session:
        with pytest.raises(BudgetExceededError, match=r"remaining 0\.3"):
            session.dp_inconsistency("repair", 0.5)
        assert (session.spent(), session.remaining()) == (0.0, 0.3)
        session.dp_inconsistency("repair", 0.2, run_id="x")
        session.dp_inconsistency("repair", 0.2, run_id="x")  # given back: costs the session nothing either
        assert session.remaining() == pytest.approx(0.1)
    with dpdb.open(source, constraints=FD, ledger=ledger, budget=5) as session:
        with pytest.raises(BudgetExceededError, match="by the ledger"):
            session.dp_inconsistency("repair", 0.9)
        assert session.remaining() == 0.8


@pytest.mark.parametrize("measure", ["repair", "all"])
def test_a_run_id_publishes_one_answer_for_one_debit(measure: str, source: Path, ledger: Path) -> None:
    answers = []
    for _ in range(2):
        with dpdb.open(source, constraints=FD, ledger=ledger) as session:
            answers.append(session.dp_inconsistency(measure, 0.5, where="age < 9", run_id="monday"))  # type: ignore[call-overload]
            assert session.spent() == 0.5
    assert answers[0] == answers[1]
    with (
        dpdb.open(source, constraints=FD, ledger=ledger) as session,
        pytest.raises(LedgerError, match="another request"),
    ):
        session.dp_inconsistency("problematic", 0.5, run_id="monday")


def test_a_run_id_needs_a_ledger() -> None:
    with dpdb.open(TABLE, constraints=FD) as session, pytest.raises(ParameterError, match="run_id needs a ledger"):
        session.dp_inconsistency(run_id="x", epsilon=1)


def test_a_failed_run_may_be_tried_again(source: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise ValueError("alice")

    with dpdb.open(source, constraints=FD, ledger=ledger) as session:
        with monkeypatch.context() as patched:
            patched.setattr("dpdb.release.measure_part.MeasurePart.answers", broken)
            with pytest.raises(EngineError, match="after its budget was debited"):
                session.dp_inconsistency("repair", 0.5, run_id="x")
        assert session.spent() == 0.5
        session.dp_inconsistency("repair", 0.5, run_id="x")
        assert session.spent() == 0.5


def test_the_debit_is_on_disk_before_noise_is_drawn_and_the_answer_before_it_is_published(
    source: Path, ledger: Path
) -> None:
    seen = []

    def look() -> None:
        with Ledger.open(ledger) as other:
            seen.append([line.answered for line in other.history()])

    with replaced_noise(StubNoise(look)), dpdb.open(source, constraints=FD, ledger=ledger) as session:
        session.dp_inconsistency("repair", 0.5)
    assert seen == [[False]]
    look()
    assert seen[-1] == [True]


def test_an_answer_that_cannot_be_recorded_is_not_published(
    source: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(Ledger, "record", full)
    with (
        dpdb.open(source, constraints=FD, ledger=ledger) as session,
        pytest.raises(LedgerError, match="the disk is full"),
    ):
        session.dp_inconsistency("repair", 0.5)


# -- the table and its rows -----------------------------------------------------------------------------------


def test_a_ledger_of_another_table_is_refused_at_once(source: Path, ledger: Path, tmp_path: Path) -> None:
    with dpdb.open(source, constraints=FD, ledger=ledger) as session:
        session.dp_inconsistency("repair", 0.1)
    other = tmp_path / "other.parquet"
    pq.write_table(TABLE.rename_columns(["zip", "city", "years"]), other)
    with pytest.raises(LedgerError, match="another table"):
        dpdb.open(other, constraints=FD, ledger=ledger)
    with pytest.raises(LedgerError, match="rows per person"):
        dpdb.open(source, constraints=FD, ledger=ledger, rows_per_person=2)


def test_a_changed_file_needs_an_epoch(source: Path, ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with dpdb.open(source, constraints=FD, ledger=ledger) as session:
        session.dp_inconsistency("repair", 0.4)
        pq.write_table(TABLE.slice(1), source)
        with pytest.raises(SourceError, match="changed after this session opened it"):
            session.dp_inconsistency("repair", 0.1)
    with (
        dpdb.open(source, constraints=FD, ledger=ledger) as session,
        pytest.raises(LedgerError, match="dpdb budget epoch"),
    ):
        session.dp_inconsistency("repair", 0.1)
    assert main(["budget", "epoch", str(ledger), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["epoch"] == 2
    with dpdb.open(source, constraints=FD, ledger=ledger) as session:
        session.dp_inconsistency("repair", 0.4)
        assert session.spent() == 0.8


def test_a_file_that_changes_while_it_is_read_publishes_nothing(source: Path, ledger: Path) -> None:
    with (
        replaced_noise(StubNoise(lambda: pq.write_table(TABLE.slice(1), source))),
        dpdb.open(source, constraints=FD, ledger=ledger) as session,
    ):
        with pytest.raises(EngineError, match="after its budget was debited"):
            session.dp_inconsistency("repair", 0.4)
        assert session.spent() == 0.4


def test_an_append_only_ledger_accepts_a_changed_file(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    Ledger.create(path, 1, append_only=True).close()
    for rows in (TABLE, pa.concat_tables([TABLE, TABLE])):
        pq.write_table(rows, source)
        with dpdb.open(source, constraints=FD, ledger=path) as session:
            session.dp_inconsistency("repair", 0.4)
    with Ledger.open(path) as ledger:
        assert (ledger.summary().spent, ledger.summary().epoch) == (0.8, 1)


def test_rows_in_memory_are_known_by_their_digest(ledger: Path) -> None:
    for rows in (TABLE, TABLE.take([4, 2, 0, 1, 3])):  # their order is no change
        with dpdb.open(rows, constraints=FD, ledger=ledger) as session:
            session.dp_inconsistency("repair", 0.1)
    for rows in (
        TABLE.slice(1),
        pa.concat_tables([TABLE, TABLE]),
        TABLE.set_column(2, "age", pa.array([1, 2, 3, 4, 6])),
    ):
        with dpdb.open(rows, constraints=FD, ledger=ledger) as session:
            with pytest.raises(LedgerError, match="has changed"):
                session.dp_inconsistency("repair", 0.1)
            assert session.spent() == 0.2


def test_a_refused_ledger_leaves_nothing_open(source: Path, ledger: Path, tmp_path: Path) -> None:
    os.truncate(ledger, 4096)
    with pytest.raises(LedgerError):
        dpdb.open(source, constraints=FD, ledger=ledger, temp_directory=tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("dpdb-")]


# -- other notions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 3])
def test_a_zcdp_ledger_charges_half_the_square(rows: int, source: Path, tmp_path: Path) -> None:
    path = tmp_path / "z.ledger"
    Ledger.create(path, notion="zcdp", epsilon=3, delta=1e-6).close()
    with dpdb.open(source, constraints=FD, ledger=path, rows_per_person=rows) as session:
        session.dp_inconsistency("repair", 0.2)
        assert session.spent() * ZCDP.unit == pytest.approx(ZCDP.charge_pure("0.2"), abs=9)
        assert session.remaining() > 0.1


def test_a_gdp_ledger_charges_rows_of_a_person_at_least_as_much(source: Path, tmp_path: Path) -> None:
    spent = []
    for rows in (1, 3):
        path = tmp_path / f"{rows}.ledger"
        Ledger.create(path, 2, "gdp").close()
        with dpdb.open(source, constraints=FD, ledger=path, rows_per_person=rows) as session:
            session.dp_inconsistency("repair", 1)
            spent.append(session.spent())
    assert spent[1] >= spent[0] > 0.9


# -- coverage -------------------------------------------------------------------------------------------------

_COLUMNS = {
    "i": pa.array([None, -1, 0, 1, 2, 10], pa.int64()),
    "f": pa.array([None, float("nan"), -0.0, 0.1, 1.0, float("inf")], pa.float32()),
    "d": pa.array([None, float("nan"), -0.0, 0.1, 1.0, 1e300], pa.float64()),
    "t": pa.array([None, "", "1", "1.0", "CA", "ca"], pa.string()),
    "b": pa.array([None, True, False, True, False, True], pa.bool_()),
    "day": pa.array([None, 0, 1, 365, 18262, 20000], pa.date32()),
    "when": pa.array([None, 0, 1, 86_400_000_000, 10**15, 10**15 + 1], pa.timestamp("us")),
    "e": pa.array([None, "x", "y", "x", "z", "y"], pa.dictionary(pa.int8(), pa.string())),
}
_LITERALS = ["0", "1", "-1", "0.1", "1.5", "''", "'1'", "'CA'", "'x'", "true", "'1970-01-02'", "DATE '2020-01-01'",
             "'0'", "'-1'", "'1.5'"]  # fmt: skip


def _as_key(value: object) -> object:
    """Moments as the accountant names them."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}"
    return value.isoformat() if isinstance(value, date) else value


_FORMS = ("{} = {}", "{} <> {}", "{} < {}", "{} >= {}", "NOT ({} > {})", "{} IN (NULL, {})", "{} LIKE {}")


def test_every_row_that_a_slice_selects_is_covered_by_its_charge() -> None:
    """A row that the engine takes is charged, by the tree that it takes it by and by the reader of texts."""
    checked = 0
    with Database() as database:
        opened = open_source(database, pa.table(_COLUMNS))
        types = {column.name: column.type or column.declared_type for column in opened.schema.columns}
        for name, literal, form in fifth([*product(_COLUMNS, _LITERALS, _FORMS)]):
            where = form.format(name, literal)
            try:
                predicate = parse_where(database, where, opened.schema)
            except DpdbError:
                continue
            readers = (covered(predicate.tree), covered_rows(predicate.text, types))
            condition = predicate.condition.sql("duckdb")
            selected = database.rows(f"SELECT {name} FROM source_row WHERE {condition}")
            for (value,) in selected:
                assert all(reader.covers({name: _as_key(value)}) for reader in readers), (where, value)
                checked += 1
    assert checked > of_all(500)


# -- commands -------------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="spending")
def test_the_commands_of_a_ledger(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "c.ledger")
    measure = ["measure", str(source), "--constraints", FD, "--measure", "repair", "--ledger", path]
    assert main(["budget", "create", path, "--epsilon", "1"]) == 0
    assert "remaining  epsilon 1 for a release" in capsys.readouterr().out
    outputs = []
    for _ in range(2):
        assert main([*measure, "--epsilon", "0.75", "--run-id", "monday", "--format", "json"]) == 0
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0] == outputs[1]
    assert main([*measure, "--epsilon", "0.5"]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "requested epsilon 0.5, remaining 0.25 for these rows; decided by every row" in err
    assert main(["budget", "show", path]) == 0
    shown = capsys.readouterr().out
    assert "spent      epsilon 0.75 by 1 releases" in shown
    assert "remaining  epsilon 0.25" in shown
    assert main(["budget", "show", path, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["remaining"] == 0.25
    assert main(["budget", "history", path]) == 0
    shown = capsys.readouterr().out
    assert "epsilon 0.75  repair of every row, run id monday, rules " in shown
    assert "(answered)\n    repair = " in shown
    assert main(["budget", "history", path, "--format", "json"]) == 0
    [line] = json.loads(capsys.readouterr().out)["releases"]
    assert (line["run_id"], line["answered"], line["request"]["epsilon"]) == ("monday", True, "0.75")
    assert main(["budget", "create", path, "--epsilon", "1"]) == 2
    assert "not overwritten" in capsys.readouterr().err


def test_a_zcdp_ledger_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "z.ledger")
    create = ["budget", "create", path, "--epsilon", "1", "--notion", "zcdp", "--append-only"]
    assert main(create) == 2
    assert "needs a delta" in capsys.readouterr().err
    assert main([*create, "--delta", "1e-6"]) == 0
    assert "budget     rho 0.0" in capsys.readouterr().out
    assert main(["budget", "history", path]) == 0
    assert capsys.readouterr().out == "no releases yet\n"


KILLED = ForkServer(Path(__file__).parent / "killed_release.py", "dpdb.release.session", "opendp.measurements")


@pytest.mark.heavy
@pytest.mark.parametrize("step", ["inserted", "reserved", "drawn", "written", "recorded"])
def test_a_killed_release_is_finished_by_its_run_id(step: str, source: Path, ledger: Path) -> None:
    # A killed process leaves its temporary directory.
    arguments = [step, str(source), str(ledger), "x"]
    killed = KILLED.run(arguments, source.parent, os.environ | {"TMPDIR": str(source.parent)})
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "")
    with dpdb.open(source, constraints=FD, ledger=ledger) as session:
        assert session.spent() == (0.0 if step == "inserted" else 0.2)
        first = session.dp_inconsistency("repair", 0.2, run_id="x")
        assert session.dp_inconsistency("repair", 0.2, run_id="x") == first
        assert session.spent() == 0.2

"""Ledgers that earlier versions wrote: nothing of them is lost, whatever interrupts their upgrade."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import dpdb
from dpdb.errors import LedgerError
from dpdb.ledger import Ledger
from dpdb.ledger.store import upgrade as ledger_upgrade
from dpdb.ledger.store.head import LedgerHead

HERE = Path(__file__).parent
OLD = HERE / "ledgers"
NAMES = ["format-1", "format-2", "format-2-unit", "format-2-zcdp", "format-3"]
sys.path.insert(0, str(OLD))

import make_ledgers  # noqa: E402


@pytest.fixture
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of an old ledger with its head."""
    return copied(request.param, tmp_path)


def copied(name: str, folder: Path) -> Path:
    path = folder / "t.ledger"
    for suffix in ("", "-head"):
        if (OLD / f"{name}.ledger{suffix}").exists():
            place(OLD / f"{name}.ledger{suffix}", f"{path}{suffix}")
    return path


def place(file: Path, where: str | Path) -> None:
    """Copy a file with the mode of a ledger's; a clone has its own."""
    shutil.copyfile(file, where)
    Path(where).chmod(0o600)


def said_of(name: str) -> dict[str, Any]:
    """What the version that wrote a ledger said of it."""
    said: dict[str, Any] = json.loads((OLD / f"{name}.json").read_text())
    return said


def check(path: Path, name: str) -> None:
    """The ledger says today what it said then, and gives back every answer."""
    said = said_of(name)
    with Ledger.open(path) as ledger:
        summary, history = asdict(ledger.summary()), [asdict(entry) for entry in ledger.history()]
        # Conversions to (epsilon, delta) are rounded to the safe side now.
        promised = {key: pytest.approx(said["summary"][key], rel=1e-12) for key in ("epsilon", "delta")}
        assert summary == summary | said["summary"] | promised
        assert [new | was for new, was in zip(history, said["history"], strict=True)] == history
        recorded = {str(found.number): found.answer for found in ledger.answers()}
        assert recorded == said["answers"]
        for entry in said["history"]:
            if entry["run_id"] is not None:
                request = said["requests"][str(entry["number"])]
                assert ledger.answered(entry["run_id"], request) == recorded.get(str(entry["number"]))
        assert ledger.summary().spent == said["summary"]["spent"]
    assert user_version(path) == 3


def user_version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def drive(*arguments: object) -> Any:
    command = [sys.executable, str(HERE / "ledger_driver.py"), *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_an_old_ledger_says_what_it_said_and_goes_on(name: str, tmp_path: Path) -> None:
    path = copied(name, tmp_path)
    for _ in range(2):
        check(path, name)
    head = path.with_name("t.ledger-head")
    assert head.exists() == (OLD / f"{name}.ledger-head").exists()
    assert not head.exists() or json.loads(head.read_text().split("\n")[0])["format"] == 3
    said = said_of(name)["summary"]
    options = {"unit": said["unit"], "max_rows": said["rows_per_person"]} if said.get("unit") else {}
    with Ledger.open(path) as ledger:
        ledger.open_epoch()
    with dpdb.open(make_ledgers.CHANGED, constraints=make_ledgers.FD, ledger=path, **options) as session:
        session.dp_count(0.01, run_id="today")
        assert session.spent() > said["spent"]
    with Ledger.open(path) as ledger:
        assert ledger.summary().releases == said["releases"] + 1


@pytest.mark.parametrize("name", NAMES[1:])
def test_earlier_runs_are_recognised_by_the_same_calls(name: str, tmp_path: Path) -> None:
    """The request of a call of one draw is the same text as then, so a run that is asked for again spends nothing.

    The mechanism is part of a request: where the default is another now, the call has to name the old one.
    """
    path, said = copied(name, tmp_path), said_of(name)
    answers = {
        entry["run_id"]: json.loads(said["answers"][str(entry["number"])])
        for entry in said["history"]
        if entry["answered"] and entry["run_id"]
    }
    options = {"unit": "zip", "max_rows": 2} if name == "format-2-unit" else {}
    default = None if name == "format-3" else "marginal"
    with Ledger.open(path) as ledger:
        ledger.open_epoch()  # the rows may have another digest today
        spent = ledger.spent_units()
    with dpdb.open(make_ledgers.TABLE, constraints=make_ledgers.FD, ledger=path, **options) as session:
        again = {
            "monday": [session.dp_inconsistency("repair", 0.25, run_id="monday")],
            "second epoch": [session.dp_count(0.3, where="city = 'bob'", run_id="second epoch")],
        }
        slices: dict[str, Any] = {"by": "zip", "keys": ["1", "2"], "where": "age < 5", "mechanism": default}
        each: dict[str, Any] = {"rate": True, "each_constraint": True}
        for measure, epsilon, run, more in (("problematic", 0.5, "by zip", slices), ("repair", 0.125, "rates", each)):
            with pytest.raises(LedgerError, match="used for another request"):  # which names its parts now
                session.dp_inconsistency(measure, epsilon, run_id=run, **more)
        if name == "format-3":
            again["at a theta"] = [
                session.dp_inconsistency("minimal_inconsistency", 0.125, theta=2, run_id="at a theta")
            ]
        if name == "format-2-zcdp":
            again["gaussian"] = [session.dp_count(rho=0.01, where="age IN (1, 2)", run_id="gaussian")]
            session.dp_count(0.2, where="age >= 3", run_id="killed")  # append-only: it may draw now, for its old debit
        else:
            with pytest.raises(LedgerError, match="ended without an answer before the source changed"):
                session.dp_count(0.2, where="age >= 3", run_id="killed")
    # What that version knew; fields that came later are null.
    given = {
        run: [{name: value for name, value in release.to_dict().items() if value is not None} for release in found]
        for run, found in again.items()
    }
    assert given == {
        run: [{name: value for name, value in release.items() if value is not None} for release in found]
        for run, found in answers.items()
        if run not in ("by zip", "rates", "all")
    }
    with Ledger.open(path) as ledger:
        assert ledger.spent_units() == spent


@pytest.mark.parametrize("name", ["format-1", "format-2"])
@pytest.mark.parametrize("moments", [0, pytest.param(200, marks=pytest.mark.slow)])
def test_an_upgrade_killed_at_any_step_loses_nothing(name: str, moments: int, tmp_path: Path) -> None:
    told = drive("upgrades", OLD / f"{name}.ledger", tmp_path, moments)
    for left in told:
        if left["step"] is not None:
            assert left["code"] == -9
            assert left["format"] == (3 if left["step"] == "upgraded" else int(name[-1])), left
        path = Path(left["ledger"])
        check(path, name)
        beside = {entry.name for entry in path.parent.iterdir()}
        assert beside <= {"t.ledger", "t.ledger-head", f"t.ledger.{name}"}, left
        assert f"t.ledger.{name}" in beside
    print(
        f"{sum(left['code'] == -9 for left in told)} kills, {sum(left['format'] == 3 for left in told)} upgraded then"
    )


def test_processes_that_open_an_old_ledger_at_once_upgrade_it_once(tmp_path: Path) -> None:
    path = copied("format-2", tmp_path)
    done = drive("together", path, 6)
    assert done["codes"] == [0] * 6
    assert set(done["spent"]) == {str(round(said_of("format-2")["summary"]["spent"] * 10**9))}
    check(path, "format-2")


def test_the_copy_is_the_old_ledger_and_opens_as_none(tmp_path: Path) -> None:
    path = copied("format-2", tmp_path)
    whole = path.read_bytes()
    Ledger.open(path).close()
    copy = tmp_path / "t.ledger.format-2"
    assert copy.stat().st_mode & 0o777 == 0o600
    with pytest.raises(LedgerError, match="the copy that an upgrade left"):
        Ledger.open(copy)
    with closing(sqlite3.connect(copy)) as left, closing(sqlite3.connect(OLD / "format-2.ledger")) as was:
        assert list(left.iterdump()) == list(was.iterdump())
        assert left.execute("PRAGMA application_id").fetchone() != was.execute("PRAGMA application_id").fetchone()
    change(copy, f"PRAGMA application_id = {ledger_upgrade.COPY_ID - 0x63 + 0x67}")  # by hand, it is the old ledger
    assert user_version(copy) == 2
    assert (OLD / "format-2.ledger").read_bytes() == whole


@pytest.mark.parametrize("put", ["file", "link", "folder"])
def test_a_file_in_the_way_of_the_copy_stops_the_upgrade(put: str, tmp_path: Path) -> None:
    path = copied("format-2", tmp_path)
    victim, way = tmp_path / "victim", tmp_path / "t.ledger.format-2"
    victim.write_text("precious")
    if put == "folder":
        way.mkdir()
    elif put == "link":
        way.symlink_to(victim)
    else:
        way.write_text("precious, too")
        way.chmod(0o600)
    for _ in range(2):
        with pytest.raises(
            LedgerError, match=r"t\.ledger\.format-2: the copy that an upgrade leaves cannot be written"
        ):
            Ledger.open(path)
    assert user_version(path) == 2
    assert victim.read_text() == "precious"
    assert put != "file" or way.read_text() == "precious, too"
    way.rmdir() if put == "folder" else way.unlink()
    check(path, "format-2")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET charge = 0 WHERE number = 3",
        "DELETE FROM entry WHERE number = 3",
        "DELETE FROM entry WHERE number = 1",
        "UPDATE entry SET run_id = 'z' WHERE number = 1",
        "UPDATE terms SET budget = budget * 2",
        "UPDATE terms SET unit = 'zip'",
        "UPDATE epoch SET closed_overlap = 0 WHERE number = 1",
        "DELETE FROM epoch WHERE number = 2",
        "DELETE FROM terms",
        "ALTER TABLE entry DROP COLUMN upper",
        "UPDATE entry SET answer = NULL WHERE number = 7",
        "DELETE FROM entry WHERE number = 7",
    ],
)
def test_a_damaged_old_ledger_is_refused_and_left_as_it_is(statement: str, tmp_path: Path) -> None:
    path = copied("format-2", tmp_path)
    change(path, statement)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"damaged|lost its newest|cannot be used"):
        Ledger.open(path)
    assert path.read_bytes() == before
    assert {entry.name for entry in tmp_path.iterdir()} == {"t.ledger", "t.ledger-head"}


def test_a_full_disk_leaves_the_old_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = copied("format-2", tmp_path)
    before = path.read_bytes()
    real = ledger_upgrade._seal_entries

    def full(file: Any, key: bytes) -> list[bytes]:
        file.rows("PRAGMA max_page_count = 1")  # SQLite's own limit gives the same error
        return real(file, key)

    with monkeypatch.context() as patched:
        patched.setattr(ledger_upgrade, "_seal_entries", full)
        with pytest.raises(LedgerError, match="the disk is full; nothing was released"):
            Ledger.open(path)
    assert path.read_bytes() == before
    check(path, "format-2")


# -- the head ---------------------------------------------------------------------------------------------------


def interrupted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upgrade a ledger and end as a crash before the head is moved would."""

    def crash(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(LedgerHead, "write", crash)
        with pytest.raises(KeyboardInterrupt):
            Ledger.open(path)
    assert user_version(path) == 3


def test_an_old_head_is_accepted_until_the_newest_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = copied("format-2", tmp_path)
    head = tmp_path / "t.ledger-head"
    old = head.read_bytes()
    interrupted(path, monkeypatch)
    assert head.read_bytes() == old
    check(path, "format-2")  # moves it
    assert head.read_bytes() != old
    head.write_bytes(old)
    check(path, "format-2")  # nothing was added since the upgrade: the old head says all there is
    with Ledger.open(path) as ledger:
        ledger.open_epoch()
    with dpdb.open(make_ledgers.TABLE, constraints=make_ledgers.FD, ledger=path) as session:
        session.dp_count(0.01)
    head.write_bytes(old)
    with pytest.raises(LedgerError, match="head that the ledger had before its upgrade was put back"):
        Ledger.open(path)


def test_an_upgraded_ledger_cut_back_behind_its_old_head_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copied("format-2", tmp_path)
    interrupted(path, monkeypatch)
    change(path, "DELETE FROM answer WHERE sequence = (SELECT max(sequence) FROM answer)")
    with pytest.raises(LedgerError, match=r"put back|lost"):
        Ledger.open(path)


def test_an_old_ledger_put_back_beside_the_newest_head_is_noticed(tmp_path: Path) -> None:
    path = copied("format-2", tmp_path)
    Ledger.open(path).close()
    place(OLD / "format-2.ledger", path)
    with pytest.raises(LedgerError, match="lost its newest releases"):
        Ledger.open(path)
    assert user_version(path) == 2


def test_the_head_of_another_ledger_stops_the_upgrade(tmp_path: Path) -> None:
    path = copied("format-2", tmp_path)
    place(OLD / "format-2-unit.ledger-head", tmp_path / "t.ledger-head")
    with pytest.raises(LedgerError, match="not the head of this ledger"):
        Ledger.open(path)
    assert user_version(path) == 2


# -- other versions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO analyst VALUES (1, 'now', 'ann', 'analyst', 5, 1, NULL, NULL, NULL, NULL, zeroblob(32))",
        "INSERT INTO standing VALUES (1, 1, 'alarm', '{}', 'secret', '{}', NULL, zeroblob(32))",
        "INSERT INTO standing_answer VALUES (1, 1, 'x', '{}', 'now', '{}', zeroblob(32))",
    ],
)
def test_what_only_a_newer_version_understands_is_refused(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    with Ledger.create(path, 1) as ledger:
        change(path, statement)
        with pytest.raises(LedgerError, match="only a newer version of dpdb understands; nothing was released"):
            ledger.summary()
    with pytest.raises(LedgerError, match="only a newer version of dpdb understands; nothing was released"):
        Ledger.open(path)


@pytest.mark.parametrize("version", [0, 4, -1])
def test_a_format_that_is_not_known_is_refused(version: int, tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1).close()
    change(path, f"PRAGMA user_version = {version}")
    with pytest.raises(LedgerError, match=f"ledger of format {version}; this version of dpdb reads formats 1 to 3"):
        Ledger.open(path)


def test_secrets_leave_no_trace_in_the_file(tmp_path: Path) -> None:
    """As an alarm will: overwrite, then truncate the log."""
    path = tmp_path / "t.ledger"
    with Ledger.create(path, 1) as ledger:
        file = ledger._file
        secret = "rho = 12345678901234567890 " * 400
        file.change("INSERT INTO standing VALUES (1, 1, 'alarm', '{}', ?, '{}', NULL, zeroblob(32))", (secret,))
        file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        assert secret[:1000].encode() in path.read_bytes()
        file.change("UPDATE standing SET secret = NULL, closed = 'now'")
        file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        assert secret[:20].encode() not in path.read_bytes()

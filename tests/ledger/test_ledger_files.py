"""A ledger that cannot be used says so before anything is spent or released."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from inside import file_of
from text_reader import parse_where

from dpdb.errors import LedgerError
from dpdb.ledger import Ledger, SourceMark

SOURCE = SourceMark("table", "content")


def spend(ledger: Ledger, request: str = "{}") -> None:
    ledger.record(ledger.reserve(parse_where("a = 1"), 10**6, source=SOURCE, request=request), "[1]")


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A ledger with thirty answered releases, closed."""
    path = tmp_path / "t.ledger"
    with Ledger.create(path, 1) as ledger:
        for _ in range(30):
            spend(ledger)
    return path


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, 400 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_missing_ledger_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no ledger there; make one with `dpdb budget create`"):
        Ledger.open(tmp_path / "t.ledger")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_replaced(used: Path) -> None:
    before = used.read_bytes()
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(used, 1)
    assert used.read_bytes() == before
    assert sorted(path.name for path in used.parent.iterdir()) == ["t.ledger", "t.ledger-head"]


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be made: No such file"):
        Ledger.create(tmp_path / "nowhere" / "t.ledger", 1)


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    path.write_text("not a database, but long enough to be taken for one" * 100)
    path.chmod(0o600)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.open(path)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    path.chmod(0o600)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.open(path)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.open(tmp_path)


class _WithoutLog(sqlite3.Connection):
    """A connection on a disk that fails while the write-ahead log is turned on: SQLite says so by the old mode only."""

    def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
        return super().execute(sql.replace("journal_mode = WAL", "journal_mode"), *values)  # type: ignore[arg-type]


def test_a_ledger_without_a_write_ahead_log_is_never_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by the simulation: without its log, a commit is not waited for, and a debit was lost with the power."""
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *path, **how: connect(*path, factory=_WithoutLog, **how))
    with pytest.raises(LedgerError, match="the ledger cannot be made: Input/output error"):
        Ledger.create(tmp_path / "t.ledger", 1)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_whose_write_ahead_log_was_turned_off_is_not_opened(used: Path) -> None:
    with contextlib.closing(sqlite3.connect(used)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    with pytest.raises(LedgerError, match="the ledger is damaged"):
        Ledger.open(used)


def test_a_ledger_that_others_may_read(used: Path) -> None:
    used.chmod(0o640)
    with pytest.raises(LedgerError, match="chmod 600"):
        Ledger.open(used)


@pytest.mark.heavy
@pytest.mark.parametrize("version", [-1, 0, 1, 2, 3, 5, 99])
def test_a_ledger_of_another_format_is_refused_in_words(version: int, used: Path) -> None:
    connection = sqlite3.connect(used)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(
        LedgerError, match=f"format {version}, and this version of dpdb reads format 4 only; use"
    ) as said:
        Ledger.open(used)
    assert "make a new ledger" in str(said.value)
    assert "\n" not in str(said.value)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entry SET charge = 0 WHERE number = 7",
        "UPDATE entry SET predicate = '[]' WHERE number = 7",
        "UPDATE entry SET run_id = 'x' WHERE number = 30",
        "DELETE FROM entry WHERE number = 7",
        "DELETE FROM entry WHERE number = 1",
        "UPDATE terms SET budget = budget * 2",
        "UPDATE terms SET append_only = 1",
        "UPDATE terms SET notion = 'renyi'",
        "UPDATE epoch SET source_mark = NULL",
        "DELETE FROM epoch",
        "DELETE FROM terms",
        "DROP TABLE entry",
    ],
)
def test_a_changed_line_is_noticed(change: str, used: Path) -> None:
    connection = sqlite3.connect(used)
    with connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(LedgerError, match=r"damaged|cannot be used"):
        Ledger.open(used)


@pytest.mark.heavy(family="spending")
def test_damaged_bytes_never_pass_for_less_spent(used: Path) -> None:
    """Overwrite every part of the file in turn: an error, or exactly what was spent."""
    whole = used.read_bytes()
    noticed = 0
    for start in range(100, len(whole), 997):
        used.write_bytes(whole[:start] + b"\xa5" * 60 + whole[start + 60 :])
        try:
            with Ledger.open(used) as ledger:
                assert ledger.summary().spent == 0.03
        except LedgerError:
            noticed += 1
        for side in ("-wal", "-shm"):
            Path(f"{used}{side}").unlink(missing_ok=True)
    assert noticed > 5


def test_a_truncated_file(used: Path) -> None:
    used.write_bytes(used.read_bytes()[: used.stat().st_size // 2])
    with pytest.raises(LedgerError, match=r"damaged|not a ledger"):
        Ledger.open(used)


def test_a_full_disk_releases_nothing(small_disk: Path) -> None:
    """Debits fail in words; what was committed before is still there once there is room."""
    path = small_disk / "t.ledger"
    large = f'{{"x": "{"y" * 3000}"}}'
    spent = 0
    with Ledger.create(path, 1) as ledger:
        with contextlib.suppress(LedgerError):
            while spent < 1000:
                ledger.reserve(parse_where("a = 1"), 10**6, source=SOURCE, request=large)
                spent += 1
        assert 3 < spent < 1000
        with pytest.raises(LedgerError, match=r"disk|opened for writing"):
            ledger.reserve(parse_where("a = 1"), 10**6, source=SOURCE, request=large)
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    with Ledger.open(path) as ledger:
        assert ledger.summary().releases == spent
        spend(ledger)
        assert ledger.summary().spent == pytest.approx((spent + 1) / 1000)


def test_a_full_file_releases_nothing(used: Path) -> None:
    """The same where no file system can be mounted: SQLite's own limit of pages gives the same error."""
    with Ledger.open(used) as ledger:
        file_of(ledger).rows("PRAGMA max_page_count = 1")
        with pytest.raises(LedgerError, match="the disk is full; nothing was released"):
            spend(ledger, f'{{"x": "{"y" * 20_000}"}}')
        file_of(ledger).rows("PRAGMA max_page_count = 100000")
        assert ledger.summary().releases == 30
        spend(ledger)
        assert ledger.summary().releases == 31


def test_a_full_disk_at_the_answer_publishes_nothing(used: Path) -> None:
    with Ledger.open(used) as ledger:
        reservation = ledger.reserve(parse_where("a = 1"), 10**6, source=SOURCE, request="{}", run_id="x")
        file_of(ledger).rows("PRAGMA max_page_count = 1")
        with pytest.raises(
            LedgerError, match="disk is full; nothing is published, and the release was debited"
        ) as said:
            ledger.record(reservation, "y" * 20_000)
        assert "nothing was released" not in str(said.value)
        reservation.close()
        file_of(ledger).rows("PRAGMA max_page_count = 100000")
        again = ledger.reserve(parse_where("a = 1"), 10**6, source=SOURCE, request="{}", run_id="x")
        assert (again.number, again.answer, ledger.summary().releases) == (reservation.number, None, 31)
        again.close()


def test_a_read_only_disk(used: Path, small_disk: Path) -> None:
    path = Path(shutil.copy(used, small_disk))
    path.chmod(0o600)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(LedgerError, match=r"read-only|opened for writing"):
        Ledger.open(path)


def test_a_read_only_connection(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: connect(path.replace("mode=rw", "mode=ro"), **options)
    )
    with Ledger.open(used) as ledger:
        assert ledger.summary().spent == 0.03
        with pytest.raises(LedgerError, match="read-only; nothing was released"):
            spend(ledger)


def test_a_busy_ledger(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpdb.ledger.store.file.BUSY_SECONDS", 0.05)
    holder = sqlite3.connect(used, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="busy"):
        Ledger.open(used)
    holder.close()

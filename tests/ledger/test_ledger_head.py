"""A ledger that went back is noticed: old copies, lost lines, lost answers, a lost write-ahead log."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from text_reader import parse_where

from dpdb.errors import LedgerError
from dpdb.ledger import Ledger, SourceMark
from dpdb.ledger.store.head import LedgerHead

SOURCE = SourceMark("table", "content")
LOST = "lost its newest releases"


def release(path: Path, run_id: str | None = None, source: SourceMark = SOURCE) -> str | None:
    """One answered release; what its run answered before, if it did."""
    with Ledger.open(path) as ledger:
        found = ledger.reserve(parse_where("a = 1"), 1000, source=source, request="{}", run_id=run_id)
        try:
            if found.answer is None:
                ledger.record(found, '"answer"')
            return found.answer
        finally:
            found.close()


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def spent(path: Path) -> int:
    with Ledger.open(path) as ledger:
        return ledger.spent_units()


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A ledger with two releases."""
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1).close()
    release(path)
    release(path, "x")
    return path


@pytest.fixture
def head(used: Path) -> Path:
    return used.with_name("t.ledger-head")


def test_the_head_is_private_and_a_ledger_in_order_is_used(used: Path, head: Path) -> None:
    assert head.stat().st_mode & 0o777 == 0o600
    assert spent(used) == 2000
    assert release(used, "x") == '"answer"'


def test_an_old_copy_is_refused(used: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copy(used, copy)
    assert spent(used) == 2000  # the copy is whole: everything was in the main file
    release(used)
    shutil.copy(copy, used)
    with pytest.raises(LedgerError, match=LOST):
        Ledger.open(used)


def test_a_lost_write_ahead_log_is_noticed(used: Path, tmp_path: Path) -> None:
    with Ledger.open(used) as ledger:
        found = ledger.reserve(parse_where("a = 1"), 1000, source=SOURCE, request="{}")
        ledger.record(found, '"answer"')
        moved = tmp_path / "moved"
        moved.mkdir()
        for name in (used.name, f"{used.name}-head"):  # all but the log
            shutil.copy(used.with_name(name), moved / name)
    with pytest.raises(LedgerError, match=LOST):
        Ledger.open(moved / used.name)
    assert spent(used) == 3000


def test_a_ledger_that_goes_back_while_it_is_open_is_noticed(used: Path) -> None:
    with Ledger.open(used) as ledger:
        change(used, "DELETE FROM answer WHERE entry = 2", "DELETE FROM entry WHERE number = 2")
        with pytest.raises(LedgerError, match=LOST):
            ledger.check_rows(SOURCE)


@pytest.mark.parametrize(
    "statements",
    [
        ("DELETE FROM answer WHERE entry = 2",),
        ("DELETE FROM answer",),
        ("DELETE FROM answer WHERE entry = 2", "DELETE FROM entry WHERE number = 2"),
        ("DELETE FROM answer", "DELETE FROM entry"),
    ],
)
def test_lost_lines_and_answers_are_noticed(statements: tuple[str, ...], used: Path) -> None:
    """What is left agrees with its seals; without its answer a run would draw a second time for one debit."""
    change(used, *statements)
    with pytest.raises(LedgerError, match=LOST):
        Ledger.open(used)


def test_an_old_head_is_that_of_a_crash_and_is_accepted(used: Path, head: Path) -> None:
    """It proves less than a newer one, and nothing wrong; the next answer writes the newest."""
    old = head.read_bytes()
    release(used)
    newest = head.read_bytes()
    head.write_bytes(old)
    assert spent(used) == 3000
    release(used)
    assert head.read_bytes() not in {old, newest}
    change(used, "DELETE FROM answer WHERE entry = 4", "DELETE FROM entry WHERE number = 4")
    with pytest.raises(LedgerError, match=LOST):
        Ledger.open(used)


def test_a_slow_process_does_not_forget_the_answer_of_a_faster_one(used: Path) -> None:
    with Ledger.open(used) as slow:
        first = slow.reserve(parse_where("a = 1"), 1000, source=SOURCE, request="{}")
        slow.record(first, '"answer"')
        release(used, "fast")
        slow._books.write_head()  # again, as if it had been late
    change(used, "DELETE FROM answer WHERE entry = (SELECT number FROM entry WHERE run_id = 'fast')")
    with pytest.raises(LedgerError, match=LOST):
        Ledger.open(used)


def test_a_lost_epoch_is_noticed(used: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copy(used, copy)
    with Ledger.open(used) as ledger:
        assert ledger.open_epoch() == 2
    shutil.copy(copy, used)
    with pytest.raises(LedgerError, match=LOST):
        Ledger.open(used)


def test_an_epoch_that_was_taken_out_of_the_middle_is_noticed(used: Path) -> None:
    """What it took of the budget would be there again: every epoch has a seal of its own."""
    for rows in ("second", "third"):
        with Ledger.open(used) as ledger:
            ledger.open_epoch()
        release(used, source=SourceMark(SOURCE.table, rows))
    change(used, "DELETE FROM epoch WHERE number = 2")
    with pytest.raises(LedgerError, match="damaged"):
        Ledger.open(used)


def test_another_history_of_the_same_length_is_noticed(used: Path, head: Path, tmp_path: Path) -> None:
    copy, newest = tmp_path / "copy", tmp_path / "newest"
    shutil.copy(used, copy)
    release(used)
    shutil.copy(head, newest)
    shutil.copy(copy, used)
    head.unlink()
    release(used)
    assert spent(used) == 3000
    shutil.copy(newest, head)
    with pytest.raises(LedgerError, match=LOST):
        Ledger.open(used)


def test_a_head_of_another_ledger_or_a_changed_one_is_refused(used: Path, head: Path, tmp_path: Path) -> None:
    genuine = head.read_text()
    other = tmp_path / "other.ledger"
    Ledger.create(other, 1).close()
    release(other)
    assert '"entry": [2, ' in genuine
    for text in (
        other.with_name("other.ledger-head").read_text(),
        genuine.replace('"entry": [2, ', '"entry": [1, '),
        "",
        "x",
        "\udcff",
    ):
        head.write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(LedgerError, match="not the head of this ledger"):
            Ledger.open(used)
    head.write_text(genuine)
    assert spent(used) == 2000


def test_a_new_ledger_does_not_inherit_a_head(used: Path) -> None:
    used.unlink()
    Ledger.create(used, 1).close()
    assert spent(used) == 0
    release(used)
    assert spent(used) == 1000


def test_what_is_not_noticed(used: Path, head: Path, tmp_path: Path) -> None:
    """As the manual says: both files put back together, or a head that was removed."""
    copies = [shutil.copy(path, tmp_path / f"copy of {path.name}") for path in (used, head)]
    release(used)
    for copy, path in zip(copies, (used, head), strict=True):
        shutil.copy(copy, path)
    assert spent(used) == 2000
    change(used, "DELETE FROM answer WHERE entry = 2", "DELETE FROM entry WHERE number = 2")
    head.unlink()
    assert spent(used) == 1000
    release(used)
    assert head.exists()


def test_a_crash_before_the_head_is_written_is_no_loss(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(LedgerHead, "write", crash)
        with pytest.raises(KeyboardInterrupt):
            release(used, "late")
    assert spent(used) == 3000
    assert release(used, "late") == '"answer"'


def test_a_head_that_cannot_be_written_publishes_nothing(used: Path, head: Path) -> None:
    obstacle = head.with_name(f"{head.name}.partial")
    obstacle.mkdir()
    with pytest.raises(LedgerError, match="nothing is published"):
        release(used, "late")
    obstacle.rmdir()
    assert release(used, "late") == '"answer"'
    assert spent(used) == 3000

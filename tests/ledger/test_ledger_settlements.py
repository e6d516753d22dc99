"""A debit is settled once, lower: every sum counts the settled charge, whoever reads it and whatever was killed."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from inside import file_of, state_of
from moving_clock import MovingClock
from test_ledger_head import change
from test_ledger_processes import drive
from text_reader import parse_where

from dpdb.errors import BudgetExceededError, LedgerError, ParameterError
from dpdb.ledger import Ledger, SourceMark
from dpdb.ledger.log import leaf_text

SOURCE = SourceMark("table", "content")
TENTH = 10**8


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1).close()
    return path


def release(ledger: Ledger, run_id: str, where: str, tenths: int, source: SourceMark = SOURCE) -> None:
    found = ledger.reserve(parse_where(where), tenths * TENTH, source=source, request="{}", run_id=run_id)
    try:
        ledger.record(found, f'"{run_id}"')
    finally:
        found.close()


def test_every_sum_counts_the_settled_charge(path: Path) -> None:
    """Also in a process that had the ledger open before, and in one that opens it later."""
    with Ledger.open(path) as ledger, Ledger.open(path) as other:
        release(ledger, "x", "a = 1", 8)
        release(ledger, "y", "a = 2", 3)
        assert other.spent_units() == 8 * TENTH
        with pytest.raises(BudgetExceededError):
            release(other, "z", "a = 1", 4)
        ledger.settle("x", 2 * TENTH)
        assert [each.spent_units() for each in (ledger, other)] == [3 * TENTH] * 2
        assert other.summary().sequential == 0.5
        assert [(line.charge, line.debited) for line in other.history()] == [(0.2, 0.8), (0.3, None)]
        assert file_of(other).rows("SELECT charge FROM entry") == [(8 * TENTH,), (3 * TENTH,)]
        release(other, "z", "a = 1", 8)
        with pytest.raises(BudgetExceededError):
            release(ledger, "too much", "a = 1", 1)
    with Ledger.open(path) as ledger:
        assert ledger.spent_units() == 10 * TENTH
        again = ledger.reserve(parse_where("a = 1"), 8 * TENTH, source=SOURCE, request="{}", run_id="x")
        assert again.answer == '"x"'


def test_an_allowance_counts_the_settled_charge(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = MovingClock(monkeypatch)
    with Ledger.open(path) as ledger:
        ledger.owner.allow("30d", epsilon=0.5)
        release(ledger, "x", "", 5)
        clock.set(days=1)
        with pytest.raises(BudgetExceededError, match="allowance"):
            release(ledger, "y", "", 1)
        ledger.settle("x", TENTH)
        assert ledger.summary().allowances[0].spent == 0.1
        release(ledger, "y", "", 4)
        with pytest.raises(BudgetExceededError, match="allowance"):
            release(ledger, "z", "", 1)


def test_a_settlement_belongs_to_the_epoch_of_its_debit(path: Path) -> None:
    with Ledger.open(path) as ledger:
        release(ledger, "x", "a = 1", 6)
        release(ledger, "y", "a = 2", 2)
        ledger.open_epoch()
        release(ledger, "z", "a = 1", 1, SourceMark("table", "later"))
        assert ledger.spent_units() == 7 * TENTH
        epochs = file_of(ledger).rows("SELECT * FROM epoch")
        ledger.settle("x", 0)
        assert file_of(ledger).rows("SELECT * FROM epoch") == epochs
        assert ledger.spent_units() == 3 * TENTH
        ledger.settle("y", TENTH)
    with Ledger.open(path) as ledger:
        assert ledger.spent_units() == 2 * TENTH


def test_what_cannot_be_settled_changes_nothing(path: Path, tmp_path: Path) -> None:
    with Ledger.open(path) as ledger:
        release(ledger, "x", "", 5)
        unanswered = ledger.reserve(parse_where(""), TENTH, source=SOURCE, request="{}", run_id="open")
        unanswered.close()
        for run, charge, why in (
            ("x", 6 * TENTH, "only lowers a debit"),
            ("open", 0, "has no answer yet"),
            (unanswered, 0, "has no answer yet"),
            ("nobody", 0, "no debit 'nobody'"),
            (0, 0, "no debit 0"),
        ):
            with pytest.raises(LedgerError, match=why):
                ledger.settle(run, charge)
        for units in (-1, 0.5, True):
            with pytest.raises(ParameterError, match="whole number of units"):
                ledger.settle("x", units)  # type: ignore[arg-type]
        assert ledger.spent_units() == 6 * TENTH
        ledger.settle("x", TENTH)
        ledger.settle("x", TENTH)  # as after a kill
        for units in (0, 2 * TENTH):
            with pytest.raises(LedgerError, match="was settled before, at another charge"):
                ledger.settle("x", units)
        assert ledger.spent_units() == 2 * TENTH
        ledger.owner.retire()
        with pytest.raises(LedgerError, match="was retired"):
            ledger.settle("x", TENTH)
    with Ledger.create(tmp_path / "rho.ledger", 1, "zcdp") as ledger:
        found = ledger.reserve(parse_where(""), TENTH, source=SOURCE, request="{}", notion="zcdp")
        ledger.record(found, "1")
        with pytest.raises(LedgerError, match="a zcdp ledger settles nothing; only a pure one does"):
            ledger.settle(found, 0)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE settlement SET charge = 0",
        "UPDATE settlement SET entry = 2 WHERE number = 2",
        "UPDATE settlement SET place = 9",
        "UPDATE settlement SET closed_overlap = 0",
        "DELETE FROM settlement WHERE number = 1",
        "DELETE FROM settlement WHERE number = 2",
        "DELETE FROM settlement",
    ],
)
def test_a_changed_or_lost_settlement_is_noticed(statement: str, path: Path) -> None:
    with Ledger.open(path) as ledger:
        for name in ("x", "y", "z"):
            release(ledger, name, "a = 1", 3)
        ledger.settle("x", TENTH)
        ledger.settle("z", 2 * TENTH)
    with pytest.raises(sqlite3.IntegrityError):  # the table itself holds that a debit is settled once
        change(path, "UPDATE settlement SET entry = 1")
    change(path, statement)
    with pytest.raises(LedgerError, match=r"damaged|lost its newest releases"):
        Ledger.open(path)


def test_an_old_copy_without_the_settlement_is_refused(path: Path, tmp_path: Path) -> None:
    with Ledger.open(path) as ledger:
        release(ledger, "x", "a = 1", 3)
    shutil.copy(path, tmp_path / "copy")
    with Ledger.open(path) as ledger:
        ledger.settle("x", TENTH)
    shutil.copy(tmp_path / "copy", path)
    with pytest.raises(LedgerError, match="lost its newest releases"):
        Ledger.open(path)


@pytest.mark.heavy(family="spending")
def test_a_settlement_killed_at_any_step_is_made_once(path: Path) -> None:
    done = drive("settlements", path, 9)
    assert done["killed"] >= 15
    assert done["charges"] == [10**6 // 2] * 9


def test_every_line_has_a_public_hash_in_the_order_of_writing(path: Path) -> None:
    """RFC 6962: SHA-256 of a zero byte and the text, without key and seal; earlier ones never change."""
    with Ledger.open(path) as ledger:
        release(ledger, "x", "a = 1", 3)
        before = ledger.leaves()
        assert len(before) == 2
        ledger.owner.allow("30d", epsilon=0.5)
        ledger.settle("x", TENTH)
        release(ledger, "y", "a = 2", 3)
        found = ledger.leaves()
        assert found[:2] == before
        assert len(set(found)) == 6
        key = state_of(ledger).terms.key
        [row] = file_of(ledger).rows("SELECT number, at, kind, detail, place, seal FROM act")
        line = dict(zip(("number", "at", "kind", "detail", "place", "seal"), row, strict=True))
        text = leaf_text(key, "act", line)
        assert found[2] == hashlib.sha256(b"\0" + text.encode()).digest()
        assert key.hex() not in text
        assert "seal" not in json.loads(text)["line"]
        assert leaf_text(bytes(32), "act", line) != text  # without the key, no line can be guessed from its hash


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO entry_table VALUES (1, 1, 'person', '[]', 5, 5, 1, zeroblob(32))",
    ],
)
def test_tables_of_later_issues_are_refused_while_filled(statement: str, path: Path) -> None:
    with Ledger.open(path) as ledger:
        change(path, statement)
        with pytest.raises(LedgerError, match="only a newer version of dpdb understands; nothing was released"):
            ledger.summary()
    with pytest.raises(LedgerError, match="only a newer version of dpdb understands; nothing was released"):
        Ledger.open(path)


def test_secrets_leave_no_trace_in_the_file(path: Path) -> None:
    """As a suite's will: overwrite salt and secret together, then truncate the log."""
    with Ledger.open(path) as ledger:
        file = file_of(ledger)
        secret = "rho = 12345678901234567890 " * 400
        file.change("INSERT INTO suite_secret VALUES (1, ?, ?)", (b"salty " * 100, secret))
        file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        assert secret[:1000].encode() in path.read_bytes()
        file.change("UPDATE suite_secret SET salt = NULL, secret = NULL")
        file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        assert secret[:20].encode() not in path.read_bytes()
        assert b"salty salty" not in path.read_bytes()

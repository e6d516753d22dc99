"""A ledger that cannot be written to is shown all the same; a second ledger for the same rows is told to the owner."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import LedgerError
from dpdb.ledger import Ledger, open_to_read


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 1, 2], "b": [1, 2, 3]}), path)
    return path


def released(table: Path, ledger: Path, epsilon: str = "0.8") -> None:
    if not ledger.exists():
        Ledger.create(ledger, 9).close()
    with dpdb.open(table, constraints="a -> b", ledger=ledger) as session:
        session.dp_inconsistency("repair", epsilon)


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is mounted read-only, as `access` tells it: the administrator, too, may not write there."""
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.mark.heavy
@pytest.mark.usefixtures("read_only")
@pytest.mark.parametrize("action", ["show", "history", "answers"])
def test_it_is_shown_and_nothing_is_written(
    action: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, temporary = tmp_path / "ledgers", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    released(table, folder / "t.ledger")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = state(folder)
    assert main(["budget", action, str(folder / "t.ledger")]) == 0
    said = capsys.readouterr().out
    assert {"show": "remaining  epsilon 8.2 for", "history": "epsilon 0.8  repair", "answers": "repair"}[action] in said
    assert state(folder) == before
    assert not list(temporary.iterdir())


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("read_only")
def test_a_write_ahead_log_that_was_left_is_read(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    released(table, path)
    with Ledger.open(path), dpdb.open(table, constraints="a -> b", ledger=path) as session:
        session.dp_inconsistency("repair", "0.2")
        assert Path(f"{path}-wal").stat().st_size
        with open_to_read(path) as ledger:
            assert ledger.summary().spent == 1


@pytest.mark.usefixtures("read_only")
def test_what_is_wrong_with_it_is_said(tmp_path: Path, table: Path) -> None:
    with pytest.raises(LedgerError, match="no ledger there"), open_to_read(tmp_path / "none.ledger"):
        pass
    released(table, tmp_path / "t.ledger")
    (tmp_path / "t.ledger").chmod(0o644)
    with pytest.raises(LedgerError, match="others may read or change it"), open_to_read(tmp_path / "t.ledger"):
        pass
    (tmp_path / "t.ledger").chmod(0o600)
    (tmp_path / "old").mkdir()
    old = (tmp_path / "t.ledger").read_bytes()
    released(table, tmp_path / "t.ledger")
    (tmp_path / "t.ledger").write_bytes(old)  # the head knows more
    with pytest.raises(LedgerError, match="lost its newest releases"), open_to_read(tmp_path / "t.ledger"):
        pass


def test_what_is_left_is_the_exact_decimal(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """8.2 times 1e9 is less than 8,200,000,000 as a float."""
    left = {"0.8": "8.2", "0.000001": "8.199999", "3.1": "5.099999"}
    for epsilon, remaining in left.items():
        released(table, tmp_path / "t.ledger", epsilon)
        main(["budget", "show", str(tmp_path / "t.ledger")])
        assert f"remaining  epsilon {remaining} for" in capsys.readouterr().out


# -- a second ledger ------------------------------------------------------------------------------------------


@pytest.fixture
def owners_log() -> Any:
    said: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    handler, logger = Kept(), logging.getLogger("dpdb.owner")
    logger.addHandler(handler)
    yield said
    logger.removeHandler(handler)


@pytest.mark.heavy(family="spending")
def test_the_owner_hears_of_a_second_ledger_for_the_same_rows(
    table: Path, tmp_path: Path, owners_log: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    released(table, tmp_path / "one.ledger")
    released(table, tmp_path / "one.ledger")
    assert owners_log == []
    other = tmp_path / "u.parquet"
    pq.write_table(pa.table({"a": [1, 1, 2], "b": [1, 2, 4]}), other)
    released(other, tmp_path / "other.ledger")
    (tmp_path / "no.ledger").write_text("nothing")
    assert owners_log == []
    released(table, tmp_path / "two.ledger")
    [said] = owners_log
    assert f"two.ledger: the ledger {tmp_path / 'one.ledger'} counts for the same rows already" in said
    assert capsys.readouterr() == ("", "")
    released(table, tmp_path / "two.ledger")
    assert len(owners_log) == 1  # bound by now

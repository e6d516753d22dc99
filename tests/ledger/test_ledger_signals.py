"""Ctrl-C and the ledger: a debit is made whole or not at all, and waiting for other processes can be ended."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from inside import file_of
from text_reader import parse_where

from dpdb import stopping as steps
from dpdb.ledger import Ledger, SourceMark
from dpdb.ledger.reservation import Reservation

SOURCE = SourceMark("table", "rows", 1)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.create(tmp_path / "t.ledger", 1) as made:
        yield made


def debit(ledger: Ledger) -> Reservation:
    return ledger.reserve(parse_where(None), 10**8, source=SOURCE, request="{}")


def press_at(step: str, monkeypatch: pytest.MonkeyPatch, presses: int = 1) -> None:
    """Press Ctrl-C when the ledger reaches a step."""

    def reached(now: str) -> None:
        if now == step:
            for _ in range(presses):
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(steps, "watchers", [reached])


@pytest.mark.parametrize("step", ["begun", "inserted"])
@pytest.mark.parametrize("presses", [1, 2])
def test_control_c_inside_a_debit_waits_for_its_commit(
    step: str, presses: int, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        press_at(step, patched, presses)
        with pytest.raises(KeyboardInterrupt):
            debit(ledger)
    assert ledger.summary().releases == 1
    debit(ledger)  # the open ledger is as good as new
    assert ledger.summary().releases == 2
    with Ledger.open(file_of(ledger).path) as another:
        assert another.summary().releases == 2


@pytest.mark.parametrize("step", ["drawn", "written"])
def test_control_c_inside_a_record_waits_until_the_answer_is_kept(
    step: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    reservation = debit(ledger)
    with monkeypatch.context() as patched:
        press_at(step, patched)
        with pytest.raises(KeyboardInterrupt):
            ledger.record(reservation, "[]")
    assert ledger.summary().unanswered == 0


@pytest.mark.heavy(family="long")
def test_waiting_for_other_processes_is_ended_by_control_c(ledger: Ledger) -> None:
    other = sqlite3.connect(file_of(ledger).path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        debit(ledger)
    assert time.monotonic() - began < 5
    other.execute("ROLLBACK")
    other.close()
    assert ledger.summary().releases == 0
    debit(ledger)


@pytest.mark.heavy(family="privacy")
def test_a_ledger_waits_for_others(ledger: Ledger) -> None:
    other = sqlite3.connect(file_of(ledger).path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.5, other.execute, ("ROLLBACK",))
    timer.start()
    debit(ledger)
    timer.join()
    other.close()
    assert ledger.summary().releases == 1

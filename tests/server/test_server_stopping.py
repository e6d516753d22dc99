"""SIGTERM: a server stops within a stated time, whatever one analyst sends; what was debited is recorded or kept."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from one_analyst import ATTACKS, Waits, besieged
from server_site import COUNT, Server, Site, crowding, make_site

from dpdb.ledger import Ledger

TWO = {name: {"quota": 100, "most_per_statement": 10} for name in ("ann", "bob")}
STOP = 3.0
"""`stop_seconds` here."""
MORE = 10.0
"""What a stop may take beyond them: five seconds for threads, and some for connections, processes and the machine."""


def stopped(server: Server) -> float:
    """Tell the server to stop, and return how long that takes."""
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(120) == 0, server.said
    return time.monotonic() - began


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(
    "kind", ["session", "catalog", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ATTACKS)]
)
def test_a_server_stops_under_each_attack(kind: str, tmp_path: Path) -> None:
    """One analyst sends on 64 connections while another asks for releases: each that he has paid for is recorded."""
    site = make_site(tmp_path, epsilon=500, analysts=TWO, settings={"stop_seconds": STOP}, postgres=True)
    answers: list[dict[str, Any]] = []
    with Server(site) as server:
        with Waits(server, "health select").asking():
            time.sleep(0.5)
        asking = threading.Thread(target=ask_on, args=(server, answers))
        with besieged(server, kind):
            asking.start()
            time.sleep(3)
            took = stopped(server)
        asking.join()
    print(f"{kind}: {took:.1f} s")
    assert took < STOP + MORE * crowding()
    assert answers
    recorded_as_answered(site, answers)


def ask_on(server: Server, answers: list[dict[str, Any]]) -> None:
    """Ask for releases, each another, until the server takes no more."""
    with server.client("bob", timeout=60) as client:
        for number in range(10_000):
            text = f"SELECT value FROM dp_count('visits', 0.01, label := '{number}')"
            try:
                answer = client.post("/v1/run", json={"statement": text}, headers={"Idempotency-Key": str(number)})
            except httpx.HTTPError:
                return
            if answer.status_code != 200:
                assert answer.json()["error"] == "closing", answer.text
                return
            answers.append(answer.json())


@pytest.mark.heavy(family="spending")
def test_a_release_that_outlasts_the_stop_keeps_its_debit(tmp_path: Path) -> None:
    """A thread that does not end is cut: the next server gives the answer at no cost."""
    site = make_site(tmp_path, analysts=TWO, settings={"stop_seconds": 1})
    with Slow(site) as server:
        asking = threading.Thread(target=asked_once, args=(server, []))
        asking.start()
        until = time.monotonic() + 60
        while not site.spent() and time.monotonic() < until:
            time.sleep(0.05)
        took = stopped(server)
        asking.join()
    assert took < 1 + MORE * crowding()
    assert "stopped before all was answered: debits stay" in server.said[-1]
    assert site.spent() == pytest.approx(0.25)
    answers: list[httpx.Response] = []
    with Server(site) as server:
        asked_once(server, answers)
    assert [answer.status_code for answer in answers] == [200]
    assert site.spent() == pytest.approx(0.25)


class Slow(Server):
    """A server whose releases pause for a minute after their debit."""

    command = (str(Path(__file__).parent / "slow_server.py"), "60")


def asked_once(server: Server, answers: list[httpx.Response]) -> None:
    with contextlib.suppress(httpx.HTTPError):
        answers.append(server.ask("ann", COUNT, "once"))


def recorded_as_answered(site: Site, answers: list[dict[str, Any]]) -> None:
    """Compare what an analyst was told with the ledger, and the audit with both."""
    told = {release["release_id"]: release["value"] for one in answers for release in one["releases"]}
    with Ledger.open(site.ledger) as ledger:
        entries = [entry for entry in ledger.history() if entry.analyst == "bob"]
        kept = {found["release_id"]: found["value"] for entry in entries for found in entry.answer or ()}
    assert told.items() <= kept.items()
    assert len(kept) == len(entries)  # nothing that was debited lacks its answer
    assert site.spent() == pytest.approx(0.01 * len(entries))
    with sqlite3.connect(site.folder / "audit.sqlite") as audit:
        lines = audit.execute("SELECT outcome FROM statement WHERE who = 'bob' AND door = 'http'").fetchall()
    assert sum(outcome == "answered" for (outcome,) in lines) >= len(told)

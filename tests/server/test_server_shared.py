"""What servers on one configuration share: rates, statements at once, the audit, also where it cannot be written."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inside import lines_of
from server_site import COUNT, Server, make_site
from wire_client import Wire, error_of

from dpdb.doors.server.analysts import Analyst, Directory, token_digest
from dpdb.doors.server.audit import Audit
from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import Asker, RefusedError
from dpdb.doors.server.rates import FailedLogins, Slots
from dpdb.doors.server.refusals import TooManyError, UnauditedError
from dpdb.errors import ParameterError

ANN = Asker(Analyst("ann", "analyst"), "http", "127.0.0.1")


def audited(folder: Path) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / "audit.sqlite")
    try:
        return connection.execute("SELECT action, outcome, text FROM statement ORDER BY number").fetchall()
    finally:
        connection.close()


@contextlib.contextmanager
def held(slots: Slots, name: str) -> Iterator[None]:
    place = slots.take(name, 2)
    assert place is not None
    yield
    slots.let_go(place)


@pytest.mark.heavy(family="long")
def test_servers_share_rates_and_statements_at_once(tmp_path: Path) -> None:
    """This process stands for a second server on the same configuration."""
    site = make_site(
        tmp_path, analysts={"ann": {}, "bob": {}}, settings={"statements_per_minute": 5, "waiting_seconds": 0.2}
    )
    other, audit = Slots(tmp_path / "audit.sqlite-slots"), Audit(tmp_path / "audit.sqlite")
    with Server(site) as server:
        with held(other, "ann"):
            assert server.ask("ann", "SELECT 1").status_code == 200
            with held(other, "ann"):
                refused = server.ask("ann", "SELECT 1")
                assert (refused.status_code, refused.json()["error"]) == (429, "too_many")
                words = "2 statements of yours are running, and this one has waited 0.2 seconds: ask again"
                assert refused.json()["message"] == words
                assert server.ask("bob", "SELECT 1").status_code == 200
        for _ in range(3):
            audit.begin("ann", "http", "::1", "run", "SELECT 1", per_minute=5)
        assert [server.ask("ann", "SELECT 1").status_code for _ in range(2)] == [200, 429]
        with pytest.raises(TooManyError):
            audit.begin("ann", "http", "::1", "run", "SELECT 1", per_minute=5)
        assert server.ask("bob", "SELECT 1").status_code == 200
    other.close()
    audit.close()


@pytest.mark.heavy(family="long")
def test_servers_and_doors_share_failed_logins(tmp_path: Path) -> None:
    """This process stands for a second server, in which the same address fails, too."""
    site = make_site(tmp_path, settings={"failed_logins_per_minute": 5}, postgres=True)
    (tmp_path / "audit.sqlite-slots").touch(mode=0o600)
    slots = Slots(tmp_path / "audit.sqlite-slots")

    async def fail(times: int) -> list[bool]:
        other = FailedLogins(slots, 5)
        found = [other.allows("127.0.0.1") for _ in range(times)]
        assert other.allows("127.0.0.2")  # of another address
        return found

    with Server(site) as server:
        assert asyncio.run(fail(2)) == [True] * 2
        with server.client() as stranger:
            stranger.headers["Authorization"] = "Bearer wrong"
            statuses = [stranger.get("/v1/account").status_code for _ in range(2)]
        with Wire(server.postgres_port) as wire:
            codes = [error_of(wire.log_in("ann", "wrong")[-1])["C"]]
        with server.client() as stranger:
            stranger.headers["Authorization"] = "Bearer wrong"
            statuses.append(stranger.get("/v1/account").status_code)
        with Wire(server.postgres_port) as wire:
            codes.append(error_of(wire.log_in("ann", "wrong")[-1])["C"])
        assert (statuses, codes) == ([401, 401, 429], ["28P01", "53000"])
        assert server.ask("ann", "SELECT 1").status_code == 200  # a good token is no failed login
        assert asyncio.run(fail(1)) == [False]
        assert (tmp_path / "audit.sqlite-slots").stat().st_size == 0
    assert asyncio.run(fail(9)) == [True] * 3 + [False] * 6  # those of a server that has ended are forgotten
    slots.close()


def test_servers_share_which_tokens_have_ended(tmp_path: Path) -> None:
    """One that starts after the clock went back knows of the end; where the audit cannot be had each knows its own."""
    site = make_site(tmp_path)
    audit, token = Audit(tmp_path / "audit.sqlite"), site.tokens["ann"]
    ledgers = {"visits": site.ledger}
    running = Directory(ledgers, audit.ended)
    assert running.holder(token) is not None
    other = Audit(tmp_path / "audit.sqlite")
    assert other.ended([token_digest(token)]) == {token_digest(token)}
    running.refresh()
    late = Directory(ledgers, other.ended)
    assert (running.holder(token), late.holder(token)) == (None, None)
    assert late.holder(site.add("ann")) is None
    late.refresh()
    again = site.add("ann")
    late.refresh()
    assert late.holder(again) is not None
    other.close()
    with pytest.raises(UnauditedError):
        other.ended([])
    late.refresh()
    assert (late.holder(token), late.holder(again) is not None) == (None, True)
    for opened in (running, late, audit):
        opened.close()


def test_slots_of_a_process_that_dies_are_free(tmp_path: Path) -> None:
    """And nobody waits for a place that another name has."""
    path = tmp_path / "slots"
    script = f"""
import sys
from pathlib import Path
from dpdb.doors.server.rates import Slots
slots = Slots(Path({str(path)!r}))
assert None not in (slots.take("ann", 2), slots.take("ann", 2))
print("held", flush=True)
sys.stdin.read()
"""
    slots, pipe = Slots(path), subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdin=pipe, stdout=pipe) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert slots.take("ann", 2) is None
        with held(slots, "bob"), held(slots, "bob"):
            assert slots.take("bob", 2) is None
        other.kill()
    with held(slots, "ann"), held(slots, "ann"):
        assert slots.take("ann", 2) is None
    with held(slots, "ann"):
        pass
    assert path.stat().st_size == 0
    slots.close()
    os.chmod(path, 0o666)  # noqa: PTH101
    with pytest.raises(ParameterError, match="others may read or change it"):
        Slots(path)


@pytest.fixture
def desk(tmp_path: Path) -> Any:
    make_site(tmp_path)
    made = Desk(load_configuration(tmp_path / "serve.toml"))
    yield made
    made.close()


def code_of(desk: Desk, statement: str) -> str:
    try:
        asyncio.run(desk.run(ANN, statement))
    except RefusedError as refused:
        return f"{refused.refusal.code}: {refused.refusal.message}"
    return "answered"


@pytest.mark.heavy(family="privacy")
def test_a_full_disk_refuses_what_could_not_be_audited(desk: Desk, tmp_path: Path) -> None:
    """SQLite itself says that its disk is full; what fits again is answered again."""
    words = "unavailable: the audit cannot be written now, and nothing was released; the reason is in the owner's log"
    assert code_of(desk, COUNT) == "answered"
    [(pages,)] = lines_of(desk).execute("PRAGMA page_count").fetchall()
    lines_of(desk).execute(f"PRAGMA max_page_count = {pages}")
    long = f"{COUNT} -- {'x' * 50_000}"
    for _ in range(3):
        assert code_of(desk, long) == words
    with opened_ledger(desk) as ledger:
        assert ledger.spent_units() == 250_000_000
    lines_of(desk).execute(f"PRAGMA max_page_count = {pages + 1_000}")
    assert code_of(desk, long) == "answered"
    assert [outcome for _, outcome, _ in audited(tmp_path)][-1] == "answered"


def opened_ledger(desk: Desk) -> Any:
    from dpdb.ledger import Ledger

    return Ledger.open(desk.configuration.tables[0].ledger)


@pytest.mark.heavy(family="long")
def test_a_second_writer_stalls_statements_and_nothing_else(desk: Desk, tmp_path: Path) -> None:
    """The event loop goes on; statements are written in their order when the writer has done."""
    writer = sqlite3.connect(tmp_path / "audit.sqlite", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")

    async def asked() -> float:
        first = asyncio.create_task(desk.run(ANN, "SELECT 1"))
        await asyncio.sleep(0.2)
        second = asyncio.create_task(desk.run(ANN, "SELECT 2"))
        longest = 0.0
        for _ in range(40):
            began = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - began)
        assert not first.done()
        await desk.account(ANN)
        writer.execute("COMMIT")
        await asyncio.wait_for(asyncio.gather(first, second), 60)
        return longest

    assert asyncio.run(asked()) < 5  # it waited for 20 s otherwise
    writer.close()
    assert [text for *_, text in audited(tmp_path)] == ["SELECT 1", "SELECT 2"]


@pytest.mark.heavy(family="privacy")
def test_refusals_before_a_statement_is_made_are_audited(desk: Desk, tmp_path: Path) -> None:
    async def refused() -> str:
        with pytest.raises(RefusedError) as error:
            await desk.check(ANN, "nightly", {"keys": [["x" * 10_000]]})
        return error.value.refusal.message

    message = asyncio.run(refused())
    assert message == "an option of a check is a text, a number, a truth value, or a list of such"
    assert audited(tmp_path) == [("check", "refused", f"dp_check of 'nightly': {message}")]


def test_lines_are_counted_and_written_together(tmp_path: Path) -> None:
    """A refusal by rate leaves no line of its own and no count."""
    audit, other = Audit(tmp_path / "audit.sqlite"), Audit(tmp_path / "audit.sqlite")
    line = ("ann", "http", "::1", "run", "SELECT 1")
    for one in (audit, other):
        one.begin(*line, per_minute=2)
    for one in (audit, other):
        with pytest.raises(TooManyError):
            one.begin(*line, per_minute=2)
    other.begin("bob", *line[1:], per_minute=1)
    assert len(audited(tmp_path)) == 3
    for one in (audit, other):
        one.close()

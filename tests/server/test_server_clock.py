"""Clocks that jump, certificates that end: while a server runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from server_site import COUNT, Server, Site, make_site
from test_server_bad_input import certificate, edit

from dpdb.doors.server import audit as server_audit
from dpdb.doors.server.analysts import Directory
from dpdb.doors.server.audit import Audit
from dpdb.doors.server.certificate import Certificate
from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import Asker, RefusedError
from dpdb.doors.server.http import process
from dpdb.doors.server.http.application import http_application
from dpdb.errors import ParameterError
from dpdb.ledger.store import clock

HOUR = timedelta(hours=1)


class Clock:
    """The machine's clock, so many hours wrong."""

    def __init__(self) -> None:
        self.wrong = timedelta()

    def now(self, zone: object) -> datetime:
        assert zone is UTC
        return datetime.now(UTC) + self.wrong

    fromisoformat = staticmethod(datetime.fromisoformat)

    def time(self) -> float:
        return self.now(UTC).timestamp()


@pytest.fixture
def jumping(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that ledger, audit and everything that asks `time.time` see."""
    made = Clock()
    for module in (clock, server_audit):
        monkeypatch.setattr(module, "datetime", made)
    monkeypatch.setattr(time, "time", made.time)
    return made


def test_an_ended_token_stays_void_where_the_clock_goes_back(tmp_path: Path, jumping: Clock) -> None:
    site = make_site(tmp_path)
    token = site.add("ann", expires=datetime.now(UTC) + 2 * HOUR)
    ledgers = {"visits": site.ledger}
    audit = Audit(tmp_path / "audit.sqlite")
    running = Directory(ledgers, audit.ended)
    assert running.holder(token) is not None
    jumping.wrong = 3 * HOUR
    late = Directory(ledgers)  # has never seen it good
    for directory in (running, late):
        for hours in (3, 0, -100):
            jumping.wrong = hours * HOUR
            directory.refresh()
            assert directory.holder(token) is None
    jumping.wrong = timedelta()
    again = site.add("ann", expires=datetime.now(UTC) + 2 * HOUR)
    running.refresh()
    assert running.holder(again) is not None
    assert running.holder(token) is None
    jumping.wrong = -100 * HOUR
    fresh = Directory(ledgers, audit.ended)  # has seen nothing itself
    assert (fresh.holder(token), fresh.holder(again) is not None) == (None, True)
    for opened in (running, late, fresh, audit):
        opened.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Desk, Asker]]:
    site = make_site(tmp_path, settings={"statements_per_minute": 4, "release_seconds": 0.25})
    token = site.add("ann", expires=datetime.now(UTC) + 12 * HOUR)
    desk = Desk(load_configuration(site.config))
    analyst = desk.directory.holder(token)
    assert analyst is not None
    yield desk, Asker(analyst, "http", "::1")
    desk.close()


@pytest.mark.heavy
@pytest.mark.parametrize("hours", [-30, -1, 1, 11])
def test_a_jump_hangs_no_answer_and_gives_no_more_statements(
    served: tuple[Desk, Asker], jumping: Clock, hours: int
) -> None:
    """It comes in mid-statement; answers leave at the grid, and a minute is one of the clock that never jumps."""
    desk, ann = served

    async def asked() -> list[float | str]:
        found: list[float | str] = []
        for number in range(6):
            began = time.monotonic()
            running = asyncio.create_task(desk.run(ann, COUNT))
            await asyncio.sleep(0.05)
            jumping.wrong = hours * HOUR * (number % 2)
            try:
                await asyncio.wait_for(running, 60)
                found.append(time.monotonic() - began)
            except RefusedError as refused:
                found.append(refused.refusal.code)
        return found

    *answered, fifth, sixth = asyncio.run(asked())
    assert all(isinstance(one, float) and 0.25 <= one < 30 for one in answered)
    assert (fifth, sixth) == ("too_many", "too_many")


@pytest.mark.heavy(family="long")
def test_a_minute_ends_by_the_clock_that_never_jumps(
    served: tuple[Desk, Asker], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, ann = served

    class Steady:
        now = 1_000.0

        def monotonic(self) -> float:
            return self.now

    steady = Steady()
    monkeypatch.setattr(server_audit, "time", steady)

    def outcome() -> str:
        try:
            asyncio.run(desk.run(ann, "SELECT 1"))
        except RefusedError as refused:
            return refused.refusal.code
        return "answered"

    for begin in (1_000.0, 1_060.5, 3.0):  # at last the machine was started again
        steady.now = begin
        assert [outcome() for _ in range(5)] == ["answered"] * 4 + ["too_many"]
    steady.now += 59
    assert outcome() == "too_many"


# -- certificates ------------------------------------------------------------------------------------------------


def short_lived(folder: Path, seconds: float) -> tuple[Path, Path]:
    now = datetime.now(UTC)
    return certificate(folder, now - HOUR, now + timedelta(seconds=seconds))


@pytest.mark.heavy(family="long")
def test_a_certificate_that_ends_is_told_and_a_renewed_one_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, said = make_site(tmp_path), []
    monkeypatch.setattr(process, "_CERTIFICATE_SECONDS", 0.1)
    tls = Certificate(*short_lived(tmp_path, 2.5))
    first, desk = tls.newest(), Desk(load_configuration(site.config))

    async def health() -> tuple[int, str]:
        transport = httpx.ASGITransport(http_application(desk))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            found = await client.get("/healthz")
        return found.status_code, found.json()["status"]

    async def becomes(state: tuple[int, str]) -> None:
        for _ in range(600):
            if await health() == state:
                return
            await asyncio.sleep(0.02)
        raise AssertionError(await health())

    async def watched() -> None:
        task = asyncio.create_task(process._keep_valid(tls, desk, said.append))
        await becomes((200, "ok"))
        await becomes((503, "certificate"))
        (tmp_path / "key.pem").write_text("half a key")  # while it is renewed
        await asyncio.sleep(0.3)
        short_lived(tmp_path, 3_600)
        await becomes((200, "ok"))
        assert not task.done()
        task.cancel()

    asyncio.run(watched())
    desk.close()
    assert "certificate has expired; renew it, and it is taken" in said[0]
    assert said[-1] == "the certificate is good again"
    assert all("\n" not in line for line in said)
    assert tls.newest() is not first


def test_bad_files_leave_the_last_good_certificate(tmp_path: Path) -> None:
    tls = Certificate(*short_lived(tmp_path, 3_600))
    good = tls.newest()
    (tmp_path / "cert.pem").unlink()
    assert "cannot be read" in str(tls.read_again())
    assert tls.newest() is good
    with pytest.raises(ParameterError, match="cannot be read"):
        Certificate(tmp_path / "cert.pem", tmp_path / "key.pem")


@pytest.mark.slow
def test_a_certificate_that_ends_while_the_server_runs(tmp_path: Path) -> None:
    import ssl

    site: Site = make_site(tmp_path)
    short_lived(tmp_path, 40)
    edit(site, ("[server]", '[server]\ncertificate = "cert.pem"\nprivate_key = "key.pem"'))
    with Server(site) as server:
        port = server.url.rpartition(":")[2]

        def health(trusted: ssl.SSLContext | bool) -> object:
            return httpx.get(f"https://localhost:{port}/healthz", verify=trusted, trust_env=False).json()["status"]

        old = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        assert health(old) == "ok"
        end = time.monotonic() + 90
        while not any("has expired" in line for line in server.said):
            assert time.monotonic() < end
            time.sleep(0.2)
        with pytest.raises(httpx.ConnectError, match="certificate has expired"):
            health(old)
        assert health(False) == "certificate"
        short_lived(tmp_path, 3_600)
        renewed = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        while not any("good again" in line for line in server.said):
            assert time.monotonic() < end + 60
            time.sleep(0.2)
        assert health(renewed) == "ok"

"""Times: what depends on private work leaves on the public grid, and nobody's wait shows another's work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import httpx
import pytest
from server_site import COUNT, Site, make_site

from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.http.application import http_application
from dpdb.doors.server.timing import grid_point

GRID = 1.5


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, Site]]:
    settings = {"release_seconds": GRID}
    site = make_site(tmp_path_factory.mktemp("timed"), analysts={"ann": {"quota": 4}, "bob": {}}, settings=settings)
    desk = Desk(load_configuration(site.config))
    yield desk, site
    desk.close()


class Client:
    def __init__(self, timed: tuple[Desk, Site], name: str) -> None:
        self._app, token = http_application(timed[0]), timed[1].tokens[name]
        self._headers = {"Authorization": f"Bearer {token}"}

    async def ask(self, path: str, statement: str | None = None) -> tuple[httpx.Response, float]:
        """Ask; return the answer and the seconds that it took."""
        began = time.monotonic()
        transport = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=self._headers) as client:
            if statement is None:
                found = await client.get(path)
            else:
                found = await client.post(path, json={"statement": statement})
        return found, time.monotonic() - began


def test_the_grid_doubles() -> None:
    assert [grid_point(elapsed, 1.5) for elapsed in (0, 1.5, 1.6, 3.1, 100)] == [1.5, 1.5, 3, 6, 192]


@pytest.mark.heavy(family="spending")
def test_answers_refusals_by_budget_and_failures_leave_at_the_grid_at_the_earliest(
    timed: tuple[Desk, Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = Client(timed, "ann")
    asyncio.run(ann.ask("/v1/run", COUNT))
    found, seconds = asyncio.run(ann.ask("/v1/run", COUNT))
    assert found.status_code == 200
    assert seconds >= GRID
    found, seconds = asyncio.run(ann.ask("/v1/run", COUNT.replace("0.25", "9")))
    assert found.status_code == 402
    assert seconds >= GRID

    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr("dpdb.engine.table.LocalSlice.__init__", fail)
        patched.setattr("dpdb.engine.sql.input_rows.count_rows", fail)
        found, seconds = asyncio.run(ann.ask("/v1/run", COUNT.replace("0.25", "0.125, 'age > 30'")))
    assert found.status_code in (200, 500)
    assert seconds >= GRID


@pytest.mark.heavy(family="long")
def test_what_makes_no_release_waits_for_nobody(timed: tuple[Desk, Site]) -> None:
    """While a release of ann's waits for private work that never ends here, bob is answered."""
    desk, _ = timed
    ann, bob = Client(timed, "ann"), Client(timed, "bob")
    lock = desk.tables["visits"].front_end._session_lock

    async def both() -> None:
        waiting = asyncio.create_task(ann.ask("/v1/run", COUNT))
        await asyncio.sleep(0.5)
        for path, statement in (
            ("/v1/explain", COUNT), ("/v1/run", "SELECT 1"), ("/v1/run", f"DESCRIBE {COUNT}"),
            ("/v1/run", "SELECT * FROM visits"), ("/v1/account", None), ("/v1/history", None), ("/v1/schema", None),
        ):  # fmt: skip
            found, _ = await asyncio.wait_for(bob.ask(path, statement), 60)
            assert found.status_code == (422 if statement == "SELECT * FROM visits" else 200), found.text
            found, _ = await asyncio.wait_for(ann.ask("/v1/explain", COUNT), 60)
            assert found.status_code == 200
        assert not waiting.done()
        lock.release()
        found, seconds = await waiting
        assert found.status_code == 200
        assert seconds >= GRID

    lock.acquire()
    asyncio.run(both())


@pytest.mark.heavy(family="spending")
def test_an_account_does_not_show_a_debit_before_its_answer(timed: tuple[Desk, Site]) -> None:
    """Nor does the number of statements at once, which are counted until the grid's point."""
    ann = Client(timed, "ann")

    async def watched() -> None:
        began = time.monotonic()
        running = [asyncio.create_task(ann.ask("/v1/run", COUNT)) for _ in range(2)]
        await asyncio.sleep(1)  # both are planned, and wait for the grid
        found, _ = await ann.ask("/v1/run", "SELECT 1")
        is_early = time.monotonic() - began < GRID
        assert found.status_code == 429 or not is_early
        for path in ("/v1/account", "/v1/history"):
            await ann.ask(path)
            assert time.monotonic() - began >= GRID
        assert [(await one)[0].status_code for one in running] == [200, 200]

    asyncio.run(watched())

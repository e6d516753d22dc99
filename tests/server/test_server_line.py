"""Statements of an analyst that come while as many run as may: they wait in his own line, for nobody else."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from server_site import Server, Site, make_site
from wire_client import Wire, error_of, packed

from dpdb.doors.server.analysts import Analyst
from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import Asker, RefusedError
from dpdb.doors.server.rates import Line, Slots
from dpdb.doors.server.refusals import ClosingError, TooManyError

TWO = {name: {"quota": 100, "most_per_statement": 10} for name in ("ann", "bob")}


@pytest.fixture
def slots(tmp_path: Path) -> Iterator[Slots]:
    made = Slots(tmp_path / "slots")
    yield made
    made.close()


def test_statements_begin_in_order_and_few_at_once(slots: Slots) -> None:
    """Of 20, with others of another analyst between them; against a plain count."""
    order: dict[str, list[int]] = {"ann": [], "bob": []}
    running: Counter[str] = Counter()
    most: Counter[str] = Counter()

    async def asked() -> None:
        line = Line(slots, 2, 20, 60)

        async def one(name: str, number: int) -> None:
            async with line.place(name, None):
                order[name].append(number)
                running[name] += 1
                most[name] = max(most[name], running[name])
                await asyncio.sleep(0.005)
                running[name] -= 1

        await asyncio.gather(*(one(name, number) for number in range(20) for name in order))
        assert not line._waiting

    asyncio.run(asked())
    assert dict(most) == {"ann": 2, "bob": 2}
    assert order == {name: [*range(20)] for name in order}


@pytest.mark.parametrize(("most", "seconds", "words"), [
    (3, 60, "2 statements of yours are running, and 3 wait for them: wait for one of them"),
    (20, 0.05, "2 statements of yours are running, and this one has waited 0.05 seconds: ask again"),
])  # fmt: skip
def test_a_line_is_bounded(most: int, seconds: float, words: str, slots: Slots) -> None:
    async def asked() -> list[Any]:
        line, go_on = Line(slots, 2, most, seconds), asyncio.Event()

        async def one() -> str:
            async with line.place("ann", None):
                await go_on.wait()
            return "answered"

        tasks = [asyncio.create_task(one()) for _ in range(6)]
        await asyncio.sleep(0.3)
        async with line.place("bob", None):  # another waits for none of them
            go_on.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(asked())
    refused = [str(one) for one in found if isinstance(one, TooManyError)]
    assert refused == [words] * (1 if most == 3 else 4)
    assert found.count("answered") == 6 - len(refused)


def test_who_goes_or_waits_at_a_stop_gets_no_place(slots: Slots) -> None:
    async def asked() -> list[Any]:
        line, go_on = Line(slots, 1, 20, 60), asyncio.Event()

        async def one(is_gone: bool) -> str:
            async def gone() -> bool:
                return is_gone

            async with line.place("ann", gone):
                await go_on.wait()
            return "answered"

        tasks = [asyncio.create_task(one(is_gone)) for is_gone in (False, True, False, False)]
        await asyncio.sleep(0.1)
        go_on.set()
        await asyncio.sleep(0.1)
        go_on.clear()
        tasks += [asyncio.create_task(one(False)) for _ in range(3)]
        await asyncio.sleep(0.1)
        line.close()
        await asyncio.sleep(0.1)
        go_on.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = [one if isinstance(one, str) else type(one) for one in asyncio.run(asked())]
    assert found == ["answered", TooManyError, "answered", "answered", "answered", ClosingError, ClosingError]
    assert slots.take("ann", 1) is not None


@pytest.mark.heavy(family="long")
def test_a_page_with_six_parallel_fetches_is_answered(tmp_path: Path) -> None:
    site = make_site(tmp_path, epsilon=50, analysts=TWO)
    with Server(site) as server:

        def ask(number: int) -> int:
            text = f"SELECT value FROM dp_count('visits', 0.25, label := '{number}')"
            return server.ask("ann", text).status_code

        with ThreadPoolExecutor(6) as pool:
            assert [*pool.map(ask, range(6))] == [200] * 6
    assert site.spent() == pytest.approx(6 * 0.25)


def ask_many(desk: Desk, name: str, many: int, cost: float) -> list[str]:
    async def one(number: int) -> str:
        text = f"SELECT value FROM dp_count('visits', {cost}, label := '{number}')"
        try:
            await desk.run(Asker(Analyst(name, "analyst"), "test", "here"), text)
        except RefusedError as refused:
            return refused.refusal.code
        return "answered"

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*map(one, range(many)))

    return asyncio.run(all_of_them())


@pytest.mark.heavy(family="spending")
def test_what_is_beyond_the_line_is_refused_and_spends_nothing(tmp_path: Path) -> None:
    site = make_site(tmp_path, epsilon=50, analysts=TWO, settings={"waiting": 4})
    desk = Desk(load_configuration(site.config))
    try:
        found = Counter(ask_many(desk, "ann", 12, 0.25))
    finally:
        desk.close()
    assert found == {"answered": 6, "too_many": 6}
    assert site.spent() == pytest.approx(6 * 0.25)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Site]]:
    """A server whose releases are answered after a second."""
    site = make_site(tmp_path_factory.mktemp("slow"), epsilon=50, analysts=TWO, settings={"release_seconds": 1},
                     postgres=True)  # fmt: skip
    with Server(site) as server:
        yield server, site


def wires(server: Server, many: int, name: str = "ann") -> list[Wire]:
    made = [Wire(server.postgres_port) for _ in range(many)]
    for wire in made:
        assert wire.log_in(name, server.site.tokens[name])[-1] == (b"Z", b"I")
    return made


def sent(wire: Wire, number: int | str, cost: float = 0.25) -> None:
    text = f"SELECT value FROM dp_count('visits', {cost}, label := '{number}')"
    wire.send(packed(b"Q", text.encode() + b"\0"))


@pytest.mark.heavy(family="long")
def test_a_pool_of_five_connections_is_answered(slow: tuple[Server, Site]) -> None:
    server, site = slow
    spent = site.spent()
    pool = wires(server, 5)
    for number, wire in enumerate(pool):
        sent(wire, number)
    for wire in pool:
        assert [kind for kind, _ in wire.until(b"Z")] == [b"T", b"D", b"N", b"C", b"Z"]
        wire.socket.close()
    assert site.spent() - spent == pytest.approx(5 * 0.25)


@pytest.mark.heavy
@pytest.mark.parametrize("how", ["cancelled", "closed", "reset"])
def test_what_nobody_waits_for_any_more_does_not_begin(how: str, slow: tuple[Server, Site]) -> None:
    """Two statements run, a third waits; its client goes, and it is never charged."""
    server, site = slow
    spent = site.spent()
    pool = wires(server, 3)
    for number, wire in enumerate(pool):
        sent(wire, f"{how} {number}")
        time.sleep(0.15)
    last = pool.pop()
    if how == "cancelled":
        with Wire(server.postgres_port) as other:
            key = b"".join(part.to_bytes(4, "big") for part in last.key)
            other.send(b"\0\0\0\x10" + (80877102).to_bytes(4, "big") + key)
        assert error_of(last.until(b"Z")[0])["C"] == "57014"
    elif how == "reset":
        last.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    last.socket.close()
    for wire in pool:
        assert [kind for kind, _ in wire.until(b"Z")] == [b"T", b"D", b"N", b"C", b"Z"]
        wire.socket.close()
    with wires(server, 1)[0] as after:  # in the line behind it
        assert after.query("SELECT 1")[0][0] == b"T"
    assert site.spent() - spent == pytest.approx(2 * 0.25)


@pytest.mark.heavy(family="long")
def test_what_an_http_client_left_does_not_begin(slow: tuple[Server, Site]) -> None:
    server, site = slow
    spent = site.spent()
    pool = wires(server, 2)
    for number, wire in enumerate(pool):
        sent(wire, f"http {number}")
    time.sleep(0.15)
    with server.client("ann", timeout=0.3) as client, pytest.raises(Exception, match="timed out"):
        client.post("/v1/run", json={"statement": "SELECT value FROM dp_count('visits', 0.25, label := 'left')"})
    for wire in pool:
        wire.until(b"Z")
        wire.socket.close()
    assert server.ask("ann", "SELECT 1").status_code == 200
    assert site.spent() - spent == pytest.approx(2 * 0.25)

"""One analyst who sends each kind of message at its largest does not stop the server for others."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from case_share import fifth
from one_analyst import (
    ATTACKS,
    Waits,
    attacked,
    called,
    logged_in,
    resident,
    rows_of,
    statement,
    table_of_waits,
)  # fmt: skip
from postgres_tls import certificates
from server_site import Server, Site, crowding, in_one_of_three, make_site
from wire_client import Wire, bind, describe, error_of, execute, parse

from dpdb.doors.server import exchange, mcp_protocol, mcp_tools, pieces
from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.http import application
from dpdb.doors.server.kept_rows import KeptRows
from dpdb.doors.server.postgres import catalog, conversation, statements
from dpdb.doors.server.postgres.connection import PostgresListener
from dpdb.doors.server.refusals import KeptRowsError
from dpdb.doors.server.workers import Workers
from dpdb.doors.sql import AskedErrors, Template, asked_errors
from dpdb.errors import LedgerError

TWO = {name: {"quota": 100, "most_per_statement": 10} for name in ("ann", "bob")}
THREE = TWO | {"cat": TWO["bob"]}


@pytest.fixture(scope="module")
def beset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("beset")
    with Server(make_site(folder, epsilon=500, analysts=THREE, postgres=True)) as running:
        yield running


@functools.cache
def idle(server: Server, kinds: str) -> Waits:
    waits = Waits(server, kinds)
    with waits.asking():
        time.sleep(1.5)
    return waits


def others_are_answered(server: Server, kind: str, kinds: str = "health select") -> None:
    """Others wait at most some times as long as beside an idle server; of an attack that stops it, seconds."""
    alone = idle(server, kinds)
    seen: list[str] = []

    def beyond() -> float:
        waits, took = attacked(server, kind, kinds)
        seen.append(f"{kind} {took:.2f} s: {waits}; idle: {alone}")
        return max(waits.worst(one) - 5 * alone.worst(one) for one in waits.times)

    assert in_one_of_three(beyond, 0.5), seen
    print(f"\n{seen[-1]}")


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["bind", "split", "longest json", "mcp body"])
def test_others_are_answered(kind: str, beset: Server) -> None:
    others_are_answered(beset, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ATTACKS)
def test_others_are_answered_during_each_attack(kind: str, beset: Server) -> None:
    others_are_answered(beset, kind, "health select release mcp")


@pytest.fixture(scope="module", params=["plain", "tls"])
def besieged_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("besieged")
    settings = {}
    if request.param == "tls":
        certificates(folder)
        settings = {"certificate": "server.pem", "private_key": "server.key"}
    with Server(make_site(folder, epsilon=500, analysts=THREE, settings=settings, postgres=True)) as running:
        yield running


@pytest.mark.parametrize(
    ("attacks", "seconds"),
    [
        pytest.param(("longest json",), 0.5, marks=pytest.mark.heavy(family="long")),
        pytest.param((*ATTACKS,), 3.0, marks=pytest.mark.slow),
    ],
)
def test_others_are_answered_beside_every_connection_of_one(
    attacks: Sequence[str], seconds: float, besieged_server: Server
) -> None:
    """The table of issue 45, with and without TLS: one analyst sends each kind on 64 connections without a pause.

    Its figures are of a machine that is shared with the attacker's own process: seconds are told, and what nobody
    may reach is five times the longest wait beside an idle server and half a second.
    """
    print("\n| attack | of | before p50, worst | during | after |\n| --- | --- | --- | --- | --- |")
    wrong: list[tuple[str, str, float, float]] = []

    def too_slow() -> int:
        wrong[:] = _too_slow(besieged_server, attacks, seconds)
        return len(wrong)

    if len(attacks) == 1:
        assert in_one_of_three(too_slow, 0), wrong
    else:
        assert too_slow() <= len(attacks) // 10, wrong  # a machine pauses now and then


def _too_slow(server: Server, attacks: Sequence[str], seconds: float) -> list[tuple[str, str, float, float]]:
    """Print the table, and return where others waited too long."""
    wrong = []
    for kind, phases in table_of_waits(server, attacks, seconds):
        before, during, after = phases
        for one in before.times:
            shown = (f"{waits.median(one):.3f}, {waits.worst(one):.3f}" for waits in phases)
            print(f"| {kind} | {one} | {' | '.join(shown)} |", flush=True)
            for waits in (during, after):
                if waits.worst(one) > 5 * before.worst(one) + 0.5 * crowding():
                    wrong.append((kind, one, before.worst(one), waits.worst(one)))
    return wrong


# -- which thread works ---------------------------------------------------------------------------------------

WORK: tuple[tuple[Any, str], ...] = (
    (statements, "_template"), (statements, "_catalog_tree"), (statements, "split_statements"), (Template, "bound"),
    (Template, "described"), (statements, "columns_of"), (statements, "described_columns"),
    (conversation, "split_statements"), (conversation, "bare"), (conversation, "read_value"),
    (conversation, "row_description"), (conversation, "columns_of"), (conversation, "encoded"),
    (conversation, "data_rows"), (catalog, "_may_be_about"), (catalog, "query_of"), (application, "_fields"),
    (application, "json_bytes"), (exchange, "json_bytes"), (exchange, "rows_of"),
    (pieces, "python_values"), (mcp_protocol, "invalid_request"), (mcp_tools, "json_bytes"), (exchange, "_literal"),
)  # fmt: skip


class Inside:
    """A desk with its doors in this process, in an event loop of its own thread."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.desk = Desk(load_configuration(site.config))
        self._started = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.thread.start()
        assert self._started.wait(60)

    async def _serve(self) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port, self.loop = listener.getsockname()[1], asyncio.get_running_loop()
            self._stop, self.app = asyncio.Event(), application.http_application(self.desk)
            wire = PostgresListener(self.desk, listener, None)
            self._started.set()
            await self._stop.wait()
            wire.close()
            await wire.wait_closed(10)

    def wire(self, name: str = "ann") -> Wire:
        made = Wire(self.port)
        assert made.log_in(name, self.site.tokens[name])[-1] == (b"Z", b"I")
        return made

    def post(self, path: str, content: bytes, accept: str = "application/json", **headers: str) -> httpx.Response:
        return self._asked("POST", path, content, {"Accept": accept, "Content-Type": "application/json", **headers})

    def get(self, path: str) -> httpx.Response:
        return self._asked("GET", path, b"", {})

    def _asked(self, method: str, path: str, content: bytes, headers: dict[str, str]) -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            own = {"Authorization": f"Bearer {self.site.tokens['ann']}", **headers}
            async with httpx.AsyncClient(transport=transport, base_url="http://x", headers=own) as client:
                return await client.request(method, path, content=content)

        return asyncio.run_coroutine_threadsafe(asked(), self.loop).result(60)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)
        self.thread.join(20)
        self.desk.close()


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    made = Inside(make_site(tmp_path_factory.mktemp("inside"), epsilon=500, analysts=TWO))
    yield made
    made.close()


def watched(function: Callable[..., Any], name: str, seen: Counter[str], threads: set[str]) -> Callable[..., Any]:
    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        seen[name] += 1
        threads.add(f"{name} in {threading.current_thread().name}")
        return function(*args, **kwargs)

    return call


@pytest.mark.heavy(family="long")
def test_work_of_messages_is_done_by_workers(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()
    threads: set[str] = set()
    for place, name in WORK:
        made = watched(getattr(place, name), f"{place.__name__}.{name}", seen, threads)
        monkeypatch.setattr(place, name, made)
    with inside.wire() as wire:
        assert b"D" in [kind for kind, _ in wire.query("SHOW ALL; SELECT [1, 2] AS l, 'a' AS t")]
        text = "SELECT value FROM dp_count('visits', $1) WHERE value > $2"
        asked = wire.extended(parse(text, "s"), describe("S", "s"), bind(b"0.01", b"-1000", name="s"), execute())
        assert not [error_of(one) for one in asked if one[0] == b"E"]
        about = "SELECT oid FROM pg_catalog.pg_class WHERE relname = $1"
        wire.extended(parse(about), describe("S"), bind(b"visits"), execute())
    arrow = "application/vnd.apache.arrow.stream"
    for path, body, accept in (
        ("/v1/run", statement("SELECT 1 AS n"), "application/json"),
        ("/v1/run", statement("SELECT 1 AS n"), arrow),
        ("/v1/explain", statement("SELECT 1 AS n"), "application/json"),
        ("/v1/check", b'{"suite": "nightly", "keys": ["a"], "by": "state"}', "application/json"),
        ("/mcp", called("run", statement="SELECT 1 AS n"), "application/json, text/event-stream"),
    ):
        assert inside.post(path, body, accept).status_code in (200, 422), path
    assert not {f"{place.__name__}.{name}" for place, name in WORK} - {*seen}
    wrong = [one for one in threads if " in dpdb-" not in one]
    # Errors and constant answers are a line long, and made where they are found.
    assert not wrong


def test_each_analyst_has_one_worker_at_a_time_and_waits_for_himself() -> None:
    running: Counter[str] = Counter()
    most: Counter[str] = Counter()
    together, order = 0, []
    lock = threading.Lock()

    def work(name: str, number: int) -> None:
        nonlocal together
        with lock:
            running[name] += 1
            most[name] = max(most[name], running[name])
            together = max(together, running.total())
            order.append((name, number))
        time.sleep(0.01)
        with lock:
            running[name] -= 1

    async def all_work() -> None:
        workers = Workers()
        tasks = [
            asyncio.create_task(workers.run(name, work, name, number))
            for number in range(20)
            for name in ("ann", "bob")
        ]
        await asyncio.sleep(0.03)
        tasks[6].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not workers._shares._places
        workers.close()

    asyncio.run(all_work())
    assert dict(most) == {"ann": 1, "bob": 1}
    assert together == 2
    for name in ("ann", "bob"):
        numbers = [number for one, number in order if one == name]
        assert numbers == sorted(numbers)


# -- rows that are kept ---------------------------------------------------------------------------------------


class Kept:
    pass


def test_bytes_are_counted_until_they_are_dropped() -> None:
    """Against a plain sum; each refusal is one that the sum has no room for."""
    drawn = random.Random(3)
    kept, held = KeptRows(100_000, 250_000), {name: [] for name in ("ann", "bob", "cy")}
    refused = 0
    for _ in range(3_000):
        name = drawn.choice([*held])
        if drawn.random() < 0.4 and held[name]:
            held[name].pop(drawn.randrange(len(held[name])))
            continue
        most = drawn.choice((500, 10_000, 60_000))
        own, in_all = sum(size for _, size in held[name]), sum(size for one in held.values() for _, size in one)
        try:
            with kept.room(name, most) as holds:
                size = drawn.randint(0, most)
                held[name].append((holds(Kept(), size), size + 4_096))
        except KeptRowsError:
            refused += 1
            assert own + most > 100_000 or in_all >= 250_000
        else:
            assert own + most <= 100_000
            assert in_all < 250_000
        assert kept.held == sum(size for one in held.values() for _, size in one)
    assert 0 < refused < 2_000
    held.clear()
    assert kept.held == 0


@pytest.mark.heavy(family="kept")
def test_rows_go_with_their_connection(inside: Inside) -> None:
    """Whether its portals, cursors and statements are open, it is cut off, or it ends; without a collector."""
    desk, ways = inside.desk, 0
    gc.collect()
    gc.disable()
    try:
        for ending in ("X", "cut", "reset"):
            with inside.wire() as wire:
                wire.query("BEGIN")
                wire.query(f"DECLARE c CURSOR FOR {rows_of(9)}")
                wire.query("FETCH 10 FROM c")
                wire.extended(parse(rows_of(9), "s"), bind(name="s", portal="p"), execute("p", 10))
                wire.extended(parse("SELECT $1, $2", "t"), describe("S", "t"))
                assert desk.kept.held > 2 * 4 * 3**9
                if ending == "X":
                    wire.send(b"X\0\0\0\4")
                elif ending == "reset":
                    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            until = time.monotonic() + 20
            while desk.kept.held and time.monotonic() < until:
                time.sleep(0.01)
            assert desk.kept.held == 0, ending
            ways += 1
    finally:
        gc.enable()
    assert ways == 3


@pytest.mark.heavy(family="long")
def test_rows_of_answers_over_http_and_mcp_are_counted_and_dropped(inside: Inside) -> None:
    for path, body, accept in (
        ("/v1/run", statement(rows_of(8)), "application/json"),
        ("/v1/run", statement(rows_of(8)), "application/vnd.apache.arrow.stream"),
        ("/mcp", called("run", statement=rows_of(5)), "application/json, text/event-stream"),
    ):
        with monitored(inside.desk.kept) as most:
            assert inside.post(path, body, accept).status_code == 200
        assert most[0] > 0
        gc.collect()
        assert inside.desk.kept.held == 0


@contextlib.contextmanager
def monitored(kept: KeptRows) -> Iterator[list[int]]:
    most, counted = [0], kept._counted

    def watch(name: str, table: pa.Table, size: int) -> pa.Table:
        most[0] = max(most[0], size)
        return counted(name, table, size)

    kept._counted = watch  # type: ignore[method-assign]
    try:
        yield most
    finally:
        del kept._counted


def keep_rows(
    server: Server, connections: int, power: int, name: str = "ann"
) -> tuple[Counter[str], contextlib.ExitStack]:
    """Open portals and cursors on many connections and fetch one row of each; returns codes of refusals."""
    codes: Counter[str] = Counter()
    stack = contextlib.ExitStack()
    for _ in range(connections):
        wire = stack.enter_context(logged_in(server, name))
        wire.query("BEGIN")
        found = wire.query(f"DECLARE c CURSOR FOR {rows_of(power, 's0.state AS a')}")
        if found[0][0] != b"E":
            found += wire.extended(parse(rows_of(power)), bind(portal="p"), execute("p", 1))
        codes.update(error_of(one)["C"] for one in found if one[0] == b"E")
    return codes, stack


@pytest.mark.heavy(family="kept")
def test_connections_share_what_is_kept(tmp_path: Path) -> None:
    site = make_site(tmp_path, analysts=TWO, settings={"kept_mib_per_analyst": 66, "kept_mib": 200}, postgres=True)
    with Server(site) as server:
        codes, stack = keep_rows(server, 6, 10)
        with stack:
            assert set(codes) == {"53200"}
            with logged_in(server, "bob") as other:
                assert [kind for kind, _ in other.query("SELECT 1")] == [b"T", b"D", b"C", b"Z"]
            refused = server.ask("ann", "SELECT value FROM dp_count('visits', 0.1)")
            assert refused.status_code in (200, 429)  # as JSON it needs less room
            assert site.spent() == pytest.approx(0.1 * (refused.status_code == 200))
        with logged_in(server) as again:
            until = time.monotonic() + 20
            while again.query(rows_of(3))[0][0] == b"E" and time.monotonic() < until:
                time.sleep(0.1)
            assert again.query(rows_of(3))[0][0] == b"T"


def asked_at_once(server: Server, names: Sequence[str], many: int) -> float:
    """Ask `many` statements, those of each analyst one after another; returns the seconds that it took."""
    began = time.monotonic()

    def ask(name: str, most: int) -> None:
        with server.client(name, timeout=300) as client:
            for _ in range(most):
                assert client.post("/v1/run", content=statement("SELECT 1")).status_code == 200

    with ThreadPoolExecutor(len(names)) as pool:
        for done in [pool.submit(ask, name, many // len(names)) for name in names]:
            done.result()
    return time.monotonic() - began


def closed_one_after_another(server: Server, many: int) -> None:
    for _ in range(many):
        with logged_in(server, "a0") as wire:
            wire.query("BEGIN")
            wire.extended(parse(rows_of(8)), bind(portal="p"), execute("p", 1))


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(
    ("rounds", "connections", "closed", "requests"),
    [(2, 2, 2, 16), pytest.param(4, 16, 100, 500, marks=pytest.mark.slow),
     pytest.param(4, 64, 500, 5_000, marks=pytest.mark.slow)],
)  # fmt: skip
def test_memory_over_requests_connections_and_kept_rows(
    rounds: int, connections: int, closed: int, requests: int, tmp_path: Path
) -> None:
    """Of one server, printed after each stage of some rounds: the third and the fourth add nothing.

    The interpreter and Arrow keep pages that were freed, in pieces, so memory grows in the first rounds.
    """
    names = [f"a{number}" for number in range(8)]
    rights = {name: {"quota": 1, "most_per_statement": 1} for name in names}
    settings = {"kept_mib_per_analyst": 256 if connections > 16 else 70, "kept_mib": 1_024}
    most: list[int] = []
    refused = set()
    with Server(make_site(tmp_path, analysts=rights, settings=settings, postgres=True)) as server:

        def stage(name: str, more: object = "") -> int:
            size = resident(server)
            print(f"{name}: {size >> 20} MiB {more}", flush=True)
            return size

        asked_at_once(server, names, len(names))
        first = stage("idle")
        for number in range(1, rounds + 1):
            codes, stack = keep_rows(server, connections, 12, "a0")
            with stack:
                kept = stage(f"round {number}: {connections} connections keep rows", dict(codes))
            assert set(codes) == {"53200"}
            refused.add(codes["53200"])
            with logged_in(server, "a0") as again:  # until the server has seen that they are gone
                until = time.monotonic() + 60
                while again.query(rows_of(12))[0][0] == b"E":
                    assert time.monotonic() < until
                    time.sleep(0.1)
            stage(f"round {number}: they are closed")
            closed_one_after_another(server, closed)
            stage(f"round {number}: {closed} connections, each closed with rows")
            took = asked_at_once(server, names, requests)
            ended = stage(f"round {number}: {requests} requests of {len(names)} analysts", f"in {took:.0f} s")
            most.append(max(kept, ended))
        assert len(refused) == 1
        assert ended - first < 400 << 20
        assert most[0] - first < 600 << 20
        assert rounds < 3 or max(most[2:]) - max(most[:2]) < 16 << 20


@pytest.mark.heavy(family="long")
def test_json_has_a_smaller_cap_than_arrow(beset: Server) -> None:
    spent = beset.site.spent()
    text = f"SELECT n.n, r.value FROM ({rows_of(11)}) AS n, dp_count('visits', 0.1) AS r"
    with beset.client("ann") as client:
        refused = client.post("/v1/run", content=statement(text))
        assert refused.status_code == 200 or "100,000 rows as JSON" in refused.json()["message"], refused.text
        free = client.post("/v1/run", content=statement(rows_of(11)))
        assert free.status_code == 422
        assert "more than 100,000 rows as JSON: write LIMIT, or ask for Arrow" in free.json()["message"]
        headers = {"Accept": "application/vnd.apache.arrow.stream"}
        found = client.post("/v1/run", content=statement(rows_of(11)), headers=headers)
        assert pa.ipc.open_stream(found.content).read_all().num_rows == 3**11
        rows = client.post("/v1/run", content=statement(rows_of(10, "s0.state AS a, s1.people AS b"))).json()["rows"]
        assert Counter(map(tuple, rows)) == {
            (state, people): 3**8 for state in ("CA", "NY", "TX") for people in (39, 19, 29)
        }
    assert beset.site.spent() - spent <= 0.1 + 1e-9


def test_pieces_are_what_arrow_says() -> None:
    drawn = random.Random(5)

    def value(kind: pa.DataType) -> Any:
        if drawn.random() < 0.2:
            return None
        if pa.types.is_fixed_size_list(kind):
            return [value(kind.value_type) for _ in range(kind.list_size)]
        if pa.types.is_list(kind):
            return [value(kind.value_type) for _ in range(drawn.choice((0, 1, 3, 40)))]
        if pa.types.is_struct(kind):
            return {one.name: value(one.type) for one in kind}
        return drawn.randint(-100, 100) if pa.types.is_integer(kind) else drawn.choice(("", "a", "it's \u00fc"))

    inner = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])
    kinds = [pa.int8(), pa.string(), pa.list_(pa.int32()), pa.list_(pa.int32(), 3), inner, pa.list_(inner),
             pa.struct([("x", pa.list_(inner)), ("y", pa.list_(pa.int8(), 2))])]  # fmt: skip
    for size in (0, 1, 700, 12_000):
        columns = [
            pa.array([value(kind) for _ in range(size if n < 3 else min(size, 700))], kind)
            for n, kind in enumerate(kinds)
        ]
        for array in columns if size < 5_000 else fifth(columns):
            table = pa.table({"a": array, "b": array})
            for some in (table, table.slice(3, 500), pa.concat_tables([table, table.slice(1)])):
                assert pieces.python_values(some["a"]) == some["a"].to_pylist()
                assert pa.ipc.open_stream(b"".join(pieces.arrow_stream(some))).read_all() == some
                rows = b"".join(pieces.json_rows(some))
                assert rows == pieces.json_bytes([[*row.values()] for row in some.to_pylist()])


@pytest.mark.heavy(family="long")
def test_an_analyst_has_half_of_the_places_of_the_catalog(inside: Inside) -> None:
    """However many questions he asks at once, another's comes through beside them."""
    running: Counter[str] = Counter()
    most: Counter[str] = Counter()
    lock, go_on = threading.Lock(), threading.Event()

    async def asked() -> None:
        known = await catalog._catalog_of(inside.desk)
        answered = known._answered

        def slow(query: Any, analyst: str, database: str) -> pa.Table:
            with lock:
                running[analyst] += 1
                most[analyst] = max(most[analyst], running[analyst])
            if analyst == "ann":
                assert go_on.wait(60)
            with lock:
                running[analyst] -= 1
            return answered(query, analyst, database)

        known._answered = slow  # type: ignore[method-assign]
        try:
            ask = functools.partial(known.answer, "SELECT count(*) FROM pg_class", inside.desk.workers)
            tasks = [asyncio.create_task(ask("ann", "visits")) for _ in range(24)]
            while running["ann"] < 2:
                await asyncio.sleep(0.01)
            assert (await asyncio.wait_for(ask("bob", "visits"), 60)).num_rows == 1
            assert not any(task.done() for task in tasks)
            go_on.set()
            await asyncio.gather(*tasks)
        finally:
            del known._answered

    asyncio.run_coroutine_threadsafe(asked(), inside.loop).result(120)
    assert dict(most) == {"ann": 2, "bob": 1}


@pytest.mark.heavy(family="long")
def test_errors_of_analysts_do_not_fill_the_owners_log(inside: Inside, caplog: pytest.LogCaptureFixture) -> None:
    """Hundreds of failing statements of many characters: some short records, and how many there were."""
    long = "x" * 20_000
    for number in range(60):
        inside.post("/v1/run", statement(f"SELECT {number} + CAST('{long}' AS INTEGER) FROM states"))
    written = sum(len(record.getMessage()) for record in caplog.records if record.name == "dpdb.owner")
    assert written < 30 * 9_000


def test_asked_errors_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now, records = 1_000.0, []
    monkeypatch.setattr(asked_errors.time, "monotonic", lambda: now)
    monkeypatch.setattr(asked_errors.OWNER_LOG, "error", lambda text, *given: records.append(text % given))
    monkeypatch.setattr(asked_errors.OWNER_LOG, "warning", lambda text, *given: records.append(text % given))
    errors = AskedErrors("statements that failed")
    for number in range(100):
        errors.tell(f"{number} {'x' * 50_000} end")
    assert len(records) == 30
    assert all(len(record) < 4_100 and record.endswith(" end") for record in records)
    now += 61
    errors.tell("again", ValueError("y" * 50_000))
    assert records[30] == "statements that failed: 70 more were not written here"
    assert records[31].startswith("again\nTraceback" if "Traceback" in records[31] else "again\nValueError")
    assert len(records[31]) < 8_200


@pytest.mark.heavy(family="long")
def test_an_unreadable_ledger_is_unavailable_at_every_door(tmp_path: Path) -> None:
    made = Inside(make_site(tmp_path, analysts=TWO))
    try:
        with made.wire() as wire:
            assert wire.query("SELECT 1")[0][0] == b"T"
            ledger = made.desk.directory.ledgers["visits"]

            def unreadable() -> None:
                raise LedgerError("/private/visits.ledger: it is damaged")

            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(ledger.rights, "access", unreadable)
                with pytest.raises(LedgerError):
                    made.desk.directory.refresh()
                asked = wire.query("SELECT 1")
                assert [error_of(one)["C"] for one in asked if one[0] == b"E"] == ["58000"]
                for name, token in (("ann", made.site.tokens["ann"]), ("ann", "wrong"), ("nobody", "wrong")):
                    with Wire(made.port) as other:
                        error = error_of(other.log_in(name, token)[-1])
                        assert (error["C"], "private" in error["M"]) == ("58000", False)
                refused = made.post("/v1/run", statement("SELECT 1"))
                assert (refused.status_code, refused.json()["error"]) == (503, "unavailable")
            made.desk.directory.refresh()
            assert wire.query("SELECT 1")[0][0] == b"T"  # the same connection goes on
            assert made.post("/v1/run", statement("SELECT 1")).status_code == 200
    finally:
        made.close()


@pytest.mark.heavy(of=10)
@pytest.mark.parametrize(
    "key", ["public", "suites", "source", "ledger", "receipt_key", "certificate", "audit", "owner_log"]
)
def test_pipes_are_refused(key: str, tmp_path: Path) -> None:
    """A server would wait for whoever writes to a pipe, for ever."""
    site = make_site(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    text = site.config.read_text()
    lines = {"public": ('states = "states.csv"', 'states = "pipe"'), "suites": ('"nightly.txt"', '"pipe"'),
             "source": ('"visits.parquet"', '"pipe"'), "ledger": ('"visits.ledger"', '"pipe"'),
             "owner_log": ('owner_log = "owner.log"', 'owner_log = "pipe"')}  # fmt: skip
    old, new = lines.get(key, ("[server]", f'[server]\n{key} = "pipe"'))
    if key == "certificate":
        new += '\nprivate_key = "pipe"'
    assert old in text
    site.config.write_text(text.replace(old, new))
    done = subprocess.run(
        [sys.executable, "-m", "dpdb", "serve", "--config", str(site.config)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    assert "pipe" in done.stderr

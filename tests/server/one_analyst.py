"""One analyst who sends each kind of message at its largest, and what others wait for meanwhile."""

from __future__ import annotations

import contextlib
import itertools
import json
import multiprocessing
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server_site import Server
from wire_client import EndedError, Wire, bind, describe, packed, parse

__all__ = ["ATTACKS", "Waits", "attacked", "resident", "rows_of", "table_of_waits"]

BINDS = 80


def rows_of(power: int, column: str = "1 AS n") -> str:
    """A statement of 3 ** power rows."""
    tables = ", ".join(f"states AS s{number}" for number in range(power))
    return f"SELECT {column} FROM {tables}"


def logged_in(server: Server, name: str = "ann", address: str = "127.0.0.1", kind: type[Wire] = Wire) -> Wire:
    wire = kind(server.postgres_port, seconds=300, address=address)
    try:
        if server.url.startswith("https"):
            wire.encrypt()
        last = wire.log_in(name, server.site.tokens[name])[-1]
        assert last == (b"Z", b"I"), last
    except BaseException:
        wire.socket.close()
        raise
    return wire


OTHER = "127.0.0.2"
"""Where those are who wait: of one address the oldest silent connection ends for a newcomer."""


@dataclass(frozen=True)
class Attack:
    """What one analyst asks on each of `many` connections at once: `ask` opens one, and asks once."""

    many: int
    ask: Callable[[Server], object]

    def __call__(self, server: Server) -> None:
        self.on(server, self.many, lambda: False)

    def on(self, server: Server, many: int, goes_on: Callable[[], bool]) -> None:
        """Ask on many connections, and again, each on a new one, as long as `goes_on`."""

        def one() -> None:
            self.ask(server)
            while goes_on():
                self.ask(server)

        threads = [threading.Thread(target=one, daemon=True) for _ in range(many)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Flood(Wire):
    """A client that throws away what it is answered, for little work."""

    def until(self, *kinds: bytes) -> list[tuple[bytes, bytes]]:
        if kinds != (b"Z",):
            return super().until(*kinds)
        last = b""
        while not (last[-6:-1] == b"Z\0\0\0\5" and last[-1:] in (b"I", b"T", b"E")):
            piece = self.socket.recv(1 << 16)
            if not piece:
                raise EndedError
            last = last[-6:] + piece
        ANSWERED[0] += 1
        return []


def on_wires(many: int, ask: Callable[[Wire], object]) -> Attack:
    def asked(server: Server) -> None:
        with contextlib.suppress(OSError, EndedError, AssertionError), logged_in(server, kind=Flood) as wire:
            ask(wire)

    return Attack(many, asked)


def over_http(many: int, ask: Callable[[Server], object]) -> Attack:
    return Attack(many, ask)


def posted(path: str, content: bytes) -> Callable[[Server], object]:
    """Ask over bare sockets: a client that works hard would take the processor from the server beside it."""

    def ask(server: Server) -> None:
        given = "Host: x\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
        head = f"POST {path} HTTP/1.1\r\n{given}Authorization: Bearer {server.site.tokens['ann']}\r\n"
        head += f"Connection: close\r\nContent-Length: {len(content)}\r\n\r\n"
        place = urlsplit(server.url)
        with contextlib.suppress(OSError), socket.create_connection((place.hostname, place.port), 300) as bare:
            if place.scheme == "https":
                with UNVERIFIED.wrap_socket(bare) as encrypted:
                    _sent(encrypted, head.encode() + content)
            else:
                _sent(bare, head.encode() + content)

    return ask


UNVERIFIED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
UNVERIFIED.check_hostname, UNVERIFIED.verify_mode = False, ssl.CERT_NONE
ANSWERED = [0]
"""Requests of the attack that were answered, by this process."""


def _sent(one: socket.socket, content: bytes) -> None:
    one.sendall(content)
    if one.recv(1 << 16):
        ANSWERED[0] += 1
        while one.recv(1 << 16):
            pass


def statement(text: str) -> bytes:
    return json.dumps({"statement": text}).encode()


def called(tool: str, **arguments: object) -> bytes:
    call = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()


def binds(wire: Wire) -> None:
    many = 900
    text = "SELECT " + ",".join(f"${number}" for number in range(1, many + 1))
    values = [b"1"] * many
    wire.extended(parse(text, "s"), *(bind(*values, name="s", portal=f"p{number}") for number in range(BINDS)))


def sums(wire: Wire) -> None:
    wire.extended(parse("SELECT " + "+".join(["$1"] * 4_800)))


def syncs(wire: Wire, many: int = 20_000) -> None:
    sending = threading.Thread(target=wire.send, args=(packed(b"S") * many,))
    sending.start()
    wire.exactly(6 * many)
    sending.join()


WIDE = ",".join(f"{number} AS a{number}" for number in range(1, 3_300))
LONGEST = 128 << 10
PAIRS = rows_of(13, "1 AS n, 'some text' AS t")

ATTACKS: Mapping[str, Attack] = {
    "parse": on_wires(6, sums),
    "bind": on_wires(1, binds),
    "split": on_wires(2, lambda wire: wire.query("a;" * (LONGEST // 2 - 4))),
    "session": on_wires(2, lambda wire: wire.query("SHOW ALL;" * 1_000)),
    "comments": on_wires(2, lambda wire: wire.query("/**/" * (LONGEST // 4 - 4) + "SELECT 1")),
    "types": on_wires(2, lambda wire: wire.extended(parse("SELECT 1", "", *[25] * 32_000))),
    "values": on_wires(2, lambda wire: wire.extended(parse("SELECT $1", "s"), bind(*[None] * 32_000, name="s"))),
    "list": on_wires(2, lambda wire: wire.extended(
        parse("SELECT $1", "s", 1009), bind(b"{" + b",".join([b"a"] * 10_000) + b"}", name="s"))),
    "describe": on_wires(2, lambda wire: wire.extended(parse(f"SELECT {WIDE}", "s"), describe("S", "s"))),
    "messages": on_wires(4, syncs),
    "rows": on_wires(2, lambda wire: wire.query(rows_of(12))),
    "long row": on_wires(2, lambda wire: wire.query(f"SELECT array_agg(n) AS l FROM ({rows_of(13)}) LIMIT 1")),
    "catalog": on_wires(24, lambda wire: wire.query(
        "SELECT count(*) FROM " + ", ".join(f"pg_catalog.pg_type t{number}" for number in range(24)))),
    "json": over_http(2, posted("/v1/run", statement(PAIRS + " LIMIT 1000000"))),
    "longest json": over_http(2, posted("/v1/run", statement(PAIRS + " LIMIT 100000"))),
    "long json row": over_http(2, posted("/v1/run", statement(f"SELECT array_agg(n) AS l FROM ({rows_of(13)})"))),
    "body": over_http(8, posted("/v1/explain", b"[" + b"[]," * (LONGEST // 3 - 2) + b"0]")),
    "fields": over_http(8, posted("/v1/check", json.dumps({"suite": "x", "keys": ["a"] * 25_000}).encode())),
    "mcp body": over_http(8, posted("/mcp", b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":['
                                    + b"[]," * (LONGEST // 3 - 30) + b"0]}}")),
    "mcp": over_http(2, posted("/mcp", called("run", statement=rows_of(11, "1 AS n, 'some text' AS t")))),
}  # fmt: skip


class Waits:
    """How long others wait: `times` by kind of request, in seconds."""

    def __init__(self, server: Server, kinds: str = "health select") -> None:
        self._server, self._kinds = server, kinds.split()
        self.times: dict[str, list[float]] = {kind: [] for kind in self._kinds}

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Ask again and again while the block lasts, each kind in a thread of its own."""
        ended = threading.Event()
        threads = [threading.Thread(target=self._ask, args=(kind, ended)) for kind in self._kinds]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()

    def _ask(self, kind: str, ended: threading.Event) -> None:
        with ExitStack() as opened:
            ask = getattr(self, f"_{kind}")(opened)
            while not ended.is_set() or not self.times[kind]:
                began = time.monotonic()
                ask()
                self.times[kind].append(time.monotonic() - began)
                time.sleep(0.02)

    def _health(self, opened: ExitStack) -> Callable[[], None]:
        client = opened.enter_context(self._server.client(timeout=300, address=OTHER))

        def ask() -> None:
            assert client.get("/healthz").status_code == 200

        return ask

    def _select(self, opened: ExitStack) -> Callable[[], None]:
        wire = opened.enter_context(logged_in(self._server, "bob", OTHER))

        def ask() -> None:
            assert [kind for kind, _ in wire.query("SELECT 1")] == [b"T", b"D", b"C", b"Z"]

        return ask

    def _release(self, opened: ExitStack) -> Callable[[], None]:
        client = opened.enter_context(self._server.client("bob", timeout=300, address=OTHER))
        numbers = itertools.count()

        def ask() -> None:
            body = {"statement": f"SELECT value FROM dp_count('visits', 0.0001, label := '{next(numbers)}')"}
            assert client.post("/v1/run", json=body).status_code == 200

        return ask

    def _mcp(self, opened: ExitStack) -> Callable[[], None]:
        # By somebody who makes no release: an account waits for its own analyst's.
        client = opened.enter_context(self._server.client("cat", timeout=300, address=OTHER))
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}

        def ask() -> None:
            assert client.post("/mcp", content=called("account"), headers=headers).status_code == 200

        return ask

    def worst(self, kind: str) -> float:
        return max(self.times[kind])

    def median(self, kind: str) -> float:
        times = sorted(self.times[kind])
        return times[len(times) // 2]

    def __str__(self) -> str:
        shown = (f"{kind} p50 {self.median(kind):.3f} worst {self.worst(kind):.3f} ({len(self.times[kind])})"
                 for kind in self._kinds)  # fmt: skip
        return ", ".join(shown)


EVERY = 64  # connections: as many as one address may have


@contextlib.contextmanager
def besieged(server: Server, kind: str) -> Iterator[Callable[[], int]]:
    """Attack in a process of its own on every connection while the block lasts; then all of them are cut.

    Gives how many requests were answered so far. The process takes what the server and those who wait leave of the
    processors: an attacker has a machine of his own.
    """
    context = multiprocessing.get_context("fork")
    answered = context.Value("Q", 0, lock=False)

    def attack() -> None:
        os.nice(10)
        ATTACKS[kind].on(server, EVERY, lambda: _counted(answered))

    process = context.Process(target=attack, daemon=True)
    process.start()
    try:
        yield lambda: answered.value
    finally:
        process.kill()
        process.join()


def _counted(answered: Any) -> bool:
    answered.value = ANSWERED[0]
    return True


def table_of_waits(server: Server, attacks: Iterable[str], seconds: float) -> Iterator[tuple[str, list[Waits]]]:
    """Give for each kind of attack what others wait for before, during and after it, each for so many seconds."""
    with Waits(server, "health select release mcp").asking():
        time.sleep(1)  # the first of each kind loads what it needs
    for kind in attacks:
        found = []
        for phase in ("before", "during", "after"):
            waits = Waits(server, "health select release mcp")
            with besieged(server, kind) if phase == "during" else contextlib.nullcontext():
                time.sleep(0.5)  # until connections are there, and gone
                with waits.asking():
                    time.sleep(seconds)
            found.append(waits)
        yield kind, found


def attacked(server: Server, kind: str, kinds: str = "health select") -> tuple[Waits, float]:
    """Return what others wait for during an attack, and how long it lasts."""
    waits = Waits(server, kinds)
    with waits.asking():
        time.sleep(0.1)
        began = time.monotonic()
        ATTACKS[kind](server)
        took = time.monotonic() - began
    return waits, took


def resident(server: Server) -> int:
    """Bytes of the server's process in memory."""
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4_096

"""Statements that mean harm, bytes that are no messages, and errors from private steps: what leaves over the wire."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack_statements import ATTACKS
from case_share import fifth, twentieth
from private_rows import shows_private
from server_site import COUNT, Server, Site, count, in_one_of_three, make_site
from suite_door import door_with_suite
from test_server_attacks import CANARY, STEPS, UNTOLD, placed, thrown_at
from wire_client import EndedError, Wire, bind, describe, error_of, execute, packed, parse, startup

from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.postgres.connection import PostgresListener
from dpdb.doors.server.postgres.session import Settings
from dpdb.doors.server.postgres.wire import KIND_SQLSTATE, WireError
from dpdb.errors import DpdbError

SUITE = "SELECT * FROM dp_check('nightly')"


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"failed_logins_per_minute": 100_000, "request_seconds": 5}
    folder = tmp_path_factory.mktemp("attacked")
    with Server(make_site(folder, epsilon=50, settings=settings, postgres=True)) as running:
        yield running


def client(server: Server) -> Wire:
    made = Wire(server.postgres_port)
    assert made.log_in("ann", server.site.tokens["ann"])[-1] == (b"Z", b"I")
    return made


@pytest.mark.heavy(family="long")
def test_hostile_statements_get_the_same_refusals(attacked: Server) -> None:
    """As over HTTP: the words of the SQL door, whichever protocol asks; nothing is spent, and no private value leaves.

    What names the catalog is refused by the catalog, in its own words; what is about the session, here.
    """
    site = attacked.site
    attacks = [placed(statement, site.folder) for group in ATTACKS.values() for statement in group]
    chosen = [one for one in twentieth(attacks) if "run_id" not in one and "\0" not in one and ";" not in one]
    before, ledger, same = site.spent(), site.ledger, 0
    public = {"states": site.folder / "states.csv"}
    codes, session = {"42501", *KIND_SQLSTATE.values()}, Settings("ann", {})
    with door_with_suite(site.folder, public, ledger=ledger, who="eve") as door, client(attacked) as wire:
        eve = door.of_analyst("ann")
        for statement in chosen:
            with pytest.raises(DpdbError) as refused:
                eve.run(statement, "postgres")
            wire.query("ROLLBACK")  # an attack before may have begun a transaction
            asked = [wire.query(statement), wire.extended(parse(statement), bind(), execute())]
            asked.append(wire.extended(parse(statement), describe("S")))
            for place, found in enumerate(asked):
                errors = [error_of(one) for one in found if one[0] == b"E"]
                if not errors and place == 2:
                    continue  # what has no columns to describe
                assert len(errors) <= 1, statement
                assert not any(kind in (b"D", b"T") for kind, _ in found) or not errors, statement
                is_called = place == 2 and statement.lstrip().upper().startswith("CALL")  # which is described as FROM
                if errors and errors[0]["C"] in codes and not is_called and not session.is_about(statement):
                    assert errors[0]["M"] == str(refused.value), statement
                    same += place == 0
    assert same > 0.7 * len(chosen)
    assert not shows_private(wire.received.decode("utf-8", "replace"))
    assert site.spent() == before


class Opened:
    """A desk and its wire in this process; `sent` has every byte that left."""

    def __init__(self, site: Site) -> None:
        self.site, self.sent = site, bytearray()
        self.desk = Desk(load_configuration(site.config))
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._started.wait(30)

    async def _serve(self) -> None:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self.port, self._loop, self._stop = listener.getsockname()[1], asyncio.get_running_loop(), asyncio.Event()
        wire = PostgresListener(self.desk, listener, None)
        self._started.set()
        await self._stop.wait()
        wire.close()
        await wire.wait_closed(10)
        listener.close()

    def ask(self, *statements: str) -> list[list[tuple[bytes, bytes]]]:
        with Wire(self.port) as wire:
            wire.log_in("ann", self.site.tokens["ann"])
            found = [wire.query(statement) for statement in statements]
            found.append(wire.extended(parse(statements[0]), describe("S"), bind(), execute()))
            self.sent += wire.received
        return found

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)
        self.desk.close()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    settings = {"statements_per_minute": 100_000}
    made = Opened(make_site(tmp_path_factory.mktemp("canary"), epsilon=10_000, settings=settings))
    yield made
    made.close()


@pytest.mark.heavy(family="long")
def test_a_canary_thrown_at_a_step_is_not_sent(opened: Opened) -> None:
    for step in twentieth(STEPS):
        opened.ask(SUITE)  # finishes a run that an earlier canary has stopped, which has fewer steps left
        reached = 0
        for error in fifth(UNTOLD):
            with thrown_at(step, error) as thrown:
                answers = opened.ask(COUNT, SUITE)
            reached += len(thrown)
            for answer in answers:
                assert {error_of(one)["C"] for one in answer if one[0] == b"E"} <= {"XX000", "58000"}
        assert reached
    assert CANARY not in opened.sent.decode("utf-8", "replace")
    assert not shows_private(opened.sent.decode("utf-8", "replace"))
    assert not [one for one in opened.ask(COUNT)[0] if one[0] == b"E"]


@pytest.mark.heavy(family="privacy")
def test_a_canary_thrown_in_the_wire_is_not_sent(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    places = ["conversation.split_statements", "conversation.encoded", "conversation.row_description",
              "statements.Statements.run", "statements.Statements.prepared", "statements.catalog.answer"]  # fmt: skip

    def throw(*args: object, **kwargs: object) -> None:
        raise RuntimeError(CANARY)

    for name in places:
        with monkeypatch.context() as patched:
            patched.setattr(f"dpdb.doors.server.postgres.{name}", throw)
            for text in ("SELECT 1", "SELECT version()"):
                with Wire(opened.port) as wire:
                    wire.log_in("ann", opened.site.tokens["ann"])
                    try:
                        wire.query(text)
                        wire.extended(parse(text), describe("S"), bind(), execute())
                    except EndedError:
                        pass
                    opened.sent += wire.received
    assert CANARY not in opened.sent.decode("utf-8", "replace")
    assert b"the reason is in the owner's log" in opened.sent


def damaged(chance: random.Random, first: bytes) -> bytes:
    """Messages with bytes changed, cut out, doubled or put in."""
    found = bytearray(first)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(found) + 1)
        match chance.randrange(5):
            case 0 if found:
                found[place % len(found)] = chance.randrange(256)
            case 1:
                del found[place : place + chance.randint(1, 8)]
            case 2:
                found[place:place] = chance.randbytes(chance.randint(1, 8))
            case 3:
                found[place:place] = found[place : place + 16]
            case _:
                found[place : place + 4] = struct.pack("!i", chance.choice([-1, 0, 1, 4, 2**31 - 1, -(2**31), 70_000]))
    return bytes(found)


WELL = [
    startup("ann"), startup("ann", 196_610, options="-c dpdb.run_id=x"),
    struct.pack("!ii", 8, 80877103) + startup("ann"),
    struct.pack("!iiII", 16, 80877102, 1, 2), struct.pack("!ii", 8, 80877104) + startup("ann"),
    startup("ann") + packed(b"p", b"SCRAM-SHA-256\0\0\0\0\x10n,,n=,r=abcdefghij"),
]  # fmt: skip
AFTER = [
    packed(b"Q", b"SELECT 1; SELECT 'a'\0"), packed(b"Q", b"BEGIN\0") + packed(b"Q", b"SELECT * FROM visits\0"),
    parse("SELECT $1::int, $2", "a", 23) + bind(b"5", b"x", name="a", portal="p") + describe("P", "p")
    + execute("p", 1) + packed(b"C", b"Sa\0") + packed(b"S"),
    parse("SELECT $1::int[]", "", 1007) + bind(struct.pack("!iiiiiii", 1, 0, 23, 1, 1, 4, 7), form=1, wanted=1)
    + describe("S") + execute() + packed(b"H") + packed(b"S"),
    packed(b"Q", b"SELECT * FROM pg_class\0"), packed(b"d", b"x") + packed(b"c") + packed(b"F", b"\0" * 12),
    packed(b"Q", b"BEGIN; DECLARE c CURSOR FOR SELECT 1\0") + packed(b"Q", b"FETCH 1 FROM c; CLOSE c; COMMIT\0"),
    packed(b"Q", b"SET application_name = 'x'; SHOW ALL; RESET ALL; DISCARD ALL\0"),
]  # fmt: skip


def fuzzed(server: Server, many: int, seed: int) -> dict[str, int]:
    """Send damaged messages before and after a login; count how the server ends or answers them."""
    chance, counted = random.Random(seed), {"before login": 0, "after": 0, "answered": 0, "ended": 0}
    known = None
    for _ in range(many):
        if chance.random() < 0.4:
            wire, first = Wire(server.postgres_port, seconds=20), damaged(chance, chance.choice(WELL))
            counted["before login"] += 1
        else:
            known = known or client(server)
            wire, first = known, damaged(chance, chance.choice(AFTER))
            counted["after"] += 1
        try:
            wire.send(first + (packed(b"S") if wire is known else b""))
            wire.socket.settimeout(0.02 if wire is not known else 0.2)
            while True:
                kind, _ = wire.message()
                if wire is known and kind == b"Z":
                    wire.socket.settimeout(0.01)
        except TimeoutError:
            counted["answered"] += 1
        except (EndedError, ConnectionError):
            counted["ended"] += 1
            known = None if wire is known else known
            wire.socket.close()
        if wire is not known or chance.random() < 0.1:
            known = None if wire is known else known
            wire.socket.close()
    if known is not None:
        known.socket.close()
    return counted


def check_fuzzed(server: Server, many: int, seed: int) -> None:
    before = server.site.spent()
    counted = fuzzed(server, many, seed)
    print(f"\n{many:,} damaged messages: {counted}")
    assert counted["ended"] > many / 100
    with client(server) as wire:
        assert [kind for kind, _ in wire.query("SELECT 1")] == [b"T", b"D", b"C", b"Z"]
    assert server.site.spent() == before
    log = server.site.folder / "owner.log"
    assert not log.exists() or "Traceback" not in log.read_text()


@pytest.mark.heavy(family="long")
def test_damaged_messages_end_nothing_but_themselves(attacked: Server) -> None:
    check_fuzzed(attacked, 60, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_ten_thousand_damaged_messages(seed: int, attacked: Server) -> None:
    check_fuzzed(attacked, 1_000, seed)


@pytest.mark.heavy(family="privacy")
def test_a_statement_that_takes_long_to_read_keeps_nobody_waiting(attacked: Server) -> None:
    hostile = "SELECT " + "CASE WHEN (" * 2_000 + "pg_x" + ")" * 2_000
    with client(attacked) as wire, client(attacked) as other:
        began = time.monotonic()
        other.query("SHOW server_version")
        alone = time.monotonic() - began

        def meanwhile() -> float:
            thread = threading.Thread(target=lambda: [wire.query(hostile) for _ in range(5)])
            thread.start()
            slowest = 0.0
            while thread.is_alive():
                began = time.monotonic()
                other.query("SHOW server_version")
                slowest = max(slowest, time.monotonic() - began)
            thread.join()
            return slowest

        assert in_one_of_three(meanwhile, alone + 2)
    assert count(1)


@pytest.mark.heavy(family="long")
def test_blanks_in_a_setting_take_no_time() -> None:
    """Settings are read where everybody's connections are served."""

    def taken() -> float:
        began = time.monotonic()
        for text in ("SET a", "SET TIME", "SET SESSION", "SET a =", "SHOW", "ROLLBACK"):
            with contextlib.suppress(WireError):
                Settings("ann", {}).answer(text + " " * 120_000 + "'")
        return time.monotonic() - began

    assert in_one_of_three(taken, 2)


@pytest.mark.heavy(family="long")
def test_the_site_has_no_listener_of_postgres_unless_it_is_named(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    assert load_configuration(site.config).postgres is None
    text = site.config.read_text()
    for listen, words in (
        ("0.0.0.0:5433", "give certificate and private_key"),
        ("127.0.0.1", "an address and a port"),
        ("127.0.0.1:99999", "an address and a port"),
        ("example.org:1", "an address and a port"),
        ("[::]:5433", "give certificate and private_key"),
    ):
        site.config.write_text(f'{text}\n[postgres]\nlisten = "{listen}"\n')
        with pytest.raises(DpdbError, match=words):
            load_configuration(site.config)
    site.config.write_text(f'{text}\n[postgres]\nlisten = "[::1]:5433"\n')
    assert load_configuration(site.config).postgres == ("::1", 5433)

"""The PostgreSQL door with TLS in floods, and runs of kept suites on servers that are killed."""

from __future__ import annotations

import contextlib
import random
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from server_site import Server, Site, in_one_of_three, make_site
from test_server_suite_runs import keep
from wire_client import startup

from dpdb.ledger import Ledger

SSL_REQUEST = struct.pack("!ii", 8, 80877103)


def silent(made: socket.socket) -> None:
    made.sendall(SSL_REQUEST)


def half_hello(made: socket.socket) -> None:
    made.sendall(SSL_REQUEST)
    assert made.recv(1) == b"S"
    made.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")


def no_hello(made: socket.socket) -> None:
    made.sendall(SSL_REQUEST)
    assert made.recv(1) == b"S"
    made.sendall(random.Random(1).randbytes(5_000))


def without_login(made: socket.socket) -> None:
    shaken(made)


def half_startup(made: socket.socket) -> None:
    shaken(made).sendall(startup("ann")[:20])


def half_login(made: socket.socket) -> None:
    shaken(made).sendall(startup("ann"))


_HELD: list[ssl.SSLSocket] = []


def shaken(made: socket.socket) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    made.sendall(SSL_REQUEST)
    assert made.recv(1) == b"S"
    wrapped = context.wrap_socket(made)
    _HELD.append(wrapped)
    return wrapped


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("begin", [silent, half_hello, no_hello, without_login, half_startup, half_login])
def test_a_newcomer_logs_in_by_tls_in_a_flood(begin: Callable[[socket.socket], None], tls: tuple[Server, Path]) -> None:
    """More connections than an address may have, none of which gets as far as a statement."""
    server, _ = tls
    given = {"user": "ann", "password": server.site.tokens["ann"], "dbname": "visits", "port": server.postgres_port}

    def newcomer() -> float:
        began = time.monotonic()
        with psycopg.connect(host="127.0.0.1", sslmode="require", **given, autocommit=True) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        return time.monotonic() - began

    def in_a_flood() -> float:
        with contextlib.ExitStack() as stack:
            for _ in range(80):
                made = stack.enter_context(socket.create_connection(("127.0.0.1", server.postgres_port), 20))
                with contextlib.suppress(OSError, AssertionError):  # ended in favour of a later one
                    begin(made)
            try:
                return newcomer()
            finally:
                while _HELD:
                    _HELD.pop().close()

    alone = newcomer()
    assert in_one_of_three(in_a_flood, 3 * alone + 1)


def checked(server: Server, key: str, kind: str = "kept") -> httpx.Response | None:
    """Ask for the suite, the kept one or for a run of one's own; None where the server was killed meanwhile."""
    asked = {"suite": "nightly"} if kind == "kept" else {"suite": "nightly", "epsilon": 1}
    try:
        with server.client("ann") as client:
            return client.post("/v1/check", json=asked, headers={"Idempotency-Key": key})
    except httpx.HTTPError:
        return None


def killed_between_verdicts(site: Site, kills: int, seed: int) -> int:
    """Kill servers while they run a kept suite, and ask again under the same key; returns how many runs were cut."""
    drawn, cut = random.Random(seed), 0
    keep(site)
    before = site.spent()
    answers = {}
    with Server(site) as server:
        began = time.monotonic()
        assert checked(server, "first").status_code == 200
        usual = time.monotonic() - began
    for number in range(kills):
        key = f"run-{number}"
        with Server(site) as server:
            found: list[httpx.Response | None] = []
            asking = threading.Thread(target=lambda: found.append(checked(server, key)))  # noqa: B023
            asking.start()
            time.sleep(drawn.uniform(0, 1.2 * usual))
            server.kill()
            asking.join()
            cut += found[0] is None
        with Server(site) as server:
            answer = checked(server, key)
            assert answer is not None
            assert answer.status_code == 200, answer.text
            answers[key] = answer.json()["rows"]
            assert checked(server, key).json()["rows"] == answers[key]
            if found[0] is not None:
                assert found[0].json()["rows"] == answers[key]
    assert site.spent() == before  # runs of a kept suite cost nothing
    with Ledger.open(site.ledger) as ledger:
        [suite] = ledger.suites()
        assert suite.left >= 0
        assert suite.spent + suite.left <= suite.reserved
    return cut


@pytest.mark.heavy(family="spending")
def test_kept_suites_go_on_after_kills(tmp_path: Path) -> None:
    killed_between_verdicts(make_site(tmp_path, epsilon=50), 2, 1)


@pytest.mark.slow
def test_kept_suites_go_on_after_many_kills(tmp_path: Path) -> None:
    assert killed_between_verdicts(make_site(tmp_path, epsilon=50), 40, 2) > 5


def run_nightly(folder: Path, keys: Sequence[str], kills: random.Random | None) -> tuple[int, dict[str, Any]]:
    """Run a kept suite under each key, on servers that are killed meanwhile or not; returns kills and all that shows.

    Of so large an epsilon that verdicts are certain but for a chance below 1e-9: no number is within 6 of its limit by
    noise of scale below .1. Other numbers differ by the noise of each twin.
    """
    folder.mkdir()
    site = make_site(folder, epsilon=500)
    keep(site, 400)
    cut, shown = 0, {}
    with Server(site) as server:
        assert checked(server, "first").status_code == 200
    for key in keys:
        if kills is not None:
            with Server(site) as server:
                asking = threading.Thread(target=checked, args=(server, key))
                asking.start()
                time.sleep(kills.uniform(0, 1))
                server.kill()
                asking.join()
                cut += 1
        with Server(site) as server:
            answer = checked(server, key).json()
            verdicts = [(one["name"], one["verdict"]) for one in answer["checks"][0]["checks"]]
            shown[key] = {name: answer[name] for name in ("columns", "charged", "cost")} | {"checks": verdicts}
    with Server(site) as server, server.client("ann") as client:
        releases = client.get("/v1/history").json()["releases"]
        shown["history"] = sorted((one["run_id"], one["answered"], one["charge"]) for one in releases)
    with Ledger.open(site.ledger) as ledger:
        [suite] = ledger.suites()
        levels = ledger.suite_levels(suite.number)
        shown["ledger"] = {
            "runs": sorted({level.run_id.partition("check-")[0] for level in levels}),
            "ends": Counter(level.level == 0 for level in levels),
            "debits": [(entry.charge, entry.request, entry.answered) for entry in ledger.history()],
            "spent": ledger.summary().spent, "suite": (suite.spent, suite.left, suite.reserved),
        }  # fmt: skip
    return cut, shown


def twins_show_the_same(folder: Path, runs: int, seed: int) -> int:
    keys = [f"run-{number}" for number in range(runs)]
    cut, killed = run_nightly(folder / "killed", keys, random.Random(seed))
    _, unkilled = run_nightly(folder / "unkilled", keys, None)
    assert killed == unkilled
    return cut


@pytest.mark.heavy(family="spending")
def test_killed_suites_show_what_their_unkilled_twins_show(tmp_path: Path) -> None:
    assert twins_show_the_same(tmp_path, 1, 3) == 1


@pytest.mark.slow
def test_killed_suites_show_what_their_unkilled_twins_show_after_many_kills(tmp_path: Path) -> None:
    assert twins_show_the_same(tmp_path, 30, 4) == 30


# Of a run of a suite that is not kept, and of a kept one, whose debit and secret the owner has made before.
OPENING = ("asked", "begun", "secret written", "inserted", "reserved")
RUNNING = ("level drawn", "level written", "level recorded", "ending", "end written", "ended")
STEPS = (
    *(("own", step, 1) for step in (*OPENING, *RUNNING, "secret overwritten")),
    *(("kept", step, times) for step in RUNNING for times in (1, 2)),
)


def killed_at(folder: Path, kind: str, step: str, times: int) -> bool:
    """Kill a server at a step of a run; return whether it got there. Afterwards the run goes on, with one debit."""
    site = make_site(folder, epsilon=50)
    if kind == "kept":
        keep(site)
    before = site.spent()
    Server.command, usual = (str(Path(__file__).with_name("killed_server.py")), step, str(times)), Server.command
    try:
        with Server(site) as server:
            found = checked(server, "one", kind)
            is_cut = found is None
            if not is_cut:
                server.kill()
    finally:
        Server.command = usual
    with Ledger.open(site.ledger) as ledger:
        begun = {entry.run_id: entry.answered for entry in ledger.history()}
    with Server(site) as server:
        with server.client("ann") as client:
            told = client.get("/v1/history").json()["releases"]
            # What was not ended is told as that: neither verdicts nor levels.
            assert all(one["answered"] or not one.get("answer") for one in told), told
        answer = checked(server, "one", kind)
        assert answer is not None
        assert answer.status_code == 200, answer.text
        rows = answer.json()["rows"]
        for _ in range(2):
            assert checked(server, "one", kind).json()["rows"] == rows
        if found is not None:
            assert found.json()["rows"] == rows
    if kind == "kept":
        assert site.spent() == before  # runs of a kept suite cost nothing
    else:  # what no failure took is given back at the end
        assert before < site.spent() <= before + 1
    with Ledger.open(site.ledger) as ledger:
        runs = [entry.run_id for entry in ledger.history()]
        assert len(runs) == 1
        assert {*begun} <= {*runs}
        for suite in ledger.suites():
            assert suite.left >= 0
            assert suite.spent + suite.left <= suite.reserved
    return is_cut


@pytest.mark.parametrize(
    ("kind", "step", "times"),
    [
        pytest.param("own", "level written", 1, marks=pytest.mark.heavy(family="long")),
        ("kept", "level recorded", 1),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in STEPS),
    ],
)
def test_a_run_goes_on_after_a_kill_at_each_step(kind: str, step: str, times: int, tmp_path: Path) -> None:
    is_cut = killed_at(tmp_path, kind, step, times)
    assert is_cut or times > 1, "the step was not reached"

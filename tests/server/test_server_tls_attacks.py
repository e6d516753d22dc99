"""Both doors with TLS against who speaks it badly: others are answered before, during and after."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from one_analyst import Waits, logged_in
from postgres_tls import certificates
from server_site import Server, crowding, in_one_of_three, make_site
from wire_client import Wire

SSL_REQUEST = struct.pack("!ii", 8, 80877103)
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
Begin = Callable[[], socket.socket]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("tls")
    certificates(folder)
    settings = {"certificate": "server.pem", "private_key": "server.key"}
    analysts: dict[str, dict[str, object]] = {name: {} for name in ("ann", "bob")}
    with Server(make_site(folder, epsilon=50, analysts=analysts, settings=settings, postgres=True)) as running:
        with Waits(running, "health select").asking():
            time.sleep(1)
        yield running


def doors(server: Server) -> dict[str, Begin]:
    """Connections at which the next bytes are TLS."""

    def http() -> socket.socket:
        return socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), 20)

    def postgres() -> socket.socket:
        made = socket.create_connection(("127.0.0.1", server.postgres_port), 20)
        made.sendall(SSL_REQUEST)
        assert made.recv(1) == b"S"
        return made

    return {"https": http, "postgres": postgres}


def shaken(made: socket.socket) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(made)


def giant_records(begin: Begin, many: int) -> None:
    """Records that are longer than the protocol lets them be, as the first and after a handshake."""
    for number in range(many):
        with contextlib.suppress(OSError), begin() as made:
            if number % 2:
                shaken(made).detach()  # further bytes are no record of this connection
            made.sendall((b"\x17" if number % 2 else b"\x16") + b"\x03\x03\xff\xff" + bytes(70_000))
            assert len(made.recv(1000)) < 1000


def slow_hellos(begin: Begin, many: int) -> None:
    """A byte now and then, on more connections than an address may have."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(many):
            with contextlib.suppress(OSError, AssertionError):
                made.append(stack.enter_context(begin()))
        for byte in HELLO:
            for one in made:
                with contextlib.suppress(OSError):
                    one.sendall(bytes([byte]))
            time.sleep(0.05)


def handshakes(begin: Begin, many: int) -> None:
    """Whole handshakes, whose connections end at once."""
    for _ in range(many):
        with contextlib.suppress(OSError, AssertionError), shaken(begin()):
            pass


def tiny_records(begin: Begin, many: int) -> None:
    """One byte a record, of heads and messages that never end."""
    with contextlib.suppress(OSError), shaken(begin()) as made:
        for _ in range(100 * many):
            made.sendall(b"G")


def half_closed(begin: Begin, many: int) -> None:
    """Connections whose client sends no more, and reads nothing, after the handshake."""
    with contextlib.ExitStack() as stack:
        for _ in range(many):
            with contextlib.suppress(OSError, AssertionError):
                made = stack.enter_context(shaken(begin()))
                made.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
                socket.socket.shutdown(made, socket.SHUT_WR)


KINDS = (giant_records, slow_hellos, handshakes, tiny_records, half_closed)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("door", ["https", "postgres"])
@pytest.mark.parametrize("kind", KINDS)
def test_others_are_answered_beside_bad_tls(kind: Callable[[Begin, int], None], door: str, served: Server) -> None:
    def waited(work: Callable[[], object]) -> Waits:
        waits = Waits(served, "health select")
        with waits.asking():
            work()
        return waits

    seen = []

    def beyond() -> float:
        before = waited(lambda: time.sleep(0.5))
        during = waited(lambda: kind(doors(served)[door], 80))
        after = waited(lambda: time.sleep(0.5))
        seen.append(f"{kind.__name__} at {door}: before {before}; during {during}; after {after}")
        return max(one.worst(what) - 5 * before.worst(what) for one in (during, after) for what in before.times)

    assert in_one_of_three(beyond, 0.5), seen
    print(f"\n{seen[-1]}")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl program")
def test_no_client_shakes_hands_anew(served: Server) -> None:
    """By the program's command `R`, in TLS 1.2, which lets clients ask for it."""
    port = urlsplit(served.url).port
    for place, more in ((port, ()), (served.postgres_port, ("-starttls", "postgres"))):
        command = ["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{place}", *more]
        done = subprocess.run(command, input="R\n", capture_output=True, text=True, timeout=60, check=False)
        said = done.stdout + done.stderr
        assert "RENEGOTIATING" in said
        assert "no renegotiation" in said or done.returncode != 0, said


@pytest.mark.heavy(family="long")
def test_the_largest_messages_come_whole_by_tls(served: Server) -> None:
    """A result of 531,441 rows, a statement of 60 kB, and a body of 120 kB, beside one who does the same."""
    rows = "SELECT 'x' || s0.people AS a FROM " + ", ".join(f"states AS s{number}" for number in range(12))

    def fetched() -> None:
        with logged_in(served, "ann") as wire:
            found = wire.query(rows)
            assert sum(kind == b"D" for kind, _ in found) == 3**12

    other = threading.Thread(target=fetched)
    other.start()
    with logged_in(served, "bob") as wire:
        text = "SELECT '" + "x" * 60_000 + "' AS a"
        assert b"x" * 60_000 in wire.query(text)[1][1]
    with served.client("bob") as client:
        found = client.post("/v1/run", json={"statement": text + " -- " + "y" * 60_000})
        assert found.status_code in (200, 422), found.text
    fetched()
    other.join()


@pytest.mark.heavy(family="long")
def test_a_hello_that_does_not_end_is_ended(served: Server) -> None:
    """At the deadline of handshakes, at both doors; then nothing of it is left."""
    for begin in doors(served).values():
        with begin() as made:
            began = time.monotonic()
            made.sendall(HELLO)
            with contextlib.suppress(ConnectionError):
                while made.recv(100):
                    pass
            assert time.monotonic() - began < 5 * 1.5 * crowding() + 5


def test_a_wire_that_is_plain_is_told_so(served: Server) -> None:
    with Wire(served.postgres_port) as wire:
        assert wire.log_in("ann", served.site.tokens["ann"])[-1][0] == b"E"

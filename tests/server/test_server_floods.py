"""Half heads, silent connections, half and huge bodies, wrong tokens: a newcomer is answered all the same."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from server_site import Server, in_one_of_three, make_site

from dpdb.doors.server.http.application import load_page

ADDRESSES = ("127.0.0.1", "127.0.0.2")


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(make_site(tmp_path_factory.mktemp("flooded"), settings={"request_seconds": 30})) as running:
        yield running


def opened(server: Server, address: str = "127.0.0.1") -> socket.socket:
    made = socket.socket()
    made.bind((address, 0))
    made.settimeout(20)
    made.connect(("127.0.0.1", urlsplit(server.url).port))
    return made


def newcomer(server: Server, address: str) -> float:
    """Ask for one's account over a new connection; return how long that took."""
    token, began = server.site.tokens["ann"], time.monotonic()
    with opened(server, address) as made:
        made.sendall(f"GET /v1/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert made.recv(100).startswith(b"HTTP/1.1 200 OK")
    return time.monotonic() - began


def flood(server: Server, many: int, first: bytes) -> contextlib.ExitStack:
    stack = contextlib.ExitStack()
    for _ in range(many):
        made = stack.enter_context(opened(server))
        with contextlib.suppress(OSError):  # ended in favour of a later one
            made.sendall(first)
    return stack


FLOODS = {
    "half heads": (150, b"POST /v1/run HTTP/1.1\r\nX-a: "),
    "silent": (300, b""),
    "half bodies": (150, b"POST /v1/run HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"),
    "endless heads": (20, b"GET /v1/account HTTP/1.1\r\n" + b"X-a: b\r\n" * 10_000),
}


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("kind", FLOODS)
def test_a_newcomer_is_answered_in_a_flood(kind: str, flooded: Server) -> None:
    alone = max(newcomer(flooded, address) for address in ADDRESSES)

    def in_a_flood() -> float:
        with flood(flooded, *FLOODS[kind]):
            return max(newcomer(flooded, address) for address in ADDRESSES)

    assert in_one_of_three(in_a_flood, 3 * alone + 1)
    assert in_one_of_three(lambda: newcomer(flooded, "127.0.0.1"), 3 * alone + 1)


@pytest.mark.heavy(family="long")
def test_half_requests_end_at_the_deadline(tmp_path: Path) -> None:
    with Server(make_site(tmp_path, settings={"request_seconds": 1})) as server:
        for _, first in (FLOODS["half heads"], FLOODS["silent"], FLOODS["half bodies"]):
            began = time.monotonic()
            with opened(server) as made:
                made.sendall(first)
                with contextlib.suppress(ConnectionError):
                    while made.recv(1000):
                        pass
            assert time.monotonic() - began < 15  # a body without a token ends at once
        with opened(server) as slow:  # one byte now and then makes no difference
            began = time.monotonic()
            with contextlib.suppress(ConnectionError):
                for _ in range(100):
                    slow.sendall(b"G")
                    time.sleep(0.1)
            assert time.monotonic() - began < 9


@pytest.mark.heavy(family="privacy")
def test_a_newcomer_is_answered_where_others_read_no_answer(tmp_path: Path) -> None:
    site = make_site(tmp_path, settings={"request_seconds": 30, "connections_per_address": 4})
    with Server(site) as server, contextlib.ExitStack() as stack:
        for _ in range(4):
            made = stack.enter_context(socket.socket())
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            made.connect(("127.0.0.1", urlsplit(server.url).port))
            made.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 1500)
        time.sleep(2)  # until none of them takes more
        for _ in range(3):
            newcomer(server, "127.0.0.1")


@pytest.mark.heavy(family="privacy")
def test_an_answer_that_nobody_reads_ends_at_the_deadline(tmp_path: Path) -> None:
    with Server(make_site(tmp_path, settings={"request_seconds": 1})) as server, socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.connect(("127.0.0.1", urlsplit(server.url).port))
        made.settimeout(5)
        made.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 1500)
        time.sleep(4)
        taken = 0
        with contextlib.suppress(ConnectionError):
            while piece := made.recv(1 << 20):
                taken += len(piece)
    assert taken < 1500 * len(load_page("analyst").content)


def during(work: Callable[[], object], server: Server) -> list[float]:
    thread = threading.Thread(target=work)
    thread.start()
    times = []
    while thread.is_alive():
        times.append(newcomer(server, "127.0.0.2"))
    thread.join()
    return times


def test_a_huge_body_is_refused_while_it_comes(flooded: Server) -> None:
    statuses: list[bytes] = []

    def send() -> None:
        token = flooded.site.tokens["ann"]
        head = f"POST /v1/run HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 200000000\r\n\r\n"
        with opened(flooded) as made, contextlib.suppress(ConnectionError, TimeoutError):
            made.sendall(head.encode())
            for _ in range(200):
                made.sendall(bytes(1_000_000))
        with opened(flooded) as made, contextlib.suppress(ConnectionError):
            made.sendall(head.encode() + b"x" * 140_000)
            statuses.append(made.recv(100))

    alone = newcomer(flooded, "127.0.0.2")
    assert in_one_of_three(lambda: max(during(send, flooded), default=0), 3 * alone + 1)
    assert statuses[0].startswith(b"HTTP/1.1 413")


def wrong_tokens(server: Server, many: int) -> None:
    alone = newcomer(server, "127.0.0.2")
    statuses: set[int] = set()

    def guess() -> None:
        with server.client() as client:
            for number in range(many):
                found = client.get("/v1/account", headers={"Authorization": f"Bearer {number}"})
                statuses.add(found.status_code)

    def slowest() -> float:
        times = during(guess, server)
        print(f"\n{many} wrong tokens: {len(times)} newcomers, the slowest {max(times):.3f} s, alone {alone:.3f} s")
        return max(times)

    assert in_one_of_three(slowest, 3 * alone + 1)
    assert statuses == {401, 429}


@pytest.mark.heavy(family="privacy")
def test_wrong_tokens(flooded: Server) -> None:
    wrong_tokens(flooded, 300)


@pytest.mark.slow
def test_ten_thousand_wrong_tokens(flooded: Server) -> None:
    wrong_tokens(flooded, 10_000)

"""Errors with a canary in them, thrown in a real server from everything private: no byte that it sends has it."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
from canary_server import CANARY, STEP
from case_share import fifth
from private_rows import NIGHTLY, shows_private
from server_site import COUNT, Server, make_site

FEW = 5
"""Places of a sample from which an error is thrown, at least."""
KINDS = ("RuntimeError", "EngineError", "LedgerError", "SourceError", "MemoryError", "OSError", "KeyError")
REPAIR = "SELECT value FROM dp_inconsistency('visits', 'repair', 0.25)"
ASKED = (
    ("ann", "POST", "/v1/run", {"statement": COUNT}),
    ("ann", "POST", "/v1/run", {"statement": REPAIR}),
    ("ann", "POST", "/v1/check", {"suite": "nightly"}),
)
READ = (
    ("ann", "POST", "/v1/explain", {"statement": COUNT}),
    *(("ann", "GET", path, None) for path in ("/v1/account", "/v1/history", "/v1/schema", "/openapi.json")),
    *(("olga", "GET", path, None) for path in ("/v1/board", "/v1/board/report?table=visits", "/metrics")),
    ("olga", "POST", "/v1/board/rearm", {"table": "visits", "suite": "nightly", "check": "any"}),
    ("", "GET", "/healthz", None),
    ("", "GET", "/", None),
    ("", "GET", "/owner", None),
    ("", "POST", "/v1/run", {"statement": COUNT}),
)


class Watched(Server):
    """A server that throws what a file names; `sent` has every byte that left it, heads too."""

    def __init__(self, folder: Path) -> None:
        analysts = {"ann": {}, "olga": {"role": "owner"}}
        super().__init__(make_site(folder, epsilon=100_000, analysts=analysts))
        self.file, self.sent = folder / "throw", bytearray()
        self.file.write_text("")
        self.command = (str(Path(__file__).with_name("canary_server.py")), str(self.file))

    def ask(self, name: str, method: str, path: str, body: object) -> int:  # type: ignore[override]
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: {len(content)}\r\n"
        head += f"Authorization: Bearer {self.site.tokens[name]}\r\n" if name else ""
        address = ("127.0.0.1", int(self.url.rpartition(":")[2]))
        with socket.create_connection(address, timeout=120) as stream:
            stream.sendall(head.encode() + b"\r\n" + content)
            answer = b"".join(iter(lambda: stream.recv(1 << 16), b""))
        self.sent += answer
        return int(answer.split(b" ", 2)[1])

    def throw(self, name: str, kind: str, asked: Sequence[tuple[str, str, str, object]]) -> list[int]:
        """Ask while the server throws from one place; return the statuses of its answers."""
        self.file.write_text(f"{name} {kind}")
        try:
            return [self.ask(*one) for one in asked]
        finally:
            self.file.write_text("")

    def lines(self, suffix: str) -> list[str]:
        file = self.file.with_suffix(suffix)
        return sorted({*file.read_text().splitlines()}) if file.exists() else []

    def places_thrown(self) -> set[str]:
        return {line.partition(" ")[0] for line in self.lines(".thrown")}


def throw_everywhere(folder: Path, *, every: bool) -> None:
    """Throw from every place, or some; each time another kind of error, and other readings beside what is released."""
    with Watched(folder) as server:
        server.throw("", "", ASKED)  # what is called once only, at the beginning, throws no more
        server.throw("note", "", (*ASKED, *READ))
        names = server.lines(".called")
        assert len(names) >= 50, names
        assert sum(name.startswith(STEP) for name in names) >= 8
        some = fifth(names)
        chosen = names if every else [*some[::6], *some[3::6]]
        for number, name in enumerate(chosen):
            if not every and number >= 6 and len(server.places_thrown()) >= FEW:
                break  # of some places that are called once only, as a suite's opening, nothing is thrown
            statuses = server.throw(name, KINDS[number % len(KINDS)], (*ASKED, *READ[number % 4 :: 4]))
            assert {*statuses} <= {200, 401, 422, 500, 503}, (name, statuses)
        assert [server.ask(*one) for one in ASKED] == [200] * 3  # it goes on
        thrown = server.places_thrown()
        said = "".join(server.said)
        print(f"{len(names)} places, {len(chosen)} threw, {len(thrown)} did; {len(server.sent)} bytes sent")
    assert len(thrown) >= (0.8 * len(names) if every else FEW)
    assert NIGHTLY
    for text in (server.sent.decode("latin-1"), said):
        assert CANARY not in text
        assert not shows_private(text)
    assert CANARY in (folder / "owner.log").read_text()  # that it was thrown, the owner can read


@pytest.mark.heavy(family="privacy")
def test_a_canary_is_in_no_byte_that_a_server_sends(tmp_path: Path) -> None:
    throw_everywhere(tmp_path, every=False)


@pytest.mark.slow
def test_a_canary_from_every_place_is_in_no_byte_that_a_server_sends(tmp_path: Path) -> None:
    throw_everywhere(tmp_path, every=True)

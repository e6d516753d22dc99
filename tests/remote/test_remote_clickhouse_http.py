"""ClickHouse's HTTP interface, when its server answers badly: an error, never a wrong number, nor a statement twice."""

from __future__ import annotations

import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

from dpdb.errors import EngineError, SourceError
from dpdb.opening import open_table
from dpdb.remote.clickhouse.http import ClickHouseAddress, HttpSession, ServerError
from dpdb.remote.clickhouse.table import ClickHouseTable

_END = b"\r\n\r\n"


def arrow(**columns: list[Any]) -> bytes:
    """Write an answer in the format in which ClickHouse is asked."""
    sink, rows = pa.BufferOutputStream(), pa.table(columns)
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue().to_pybytes())


def answered(body: bytes, status: str = "200 OK", length: int | None = None, **headers: str) -> bytes:
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return (
        f"HTTP/1.1 {status}\r\nContent-Length: {len(body) if length is None else length}\r\n{more}\r\n".encode() + body
    )


class Server:
    """A server that answers as it is told; it keeps what it was asked. Without an answer it ends the connection."""

    def __init__(self, answer: Callable[[bytes], bytes | None], tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[bytes] = []
        self.heads: list[bytes] = []
        self._answer, self._socket, self._tls = answer, socket.create_server(("127.0.0.1", 0)), tls
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with self._tls.wrap_socket(client, server_side=True) if self._tls else client as connection:
                waiting = b""
                while True:
                    while _END not in waiting:
                        waiting += (got := connection.recv(65_536))
                        if not got:
                            return
                    head, _, waiting = waiting.partition(_END)
                    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if b"ength:" in line)
                    while len(waiting) < length:
                        waiting += connection.recv(65_536)
                    self.heads.append(head)
                    self.asked.append(waiting[:length])
                    answer = self._answer(waiting[:length])
                    waiting = waiting[length:]
                    if answer is None:
                        return
                    connection.sendall(answer)
                    if b"Content-Length" not in answer or b"Connection: close" in answer:
                        return
        except OSError:
            return

    def close(self) -> None:
        self._socket.close()


@contextmanager
def serving(answer: Callable[[bytes], bytes | None], tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    server = Server(answer, tls)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def session(server: Server, password: str = "") -> Iterator[HttpSession]:
    made = HttpSession(ClickHouseAddress("127.0.0.1", server.port, False, "ann", password, "site"))
    try:
        yield made
    finally:
        made.close()


ROWS = arrow(n=[1, 2])
_CUT = f"{len(ROWS) // 2:x}\r\n".encode() + ROWS[: len(ROWS) // 2] + b"\r\n"
BAD: dict[str, bytes | None] = {
    "no answer": None,
    "an error": answered(b"Code: 1. secret 17", "500 Internal Server Error"),
    "a redirect": answered(b"", "302 Found", Location="http://127.0.0.1:1/"),
    "cut short": answered(ROWS[:-40], length=len(ROWS), Connection="close"),
    "cut short, and no length": b"HTTP/1.0 200 OK\r\n\r\n" + ROWS[:-40],
    "chunks that end": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + _CUT + b"0\r\n\r\n",
    "chunks that break": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + _CUT + b"zz\r\n",
    "an error in the midst": answered(ROWS + b"\nCode: 395. DB::Exception: secret 17"),
    "an error behind all rows": answered(ROWS, X_ClickHouse_Exception_Code="395"),
    "nothing": answered(b""),
    "no HTTP": b"SSH-2.0-OpenSSH_9\r\n\r\n",
    "another format": answered(b"1\n2\n"),
    "only the status": answered(b"", "204 No Content"),
}


@pytest.mark.parametrize("how", BAD)
def test_a_bad_answer_is_an_error_and_no_number(how: str) -> None:
    def answer(asked: bytes) -> bytes | None:
        if b"system.tables" in asked:
            return answered(arrow(engine=["MergeTree"]))
        if b"DESCRIBE" in asked:
            return answered(arrow(name=["n"], type=["Int64"], default=[""]))
        return answered(ROWS) if b"FROM (SELECT 1" not in asked else BAD[how]

    with serving(answer) as server, session(server) as asked:
        table = ClickHouseTable(asked, "clickhouse://there", "site", "t")
        assert table.ask(exp.select("n").from_("remote_row")).to_pydict() == {"n": [1, 2]}
        with pytest.raises(EngineError, match="a query failed in ClickHouse") as failed:
            table.ask(exp.select("1").from_("remote_row"))
        assert "secret" not in str(failed.value)
        assert failed.value.__cause__ is None
        assert table.ask(exp.select("n").from_("remote_row")).num_rows == 2


def test_what_writes_is_sent_once_and_what_reads_again() -> None:
    """A server that ends a connection may have run the statement: rows that are lent twice would be counted twice."""
    left: list[bytes | None] = []

    def answer(_: bytes) -> bytes | None:
        return left.pop(0) if left else answered(b"")

    with serving(answer) as server, session(server) as asked:
        asked.run("SELECT 1")
        left[:] = [None]
        asked.run("SELECT 2")
        left[:] = [None]
        with pytest.raises(ServerError):
            asked.run("INSERT INTO t VALUES (1)", changes=True)
        left[:] = [None]
        with pytest.raises(ServerError):  # of a new connection: nothing is tried again
            asked.run("SELECT 3")
        assert server.asked == [b"SELECT 1", b"SELECT 2", b"SELECT 2", b"INSERT INTO t VALUES (1)", b"SELECT 3"]


def test_another_server_behind_the_address_is_refused() -> None:
    """A proxy may share queries out to replicas, which have the rows of different moments."""
    names = iter(["one", "one", "two", "one"])

    def answer(_: bytes) -> bytes:
        return answered(b"x", X_ClickHouse_Server_Display_Name=next(names))

    with serving(answer) as server, session(server) as asked:
        assert [asked.run("SELECT 1"), asked.run("SELECT 1")] == [b"x", b"x"]
        with pytest.raises(ServerError, match="another server answers than before"):
            asked.run("SELECT 1")


def test_a_signal_ends_a_query_that_the_server_does_not_answer() -> None:
    class ComeToAnEnd(BaseException):
        pass

    def stop(*_: object) -> None:
        raise ComeToAnEnd

    ended = threading.Event()

    def answer(asked: bytes) -> bytes:
        if b"system.tables" in asked:
            return answered(arrow(engine=["MergeTree"]))
        if b"DESCRIBE" in asked:
            return answered(arrow(name=["n"], type=["Int64"], default=[""]))
        ended.wait(30)
        return answered(ROWS)

    before = signal.signal(signal.SIGALRM, stop)
    try:
        with serving(answer) as server, session(server) as asked:
            table = ClickHouseTable(asked, "clickhouse://there", "site", "t")
            began = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(ComeToAnEnd):
                table.ask(exp.select("n").from_("remote_row"))
            assert time.monotonic() - began < 20
            assert len(server.asked) == 3  # it is not asked again
    finally:
        ended.set()
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("password", ["sésame", "\u20ac-sign", "a:b@c/d", " blank "])
def test_passwords_of_any_signs_are_sent_as_they_are(password: str) -> None:
    with serving(lambda _: answered(b"")) as server, session(server, password) as asked:
        asked.run("SELECT 1")
        assert f"X-ClickHouse-Key: {password}\r\n".encode() in server.heads[0] + b"\r\n"


ODD = [
    "clickhouse://ann:se%0d%0asame@host/db", "clickhouse://an%0an:sesame@host/db", "clickhouse://ann:sesame@a..b/db",
    "clickhouse://ann:sesame@host:²/db", "clickhouse://ann:sesame@host:-1/db", "clickhouse://ann:sesame@:9000/db",
    f"clickhouse://ann:sesame@{'a' * 70}.invalid/db", "clickhouse://ann:sesame@ho st/db", "clickhouse://ann:sesame@[::1/db",
    "clickhouse://ann:sesame@host\0/db",
]  # fmt: skip


@pytest.mark.parametrize("address", ODD)
def test_odd_addresses_are_one_line_without_the_password(address: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SourceError) as refused:
        open_table(address, table="t")
    assert len(str(refused.value).splitlines()) == 1
    for said in (str(refused.value), repr(refused.value.__context__), caplog.text):
        assert "sesame" not in said


def test_tls_wants_a_certificate_that_the_machine_trusts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *named, *files]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    with serving(lambda _: answered(b"x"), context) as server:
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        with pytest.raises(SourceError, match="no connection can be made"):
            open_table(f"clickhouse://ann:sesame@localhost:{server.port}/db?secure=true", table="t")
        assert not server.heads
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
        asked = HttpSession(ClickHouseAddress("localhost", server.port, True, "ann", "sesame", "db"))
        assert asked.run("SELECT 1") == b"x"
        asked.close()
        other = HttpSession(ClickHouseAddress("127.0.0.1", server.port, True, "ann", "sesame", "db"))
        with pytest.raises(ServerError, match="CERTIFICATE_VERIFY_FAILED"):  # it is of another name
            other.run("SELECT 1")
        assert len(server.heads) == 1

"""What web servers answer besides a file, and addresses that are almost one: no password or signature gets out."""

from __future__ import annotations

import gzip
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from dpdb.database.database import Database
from dpdb.errors import SourceError
from dpdb.opening import open_table
from dpdb.sources.open import open_source

TEXT = b"zip,city\n01,A\n01,B\n"


class Answers(BaseHTTPRequestHandler):
    asked: ClassVar[list[tuple[int, str, str | None]]] = []

    def do_GET(self) -> None:
        port: int = self.server.server_address[1]
        self.asked.append((port, self.path, self.headers["Authorization"]))
        match self.path.partition("?")[0]:
            case "/elsewhere.csv":
                self.answer(302, Location=f"{self.path.partition('to=')[2]}/t.csv")
            case "/here.csv":
                self.answer(302, Location="/t.csv")
            case "/loop.csv":
                self.answer(302, Location="/loop.csv?signature=secret")
            case "/other.csv":
                self.answer(302, Location="s3://bucket/t.csv?signature=secret")
            case "/words.csv":
                self.wfile.write(b"HTTP/1.0 403 \x1b[31msecret\r\n\r\n")
            case "/length.csv":
                self.answer(200, TEXT, Content_Length="many")
            case "/packed.jsonl" | "/packed.csv.gz":
                self.answer(200, gzip.compress(TEXT), Content_Encoding="gzip")
            case "/chunks.csv":
                self.answer(200, b"13\r\n" + TEXT + b"\r\n0\r\n\r\n", Transfer_Encoding="chunked")
            case "/cut.csv":
                self.answer(200, b"13\r\n" + TEXT + b"\r\n", Transfer_Encoding="chunked")
            case _:
                self.answer(200, TEXT)

    def answer(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.protocol_version = "HTTP/1.1"
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def servers() -> Iterator[list[str]]:
    Answers.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as one, ThreadingHTTPServer(("127.0.0.1", 0), Answers) as two:
        threads = [threading.Thread(target=server.serve_forever) for server in (one, two)]
        for thread in threads:
            thread.start()
        try:
            yield [f"127.0.0.1:{server.server_port}" for server in (one, two)]
        finally:
            for server in (one, two):
                server.shutdown()
            for thread in threads:
                thread.join()


def count(source: str, **options: dict[str, str]) -> int:
    with Database() as database:
        opened = open_source(database, source, **options)
        return int(database.value(f"SELECT count(*) FROM {opened.scan.sql('duckdb')}"))


def refused(source: str, match: str) -> str:
    with Database() as database, pytest.raises(SourceError, match=match) as caught:
        open_source(database, source, csv_schema={"zip": "VARCHAR"})
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.mark.heavy(family="privacy")
def test_a_password_is_not_sent_to_another_server(servers: list[str]) -> None:
    one, two = servers
    assert count(f"http://me:word@{one}/elsewhere.csv?to=http://{two}") == 2
    assert [(path, asked is not None) for _, path, asked in Answers.asked[-2:]] == [
        (f"/elsewhere.csv?to=http://{two}", True),
        ("/t.csv", False),
    ]
    assert count(f"http://me:word@{one}/here.csv") == 2
    assert [asked for *_, asked in Answers.asked[-2:]] == ["Basic bWU6d29yZA=="] * 2


@pytest.mark.heavy(family="long")
def test_a_servers_own_words_are_not_shown(servers: list[str]) -> None:
    for name, code in (("loop", "302 .Found"), ("other", "302 .Found"), ("words", "403 .Forbidden")):
        assert "secret" not in refused(f"http://{servers[0]}/{name}.csv", code)


@pytest.mark.heavy(family="long")
def test_answers_without_a_length_in_chunks_or_compressed_unasked(servers: list[str]) -> None:
    place = f"http://{servers[0]}"
    assert count(f"{place}/length.csv") == count(f"{place}/chunks.csv") == count(f"{place}/packed.csv.gz") == 2
    refused(f"{place}/cut.csv", "cannot be fetched")
    refused(f"{place}/packed.jsonl", "the server sends it compressed")


@pytest.mark.heavy(family="long")
def test_blanks_in_an_address_are_sent_as_browsers_do(servers: list[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert count(f"http://{servers[0]}/a é%20.csv?signature=secret x") == 2
    assert Answers.asked[-1][1] == "/a%20%C3%A9%20.csv?signature=secret%20x"
    assert "secret" not in caplog.text


@pytest.mark.heavy
@pytest.mark.parametrize(
    "address",
    [
        "http://me:secret@host:port/t.csv",
        "http://me:secret@[::1/t.csv",
        "http://me:secret@h\u2100st/t.csv",
        " https://me:secret@host/t.csv",
        "https:me:secret@host/t.csv",
        "http:\\\\me:secret@host\\t.csv",
        "adbc:post-gresql:postgresql://me:secret@host/t",
        "ADBC:PostgreSQL:postgresql://me:secret@host/t",
        "jdbc:oracle:thin:me/secret@host",
        "postgres:me:secret@host",
        "s3://key:secret@bucket/t.csv",
    ],
)
def test_what_is_almost_an_address_is_not_shown(address: str) -> None:
    assert "secret" not in refused(address, ":")


@pytest.mark.heavy(family="long")
def test_a_ledger_knows_fetched_rows_without_a_release(servers: list[str]) -> None:
    place = f"http://{servers[0]}/t.csv"
    with open_table(place) as table, open_table(place, rows=False) as rehearsed:
        assert rehearsed.opened_content() == table.opened_content()

"""Requests that two programs would read otherwise: keys and headers that stand twice, numbers that JSON has not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from server_site import COUNT, Server, Site, make_site

from dpdb.doors.server.pieces import ManyPartsError, read_json

MCP = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
TWICE = (
    f'{{"statement": "SELECT 1", "statement": "{COUNT}"}}',
    '{"suite": "nightly", "epsilon": 0.1, "epsilon": 1}',
    '{"suite": "nightly", "epsilon": NaN}',
    '{"suite": "nightly", "epsilon": 1e400}',
    '{"suite": "nightly", "within": Infinity}',
    '{"suite": "nightly", "by": "state", "keys": [{"a": 1, "a": 2}]}',
)


@pytest.mark.heavy
@pytest.mark.parametrize("body", TWICE)
def test_a_body_that_is_read_in_two_ways_is_refused(body: str, server: Server, site: Site) -> None:
    before = site.spent()
    with server.client("ann") as client:
        for path in ("/v1/run", "/v1/explain", "/v1/check"):
            found = client.post(path, content=body)
            assert (found.status_code, found.json()["error"]) == (400, "bad_request")
            assert found.json()["message"] == "the body is not JSON with finite numbers, each key of an object once"
        message = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "run", "arguments": %s}}'
        found = client.post("/mcp", content=message % body, headers=MCP)
        assert (found.status_code, found.json()["error"]["code"]) == (400, -32700)
    assert site.spent() == before


def raw(server: Server, head: str, body: str = "") -> bytes:
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), 60) as made:
        made.sendall(f"{head}Host: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        found = b""
        while piece := made.recv(65_536):
            found += piece
    return found


def test_headers_that_stand_twice_are_refused(server: Server, site: Site) -> None:
    before, tokens = site.spent(), site.tokens
    own = f"Authorization: Bearer {tokens['ann']}\r\n"
    body = f'{{"statement": "{COUNT}"}}'
    for name in ("Idempotency-Key", "If-Receipt"):
        found = raw(server, f"POST /v1/run HTTP/1.1\r\n{own}{name}: a\r\n{name.lower()}: b\r\n", body)
        assert found.startswith(b"HTTP/1.1 400"), found
        assert f"{name} is given twice: send one".encode() in found
    both = f"{own}Authorization: Bearer {tokens['olga']}\r\n"
    for heads in (both, own + own):
        assert raw(server, f"GET /v1/account HTTP/1.1\r\n{heads}").startswith(b"HTTP/1.1 401")
    assert site.spent() == before


@pytest.mark.heavy(family="long")
def test_paths_of_tricks_lead_nowhere_and_a_pipeline_is_answered_in_order(server: Server, site: Site) -> None:
    own = f"Authorization: Bearer {site.tokens['ann']}\r\n"
    for path in ("//v1/account", "/v1/account/", "/v1/../v1/account", "/../../etc/passwd", "/%2e%2e/serve.toml",
                 "/v1/account%00", "/V1/ACCOUNT", "/assets/../serve.toml", "http://evil/v1/account", "*"):  # fmt: skip
        found = raw(server, f"GET {path} HTTP/1.1\r\n{own}")
        assert found.startswith(b"HTTP/1.1 404"), (path, found)
    many = 200
    asked = "".join(
        f"GET /{'healthz' if number % 2 else 'v1/account'} HTTP/1.1\r\nHost: x\r\n{own}\r\n" for number in range(many)
    )
    found = raw(server, asked + f"GET /nothing HTTP/1.1\r\n{own}")
    kinds = [b'"status"' in one for one in found.split(b"HTTP/1.1 ")[1:]]
    assert kinds == [bool(number % 2) for number in range(many)] + [False]
    upgrade = f"{own}Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    assert b" 101 " not in raw(server, f"GET /v1/account HTTP/1.1\r\n{upgrade}").partition(b"\r\n")[0]


@pytest.mark.heavy(family="alone")
def test_who_is_signed_out_while_he_asks_gets_an_answer_that_is_paid_for_or_none(tmp_path: Path) -> None:
    """Revoked in between: each of his statements is answered and debited, or refused and not."""
    site = make_site(tmp_path, epsilon=50, analysts={"ann": {}, "olga": {"role": "owner"}})
    found: list[httpx.Response] = []

    def ask(server: Server, number: int) -> None:
        text = f"SELECT value FROM dp_count('visits', 0.25, label := '{number}')"
        found.append(server.ask("ann", text, key=f"key {number}"))

    with Server(site) as server:
        ask(server, -1)
        for number in range(8):
            asking = [threading.Thread(target=ask, args=(server, 2 * number + one)) for one in (0, 1)]
            for one in asking:
                one.start()
            if number == 3:
                with server.client("olga") as owner:
                    asked: Mapping[str, str] = {"analyst": "ann"}
                    assert owner.post("/v1/board/revoke", json=asked).status_code == 200
            for one in asking:
                one.join()
    statuses = [one.status_code for one in found]
    assert {*statuses} <= {200, 401, 403}
    assert 401 in statuses
    assert site.spent() == pytest.approx(0.25 * statuses.count(200))


@pytest.mark.heavy
@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "deflate", "br", "zstd", "identity, gzip", "gzip, identity", "x"])
def test_an_encoded_body_is_refused_and_not_read_as_plain(encoding: str, server: Server, site: Site) -> None:
    """Also where it is plain: a program on the way would have looked at other bytes."""
    before = site.spent()
    with server.client("ann") as client:
        for path, body in (("/v1/run", {"statement": COUNT}), ("/v1/explain", {"statement": COUNT}), ("/mcp", {})):
            found = client.post(path, json=body, headers={**MCP, "Content-Encoding": encoding})
            told = {"error": "unsupported", "message": "a body is taken as it is: send it without Content-Encoding"}
            assert (found.status_code, found.json()) == (415, told)
        as_it_is = {"Content-Encoding": "identity"}
        assert client.post("/v1/run", json={"statement": "SELECT 1"}, headers=as_it_is).status_code == 200
        stranger = client.post("/v1/run", json={}, headers={"Content-Encoding": encoding, "Authorization": "Bearer x"})
        assert stranger.status_code == 401
    assert site.spent() == before


@pytest.mark.parametrize(("body", "is_refused"), [
    ("[" * 1_001, True), ('{"a":' * 1_001, True), ('{"statement": "' + "[{" * 30_000 + '"}', False),
    ('{"statement": "\\\\", "table": [' + "[]," * 1_000 + "0]}", True), ('"' + '\\"' * 60_000, False),
    ('{"statement": "\\"[[", "table": ' + "[" * 998 + "]" * 998 + "}", False), ("[]," * 40_000, True),
    ('{"statement": "' + "\\" * 100_001 + "[" * 1_001, False),
])  # fmt: skip
def test_many_parts_are_counted_outside_of_texts_in_little_time(body: str, is_refused: bool) -> None:
    began = time.process_time()
    try:
        read_json(body.encode())
        found = False
    except ManyPartsError:
        found = True
    except (ValueError, RecursionError):
        found = False
    assert found == is_refused
    assert time.process_time() - began < 0.5


def test_a_body_of_many_parts_is_told_so(server: Server) -> None:
    with server.client("ann") as client:
        found = client.post("/v1/run", content=b"[" + b"[]," * 2_000 + b"0]")
        assert (found.status_code, found.json()["message"]) == (400, "the body has more than 1,000 lists and objects")
        found = client.post("/mcp", content=b"{" + b"[" * 2_000, headers=MCP)
        assert (found.status_code, found.json()["error"]["code"]) == (400, -32600)
        for odd in ("utf-16", "utf-32"):
            found = client.post("/v1/run", content='{"statement": "SELECT 1"}'.encode(odd))
            assert (found.status_code, found.json()["error"]) == (400, "bad_request")
        with_mark = '{"statement": "SELECT 1"}'.encode("utf-8-sig")
        assert client.post("/v1/run", content=with_mark).status_code == 200

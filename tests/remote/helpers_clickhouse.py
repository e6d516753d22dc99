"""ClickHouse (chDB, in a process of its own) behind the part of its HTTP interface that dpdb uses; tables for it."""

from __future__ import annotations

import http.client
import subprocess
import sys
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

import pyarrow as pa

from dpdb.names import in_double_quotes

# One session, as chDB has one: temporary tables have names that no other session uses.
_SERVER = """
import sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit
import chdb.session

KNOWN = {"database", "session_id", "session_timeout", "wait_end_of_query", "async_insert"}
KNOWN.add("cancel_http_readonly_queries_on_client_close")
session, lock = chdb.session.Session(sys.argv[1]), threading.Lock()
session.query("CREATE DATABASE IF NOT EXISTS site ENGINE = Atomic")
session.query("USE site")

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = parse_qs(urlsplit(self.path).query)
        user, key = self.headers.get("X-ClickHouse-User"), self.headers.get("X-ClickHouse-Key")
        if (user, key) not in (("default", None), ("analyst", "sesame%1")):
            return self.answered(403, f"Code: 516. DB::Exception: AUTHENTICATION_FAILED, {user} {key}".encode())
        if set(asked) - KNOWN:
            return self.answered(404, b"Code: 115. DB::Exception: UNKNOWN_SETTING")
        with lock:
            try:
                found = session.query(text, "CSV")
                return self.answered(200, bytes(found.bytes()) if found else b"")
            except Exception as error:
                return self.answered(500, str(error).encode())

    def answered(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
"""
_NUMBERS = count()
TYPES = {
    pa.int8(): "Int8", pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64", pa.float32(): "Float32",
    pa.float64(): "Float64", pa.string(): "String", pa.date32(): "Date32", pa.bool_(): "Bool",
    pa.timestamp("us"): "DateTime64(6)", pa.timestamp("us", "UTC"): "DateTime64(6, 'UTC')",
}  # fmt: skip


def why_no_clickhouse() -> str | None:
    """Say what is missing."""
    try:
        from importlib.metadata import version

        version("chdb")
    except ImportError:
        return "ClickHouse is not installed: pip install 'dpdb[test]' (chdb)"
    return None


class ClickHouse:
    """A server; its user 'default' has no password, 'analyst' has the one 'sesame%1'."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _SERVER, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.address = f"clickhouse://127.0.0.1:{self.port}/site"

    def run(self, *statements: str) -> bytes:
        """Run statements; the answer of the last one."""
        found = b""
        for statement in statements:
            connection = http.client.HTTPConnection("127.0.0.1", self.port)
            connection.request(
                "POST", "/?" + urlencode({"database": "site"}), statement.encode(), {"X-ClickHouse-User": "default"}
            )
            response = connection.getresponse()
            found = response.read()
            connection.close()
            assert response.status == 200, found.decode()
        return found

    def holding(self, rows: pa.Table, engine: str = "MergeTree ORDER BY tuple()") -> str:
        """Make a table of rows, and return its name."""
        name = f"made_{next(_NUMBERS)}"
        kinds = ", ".join(f"{quoted(field.name)} Nullable({kind_of(field.type)})" for field in rows.schema)
        self.run(f"CREATE TABLE site.{name} ({kinds}) ENGINE = {engine}")
        cells = ",".join("(" + ",".join(constant(value) for value in row.values()) + ")" for row in rows.to_pylist())
        if cells:
            self.run(f"INSERT INTO site.{name} VALUES {cells}")
        return name

    def stop(self) -> None:
        """End it."""
        self._process.communicate("")


def kind_of(kind: pa.DataType) -> str:
    return f"Decimal({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else TYPES[kind]


def quoted(name: str) -> str:
    return in_double_quotes(name.replace("\\", "\\\\"))


def constant(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool() | int():
            return str(value)
        case float():
            return str(value)
        case str() | bytes():
            return f"unhex('{(value.encode() if isinstance(value, str) else value).hex()}')"
        case _:
            return f"'{value}'".replace("+00:00", "")

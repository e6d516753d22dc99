"""A client of PostgreSQL's protocol that says exactly what a test wants, well-formed or not."""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
import os
import socket
import ssl
import struct
from types import TracebackType

__all__ = ["EndedError", "Wire", "bind", "describe", "error_of", "execute", "packed", "parse", "startup"]

Message = tuple[bytes, bytes]


@functools.lru_cache(64)  # milliseconds of work for each of thousands of logins
def _salted(token: str, salt: str, rounds: int) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", token.encode(), base64.b64decode(salt), rounds)


class EndedError(Exception):
    """The server has closed the connection."""


def packed(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def startup(user: str, code: int = 196_608, **more: str) -> bytes:
    pairs = {"user": user, "database": "visits", **more}
    body = struct.pack("!i", code) + b"".join(f"{name}\0{value}\0".encode() for name, value in pairs.items()) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def error_of(message: Message) -> dict[str, str]:
    """The fields of an error or a notice."""
    assert message[0] in (b"E", b"N"), message
    return {field[:1].decode(): field[1:].decode() for field in message[1].split(b"\0") if field}


class Wire:
    def __init__(self, port: int, *, address: str = "127.0.0.1", seconds: float = 60) -> None:
        self.socket = socket.socket()
        self.socket.bind((address, 0))
        self.socket.settimeout(seconds)
        self.socket.connect(("127.0.0.1", port))
        self.received = bytearray()
        self.key = (0, 0)

    def encrypt(self) -> None:
        """Ask for TLS, and shake hands with whoever it is."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.send(struct.pack("!ii", 8, 80877103))
        assert self.socket.recv(1) == b"S"
        self.socket = context.wrap_socket(self.socket)

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, content: bytes) -> None:
        self.socket.sendall(content)

    def exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            try:
                piece = self.socket.recv(size - len(found))
            except ConnectionError:
                piece = b""
            if not piece:
                raise EndedError(found)
            found += piece
        self.received += found
        return found

    def message(self) -> Message:
        kind, size = struct.unpack("!ci", self.exactly(5))
        return kind, self.exactly(size - 4)

    def until(self, *kinds: bytes) -> list[Message]:
        found = [self.message()]
        while found[-1][0] not in kinds:
            found.append(self.message())
        return found

    def log_in(self, user: str, token: str, code: int = 196_608, **more: str) -> list[Message]:
        """Log in by SCRAM-SHA-256; returns the messages up to the first ReadyForQuery, or the error."""
        self.send(startup(user, code, **more))
        found = self.until(b"R", b"E")
        if found[-1][0] == b"E":
            return found
        bare = f"n=,r={base64.b64encode(os.urandom(12)).decode()}"
        first = f"n,,{bare}".encode()
        self.send(packed(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first))
        challenge = self.message()
        if challenge[0] == b"E":
            return [*found, challenge]
        said = challenge[1][4:].decode()
        parts = dict(part.split("=", 1) for part in said.split(","))
        self.salt = parts["s"]
        salted = _salted(token, parts["s"], int(parts["i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        without = f"c=biws,r={parts['r']}"
        signature = hmac.digest(hashlib.sha256(key).digest(), f"{bare},{said},{without}".encode(), "sha256")
        proof = bytes(one ^ other for one, other in zip(key, signature, strict=True))
        self.send(packed(b"p", f"{without},p={base64.b64encode(proof).decode()}".encode()))
        found += [challenge, *self.until(b"Z", b"E")]
        for kind, body in found:
            if kind == b"K":
                self.key = struct.unpack("!II", body)
        return found

    def query(self, text: str) -> list[Message]:
        self.send(packed(b"Q", text.encode() + b"\0"))
        return self.until(b"Z")

    def extended(self, *messages: bytes) -> list[Message]:
        self.send(b"".join(messages) + packed(b"S"))
        return self.until(b"Z")


def parse(text: str, name: str = "", *oids: int) -> bytes:
    return packed(b"P", f"{name}\0{text}\0".encode() + struct.pack(f"!h{len(oids)}i", len(oids), *oids))


def bind(*values: bytes | None, name: str = "", portal: str = "", form: int = 0, wanted: int = 0) -> bytes:
    sized = b"".join(
        struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value for value in values
    )
    head = f"{portal}\0{name}\0".encode()
    return packed(b"B", head + struct.pack("!hhh", 1, form, len(values)) + sized + struct.pack("!hh", 1, wanted))


def describe(kind: str, name: str = "") -> bytes:
    return packed(b"D", f"{kind}{name}\0".encode())


def execute(portal: str = "", most: int = 0) -> bytes:
    return packed(b"E", f"{portal}\0".encode() + struct.pack("!i", most))

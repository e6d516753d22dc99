"""The messages of PostgreSQL's protocol as bytes: those that clients send, read within bounds, and those they get.

What is refused or fails has the words of the desk, with a code of PostgreSQL.

https://www.postgresql.org/docs/15/protocol-message-formats.html
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from dpdb.doors.server.refusals import Refusal

SQLSTATE: Mapping[str, str] = {
    "refused": "42501", "statement_failed": "22000", "budget": "53400", "forbidden": "42501", "run_id": "22023",
    "too_many": "53000", "too_much": "53200", "failed": "XX000", "closing": "57P01", "unavailable": "58000",
}  # fmt: skip
"""The code of PostgreSQL of every code of the desk."""

KIND_SQLSTATE: Mapping[str, str] = {
    "syntax": "42601", "table": "42P01", "column": "42703", "function": "42883", "parameter": "22023",
    "writes": "25006", "size": "54000", "division": "22012",
}  # fmt: skip
"""The code of a refused statement whose message is about this; it stands at the place that has the words."""

_RETRY = "SET dpdb.run_id = '...' before a statement names its run: the same statement is then answered at no cost"


class WireError(Exception):
    """An error as a client gets it; what it says is public.

    Parameters
    ----------
    is_final : bool
        Whether the connection ends.
    """

    def __init__(self, code: str, message: str, hint: str | None = None, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.is_final = code, message, hint, is_final

    def fields(self, severity: str) -> dict[str, str]:
        """Return the fields of the message."""
        found = {"S": severity, "V": severity, "C": self.code, "M": self.message}
        return found if self.hint is None else found | {"H": self.hint}


def wire_error(refusal: Refusal) -> WireError:
    """Return what the desk says."""
    retried = refusal.code in ("failed", "closing")
    code = KIND_SQLSTATE.get(refusal.kind) or SQLSTATE.get(refusal.code, "XX000")
    return WireError(code, refusal.message, _RETRY if retried else None)


PROTOCOL = 3 << 16
CANCEL, TLS, GSS = 80877102, 80877103, 80877104
MOST_MESSAGE = 128 << 10
"""Bytes of a client's message, as of a body over HTTP; a statement may have half of them."""
MOST_STARTUP = 10_000


def _malformed() -> WireError:
    return WireError("08P01", "a message is malformed")


def message(kind: bytes, *parts: bytes) -> bytes:
    """Return a message of the server."""
    body = b"".join(parts)
    return kind + struct.pack("!i", len(body) + 4) + body


def texts(*found: str) -> bytes:
    """Return texts that end with a zero byte each; zero bytes inside, and what is not UTF-8, become question marks."""
    return b"".join(one.replace("\0", "?").encode("utf-8", "replace") + b"\0" for one in found)


def report(kind: bytes, fields: Mapping[str, str]) -> bytes:
    """Return an error (kind `E`) or a notice (`N`), by the letters of its fields."""
    return message(kind, *(texts(letter + text) for letter, text in fields.items()), b"\0")


class Reading:
    """Reads the body of a client's message from its start on.

    Raises
    ------
    WireError
        From any method: the body is not what the message has.
    """

    def __init__(self, body: bytes) -> None:
        self._body, self._place = body, 0

    @property
    def left(self) -> int:
        """Bytes that were not read yet."""
        return len(self._body) - self._place

    def raw(self, size: int) -> bytes:
        """Read so many bytes."""
        end = self._place + size
        if size < 0 or end > len(self._body):
            raise _malformed()
        found, self._place = self._body[self._place : end], end
        return found

    def whole(self) -> int:
        """Read a whole number of 32 bits."""
        return int.from_bytes(self.raw(4), "big", signed=True)

    def short(self) -> int:
        """Read a whole number of 16 bits."""
        return int.from_bytes(self.raw(2), "big", signed=True)

    def count(self) -> int:
        """Read how many things follow."""
        return int.from_bytes(self.raw(2), "big")

    def shorts(self) -> list[int]:
        """Read a count and so many numbers of 16 bits."""
        return [self.short() for _ in range(self.count())]

    def types(self) -> list[int]:
        """Read a count and so many numbers of types, of 32 bits without a sign."""
        return [int.from_bytes(self.raw(4), "big") for _ in range(self.count())]

    def sized(self) -> bytes | None:
        """Read bytes behind their number; None for -1."""
        size = self.whole()
        return None if size == -1 else self.raw(size)

    def text(self) -> str:
        """Read text up to a zero byte."""
        end = self._body.find(b"\0", self._place)
        if end < 0:
            raise _malformed()
        found = self._body[self._place : end]
        self._place = end + 1
        return utf8(found)

    def end(self) -> None:
        """Check that nothing is left."""
        if self._place != len(self._body):
            raise _malformed()


def utf8(found: bytes) -> str:
    """Return text; `WireError` if it is no UTF-8, or has zero bytes."""
    try:
        text = found.decode()
    except UnicodeDecodeError:
        raise WireError("22021", "text is not UTF-8") from None
    if "\0" in text:
        raise WireError("22021", "text has a zero byte")
    return text


def data_rows(columns: Sequence[Sequence[bytes | None]]) -> bytes:
    """Return rows from the values of their columns."""
    head = struct.pack("!h", len(columns))
    return b"".join(message(b"D", head, *map(sized, row)) for row in zip(*columns, strict=True))


def sized(value: bytes | None) -> bytes:
    """Return bytes behind their number, which is -1 of None."""
    return struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value

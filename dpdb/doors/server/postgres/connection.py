"""`PostgresListener` takes connections for a desk, within the caps that HTTP has, too; `Connection` is one client.

A connection goes from its first bytes to its end: TLS, login, and then its messages. The first eight bytes are read
from the socket itself, so nothing that came before a TLS handshake is ever read as if it had come after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shlex
import socket
import ssl
import struct
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dpdb.doors.server.analysts import Analyst, LoginKeys
from dpdb.doors.server.certificate import Certificate, Served
from dpdb.doors.server.connections import BACKLOG, HANDSHAKE_SECONDS, Places, accepted
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import Asker
from dpdb.doors.server.postgres.conversation import Conversation
from dpdb.doors.server.postgres.scram import LOGIN_FAILED, Scram, mechanisms, mock_keys
from dpdb.doors.server.postgres.session import Settings
from dpdb.doors.server.postgres.statements import Statements
from dpdb.doors.server.postgres.wire import (
    CANCEL,
    GSS,
    MOST_MESSAGE,
    MOST_STARTUP,
    PROTOCOL,
    TLS,
    Reading,
    WireError,
    message,
    report,
    texts,
    wire_error,
)
from dpdb.doors.server.rates import PerMinute
from dpdb.doors.server.refusals import UNREADABLE, ClosingError
from dpdb.doors.server.workers import leave_turn
from dpdb.doors.sql import AskedErrors

_ERRORS = AskedErrors("connections that failed")
_BUFFER = 16 << 10
_CLOSE_SECONDS = 1.0
_ENDED = WireError("57P01", "the connection ends: the server stops, or others came while it was silent")


class Connection:
    """One client.

    Attributes
    ----------
    key : tuple of int
        By which the client may cancel what runs.
    is_silent : bool
        Whether nothing is being answered.
    """

    def __init__(self, server: PostgresListener, client: socket.socket, address: str) -> None:
        self.key = secrets.randbits(31), secrets.randbits(32)
        self._server, self._socket, self._address = server, client, address
        self._limits = server.desk.configuration.limits
        self._reader = asyncio.StreamReader(_BUFFER)
        self._writer: asyncio.StreamWriter | None = None
        self._is_encrypted = self._is_known = False
        self._end_point: bytes | None = None
        self.is_silent, self._is_unread = True, False
        self._statements: Statements | None = None
        self._name = ""

    @property
    def turn(self) -> int | None:
        """When it ends for a newcomer: first whoever has not logged in, then whoever is silent."""
        return int(self._is_known) if self.is_silent or self._is_unread else None

    def end(self) -> None:
        """End, with a word if the client can hear it; not while a statement is answered."""
        if self._writer is None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        elif self.turn is not None:
            self._say(_ENDED)
            self._writer.close()
            asyncio.get_running_loop().call_later(_CLOSE_SECONDS, self._writer.transport.abort)

    def cancel(self) -> None:
        """Cancel the statement that runs, for its client."""
        if self._statements is not None:
            self._statements.cancel()

    async def serve(self) -> None:
        """Answer until the client goes, or must."""
        conversation = None
        try:
            async with asyncio.timeout(self._limits.request_seconds):
                conversation = await self._begun()
            while conversation is not None and not self._server.is_closing:
                kind, body = await self._message(self._limits.request_seconds)
                if kind == b"X":
                    break
                self.is_silent = False
                async with self._server.desk.messages.one(self._name):
                    await conversation.answer(kind, body)
                self.is_silent = True
                await asyncio.sleep(0)  # what was read ahead waits for whoever else has sent something
            if conversation is not None and self._server.is_closing:
                self._say(_ENDED)
        except (OSError, asyncio.IncompleteReadError, TimeoutError, ssl.SSLError):
            pass
        except ClosingError:
            self._say(_ENDED)
        except WireError as error:
            self._say(error)
        except Exception as error:
            _ERRORS.tell("a connection failed", error)
            self._say(WireError("XX000", "the request failed; the reason is in the owner's log"))
        finally:
            if conversation is not None:
                conversation.close()
            self._statements = None
            await self._gone()

    async def _gone(self) -> None:
        if self._writer is None:
            self._socket.close()
            return
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError, ssl.SSLError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._writer.wait_closed()
        self._writer.transport.abort()

    # -- the first bytes --------------------------------------------------------------------------------------

    async def _begun(self) -> Conversation | None:
        """Take the connection up to the first statement; None if there is nothing more to answer."""
        size, code = await self._first()
        if code == CANCEL and size == 16:
            self._server.cancel(struct.unpack("!II", await self._reader.readexactly(8)))
            return None
        if code >> 16 != 3 or not 8 < size <= MOST_STARTUP:
            raise WireError("0A000", "this is no client of PostgreSQL's protocol 3")
        given = _given(await self._reader.readexactly(size - 8))
        if self._server.tls is not None and not self._is_encrypted:
            raise WireError("28000", "this server speaks TLS only: sslmode=require, better verify-full")
        unknown = [name for name in given if name.startswith("_pq_.")]
        if code != PROTOCOL or unknown:
            self.write(message(b"v", struct.pack("!ii", PROTOCOL, len(unknown)), texts(*unknown)))
        analyst, keys = await self._logged_in(given.get("user", ""))
        return self._welcomed(analyst, keys, given)

    async def _first(self) -> tuple[int, int]:
        """Return the size and the code of the start-up packet, after TLS where the client wants it."""
        for _ in range(3):
            size, code = struct.unpack("!iI", await self._raw(8))
            if code not in (TLS, GSS) or size != 8:
                await self._open(None)
                return size, code
            if code == TLS and self._server.tls is not None:
                await self._send_raw(b"S")
                await self._open(self._server.tls.newest())
                size, code = struct.unpack("!iI", await self._reader.readexactly(8))
                return size, code
            await self._send_raw(b"N")
        raise WireError("08P01", "the client asks for TLS again and again")

    async def _raw(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            piece = await asyncio.get_running_loop().sock_recv(self._socket, size - len(found))
            if not piece:
                raise ConnectionResetError
            found += piece
        return found

    async def _send_raw(self, content: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, content)

    async def _open(self, served: Served | None) -> None:
        loop = asyncio.get_running_loop()
        tls, self._end_point = (None, None) if served is None else served
        seconds = None if tls is None else HANDSHAKE_SECONDS
        protocol = asyncio.StreamReaderProtocol(self._reader)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol, self._socket, ssl=tls, ssl_handshake_timeout=seconds
        )
        self._writer = asyncio.StreamWriter(transport, protocol, self._reader, loop)
        self._is_encrypted = tls is not None

    # -- the login --------------------------------------------------------------------------------------------

    async def _logged_in(self, name: str) -> tuple[Analyst, LoginKeys]:
        """Return who has proved to have the token of a name; whether anybody has that name, nobody learns."""
        desk, end_point = self._server.desk, self._end_point
        if not desk.directory.is_readable:
            raise wire_error(UNREADABLE)
        known = desk.directory.login(name)
        keys = mock_keys(desk.directory.login_salt(name)) if known is None else known[1]
        self.write(message(b"R", struct.pack("!i", 10), texts(*mechanisms(end_point)), b"\0"))
        first = Reading(await self._said())
        scram = Scram(first.text(), end_point, keys)
        self.write(message(b"R", struct.pack("!i", 11), scram.first(first.sized() or b"")))
        first.end()
        try:
            signature = scram.final(await self._said())
            if known is None:  # not to be reached: nobody has the token of a mock
                raise WireError(*LOGIN_FAILED)
        except WireError as error:
            if error.code == LOGIN_FAILED[0] and not desk.failed_logins.allows(self._address):
                raise WireError("53000", LOGIN_FAILED[1]) from None
            raise
        self.write(message(b"R", struct.pack("!i", 12), signature))
        return known

    async def _said(self) -> bytes:
        await self.drain()
        kind, body = await self._message(None, MOST_STARTUP)
        if kind != b"p":
            raise WireError("08P01", "the client does not log in")
        return body

    def _welcomed(self, analyst: Analyst, keys: LoginKeys, given: Mapping[str, str]) -> Conversation:
        desk = self._server.desk
        settings = Settings(analyst.name, given)
        self._statements = Statements(
            desk,
            Asker(analyst, "postgres", self._address),
            given.get("database") or analyst.name,
            settings,
            holds=lambda: desk.directory.login(analyst.name) == (analyst, keys),
            may_read=partial(self._server.may_read, analyst.name),
            keep=self._server.keep,
            is_gone=self._is_gone,
        )
        self._is_known, self._name = True, analyst.name
        conversation = Conversation(self._statements, self)
        self.write(message(b"R", struct.pack("!i", 0)))
        for name, value in settings.reported().items():
            self.write(message(b"S", texts(name, value)))
        self.write(message(b"K", struct.pack("!II", *self.key)))
        conversation.ready()
        return conversation

    # -- messages ---------------------------------------------------------------------------------------------

    async def _message(self, seconds: float | None, most: int = MOST_MESSAGE) -> tuple[bytes, bytes]:
        """Read a message; once it has begun, within so many seconds."""
        head = await self._reader.readexactly(5)
        size = int.from_bytes(head[1:], "big") - 4
        if not 0 <= size <= most:
            raise WireError("54000", f"a message has at most {most:,} bytes")
        async with asyncio.timeout(seconds):
            return head[:1], await self._reader.readexactly(size)

    def write(self, content: bytes) -> None:
        """Send bytes."""
        assert self._writer is not None
        self._writer.write(content)

    async def drain(self) -> None:
        """Wait until the client has read enough; `ConnectionError` if it reads nothing for too long."""
        assert self._writer is not None
        if self._writer.transport.get_write_buffer_size():
            await leave_turn()  # a client that reads nothing keeps only itself waiting
        self._is_unread, before = True, 2**62
        try:
            while True:
                try:
                    async with asyncio.timeout(self._limits.request_seconds):
                        await self._writer.drain()
                    return
                except TimeoutError:
                    unread = self._writer.transport.get_write_buffer_size()
                    if unread >= before:
                        raise ConnectionResetError from None
                    before = unread
        finally:
            self._is_unread = False

    def _is_gone(self) -> bool:
        return self._reader.at_eof() or self._writer is None or self._writer.is_closing()

    def _say(self, error: WireError) -> None:
        """Send an error that ends the connection."""
        if self._writer is not None and not self._writer.is_closing():
            self.write(report(b"E", error.fields("FATAL")))


def _given(body: bytes) -> dict[str, str]:
    """Return what a client names in its start-up packet, with the settings among its options."""
    reading, found = Reading(body), {}
    while name := reading.text():
        found[name] = reading.text()
    reading.end()
    with contextlib.suppress(ValueError):
        words = shlex.split(found.get("options", "").replace("-c ", "--"))
        pairs = (word.removeprefix("--").partition("=") for word in words if word.startswith("--"))
        found |= {name.strip(): value for name, _, value in pairs}
    return found


# Characters that may be read and written, to see what statements are about or to bind their values, for each statement
# that may be run: a tool asks the catalog a hundred things when it connects. What is short counts as so many.
_READ = 20 << 10
_LEAST = 256


class PostgresListener:
    """Listens until it is closed.

    Parameters
    ----------
    desk : Desk
        Answers; it is not closed here.
    listener : socket.socket
        Bound.
    tls : Certificate or None
        With one, nobody is answered without TLS.
    """

    def __init__(self, desk: Desk, listener: socket.socket, tls: Certificate | None) -> None:
        limits = desk.configuration.limits
        self.desk, self.tls, self.is_closing = desk, tls, False
        self._places = Places[Connection](limits.connections_per_address, limits.connections)
        self._read = PerMinute(limits.statements_per_minute * _READ)
        self._open: dict[tuple[int, int], Connection] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        listener.setblocking(False)
        listener.listen(BACKLOG)
        self._accepting = asyncio.get_running_loop().create_task(self._accept(listener))

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        async for client, address in accepted(listener):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            connection = Connection(self, client, address)
            self._open[connection.key] = connection
            self.keep(loop.create_task(self._serve(connection)))
            self._places.take(connection, address)

    async def _serve(self, connection: Connection) -> None:
        try:
            await connection.serve()
        finally:
            self._places.leave(connection)
            self._open.pop(connection.key, None)

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Let a task go on to its end, also where nobody waits for it any more."""
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # which whoever waited has had, or nobody wants

    def may_read(self, name: str, size: int) -> bool:
        """Count characters that are read or written for an analyst; return whether he may have them read."""
        return self._read.allows(name, max(size, _LEAST))

    def cancel(self, key: Sequence[int]) -> None:
        """Cancel what the connection with this key runs; a wrong key is not told of."""
        process, secret = key
        connection = self._open.get((process, secret))
        if connection is not None:
            connection.cancel()

    def close(self) -> None:
        """Take no connection more, and end the silent ones; statements that run are answered."""
        self.is_closing = True
        self._accepting.cancel()
        for connection in [*self._open.values()]:
            if connection.is_silent:
                connection.end()

    async def wait_closed(self, seconds: float) -> None:
        """Wait for the statements that run, so many seconds; then end their connections."""
        with contextlib.suppress(asyncio.CancelledError):
            await self._accepting
        if self._tasks:
            _, late = await asyncio.wait([*self._tasks], timeout=seconds)
            for task in late:
                task.cancel()

"""`PostgresListener`: takes connections of PostgreSQL's protocol for a desk, within the caps that HTTP has, too."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from typing import Any

from dpdb.doors.server.accepting import accepted
from dpdb.doors.server.certificate import Certificate
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.places import Places
from dpdb.doors.server.postgres.connection import Connection
from dpdb.doors.server.rates import PerMinute

__all__ = ["PostgresListener"]

_BACKLOG = 512
# Statements that may be read, to see what they are about or what they return, for each that may be run: a tool asks the
# catalog a hundred things when it connects; what is long takes long.
_SHORT = 4_096
_READ = {True: 20, False: 5}


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

    Attributes
    ----------
    is_closing : bool
    """

    def __init__(self, desk: Desk, listener: socket.socket, tls: Certificate | None) -> None:
        limits = desk.configuration.limits
        self.desk, self.tls, self.is_closing = desk, tls, False
        self._places = Places[Connection](limits.connections_per_address, limits.connections)
        self._failed = PerMinute(limits.failed_logins_per_minute)
        self._read = {short: PerMinute(limits.statements_per_minute * times) for short, times in _READ.items()}
        self._open: dict[tuple[int, int], Connection] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        listener.setblocking(False)
        listener.listen(_BACKLOG)
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

    def may_fail(self, address: str) -> bool:
        """Count a failed login; return whether its address may have one more."""
        return self._failed.allows(address)

    def may_parse(self, name: str, text: str) -> bool:
        """Count a statement that is read for an analyst; return whether he may have it read."""
        return self._read[len(text) <= _SHORT].allows(name)

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

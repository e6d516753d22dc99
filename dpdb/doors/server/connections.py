"""Connections: taken one after another, few of them per address; the oldest silent one ends for a newcomer.

TLS handshakes have a deadline, and few per address may be under way: sockets that say nothing would otherwise take one
descriptor after the other before any cap counts them.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Generic, Protocol, TypeVar

from dpdb.doors.server.certificate import Certificate


class _Placed(Protocol):
    @property
    def turn(self) -> int | None:
        """The lower, the sooner it ends for a newcomer; None while it does not, because it is being answered."""

    def end(self) -> None:
        """End for a newcomer."""


One = TypeVar("One", bound=_Placed)


class Places(Generic[One]):
    """The open connections of a server."""

    def __init__(self, per_address: int, in_all: int) -> None:
        self._per_address, self._in_all = per_address, in_all
        self._open: dict[One, str] = {}  # in order of their opening

    def take(self, connection: One, address: str) -> None:
        """Add a connection, and end others where there are too many; itself, if all others are being answered."""
        self._open[connection] = address
        of_address = [one for one, where in self._open.items() if where == address]
        for found, most in ((of_address, self._per_address), ([*self._open], self._in_all)):
            if len(found) > most:
                self._end_oldest(found, connection)

    def leave(self, connection: One) -> None:
        """Forget a connection."""
        self._open.pop(connection, None)

    def _end_oldest(self, found: Sequence[One], newest: One) -> None:
        turns = [(one.turn, one) for one in found if one is not newest]
        endable = [(turn, one) for turn, one in turns if turn is not None]
        ended = min(endable, key=lambda pair: pair[0])[1] if endable else newest
        self.leave(ended)
        ended.end()


_PAUSE = 0.05  # where the system gives no descriptor


async def accepted(listener: socket.socket) -> AsyncIterator[tuple[socket.socket, str]]:
    """Give each connection of a listener that does not block, with the address it comes from; without an end."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            client, (address, *_) = await loop.sock_accept(listener)
        except OSError:
            await asyncio.sleep(_PAUSE)
            continue
        yield client, address
        await asyncio.sleep(0)  # whoever connects without a pause leaves the others their turn


BACKLOG = 512
HANDSHAKE_SECONDS = 5.0


class TlsListener:
    """Takes connections in a task of its own, as `asyncio.Server` does otherwise.

    Parameters
    ----------
    listener : socket.socket
        Bound, and listening.
    connection : function to asyncio.Protocol
        Makes the protocol of a connection whose handshake is done.
    per_address, in_all : int
        Handshakes under way; beyond them the oldest ends for a newcomer.
    """

    def __init__(
        self,
        listener: socket.socket,
        tls: Certificate,
        connection: Callable[[], asyncio.Protocol],
        per_address: int,
        in_all: int,
    ) -> None:
        self._tls, self._connection = tls, connection
        self._per_address, self._in_all = per_address, in_all
        self._under_way: dict[socket.socket, str] = {}  # in order of their beginning
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.get_running_loop().create_task(self._accept(listener))

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        async for client, address in accepted(listener):
            self._under_way[client] = address
            task = loop.create_task(self._shake(client))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            of_address = [one for one, where in self._under_way.items() if where == address]
            for found, most in ((of_address, self._per_address), ([*self._under_way], self._in_all)):
                if len(found) > most:
                    self._end(found[0])

    async def _shake(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):  # no TLS, too late, or gone; the transport closes the socket
            await asyncio.get_running_loop().connect_accepted_socket(
                self._connection, client, ssl=self._tls.newest().context, ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        self._under_way.pop(client, None)

    def _end(self, client: socket.socket) -> None:
        """End a handshake as its client would: a transport that has just been made cannot be closed otherwise."""
        self._under_way.pop(client, None)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Take no connection more; those whose handshake is done go on."""
        self._accepting.cancel()
        for client in [*self._under_way]:
            self._end(client)

    async def wait_closed(self) -> None:
        """Wait until nothing is accepted, and no handshake is under way."""
        await asyncio.gather(self._accepting, *self._tasks, return_exceptions=True)

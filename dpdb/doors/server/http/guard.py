"""`Guard`: uvicorn's HTTP/1.1 protocol with a deadline for head and body, and with few connections per address.

Without it, 150 clients that send half a head keep everybody out, for ever, and so do a few that ask for a page again
and again and read nothing of it. Where an address, or the whole server, has too many connections, the oldest that has
not sent a whole request, or does not read its answer, ends, never the newest: so a newcomer is answered, also where
others from his address are silent.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dpdb.doors.server.places import Places

__all__ = ["guard"]


class Guard(H11Protocol):
    """One connection; `guard` gives it its places and its deadline."""

    places: Places[Guard]
    seconds: float

    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether no whole request is there that is being answered."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    @property
    def turn(self) -> int | None:
        """When the connection ends for a newcomer: if it waits for a request, or its client reads no answer."""
        return 0 if self.is_waiting or self._unread is not None else None

    def end(self) -> None:
        """End at once."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, and wait for a request until the deadline."""
        super().connection_made(transport)
        self._wait()
        self.places.take(self, self.client[0] if self.client is not None else "")

    def data_received(self, data: bytes) -> None:
        """Take the deadline away once the whole request is there."""
        super().data_received(data)
        if not self.is_waiting:
            self._late = _stopped(self._late)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._late = _stopped(self._late)
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave the place."""
        self._late = _stopped(self._late)
        self._unread = _stopped(self._unread)
        self.places.leave(self)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait until the deadline for the client to read something."""
        super().pause_writing()
        self._unread = _stopped(self._unread)
        self._unread = self.loop.call_later(self.seconds, self._end_unread, 2**62)

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        self._unread = _stopped(self._unread)
        super().resume_writing()

    def _end_unread(self, before: int) -> None:
        """End the connection if nothing was read since as many bytes waited; a slow client may take its time."""
        unread = self.transport.get_write_buffer_size()
        if unread >= before:
            self.transport.abort()
        else:
            self._unread = self.loop.call_later(self.seconds, self._end_unread, unread)

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.seconds, self._end)

    def _end(self) -> None:
        if self.is_waiting:
            self.transport.abort()


def _stopped(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancel a timer if there is one; there is none any more."""
    if timer is not None:
        timer.cancel()
    return None


def guard(per_address: int, in_all: int, seconds: float) -> type[Guard]:
    """Return the protocol of a server, with places of its own.

    Parameters
    ----------
    per_address, in_all
        Connections that may be open.
    seconds
        For the head and the body of a request, and for a client to read on.
    """
    own: dict[str, Any] = {"places": Places[Guard](per_address, in_all), "seconds": seconds}
    return type("Guard", (Guard,), own)

"""`serve`: one process that answers over HTTP until it is told to stop; at SIGHUP it opens changed tables again.

`Guard` is uvicorn's HTTP/1.1 protocol with a deadline for head and body, and with few connections per address. Without
it, 150 clients that send half a head keep everybody out, for ever, and so do a few that ask for a page again and again
and read nothing of it. Where an address, or the whole server, has too many connections, the oldest that has not sent a
whole request, or does not read its answer, ends, never the newest: so a newcomer is answered, also where others from
his address are silent.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from dpdb.doors.server.certificate import Certificate
from dpdb.doors.server.configuration import Configuration
from dpdb.doors.server.connections import BACKLOG, Places, TlsListener
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.http.application import http_application
from dpdb.doors.server.postgres.connection import PostgresListener
from dpdb.errors import ParameterError, tell_owner
from dpdb.stopping import end_by_force

_MOST_HEAD = 16 << 10
_FIXED: dict[str, Any] = {
    "ws": "none", "lifespan": "off", "log_config": None, "access_log": False, "server_header": False,
    "date_header": False, "proxy_headers": False, "h11_max_incomplete_event_size": _MOST_HEAD, "backlog": BACKLOG,
}  # fmt: skip
"""Settings of uvicorn."""
_CERTIFICATE_SECONDS = 5.0
_SWITCH_SECONDS = 0.0001  # whoever answers others waits so long for a thread at work, often for one request
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(configuration: Configuration, say: Callable[[str], None]) -> None:
    """Open everything, listen, and answer until a signal; then take no statement more and finish those that run.

    It ends `stop_seconds` after the signal, and a few seconds for what is being recorded; what still runs then is cut.

    Parameters
    ----------
    say
        Tells the owner, in a line, where it listens and that it stops.

    Raises
    ------
    DpdbError
        The certificate, the address, a table, a ledger or the audit file cannot be used; nothing was spent.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    tls = None
    if configuration.certificate is not None and configuration.private_key is not None:
        tls = Certificate(configuration.certificate, configuration.private_key)
    with contextlib.ExitStack() as opened:
        listener = opened.enter_context(contextlib.closing(_bound(configuration.address, configuration.port)))
        wire = None
        if configuration.postgres is not None:
            wire = opened.enter_context(contextlib.closing(_bound(*configuration.postgres)))
        desk = Desk(configuration)
        opened.callback(_ended, desk, say)
        if wire is not None:
            old = ", ".join(desk.directory.without_keys)
            if old:
                say(f"no login by PostgreSQL with tokens of earlier versions: `dpdb analyst add` anew for {old}")
        asyncio.run(_until_told(desk, listener, wire, tls, say))


def _ended(desk: Desk, say: Callable[[str], None]) -> None:
    """Close the desk; where a thread does not end, end the process: the ledger is as a kill would leave it."""
    if not desk.close():
        with contextlib.suppress(OSError):  # nobody reads
            say("stopped before all was answered: debits stay, and the same Idempotency-Key asks again at no cost")
        end_by_force(0)


def _where(listener: socket.socket) -> str:
    host, port, *_ = listener.getsockname()
    return f"{f'[{host}]' if ':' in host else host}:{port}"


def _bound(address: str, port: int) -> socket.socket:
    """Take the address, without listening yet."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio lets answers wait
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
    except OSError as error:
        listener.close()
        raise ParameterError(f"{address}, port {port}: cannot be listened at: {error.strerror}") from None
    return listener


async def _until_told(
    desk: Desk,
    listener: socket.socket,
    wire: socket.socket | None,
    tls: Certificate | None,
    say: Callable[[str], None],
) -> None:
    limits = desk.configuration.limits
    protocol = guard(limits.connections_per_address, limits.connections, limits.request_seconds)
    config = uvicorn.Config(
        http_application(desk),
        http=protocol,
        timeout_keep_alive=round(limits.request_seconds) or 1,
        timeout_graceful_shutdown=round(limits.stop_seconds) or 1,
        **_FIXED,
    )
    postgres: PostgresListener | None = None
    ends: list[float] = []  # when it was told to stop, and how long statements may go on

    def begin() -> None:
        nonlocal postgres
        if wire is not None:
            postgres = PostgresListener(desk, wire, tls)
            desk.postgres = wire.getsockname()[1]
            say(f"clients of PostgreSQL at {_where(wire)}")
        say(f"listening at {'http' if tls is None else 'https'}://{_where(listener)}")

    server = _Server(config, tls, (limits.connections_per_address, limits.connections), begin)

    def stop() -> None:
        if desk.closing:
            server.force_exit = True
            return
        desk.stop_taking()
        server.should_exit = True
        ends.append(time.monotonic() + limits.stop_seconds)
        if postgres is not None:
            postgres.close()
        say("stopping: no new statements; those that run are finished, or keep their debit")

    tell = partial(_tell, say)
    current = [
        asyncio.create_task(work) for work in (desk.keep_current(), desk.keep_tables(tell), _keep_valid(tls, desk, say))
    ]

    def open_again() -> None:
        current.append(asyncio.create_task(desk.look_at_tables(tell, all_changed=True)))

    with _handled(dict.fromkeys(_SIGNALS, stop) | {signal.SIGHUP: open_again}):
        try:
            await server.serve([listener])
            if postgres is not None:
                left = max(0.0, ends[0] - time.monotonic()) if ends else 0.0
                await postgres.wait_closed(0 if server.force_exit else left)
        finally:
            for task in current:
                task.cancel()


@contextlib.contextmanager
def _handled(handlers: Mapping[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    """Handle signals while the block lasts."""
    loop = asyncio.get_running_loop()
    for number, handle in handlers.items():
        loop.add_signal_handler(number, handle)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


def _tell(say: Callable[[str], None], line: str) -> None:
    with contextlib.suppress(OSError):  # nobody reads
        say(line)


async def _keep_valid(tls: Certificate | None, desk: Desk, say: Callable[[str], None]) -> None:
    """Read the certificate again and again; say once when it ends, and when it is good again, and let health say so."""
    while tls is not None:
        await asyncio.sleep(_CERTIFICATE_SECONDS)
        trouble = await asyncio.to_thread(tls.read_again)
        if trouble == desk.trouble:
            continue
        desk.trouble = trouble
        with contextlib.suppress(OSError):  # nobody reads
            say("the certificate is good again" if trouble is None else f"{trouble}; renew it, and it is taken")


class _Server(uvicorn.Server):
    """uvicorn's server with caps and a deadline for TLS handshakes; signals are not its own, its log is the owner's."""

    def __init__(
        self, config: uvicorn.Config, tls: Certificate | None, most: tuple[int, int], begin: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self.servers: list[asyncio.Server] = []
        self._tls, self._most, self._begin = tls, most, begin
        tell_owner("uvicorn")

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen at the one socket, and say so."""
        await self.lifespan.startup()
        loop = asyncio.get_running_loop()
        for one in sockets or ():
            if self._tls is None:
                self.servers.append(await loop.create_server(self._connection, sock=one, backlog=self.config.backlog))
            else:
                one.setblocking(False)
                one.listen(self.config.backlog)
                listener = TlsListener(one, self._tls, self._connection, *self._most)
                self.servers.append(cast("asyncio.Server", listener))  # uvicorn closes it, and waits for that
        self.started = True
        self._begin()

    def _connection(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made


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

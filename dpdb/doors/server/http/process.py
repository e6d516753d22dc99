"""`serve`: one process that answers over HTTP until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from typing import cast

import uvicorn

from dpdb.doors.server.certificate import Certificate
from dpdb.doors.server.configuration import Configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.http.application import http_application
from dpdb.doors.server.http.guard import guard
from dpdb.doors.server.http.handshakes import TlsListener
from dpdb.errors import ParameterError
from dpdb.owner_log import OWNER_LOG

__all__ = ["serve"]

_MOST_HEAD = 16 << 10
_BACKLOG = 512
_CERTIFICATE_SECONDS = 5.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve(configuration: Configuration, say: Callable[[str], None]) -> None:
    """Open everything, listen, and answer until a signal; then take no statement more and finish those that run.

    Parameters
    ----------
    configuration
        As it was read.
    say
        Tells the owner, in a line, where it listens and that it stops.

    Raises
    ------
    DpdbError
        The certificate, the address, a table, a ledger or the audit file cannot be used; nothing was spent.
    """
    tls = None
    if configuration.certificate is not None and configuration.private_key is not None:
        tls = Certificate(configuration.certificate, configuration.private_key)
    listener = _bound(configuration.address, configuration.port)
    with contextlib.closing(listener):
        desk = Desk(configuration)
        try:
            scheme, (host, port, *_) = "http" if tls is None else "https", listener.getsockname()
            where = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
            asyncio.run(_until_told(desk, listener, tls, lambda: say(f"listening at {where}"), say))
        finally:
            desk.close()


def _bound(address: str, port: int) -> socket.socket:
    """Take the address, without listening yet."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family)
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
    tls: Certificate | None,
    begin: Callable[[], None],
    say: Callable[[str], None],
) -> None:
    limits = desk.configuration.limits
    protocol = guard(limits.connections_per_address, limits.connections, limits.request_seconds)
    config = uvicorn.Config(
        http_application(desk),
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_MOST_HEAD,
        timeout_keep_alive=round(limits.request_seconds) or 1,
        timeout_graceful_shutdown=round(limits.stop_seconds) or 1,
        backlog=_BACKLOG,
    )
    server = _Server(config, tls, (limits.connections_per_address, limits.connections), begin)

    def stop() -> None:
        if desk.closing:
            server.force_exit = True
            return
        desk.closing = server.should_exit = True
        say("stopping: no new statements; those that run are finished, or keep their debit")

    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    current = [asyncio.create_task(desk.keep_current())]
    if tls is not None:
        current.append(asyncio.create_task(_keep_valid(tls, desk, say)))
    try:
        await server.serve([listener])
    finally:
        for task in current:
            task.cancel()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


async def _keep_valid(tls: Certificate, desk: Desk, say: Callable[[str], None]) -> None:
    """Read the certificate again and again; say once when it ends, and when it is good again, and let health say so."""
    while True:
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
        log = logging.getLogger("uvicorn")
        log.handlers, log.propagate = [_ToOwner()], False

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
                listener = TlsListener(one, self._tls.newest, self._connection, *self._most)
                self.servers.append(cast("asyncio.Server", listener))  # uvicorn closes it, and waits for that
        self.started = True
        self._begin()

    def _connection(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made


class _ToOwner(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            OWNER_LOG.handle(record)

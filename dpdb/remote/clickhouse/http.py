"""ClickHouse's HTTP interface: an address, and a session in which queries run one at a time.

It needs no driver: a query is the body of a POST, and its answer the body that comes back.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Self
from urllib.parse import unquote, urlencode

from dpdb.errors import OWNER_LOG, SourceError
from dpdb.remote.addresses import parts_of_address
from dpdb.remote.table import new_name

SCHEME = "clickhouse"
_PORTS = {False: 8123, True: 8443}
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_CONNECTING = 30
"""Seconds; an answer may take as long as it takes."""
_REFUSED = (401, 403)
_PORT = re.compile(r"[0-9]{0,5}")
_HEADER_ENDS = re.compile(r"[\x00-\x1f\x7f]")
_FAILED, _WHO = "X-ClickHouse-Exception-Code", "X-ClickHouse-Server-Display-Name"
"""Headers: an error that came after the status was sent, and the name of the server that has answered."""
_LONGEST_SESSION = 3_600
"""Seconds, the most that servers allow; each query begins them anew."""


@dataclass(frozen=True, repr=False)
class ClickHouseAddress:
    """Where a server is, and who asks it.

    Attributes
    ----------
    host, port, is_secure
        Of the HTTP interface; ``?secure=true`` in an address is TLS.
    user, password : str
        Of the address; else of the variables CLICKHOUSE_USER and CLICKHOUSE_PASSWORD.
    """

    host: str
    port: int
    is_secure: bool
    user: str
    password: str
    database: str

    @property
    def shown(self) -> str:
        """The address without password and options."""
        return f"{SCHEME}://{self.user}@{self.host}:{self.port}/{self.database}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address.

        Raises
        ------
        SourceError
            If it is none, or it is not clear where a password in it ends. The message shows nothing of it.
        """
        found = parts_of_address(text, (SCHEME,), "CLICKHOUSE_PASSWORD")
        options = dict(each.partition("=")[::2] for each in (found["options"] or "").split("&") if each)
        is_secure = _FLAGS.get(options.pop("secure", "false"))
        place = found["host"] or ""
        host, _, port = place.rpartition(":") if _has_port(place) else (place, "", "")
        user, password, database = (unquote(found[name] or "") for name in ("user", "password", "database"))
        user = user or os.environ.get("CLICKHOUSE_USER", "") or "default"
        password = password or os.environ.get("CLICKHOUSE_PASSWORD", "")
        if _HEADER_ENDS.search(user + password):
            raise SourceError(f"{SCHEME}://...: a user or password with control characters cannot be sent by HTTP")
        if options or is_secure is None or not host or not _PORT.fullmatch(port) or int(port or 0) > 65_535:
            raise SourceError(
                f"{SCHEME}://...: not an address; it is {SCHEME}://USER@HOST:PORT/DATABASE of the HTTP interface (port "
                f"{_PORTS[False]}), with ?secure=true for TLS (port {_PORTS[True]}), and no other option"
            )
        number = int(port) if port else _PORTS[is_secure]
        return cls(host.strip("[]"), number, is_secure, user, password, database or "default")

    def without_secrets(self, text: str) -> str:
        """Return a text, such as the server's, in which the password is not."""
        return text.replace(self.password, "***") if self.password else text


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]


class ServerError(Exception):
    """What a server has said instead of an answer. It may print values: it is for the owner's log alone."""


class HttpSession:
    """A session: what it makes for itself, temporary tables, ends with it."""

    def __init__(self, address: ClickHouseAddress) -> None:
        self._address, self._name, self._lock = address, new_name(), Lock()
        self._connection: http.client.HTTPConnection | None = None
        self._server: str | None = None

    def run(self, text: str, *, changes: bool = False) -> bytes:
        """Run a statement, and return all of its answer.

        Parameters
        ----------
        changes
            Whether it writes. Then it is sent once: of a connection that ends nobody knows whether it was run.

        Raises
        ------
        ServerError
            If the server says that it has failed, or there is none, or another one answers than before.
        """
        with self._lock:
            try:
                status, failed, said = self._posted(text.encode(), changes)
            except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: no name of a host
                self.close()
                raise ServerError(self._address.without_secrets(f"{type(error).__name__}: {error}")) from None
            except BaseException:
                self.close()  # of a signal: the server stops what nobody waits for (`_PARAMETERS`)
                raise
        if status != http.client.OK or failed:
            raise ServerError(self._address.without_secrets(f"HTTP {status}: {said.decode(errors='replace')}"))
        return said

    def _posted(self, body: bytes, changes: bool) -> tuple[int, bool, bytes]:
        address = self._address
        headers: dict[str, str | bytes] = {
            "X-ClickHouse-User": address.user.encode(),
            "Content-Type": "text/plain; charset=UTF-8",
        }
        if address.password:
            headers["X-ClickHouse-Key"] = address.password.encode()
        parameters = {"database": address.database, "session_id": self._name, **_PARAMETERS}
        for _ in range(2):
            rested = self._connection
            used = self._connection = rested or self._connected()
            try:
                used.request("POST", "/?" + urlencode(parameters), body, headers)
                response = used.getresponse()
                self._refuse_another(response.headers.get(_WHO))
                return response.status, bool(response.headers.get(_FAILED)), response.read()
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                stopped = self._connection is not used  # by a signal
                self.close()
                if rested is None or stopped or changes:  # else the server ended it meanwhile; it is read again
                    raise
        raise AssertionError("the second connection is new")

    def _refuse_another(self, server: str | None) -> None:
        """Raise unless it is the server that has answered before: others may have other rows by now."""
        self._server = self._server or server
        if server != self._server:
            raise http.client.HTTPException("behind this address another server answers than before; name one server")

    def _connected(self) -> http.client.HTTPConnection:
        host, port = self._address.host, self._address.port
        made = (
            http.client.HTTPSConnection(host, port, timeout=_CONNECTING, context=ssl.create_default_context())
            if self._address.is_secure
            else http.client.HTTPConnection(host, port, timeout=_CONNECTING)
        )
        made.connect()
        made.sock.settimeout(None)
        made.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # a host that has gone answers never
        return made

    def close(self) -> None:
        """Close the connection; the server forgets the session after an hour. May be called twice.

        Another thread may wait for an answer by it: to shut the socket down wakes it, which closing does not.
        """
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with suppress(Exception):
            connection.sock.shutdown(socket.SHUT_RDWR)
        with suppress(Exception):
            connection.close()


_PARAMETERS = {
    "async_insert": "0",  # what is written is there once its statement has ended
    "session_timeout": str(_LONGEST_SESSION),
    "wait_end_of_query": "1",  # an error in the middle of an answer is an error of it, never a shorter answer
    "cancel_http_readonly_queries_on_client_close": "1",
}


def connected(address: ClickHouseAddress) -> HttpSession:
    """Connect, and ask for nothing."""
    session = HttpSession(address)
    try:
        session.run("SELECT 1")
    except ServerError as error:
        session.close()
        OWNER_LOG.error("%s", error)
        said = str(error)
        refused = "AUTHENTICATION_FAILED" in said or any(said.startswith(f"HTTP {status}") for status in _REFUSED)
        problem = "the server refuses the user or the password" if refused else "no connection can be made"
        if "READONLY" in said:
            problem = "the user may not choose settings: dpdb needs a user of readonly = 2, not 1"
        raise SourceError(f"{address.shown}: {problem}; the reason is in the owner's log") from None
    return session

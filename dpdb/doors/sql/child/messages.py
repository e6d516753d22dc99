"""Messages between the parent and a worker (a kind of one byte, a length, the content), and a statement's limits.

The worker sets the limits on itself before it sees the statement.
"""

from __future__ import annotations

import contextlib
import math
import socket
import struct
import time
from dataclasses import dataclass

# From the parent.
STATEMENT = b"s"  # what to run, as JSON
ANSWER = b"a"  # rows of one table of answers, as an Arrow stream
# From the worker.
LACKING = b"l"  # the walls that this system lacks, as text; only before the statement runs
PASSED = b"p"  # the rehearsal succeeded
RESULT = b"r"  # an Arrow stream
FAILED = b"f"  # the reason as text

# Over a worker's line: its process id, then its exit code, where negative numbers are signals.
NUMBER = struct.Struct("!i")

HEAD = struct.Struct("!cQ")
_CHUNK = 1 << 20


class ClosedError(Exception):
    """The other side has gone."""


class TooLongError(Exception):
    """The other side announces more than may be sent."""


def send(stream: socket.socket, kind: bytes, content: bytes | memoryview, *, until: float | None = None) -> None:
    """Send one message.

    Parameters
    ----------
    stream
        The socket to the other side.
    until
        Deadline on the monotonic clock, in seconds; None for no deadline.

    Raises
    ------
    TimeoutError
        If it has not taken everything at the deadline.
    """
    try:
        for part in (HEAD.pack(kind, len(content)), content):
            stream.settimeout(_left(until))
            stream.sendall(part)
    except (BrokenPipeError, ConnectionResetError):
        raise ClosedError from None


def receive(stream: socket.socket, most: int, *, until: float | None = None) -> tuple[bytes, bytearray]:
    """Receive one message: its kind and its content.

    Parameters
    ----------
    stream
        The socket to the other side.
    most
        Largest number of bytes of the content.
    until
        Deadline on the monotonic clock, in seconds; None for no deadline.

    Raises
    ------
    ClosedError
        If the other side has gone.
    TooLongError
        If the message is longer; nothing of it is read.
    TimeoutError
        If the message is not complete at the deadline.
    """
    kind, length = HEAD.unpack(_exactly(stream, HEAD.size, until))
    if length > most:
        raise TooLongError
    return kind, _exactly(stream, length, until)


def _exactly(stream: socket.socket, length: int, until: float | None) -> bytearray:
    content = bytearray()
    while len(content) < length:
        stream.settimeout(_left(until))
        try:
            piece = stream.recv(min(length - len(content), _CHUNK))
        except ConnectionResetError:
            piece = b""
        if not piece:
            raise ClosedError
        content += piece
    return content


def _left(until: float | None) -> float | None:
    """Return the seconds until the deadline; raise at 0, which a socket would read as "do not wait"."""
    if until is None:
        return None
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


# Its pipes and the file of public tables take five.
_MOST_DESCRIPTORS = 16


@dataclass(frozen=True)
class Limits:
    """The limits of one statement.

    Attributes
    ----------
    seconds : float
        Wall-clock time of one run; the rehearsal over empty answers and the run over the answers each have it. The
        parent keeps the clock.
    memory : int
        Bytes of address space of the worker, about 200 MB of which are its programs.
    result_bytes : int
        Bytes of a result in Arrow's stream format; both sides count.
    rows, values : int
        Rows of a result, and its single values, counting each one in lists and structs; both sides count rows.
    advice : str
        What an analyst is told behind what his result exceeds.
    """

    seconds: float = 60.0
    memory: int = 2 << 30
    result_bytes: int = 64 << 20
    rows: int = 1_000_000
    values: int = 10_000_000
    advice: str = ""

    def impose(self) -> None:
        """Put this process under those limits that a POSIX system has. There is no way back."""
        seconds = math.ceil(2 * self.seconds) + 1  # for both runs; the parent's clock is the finer one
        wanted = {
            "RLIMIT_AS": self.memory,
            "RLIMIT_CPU": seconds,
            "RLIMIT_FSIZE": 0,  # nothing spills to disk
            "RLIMIT_CORE": 0,
            "RLIMIT_NOFILE": _MOST_DESCRIPTORS,
            "RLIMIT_NPROC": 0,  # no further process or thread; the superuser is exempt
        }
        for name, limit in wanted.items():
            with contextlib.suppress(ValueError, OSError):  # macOS knows RLIMIT_AS and does not take it
                lower_limit(name, limit)


def lower_limit(name: str, limit: int) -> None:
    """Put this process under one limit of the system, or under a lower one that it has already."""
    import resource  # which other systems do not have

    kind = getattr(resource, name)
    hard = resource.getrlimit(kind)[1]
    most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (most, most))

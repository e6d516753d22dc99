"""The zygote: a process with one thread that has imported DuckDB and Arrow and forks a worker for every statement.

Forking it takes milliseconds where a new interpreter takes a quarter of a second. It never runs an analyst's statement
and knows no table: a worker has a copy of an empty database, and gets all else from the parent over its own socket.

For every worker the parent sends two sockets over the control socket: the worker's own and a *line*, over which the
zygote tells the worker's process id. When the parent closes its end of the line, or ends, the zygote kills the worker
and, if the parent still listens, sends its exit code. Until then it is not reaped, so its process id stays its own.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn

from dpdb.doors.sql.child.messages import NUMBER, lower_limit

Work = Callable[[socket.socket], None]

# Heavy and not needed; and NumPy's libraries start threads, with which forking is not safe.
_UNWANTED = ("numpy", "pandas", "polars")
_MOST_DESCRIPTORS = 1024


def main() -> None:
    """Serve until the control socket, which is the standard input, is closed."""
    for name in _UNWANTED:
        sys.modules[name] = None  # type: ignore[assignment]  # makes their import fail
    from dpdb.doors.sql.child import sandbox, worker

    lacking = sandbox.leave_network()
    database = worker.opened_before()
    lower_limit("RLIMIT_NOFILE", _MOST_DESCRIPTORS)
    control = socket.socket(fileno=os.dup(0))
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    os.close(silence)
    gc.collect()
    gc.freeze()  # so that a worker's collections do not copy what it shares with us
    _serve(control, partial(worker.main, lacking=lacking, database=database))
    os._exit(0)


def _serve(control: socket.socket, work: Work) -> None:
    workers: dict[socket.socket, int] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        try:
            while True:
                for key, _ in selector.select():
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    if source is control:
                        started = _start(control, work)
                        if started is not None:
                            workers[started[0]] = started[1]
                            selector.register(started[0], selectors.EVENT_READ)
                    else:
                        selector.unregister(source)
                        with suppress(OSError):  # nobody listens
                            source.sendall(NUMBER.pack(_end(workers.pop(source))))
                        source.close()
        except EOFError:  # the parent has gone
            pass
        finally:
            for worker in workers.values():
                _end(worker)


def _start(control: socket.socket, work: Work) -> tuple[socket.socket, int] | None:
    """Fork a worker for the next pair of sockets; return its line and process id, or None if that fails."""
    message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
    if not message:
        raise EOFError
    if len(descriptors) != 2:
        for descriptor in descriptors:
            os.close(descriptor)
        return None
    own, line = (socket.socket(fileno=descriptor) for descriptor in descriptors)
    zygote = os.getpid()
    try:
        worker = os.fork()
    except OSError:  # too many processes, or no memory: the parent sees both sockets closed
        own.close()
        line.close()
        return None
    if worker == 0:
        _become_worker(own, zygote, work)
    own.close()
    with suppress(OSError):
        line.sendall(NUMBER.pack(worker))
    return line, worker


def _become_worker(own: socket.socket, zygote: int, work: Work) -> NoReturn:
    """In the forked process: keep only the worker's socket and the standard streams, do its work, and never return."""
    from dpdb.doors.sql.child import sandbox

    try:
        os.setsid()
        sandbox.die_with(zygote)
        os.dup2(own.fileno(), 0)
        os.closerange(3, _MOST_DESCRIPTORS)
        work(socket.socket(fileno=0))
    finally:
        os._exit(0)


def _end(worker: int) -> int:
    """Kill a worker with its process group, and return its exit code: negative numbers are signals."""
    for kill in (os.killpg, os.kill):  # before it has made its own group, the second
        with suppress(ProcessLookupError, PermissionError):
            kill(worker, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])

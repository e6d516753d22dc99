"""`Children`: the parent's side of processes that run one statement each."""

from __future__ import annotations

import importlib.util
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from dpdb.doors.sql.child import messages
from dpdb.errors import OWNER_LOG, EngineError

# The child's own modules without the packages around them, which would load all of dpdb.
START = """
import sys, types
for name, folder in zip(("dpdb", "dpdb.doors", "dpdb.doors.sql"), sys.argv[1:4]):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
sys.path += sys.argv[4:]
from dpdb.doors.sql.child.zygote import main
main()
"""
_ENVIRONMENT = {
    "LC_ALL": "C",
    "TZ": "UTC",
    # The zygote has one thread, because forking several is not safe, and workers no address space to give away.
    "OMP_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "MALLOC_ARENA_MAX": "1",
}
# Paths by which the interpreter finds its own libraries, on machines that need them.
_LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
# The first worker waits until its libraries are loaded, which takes long from a cold disk.
_FIRST_SECONDS = 30.0
_NEXT_SECONDS = 5.0
_END_SECONDS = 2.0
_SHORT_SECONDS, _BEHIND = 0.1, 5  # a statement that runs longer gets this niceness
_PAUSES = (0.0, 0.1, 0.2)  # before wishes for it, while nothing is there to be read
_MOST_LOGGED = 4_096
_NONE = "no process can be started to run statements; the reason is in the owner's log"


class Child:
    """One process for one statement; made by `Children.child`.

    Attributes
    ----------
    exit_code : int or None
        The exit code of the process, once it is known: negative numbers are signals.
    """

    def __init__(self, stream: socket.socket, line: socket.socket, process: int) -> None:
        self._stream = stream
        self._line = line
        self._process = process
        self.exit_code: int | None = None
        self._is_gone: bool | None = None
        self._is_behind = False

    def send(self, kind: bytes, content: bytes | memoryview, until: float) -> None:
        """Send a message; errors as `messages.send`.

        Parameters
        ----------
        kind
            One byte, see `messages`.
        until
            Deadline on the monotonic clock, in seconds.
        """
        messages.send(self._stream, kind, content, until=until)

    def receive(self, most: int, until: float) -> tuple[bytes, bytearray]:
        """Receive a message; errors as `messages.receive`. What takes long works behind all others from then on."""
        if not self._is_behind and not _has_come(self._stream, _SHORT_SECONDS):
            self.step_back(_PAUSES)
        return messages.receive(self._stream, most, until=until)

    def step_back(self, pauses: Sequence[float] = (0.0,)) -> None:
        """Let short statements, and the server itself, have the processors first; once.

        Parameters
        ----------
        pauses
            Seconds before each wish for it.
        """
        if self._is_behind:
            return
        self._is_behind = True
        # Where the system shares processors among sessions first, as Linux does: the process has one of its own. The
        # system takes ten such wishes a second at most, from everybody together, and says "again" to more.
        for pause in pauses:
            with suppress(OSError):
                time.sleep(pause)
                try:
                    Path(f"/proc/{self._process}/autogroup").write_text(str(_BEHIND))
                except BlockingIOError:
                    continue
            break
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._process, _BEHIND)  # it has one thread, and cannot have more

    def end(self) -> bool:
        """Kill the process; return whether it is known to be gone. May be called twice."""
        if self._is_gone is None:
            self._is_gone = self._end()
        return self._is_gone

    def _end(self) -> bool:
        with suppress(ProcessLookupError, PermissionError):  # gone, or not yet a group: then the zygote kills it
            os.killpg(self._process, signal.SIGKILL)
        told = b""
        with self._stream, self._line, suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)
            self._line.settimeout(_END_SECONDS)
            told = self._line.recv(messages.NUMBER.size)
        if len(told) < messages.NUMBER.size:
            return False
        (self.exit_code,) = messages.NUMBER.unpack(told)
        return True


class Children:
    """Starts processes that run one statement each, through a zygote that it starts and ends.

    May be used by several threads at once. All its processes end with `close`, or with this process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._zygote = _Zygote()

    @contextmanager
    def child(self) -> Iterator[Child]:
        """Start a process, and end it when the block is left.

        Raises
        ------
        EngineError
            If no process can be started; the owner's log has the reason.
        """
        child = self._started()
        try:
            yield child
        finally:
            if not child.end():  # the zygote does not answer: end it, and with it whatever it has started
                self._zygote.close()

    def _started(self) -> Child:
        for _ in range(2):
            with self._lock:
                if self._closed:
                    raise EngineError("this front end is closed: it runs no statements any more")
                if not self._zygote.alive:
                    self._zygote.close()
                    self._zygote = _Zygote()
                zygote = self._zygote
            child = zygote.child()
            if child is not None:
                return child
            zygote.close()
        raise EngineError(_NONE)

    def close(self) -> None:
        """End all processes. May be called twice."""
        with self._lock:
            self._closed = True
        self._zygote.close()


class _Zygote:
    """A running zygote."""

    def __init__(self) -> None:
        loader = {name: os.environ[name] for name in _LOADER if name in os.environ}
        here = Path(__file__).resolve().parent
        with ExitStack() as opened:
            try:
                ours, theirs = (opened.enter_context(end) for end in socket.socketpair())
                self._process = subprocess.Popen(
                    # Isolated: no user's settings, no start-up files, no module of the current directory.
                    [sys.executable, "-I", "-S", "-c", START, *map(str, here.parents[2::-1]), *_libraries()],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env=_ENVIRONMENT | loader,
                    start_new_session=True,  # Ctrl-C at the terminal is for the parent
                    cwd="/",
                )
            except OSError as error:
                OWNER_LOG.error("the process that starts workers cannot be started: %s", error)
                raise EngineError(_NONE) from None
            theirs.close()
            opened.pop_all()
        self._control = ours
        self._has_worked = threading.Event()
        self._finalizer = weakref.finalize(self, _end, ours, self._process, self._has_worked)

    @property
    def alive(self) -> bool:
        """Return whether the zygote runs and takes requests."""
        return self._finalizer.alive and self._process.poll() is None

    def child(self) -> Child | None:
        """Start a worker; None if that fails."""
        with ExitStack() as opened:
            try:
                stream, theirs = (opened.enter_context(end) for end in socket.socketpair())
                line, their_line = (opened.enter_context(end) for end in socket.socketpair())
                line.settimeout(_NEXT_SECONDS if self._has_worked.is_set() else _FIRST_SECONDS)
                socket.send_fds(self._control, [b"\0"], [theirs.fileno(), their_line.fileno()])
                theirs.close()
                their_line.close()  # so that we see when the zygote ends
                told = line.recv(messages.NUMBER.size)
            except OSError as error:
                OWNER_LOG.error("no worker could be started: %s", error)
                return None
            if len(told) < messages.NUMBER.size:
                return None
            self._has_worked.set()
            opened.pop_all()
        return Child(stream, line, *messages.NUMBER.unpack(told))

    def close(self) -> None:
        self._finalizer()


def _has_come(stream: socket.socket, seconds: float) -> bool:
    """Return whether something is there to be read, or the other side has gone, within so many seconds."""
    waiting = select.poll()
    waiting.register(stream, select.POLLIN)
    return bool(waiting.poll(seconds * 1_000))


def _libraries() -> list[str]:
    """Return the folders of the packages that a worker imports."""
    found = [importlib.util.find_spec(name) for name in ("duckdb", "pyarrow")]
    return list(dict.fromkeys(str(Path(str(spec.origin)).resolve().parent.parent) for spec in found if spec))


def _end(control: socket.socket, process: subprocess.Popen[bytes], has_worked: threading.Event) -> None:
    control.close()  # the zygote kills its workers and leaves
    if not has_worked.is_set():
        process.kill()  # it may still be loading its libraries
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()  # its workers die with it
        process.wait()
    assert process.stderr is not None
    with process.stderr as stream:
        said = stream.read(_MOST_LOGGED) if process.returncode else b""
    if said:
        OWNER_LOG.error("the process that starts workers failed:\n%s", said.decode(errors="replace"))

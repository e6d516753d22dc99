"""HiGHS where a signal can end it: long programs are solved by a process of its own, which can be killed.

A native call cannot be left in the middle, and a thread that is left computes on. So a program gets a moment in this
process, which is enough for most; then a child takes it over. The child is started once, before a release that may need
it is debited, and ends with this process however that ends.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import IO, Any, Protocol

from dpdb.errors import EngineError
from dpdb.graph.programs import Solution
from dpdb.stopping import at_forced_end
from dpdb.thresholds import SMALL_PROGRAM

__all__ = ["Program", "serve", "solve", "start_solver"]

_MOMENT = 0.1
"""Seconds for a program in this process, if it is small: presolving minds no limit."""

_CHILD = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from dpdb.graph.solver import serve; serve()"


class Program(Protocol):
    """A program that can be solved."""

    @property
    def size(self) -> int:
        """Number of variables."""
        ...

    def solve(self, time_limit: float | None) -> Solution:
        """Solve it; without a limit, to the end."""
        ...


def solve(program: Program, time_limit: float | None = None) -> Solution:
    """Solve a program within a time limit in seconds; Ctrl-C ends it.

    Raises
    ------
    EngineError
        If the child ended, such as for want of memory.
    """
    end = None if time_limit is None else time.monotonic() + time_limit
    if program.size <= SMALL_PROGRAM.at:
        solution = program.solve(_MOMENT if time_limit is None else min(time_limit, _MOMENT))
        if solution.finished or (end is not None and time.monotonic() >= end):
            return solution
    child = start_solver()
    left = None if end is None else max(0.01, end - time.monotonic())
    return program.solve(left) if child is None else child.solve(program, left)


def start_solver() -> _Child | None:
    """Start the child, if it does not run; None where no process can be started (then this one solves to the end)."""
    global _child  # noqa: PLW0603 - one per process
    with _lock:
        if _child is not None and not _child.runs:
            _child = None
        if _child is None and sys.executable and not getattr(sys, "frozen", False):
            with suppress(OSError, EOFError):
                _child = _Child()
        return _child


class _Child:
    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            [sys.executable, "-I", "-c", _CHILD, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        at_forced_end(self._process.kill)
        self._ask(None)  # the child has done its imports

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def solve(self, program: Program, time_limit: float | None) -> Solution:
        try:
            with self._turn:
                solution: Solution = self._ask((program, time_limit))
                return solution
        except (OSError, EOFError):
            raise EngineError("the solver's process ended before it had a solution; is there enough memory?") from None

    def _ask(self, what: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            _send(self._process.stdin, what)
            answer = _receive(self._process.stdout)
        except BaseException:  # Ctrl-C, too: it must not go on computing
            self._process.kill()
            self._process.wait()
            raise
        if isinstance(answer, Exception):
            raise answer
        return answer


_child: _Child | None = None
_lock = threading.Lock()


def serve() -> None:
    """Solve the programs that come through standard input until it ends: the work of the child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal; the parent decides
    _die_with_parent()
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints
    import scipy.optimize  # noqa: F401

    with suppress(EOFError, BrokenPipeError):
        while True:
            asked = _receive(source)
            try:
                answer = None if asked is None else asked[0].solve(asked[1])
            except Exception as error:
                answer = error
            _send(sink, answer)


def _die_with_parent() -> None:
    """Let Linux kill this process when its parent ends; elsewhere it ends with its task."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _send(stream: IO[bytes], what: object) -> None:
    pickle.dump(what, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    try:
        return pickle.load(stream)  # of our own child
    except pickle.UnpicklingError as error:
        raise EOFError("the other end stopped in the middle") from error

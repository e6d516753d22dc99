"""HiGHS where a signal can end it: long programs are solved by a process of its own, which can be killed.

A native call cannot be left in the middle, and a thread that is left computes on. So a program gets a moment in this
process, which is enough for most; then a child takes it over. The child is started once, before a release that may need
it is debited, and ends with this process however that ends.

Programs are linear or integer: arrays in, arrays out, so that they can be solved in another process.
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
from dataclasses import dataclass
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpdb.errors import EngineError
from dpdb.stopping import at_forced_end
from dpdb.thresholds import SMALL_PROGRAM

_MOMENT = 0.1
"""Seconds for a program in this process, if it is small: presolving minds no limit."""

_CHILD = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from dpdb.graph.exact.solver import serve; serve()"


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


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Solution:
    """The outcome of a run of HiGHS.

    Attributes
    ----------
    finished : bool
        False if the time limit came first.
    solved : bool
        Whether `x` is optimal as far as HiGHS can tell.
    x, prices : float64, optional
        A solution; for a linear program, the dual values of its rows.
    lower : float, optional
        For an integer program, a lower bound of the minimum.
    """

    finished: bool
    solved: bool
    message: str
    x: Floats | None
    prices: Floats | None = None
    lower: float | None = None


@dataclass(frozen=True, eq=False)
class PackingLP:
    """Maximize the sum of x over pairs (u, v), 0 <= x <= upper, with at most `capacity` in total at every node.

    By the dual simplex, whose vertices are multiples of 1/2, because every column has two entries of 1.
    """

    u: Integers
    v: Integers
    upper: Integers
    capacity: Integers

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.u)

    def solve(self, time_limit: float | None) -> Solution:
        """Solve it; without a limit, to the end."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        pairs = len(self.u)
        incidence = csr_array(
            (np.ones(2 * pairs), (np.concatenate([self.u, self.v]), np.tile(np.arange(pairs), 2))),
            shape=(len(self.capacity), pairs),
        )
        result = linprog(
            -np.ones(pairs),
            A_ub=incidence,
            b_ub=self.capacity,
            bounds=np.column_stack([np.zeros(pairs), self.upper]),
            method="highs-ds",
            options=_limit(time_limit),
        )
        solved = result.status == 0
        return Solution(
            finished=result.status != 1,
            solved=solved,
            message=str(result.message),
            x=result.x,
            prices=-result.ineqlin.marginals if solved else None,
        )


@dataclass(frozen=True, eq=False)
class CoverProgram:
    """Minimize the weight of a set of nodes that has all nodes but one of every clique.

    Attributes
    ----------
    weight : float64, shape (nodes,)
    members : int64
        The cliques' nodes, one clique after the other.
    sizes : int64, shape (cliques,)
    """

    weight: Floats
    members: Integers
    sizes: Integers

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.weight)

    def solve(self, time_limit: float | None) -> Solution:
        """Solve it; without a limit, to the end."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        matrix = csr_array(
            (np.ones(len(self.members)), self.members, np.concatenate([[0], np.cumsum(self.sizes)])),
            shape=(len(self.sizes), len(self.weight)),
        )
        result = milp(
            self.weight,
            integrality=np.ones(len(self.weight)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, lb=self.sizes - 1),
            options={**_limit(time_limit), "mip_rel_gap": 0.0},
        )
        return Solution(
            finished=result.status != 1,
            solved=result.status == 0,
            message=str(result.message),
            x=result.x,
            lower=result.mip_dual_bound,
        )


def _limit(seconds: float | None) -> dict[str, Any]:
    return {} if seconds is None else {"time_limit": seconds}

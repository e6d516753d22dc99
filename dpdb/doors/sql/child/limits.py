"""`Limits`: the resources of one statement. The worker sets them on itself before it sees the statement."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass

__all__ = ["Limits", "lower_limit"]

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
    """

    seconds: float = 60.0
    memory: int = 2 << 30
    result_bytes: int = 64 << 20
    rows: int = 1_000_000
    values: int = 10_000_000

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

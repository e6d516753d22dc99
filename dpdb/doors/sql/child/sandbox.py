"""Walls around a worker that only Linux has.

None needs privileges. Where a kernel or a container lacks one, the owner is told, and the others, the limits, the empty
environment and DuckDB's own seal still stand.

Numbers are those of the kernel's headers `prctl.h`, `landlock.h` and, for system calls, of every architecture (calls
since 424 have one number on all).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable

from dpdb.doors.sql.child.namespaces import drop_capabilities, leave_files, library, problem, unshare_network
from dpdb.doors.sql.child.system_calls import forbid_system_calls

__all__ = ["close_off", "die_with", "leave_network", "volunteer_for_out_of_memory"]

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446
_LANDLOCK_VERSION = 1
# What each version of Landlock added: (version, what it can forbid about files, TCP, signals and abstract sockets).
_FILE_RIGHTS = ((5, 16), (3, 15), (2, 14), (1, 13))  # as numbers of bits
_ALL_TCP, _ALL_SCOPES = 0b11, 0b11


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


def _on_linux(function: Callable[..., None]) -> Callable[..., None]:
    return function if sys.platform == "linux" else lambda *_: None


def leave_network() -> list[str]:
    """Move to namespaces without network, before a worker is forked; return what is lacking, as texts."""
    return _lacking(unshare_network)


@_on_linux
def die_with(parent: int) -> None:
    """Be killed when the parent process ends, however it ends."""
    library().prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it ended just before
        os._exit(1)


@_on_linux
def volunteer_for_out_of_memory() -> None:
    """Let the kernel kill this process first if the machine, not the limit, runs out of memory."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("1000")


def close_off() -> list[str]:
    """Reach only open descriptors from here on: no file, path, socket, process or signal; gain no privileges.

    Every wall is raised, even if others fail. There is no way back.

    Returns
    -------
    list of str
        The walls that this system lacks, with the reason.
    """
    return _lacking(leave_files, _forbid_privileges, _close_files, forbid_system_calls)


def _lacking(*walls: Callable[[], str | None]) -> list[str]:
    if sys.platform != "linux":
        return [f"no walls of the kernel are known on {sys.platform}"]
    return [reason for reason in (wall() for wall in walls) if reason is not None]


def _forbid_privileges() -> None:
    drop_capabilities()
    library().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _close_files() -> str | None:
    """From here on open no file, use no TCP, trace and signal no process outside; open files stay open."""
    call = library().syscall
    version = call(_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), _LANDLOCK_VERSION)
    bits = next((bits for since, bits in _FILE_RIGHTS if version >= since), 0)
    if not bits:
        return f"no Landlock ({problem()})"
    # Everything is forbidden and no exception is given.
    rules = _Ruleset((1 << bits) - 1, _ALL_TCP if version >= 4 else 0, _ALL_SCOPES if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = call(_LANDLOCK_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    done = ruleset >= 0 and call(_LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0
    reason = None if done else f"no Landlock ({problem()})"
    if ruleset >= 0:
        os.close(ruleset)
    return reason

"""Walls around a worker that only Linux has: namespaces of its own, Landlock, and a filter of system calls.

None needs privileges. Where a kernel or a container lacks one, the owner is told, and the others, the limits, the empty
environment and DuckDB's own seal still stand.

In its namespaces a worker has no network, no shared memory, and a root folder with nothing in it. The superuser may
create them; others only inside a user namespace of their own, where the kernel and the container allow it. Workers have
no process namespace: the parent kills a worker by its process id, and a worker reaches no process anyway.

The last wall (seccomp, a program in the kernel's classic BPF) allows the calls that computing needs. Everything else
fails with EPERM: sockets, paths (`open` and `stat` alike), processes and threads, signals to others, tracing,
namespaces, mounts, memory that can be executed. Calls of another architecture's numbering end the process.

Numbers are those of the kernel's headers `prctl.h`, `sched.h`, `mount.h`, `capability.h`, `landlock.h`, `seccomp.h`,
`filter.h`, `audit.h`, `unistd.h`; system calls since 424 have one number on all architectures.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

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


_NEWNS, _NEWIPC, _NEWUSER, _NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 1, 2, 4, 8, 0x4000, 0x40000
_CAPABILITY_VERSION_3 = 0x20080522
_CAPSET = {"x86_64": 126, "aarch64": 91}


def unshare_network() -> str | None:
    """Move to namespaces without network and shared memory; only a process with one thread can.

    Returns
    -------
    str or None
        Why that is not possible; None if it is done.
    """
    unshare, wanted = library().unshare, _NEWNET | _NEWIPC
    if unshare(wanted) != 0 and unshare(_NEWUSER | wanted) != 0:
        return f"no namespaces of its own for network and shared memory ({problem()})"
    return None


def leave_files() -> str | None:
    """Move to an own root folder, which is empty and cannot be written; open files stay open.

    Returns
    -------
    str or None
        As `unshare_network`, which must come first: it makes the user namespace.
    """
    system = library()
    # Any folder that exists serves as the place; nobody else sees what is mounted over it.
    place = os.fsencode(os.path.dirname(__file__))  # noqa: PTH120 - nothing is imported for it
    flags = _MS_RDONLY | _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    options = b"size=4k,nr_inodes=1,mode=0555"
    done = (
        system.unshare(_NEWNS) == 0
        and system.mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None) == 0
        and system.mount(b"none", place, b"tmpfs", ctypes.c_ulong(flags), options) == 0
        and system.chroot(place) == 0
        and system.chdir(b"/") == 0
    )
    return None if done else f"no root folder of its own ({problem()})"


def drop_capabilities() -> None:
    """Give up all capabilities of the superuser; the number of the call is known on two architectures only."""
    number = _CAPSET.get(platform.machine())
    if number is not None:
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)  # of this process
        library().syscall(ctypes.c_long(number), header, (ctypes.c_uint32 * 6)())


def library() -> ctypes.CDLL:
    """Return the C library, which keeps the error of its last call."""
    return ctypes.CDLL(None, use_errno=True)


def problem() -> str:
    """Return why its last call failed."""
    return os.strerror(ctypes.get_errno())


_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_ALLOW, _REFUSE_WITH, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM = 1

# Instructions: load a word of the call's description, compare, test bits, return.
_LOAD, _IS, _HAS, _RETURN = 0x20, 0x15, 0x45, 0x06
# Places in that description; arguments have 64 bits, the lower half first.
_CALL, _MACHINE, _ARGUMENTS = 0, 4, 16

_PROT_EXEC = 4
_FIONBIO = 0x5421  # a socket waits or does not
_F_GETFD, _F_GETFL, _F_SETLK = 1, 3, 6  # not F_SETOWN, which sends signals


@dataclass(frozen=True)
class _Argument:
    """A condition on an argument: it is one of some words, or lacks some bits."""

    place: int
    one_of: tuple[int, ...] = ()
    without: int = 0
    both_halves: bool = False


def _process() -> _Argument:
    return _Argument(0, (os.getpid(),))


_NOT_EXECUTABLE = _Argument(2, without=_PROT_EXEC)
_Condition = Callable[[], _Argument]
# Calls that computing needs for memory, time, locks and random bytes, and calls on open descriptors.
_CALLS: Mapping[str, _Condition | None] = {
    **dict.fromkeys(("read", "write", "readv", "writev", "pread64", "lseek", "fstat", "close", "poll", "ppoll")),
    **dict.fromkeys(("recvfrom", "brk", "munmap", "mremap", "madvise", "futex", "sched_yield", "sched_getaffinity")),
    **dict.fromkeys(("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall")),
    **dict.fromkeys(("clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "getrusage")),
    **dict.fromkeys(("getpid", "gettid", "getrandom", "exit", "exit_group")),
    "mmap": lambda: _NOT_EXECUTABLE,
    "mprotect": lambda: _NOT_EXECUTABLE,
    "sendto": lambda: _Argument(4, (0,), both_halves=True),  # to the other end, no address
    "ioctl": lambda: _Argument(1, (_FIONBIO,)),
    "fcntl": lambda: _Argument(1, (_F_GETFD, _F_GETFL, _F_SETLK)),
    "tgkill": _process,  # `abort` does it
}


@dataclass(frozen=True)
class _Architecture:
    """The code of an architecture in a call's description, and its call numbers; 64 bits, little-endian."""

    audit: int
    numbers: Mapping[str, int]


# fmt: off
_ARCHITECTURES: Mapping[str, _Architecture] = {
    "x86_64": _Architecture(0xC000003E, {
        "read": 0, "write": 1, "close": 3, "fstat": 5, "poll": 7, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11,
        "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "ioctl": 16, "pread64": 17,
        "readv": 19, "writev": 20, "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35, "getpid": 39,
        "sendto": 44, "recvfrom": 45, "exit": 60, "fcntl": 72, "gettimeofday": 96, "getrusage": 98, "sigaltstack": 131,
        "gettid": 186, "futex": 202, "sched_getaffinity": 204, "restart_syscall": 219, "clock_gettime": 228,
        "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "tgkill": 234, "ppoll": 271, "getrandom": 318,
    }),
    "aarch64": _Architecture(0xC00000B7, {
        "fcntl": 25, "ioctl": 29, "close": 57, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66,
        "pread64": 67, "ppoll": 73, "fstat": 80, "exit": 93, "exit_group": 94, "futex": 98, "nanosleep": 101,
        "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115, "sched_getaffinity": 123,
        "sched_yield": 124, "restart_syscall": 128, "tgkill": 131, "sigaltstack": 132, "rt_sigaction": 134,
        "rt_sigprocmask": 135, "rt_sigreturn": 139, "getrusage": 165, "gettimeofday": 169, "getpid": 172,
        "gettid": 178, "sendto": 206, "recvfrom": 207, "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222,
        "mprotect": 226, "madvise": 233, "getrandom": 278,
    }),
}
# fmt: on


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def forbid_system_calls() -> str | None:
    """Allow only known calls from here on; return why that is not possible, or None if it is done.

    The process must have given up gaining privileges before (`PR_SET_NO_NEW_PRIVS`). There is no way back.
    """
    architecture = _ARCHITECTURES.get(platform.machine())
    if architecture is None or sys.byteorder != "little" or sys.maxsize < 1 << 32:
        return f"no filter of system calls is known for {platform.machine() or 'this machine'}"
    code = _filter(architecture)
    program = _Program(len(code) // 8, code)
    if library().prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        return f"no filter of system calls ({problem()})"
    return None


def _filter(architecture: _Architecture) -> bytes:
    """Return the program for an architecture and this process."""
    lines = [
        _line(_LOAD, _MACHINE),
        _line(_IS, architecture.audit, 1, 0),
        _line(_RETURN, _KILL),
        _line(_LOAD, _CALL),
    ]
    for name, condition in _CALLS.items():
        if name in architecture.numbers:
            body = [_line(_RETURN, _ALLOW)] if condition is None else _allowed_if(condition())
            lines += [_line(_IS, architecture.numbers[name], 0, len(body)), *body]
    return b"".join([*lines, _refusal()])


def _allowed_if(argument: _Argument) -> list[bytes]:
    """Return the instructions that allow or refuse a call by one argument; they always end the program."""
    low = _ARGUMENTS + 8 * argument.place
    if argument.without:
        return [_line(_LOAD, low), _line(_HAS, argument.without, 1, 0), _line(_RETURN, _ALLOW), _refusal()]
    # The upper half is tested where the kernel reads it: for an address, not for a number of 32 bits.
    checks = [_line(_LOAD, low + 4), _line(_IS, 0, 1, 0), _refusal()] if argument.both_halves else []
    checks.append(_line(_LOAD, low))
    for value in argument.one_of:
        checks += [_line(_IS, value, 0, 1), _line(_RETURN, _ALLOW)]
    return [*checks, _refusal()]


def _refusal() -> bytes:
    return _line(_RETURN, _REFUSE_WITH | _EPERM)


def _line(code: int, value: int, skip_if_true: int = 0, skip_if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, skip_if_true, skip_if_false, value)

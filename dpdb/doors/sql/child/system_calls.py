"""The last wall around a worker: a filter of system calls (seccomp), which allows those that computing needs.

Everything else fails with EPERM: sockets, paths (`open` and `stat` alike), processes and threads, signals to others,
tracing, namespaces, mounts, memory that can be executed. Calls of another architecture's numbering end the process.

The filter is a program in the kernel's classic BPF. Numbers are those of the kernel's headers `seccomp.h`,
`filter.h`, `audit.h` and `unistd.h`.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dpdb.doors.sql.child.namespaces import library, problem

__all__ = ["forbid_system_calls"]

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

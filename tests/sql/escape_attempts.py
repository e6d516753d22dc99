"""What code that has taken over a worker may try. It runs there in the place of a statement, behind all walls.

Loaded by the zygote, before any wall is up, so it imports what it needs and nothing of the tests.
"""

# ruff: noqa: PTH101, PTH102, PTH104, PTH108, PTH115, PTH116, PTH208

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import mmap
import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

LIBRARY = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE, NOBODY = 0x4206, 2**22 + 1  # a process that cannot be
PIDFD_OPEN, CLONE3, IO_URING_SETUP, OPENAT2, OPEN_TREE = 434, 435, 425, 437, 428  # one number everywhere


def native(name: str, *arguments: Any) -> Callable[[], None]:
    """Call the C library's function, whose -1 is an error."""

    def attempt() -> None:
        if getattr(LIBRARY, name)(*arguments) == -1:
            raise OSError(ctypes.get_errno(), name)

    return attempt


def unix_socket(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def tcp(port: int) -> None:
    with socket.socket(socket.AF_INET) as client:
        client.connect(("127.0.0.1", port))


def fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def thread() -> None:
    try:
        threading.Thread(target=int).start()
    except RuntimeError:  # "can't start new thread"
        raise PermissionError(errno.EPERM, "thread") from None


def hand_over() -> None:
    with socket.socket(fileno=os.dup(0)) as own:
        socket.send_fds(own, [b""], [0])


def reuse_own_socket(path: str) -> None:
    own = socket.socket(fileno=0)
    try:
        own.connect(path)
    finally:
        own.detach()


def attempts(target: dict[str, Any]) -> dict[str, Callable[[], object]]:
    """Every attempt under its name. `target` names a file, a folder, a socket, a port, a process."""
    file, folder, parent = target["file"], target["folder"], target["process"]
    return {
        "Unix socket": lambda: unix_socket(target["socket"]),
        "own socket to another place": lambda: reuse_own_socket(target["socket"]),
        "TCP": lambda: tcp(target["port"]),
        "UDP": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
        "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
        "socketpair": lambda: [end.close() for end in socket.socketpair()],
        "descriptor to the parent": hand_over,
        "read": lambda: os.open(file, os.O_RDONLY),
        "write": lambda: os.open(file, os.O_WRONLY),
        "create": lambda: os.open(f"{folder}/new", os.O_CREAT | os.O_WRONLY),
        "openat2": native("syscall", ctypes.c_long(OPENAT2), -100, os.fsencode(file), (ctypes.c_uint64 * 3)(), 24),
        "/proc/self/environ": lambda: os.open("/proc/self/environ", os.O_RDONLY),
        "/proc of the parent": lambda: os.open(f"/proc/{parent}/status", os.O_RDONLY),
        "stat": lambda: os.stat(file),
        "lstat": lambda: os.lstat(file),
        "access": native("access", os.fsencode(file), 0),
        "readlink": lambda: os.readlink("/proc/self/exe"),
        "statvfs": lambda: os.statvfs(folder),
        "list": lambda: os.listdir(folder),
        "list root": lambda: os.listdir("/"),
        "getcwd": os.getcwd,
        "chdir": lambda: os.chdir(folder),
        "chmod": lambda: os.chmod(file, 0o600),
        "rename": lambda: os.rename(file, file),
        "unlink": lambda: os.unlink(f"{folder}/none"),
        "link": lambda: os.link(file, file),
        "mkdir": lambda: os.mkdir(folder),
        "fifo": lambda: os.mkfifo(file),
        "utime": lambda: os.utime(file),
        "watch": native("inotify_init1", 0),
        "memfd": lambda: os.memfd_create("x"),
        "fork": fork,
        "clone3": native("syscall", ctypes.c_long(CLONE3), None, ctypes.c_size_t(0)),
        "thread": thread,
        "execve": lambda: os.execv("/nowhere", ["x"]),
        "kill the parent": lambda: os.kill(parent, 0),
        "kill itself": lambda: os.kill(os.getpid(), 0),
        "kill everybody": lambda: os.kill(NOBODY, 0),
        "signal by pidfd": native("syscall", ctypes.c_long(PIDFD_OPEN), parent, 0),
        "signals by fcntl": lambda: fcntl.fcntl(0, 8, parent),
        "ptrace": native("ptrace", PTRACE_SEIZE, NOBODY, None, None),
        "memory of others": native("process_vm_readv", NOBODY, None, ctypes.c_ulong(0), None, ctypes.c_ulong(0), 0),
        "unshare": native("unshare", 0),
        "setns": native("setns", -1, 0),
        "mount": native("mount", None, b"/nowhere", None, ctypes.c_ulong(0), None),
        "open_tree": native("syscall", ctypes.c_long(OPEN_TREE), -100, b"/", 0),
        "chroot": lambda: os.chroot("/"),
        "prctl": native("prctl", 3, 0, 0, 0, 0),
        "setuid": lambda: os.setuid(os.getuid()),
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, 0, 0),
        "limits": native("setrlimit", 4, (ctypes.c_uint64 * 2)()),
        "limits of others": native("prlimit", parent, 4, None, None),
        "shared memory": native("shmget", 0, ctypes.c_size_t(4096), 0o1600),
        "messages": native("msgget", 0, 0o1600),
        "io_uring": native("syscall", ctypes.c_long(IO_URING_SETUP), 0, None),
        "executable memory": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC),
        "uname": os.uname,
        "load": native("sysinfo", ctypes.create_string_buffer(256)),
    }


def outcomes(query: str) -> str:
    """Make every attempt; return the name of each one's error, or "done", as JSON."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    ended = {}
    for name, attempt in attempts(json.loads(query)).items():
        try:
            attempt()
        except OSError as error:
            ended[name] = errno.errorcode.get(error.errno or 0, str(error))
        else:
            ended[name] = "done"
    return json.dumps(ended)

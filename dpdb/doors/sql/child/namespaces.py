"""Namespaces of a worker's own: no network, no shared memory, and a root folder with nothing in it.

The superuser may create them; others only inside a user namespace of their own, where the kernel and the container
allow it. Workers have no process namespace: the parent kills a worker by its process id, and a worker reaches no
process anyway.

Numbers are those of the kernel's headers `sched.h`, `mount.h` and `capability.h`.
"""

from __future__ import annotations

import ctypes
import os
import platform

__all__ = ["drop_capabilities", "leave_files", "library", "problem", "unshare_network"]

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

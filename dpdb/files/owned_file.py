"""Files and folders that others may have put there: a file is opened without following links and without waiting.

The owner is that of the opened file, never looked up by name. `check_owned` is for files that only their owner may read
(a ledger, his log), `check_unchanged` for files that everybody may read (settings, code).

A `FileLock` is a lock between processes, as a file.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dpdb.files import disk
from dpdb.files.disk import sync
from dpdb.stopping import Closing

_PARTIAL = ".partial"
_NOT_PLAIN = "it is not a plain file"
_CAREFULLY = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))  # Windows has none
MOUNTS = Path("/proc/self/mountinfo")


def check_owned(found: os.stat_result, owner: int | None = None) -> None:
    """Raise `PermissionError` unless a file is plain, has one name, and only its owner may use it.

    `owner` is a user who may own it besides this one; the system's administrator always may.
    """
    _check_plain(found, owner)
    if found.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "others may read or change it; `chmod 600` it")
    if found.st_nlink > 1:
        raise PermissionError(errno.EPERM, f"it has {found.st_nlink} names (hard links); keep one")


def check_unchanged(found: os.stat_result, owner: int | None = None) -> None:
    """Raise `PermissionError` unless a file is plain, and only its owner (see `check_owned`) may change it."""
    _check_plain(found, owner)
    if others_may_write(found):
        raise PermissionError(errno.EPERM, "others may change it; `chmod go-w` it")


def others_may_write(found: os.stat_result) -> bool:
    """Return whether the mode lets anybody write other than the owner and his private group."""
    if os.name != "posix":
        return False
    return bool(found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and not _is_his_alone(found)))


def _is_his_alone(found: os.stat_result) -> bool:
    """Return whether the group of a file is its owner's private group, which many systems make with the user's name."""
    import grp
    import pwd

    try:
        owner, group = pwd.getpwuid(found.st_uid), grp.getgrgid(found.st_gid)
    except KeyError:
        return False
    alone = set(group.gr_mem) <= {owner.pw_name}
    return owner.pw_gid == found.st_gid and group.gr_name == owner.pw_name and alone


def _check_plain(found: os.stat_result, owner: int | None) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise PermissionError(errno.EPERM, "it is a symbolic link")
    if not stat.S_ISREG(found.st_mode):
        raise PermissionError(errno.EPERM, _NOT_PLAIN)
    if os.name == "posix" and found.st_uid not in {os.geteuid(), 0, owner}:
        raise PermissionError(errno.EPERM, "it belongs to another user")


def is_mounted_alone(path: Path) -> bool:
    """Return whether a file was mounted alone, as containers do: then it has a second name.

    The files beside that name are not those beside its other name. Only Linux mounts files.
    """
    try:
        lines = MOUNTS.read_bytes().splitlines()
    except OSError:
        return False
    escaped = re.sub(rb"[\\ \t\n]", lambda found: b"\\%03o" % ord(found[0]), os.fsencode(path))
    return any(line.split(b" ")[4:5] == [escaped] for line in lines)


def open_owned(
    path: Path, flags: int, owner: int | None = None, check: Callable[[os.stat_result, int | None], None] = check_owned
) -> int:
    """Open a file that passes `check`, or make it with mode 0600; return its descriptor.

    Parameters
    ----------
    owner
        User id of the trusted owner besides this user and root. Default: none.
    check
        Raises `OSError` for a file, by its stat and `owner`, that must not be trusted.

    Raises
    ------
    OSError
        It cannot be opened or made, or must not be trusted; `strerror` says why.
    """
    try:
        descriptor = disk.open_file(path, flags | _CAREFULLY, 0o600)  # opening a pipe must not wait for its other end
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise PermissionError(errno.EPERM, "it is a symbolic link") from None
        if error.errno == errno.ENXIO:  # a pipe that nobody reads
            raise PermissionError(errno.EPERM, _NOT_PLAIN) from None
        raise
    try:
        check(os.fstat(descriptor), owner)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_owned(path: Path, owner: int | None = None) -> str:
    """Read a file that passes `check_owned`."""
    with os.fdopen(open_owned(path, os.O_RDONLY, owner), encoding="utf-8") as stream:
        return stream.read()


def replace_owned(path: Path, text: str, owner: int | None = None) -> None:
    """Write a file, completely or not at all; only one process at a time may write this one.

    A file under the temporary name is removed, not written to: others than a killed writer may have put it there.

    Parameters
    ----------
    owner
        User id of its owner where the administrator writes it. Default: this user.
    """
    partial = path.with_name(f"{path.name}{_PARTIAL}")
    disk.unlink(partial, missing_ok=True)
    try:
        descriptor = open_owned(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, owner)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            give_to(descriptor, owner)
            disk.write(stream, text)
            disk.fsync(descriptor)
        disk.rename(partial, path)
    except OSError:
        disk.unlink(partial, missing_ok=True)
        raise
    sync(path.parent)


def give_to(descriptor: int, owner: int | None) -> None:
    """Give a file that the system's administrator makes beside a ledger to the ledger's owner."""
    if owner is not None and os.geteuid() == 0 != owner:
        os.fchown(descriptor, owner, -1)


@contextmanager
def private_folder(beside: Path) -> Iterator[Path]:
    """A new folder next to a file, for this user only, with a name that nobody can guess; removed in the end."""
    folder = disk.make_folder(f".{beside.name}.", _PARTIAL, beside.parent)
    try:
        yield folder
    finally:
        disk.remove_folder(folder)


_MOST_LINKS = 40


def check_folder(folder: Path, owner: int | None = None) -> None:
    """Raise `OSError` unless a folder exists, and nobody else can write in it or put another folder in its place.

    The folder, its parents and every link among these belong to this user, to the administrator or `owner`. Others can
    write in none of them, except in parents whose sticky bit lets nobody remove another user's files.
    Windows has none of this.
    """
    if os.name != "posix":
        return
    reached, waiting, links = "/", [*reversed(folder.absolute().parts[1:])], 0
    _check_folder(reached, os.lstat(reached), owner)
    while waiting:
        name = waiting.pop()
        if name == "..":  # the resolved path has no links any more
            reached = os.path.dirname(reached)  # noqa: PTH120 - this is done for every file of code
            continue
        path = os.path.join(reached, name)  # noqa: PTH118
        found = os.lstat(path)
        if not stat.S_ISLNK(found.st_mode):
            _check_folder(path, found, owner)
            reached = path
            continue
        _check_owner(path, found, owner)
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, f"too many links: {folder}")
        target = Path(path).readlink()
        if target.is_absolute():
            reached = "/"
        waiting += reversed(target.parts[target.is_absolute() :])
    _check_folder(reached, os.lstat(reached), owner, is_last=True)


def _check_folder(path: str, found: os.stat_result, owner: int | None, *, is_last: bool = False) -> None:
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, f"not a folder: {path}")
    _check_owner(path, found, owner)
    if others_may_write(found) and (is_last or not found.st_mode & stat.S_ISVTX):
        raise PermissionError(errno.EPERM, f"others may write in {path}")


def _check_owner(path: str, found: os.stat_result, owner: int | None) -> None:
    if found.st_uid not in {os.geteuid(), 0, owner}:
        raise PermissionError(errno.EPERM, f"another user owns {path}")


_PAUSE = 0.02


class FileLock(Closing):
    """An exclusive lock on a file made for it, held until `close` or the end of the process, however it ends.

    The file belongs to this user alone: another user could hold or remove a lock file of his own.

    Raises
    ------
    OSError
        The file cannot be made, or belongs to another user.
    """

    def __init__(self, path: Path, wait: float, owner: int | None = None) -> None:
        self._path = path
        self._owner = owner
        end = time.monotonic() + wait
        while (descriptor := self._try()) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"{path} is locked by another process")
            time.sleep(_PAUSE)
        self._finalizer = weakref.finalize(self, _let_go, descriptor, path)

    def close(self) -> None:
        """Release the lock. May be called twice."""
        self._finalizer()

    def _try(self) -> int | None:
        descriptor = open_owned(self._path, os.O_CREAT | os.O_RDWR, self._owner)
        try:
            disk.lock(descriptor)
            # Its last holder may have removed the file in between; then this lock guards nothing.
            if os.fstat(descriptor).st_ino == self._path.lstat().st_ino:
                return descriptor
        except OSError:
            pass
        os.close(descriptor)
        return None


def _let_go(descriptor: int, path: Path) -> None:
    with suppress(OSError):
        disk.unlink(path)
    os.close(descriptor)

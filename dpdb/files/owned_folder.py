"""Folders in which nobody but their owner can exchange a file: what is looked at there stays what it is."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from dpdb.files.owned_file import others_may_write

__all__ = ["check_folder"]

_MOST_LINKS = 40


def check_folder(folder: Path, owner: int | None = None) -> None:
    """Raise `OSError` unless a folder is there, and nobody else can write in it or put another one in its place.

    It, every folder on the way to it and every link among these belong to this user, to the administrator or `owner`.
    Others write in none of them, but for folders on the way whose sticky bit lets nobody remove what is another's.
    Windows has none of this.
    """
    if os.name != "posix":
        return
    reached, waiting, links = "/", [*reversed(folder.absolute().parts[1:])], 0
    _check_folder(reached, os.lstat(reached), owner)
    while waiting:
        name = waiting.pop()
        if name == "..":  # what has been reached has no links any more
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

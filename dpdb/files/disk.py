"""The calls that change files and names, or make them durable: of a ledger, its head, its locks, and their folders.

Callers say `disk.rename`, never `from ... import rename`: the simulation of a ledger's life puts its own disk, which
forgets what was not synced, in the place of these.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TextIO

__all__ = ["fsync", "lock", "make_folder", "open_file", "remove_folder", "rename", "sync", "unlink", "write"]


def open_file(path: Path, flags: int, mode: int = 0o600) -> int:
    """Open or make a file; return its descriptor."""
    return os.open(path, flags, mode)


def write(stream: TextIO, text: str) -> None:
    """Write a text to a stream; it is durable after `fsync`."""
    stream.write(text)
    stream.flush()


def fsync(descriptor: int) -> None:
    """Wait until a file, or a folder with its names, is on disk."""
    os.fsync(descriptor)


def rename(path: Path, new: Path) -> None:
    """Rename a file, replacing any file with the new name; the name is durable when the folder is synced."""
    path.rename(new)


def unlink(path: Path, *, missing_ok: bool = False) -> None:
    """Remove a name."""
    path.unlink(missing_ok=missing_ok)


def lock(descriptor: int) -> None:
    """Take the exclusive lock of an open file; `OSError` if another process has it."""
    import fcntl  # POSIX only; ledgers without run ids work everywhere

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def make_folder(prefix: str, suffix: str, parent: Path) -> Path:
    """Make a folder for this user only, with a name that nobody can guess."""
    return Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=parent))


def remove_folder(folder: Path) -> None:
    """Remove a folder and its content, as far as possible."""
    shutil.rmtree(folder, ignore_errors=True)


def sync(path: Path) -> None:
    """Wait until a file, or a folder with the names that were added to it, is on disk."""
    descriptor = open_file(path, os.O_RDONLY)
    try:
        fsync(descriptor)
    finally:
        os.close(descriptor)

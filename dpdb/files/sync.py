"""`sync`: make a file's bytes, or the names in a folder, survive a crash of the machine."""

from __future__ import annotations

import os
from pathlib import Path

from dpdb.files import disk

__all__ = ["sync"]


def sync(path: Path) -> None:
    """Wait until a file, or a folder with the names that were added to it, is on disk."""
    descriptor = disk.open_file(path, os.O_RDONLY)
    try:
        disk.fsync(descriptor)
    finally:
        os.close(descriptor)

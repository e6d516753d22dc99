"""Files that may be compressed, as their names say."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

__all__ = ["COMPRESSED", "DAMAGED", "opened", "without_compression"]

COMPRESSED = (".gz", ".zst")

# What reading a file that is cut short or damaged raises, besides `ShortError`, which is an OSError.
DAMAGED = (OSError, EOFError, zlib.error)


def without_compression(path: str) -> str:
    """Return a path in lower case without the ending of its compression."""
    name = path.lower()
    return next((name.removesuffix(ending) for ending in COMPRESSED if name.endswith(ending)), name)


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Open a file for reading its bytes, decompressed.

    Raises
    ------
    OSError, EOFError, zlib.error
        If the file cannot be read, is damaged or cut short; the latter two while it is read.
    """
    name = path.lower()
    if name.endswith(".zst"):
        with pa.OSFile(path) as file, pa.CompressedInputStream(file, "zstd") as stream:
            yield cast(BinaryIO, stream)
    else:
        with gzip.open(path) if name.endswith(".gz") else Path(path).open("rb") as stream:
            yield cast(BinaryIO, stream)

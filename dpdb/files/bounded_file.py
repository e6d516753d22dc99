"""`bounded_bytes`: what a file holds, if that is no more than such a file may hold."""

from __future__ import annotations

from pathlib import Path

from dpdb.errors import ParameterError

__all__ = ["bounded_bytes"]


def bounded_bytes(path: Path, most: int, what: str) -> bytes:
    """Read a file; of one that is too large, such as a device without end, no more than tells so.

    Parameters
    ----------
    path
        A file, or a pipe.
    most
        Bytes that it may have.
    what
        What it should be, for the message: "a job file".

    Raises
    ------
    ParameterError
        If it has more.
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        content = file.read(most + 1)  # devices and pipes do not say how large they are
    if len(content) > most:
        raise ParameterError(f"{path} is larger than {most >> 20} MiB: is it {what}?")
    return content

"""Files that people write, read with a bound on their size: their bytes, and TOML, checked before a key is read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpdb.errors import ParameterError


def bounded_bytes(path: Path, most: int, what: str) -> bytes:
    """Read a file; a file that is too large, such as an endless device, is read only up to one byte over the bound.

    Parameters
    ----------
    path
        A file, or an open pipe, as a shell's `<(..)` names it.
    most
        Bytes that it may have.
    what
        What it should be, for the message: "a job file".

    Raises
    ------
    ParameterError
        If it has more, or is a named pipe, of which nobody knows whether anything is ever written to it.
    OSError
        If it cannot be read.
    """
    refuse_named_pipe(path, what)
    with path.open("rb") as file:
        content = file.read(most + 1)  # devices and pipes have no size
    if len(content) > most:
        raise ParameterError(f"{path} is larger than {most >> 20} MiB: is it {what}?")
    return content


_OPEN_PIPES = re.compile(r"/dev/(stdin|fd/\d+)|/proc/\w+/fd/\d+")


def refuse_named_pipe(path: Path, what: str) -> None:
    """Refuse a FIFO: opening it waits for a writer, maybe for ever."""
    if path.is_fifo() and not _OPEN_PIPES.fullmatch(str(path)):
        raise ParameterError(f"{path} is a named pipe; write {what} to a file")


@contextmanager
def usable(path: object, before: str = "", after: str = "") -> Iterator[None]:
    """Say of what the system refuses in the block which file it is about, as a `ParameterError`."""
    try:
        yield
    except OSError as error:
        raise ParameterError(f"{path}: {before}{error.strerror}{after}") from None


_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*"""
_DEEP = re.compile(rf"(?<![\w-])(?:{_PART}){{32}}")
"""A key of more parts than any key of dpdb; Python reads it in time quadratic in the parts."""


def toml_values(content: bytes, place: object) -> dict[str, Any]:
    """Read the content of a TOML file; `place` names it in messages.

    Raises
    ------
    ParameterError
        It is not TOML in UTF-8, is nested too deeply, or has a whole number with more digits than Python writes.
    """
    try:
        text = content.decode()
        if _DEEP.search(text):
            raise RecursionError
        values = tomllib.loads(text)
        str(values)  # hexadecimal, octal and binary numbers may have any number of digits, until they are written
    except UnicodeDecodeError:
        raise ParameterError(f"{place}: expected TOML in UTF-8; this is not") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{place}: not TOML: {error}") from None
    except ValueError:
        raise ParameterError(f"{place}: not TOML: a number has too many digits") from None
    except RecursionError:
        raise ParameterError(f"{place}: nested too deeply") from None
    return values

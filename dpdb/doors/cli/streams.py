"""The streams of a command: no paid answer is lost, and a failing standard error never stops anything."""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress
from typing import TextIO

_LONGEST_SAID = 10_000


def open_streams() -> None:
    """Make the standard streams safe to use, at the beginning of the process.

    A closed descriptor gets the null device, so that no file of ours is taken for standard output. Characters that
    an encoding does not have are written as escapes: a locale must not decide whether an answer can be shown.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - `print` would take stdout
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):  # a stream that a test put there
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def output_is_closed() -> bool:
    """Return whether nobody can read the output: standard output was closed, or the reader of its pipe has gone."""
    if sys.stdout is None or sys.stdout.closed:
        return True
    try:
        watched = select.poll()
        watched.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLNVAL) for _, event in watched.poll(0))
    except (AttributeError, OSError, ValueError):  # no such call on this system, or no file behind the stream
        return False


def read_input(most: int) -> str:
    """Read all of standard input, which may have at most `most` characters."""
    from dpdb.errors import ParameterError

    if sys.stdin is None or sys.stdin.closed:
        raise ParameterError("standard input is closed; name a file, or give what it should have")
    try:
        text = sys.stdin.read(most + 1)
    except OSError as error:
        raise ParameterError(f"standard input: {describe_failure(error)}") from None
    except UnicodeDecodeError:
        raise ParameterError("standard input is not UTF-8 text") from None
    if len(text) > most:
        raise ParameterError(f"standard input has more than {most >> 20} MiB; split it")
    return text


def write_output(content: str | bytes) -> None:
    """Write to standard output, at once.

    Raises
    ------
    OSError
        If writing fails; then nothing tries again when the interpreter ends.
    """
    if sys.stdout is None:
        return
    try:
        if isinstance(content, bytes):
            sys.stdout.buffer.write(content)
        else:
            sys.stdout.write(content)
        sys.stdout.flush()
    except OSError:
        _drop(sys.stdout)
        raise


def show(text: str) -> None:
    """Print text that cost nothing, and a line break.

    Raises
    ------
    BrokenPipeError
        If its reader has gone.
    """
    from dpdb.errors import EngineError

    try:
        write_output(f"{text}\n")
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise EngineError(f"standard output: {describe_failure(error)}") from None


def say(message: str) -> None:
    """Print one line on standard error, if that works; cut a message that a stranger made endless."""
    if len(message) > _LONGEST_SAID:
        message = f"{message[:_LONGEST_SAID]}... ({len(message):,} characters)"
    with suppress(OSError, ValueError):
        print(f"dpdb: {one_line(message)}", file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """Print lines on standard error, if that works."""
    with suppress(OSError, ValueError):
        print(text, end="", file=sys.stderr, flush=True)


def say_at_once(message: str) -> None:
    """Print one line on standard error in a process that is ended by force: never wait for the reader of a pipe."""
    with suppress(OSError, ValueError):
        if select.select([], [2], [], 0)[1]:
            os.write(2, f"dpdb: {one_line(message)}\n".encode(errors="backslashreplace"))


def one_line(text: str) -> str:
    """Return a message as one printable line, without lines that only point at a place in the line above."""
    lines = [line.strip() for line in text.splitlines()]
    joined = " | ".join(line for line in lines if line.strip("^~ "))
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in joined)


def describe_failure(error: Exception) -> str:
    """Say why something could not be written."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def _drop(stream: TextIO) -> None:
    """Redirect the stream to nowhere: its buffer would fail again when the interpreter ends."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        stream.flush()

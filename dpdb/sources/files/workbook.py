"""A workbook's cells as texts, read by a process of its own: what a file claims to hold may need any amount of memory.

One cell at the far corner of a sheet is 17 billion cells to calamine, which ends the process that asks for them. So a
child reads the sheet under a limit and writes a line of JSON for each row that has a cell; this process sees the lines.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime, time, timedelta
from typing import Any

_MEMORY = 4 << 30
"""Bytes of address space for reading a workbook."""
_CHILD = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from dpdb.sources.files.workbook import serve; serve(*json.loads(sys.argv[2]))"
)

Row = list[str | None]


class UnreadableWorkbookError(Exception):
    """A workbook cannot be read; the message is for the owner."""


@contextmanager
def sheet_rows(path: str, sheet: str | None) -> Iterator[tuple[list[str], Iterator[Row]]]:
    """Read one sheet, which `sheet` names, or the only one.

    Yields
    ------
    list of str
        The names of all sheets.
    iterator of lists of texts
        The rows that have a cell, and the first one in any case; nothing where no sheet, or more than one, is meant.
        Raises `UnreadableWorkbookError`.

    Raises
    ------
    UnreadableWorkbookError
        If it cannot be read, or not within 4 GiB of memory.
    """
    with subprocess.Popen(
        [sys.executable, "-I", "-c", _CHILD, json.dumps(sys.path), json.dumps([path, sheet, _MEMORY])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C at the terminal is for this process
    ) as child:
        assert child.stdout is not None
        with closing(_lines(child)) as lines:
            try:
                yield next(lines), lines
            finally:
                child.kill()


def _lines(child: subprocess.Popen[bytes]) -> Generator[Any, None, None]:
    """Read what a child writes, which ends with a null if it came to the end."""
    assert child.stdout is not None
    for line in child.stdout:
        found = json.loads(line)
        if found is None:
            return
        if isinstance(found, str):
            raise UnreadableWorkbookError(found)
        yield found
    child.wait()
    raise UnreadableWorkbookError(f"the process that read it ended ({child.returncode}): it needs too much memory")


def serve(path: str, sheet: str | None, memory: int) -> None:
    """Write the names of the sheets and the rows of one of them to standard output: the work of the child.

    Parameters
    ----------
    sheet
        Name of the sheet to read; None for the only one.
    memory
        Bytes of memory that this process may take.
    """
    with contextlib.suppress(ImportError, ValueError, OSError):  # where there is no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(os.dup(1), "w", encoding="ascii") as out, contextlib.suppress(BrokenPipeError):
        try:
            for found in _found(path, sheet):
                out.write(f"{json.dumps(found)}\n")
            out.write("null\n")
        except Exception as error:  # calamine's errors have no common class but this
            out.write(f"{json.dumps(str(error) or type(error).__name__)}\n")


def _found(path: str, sheet: str | None) -> Iterator[list[str] | Row]:
    import python_calamine

    book = python_calamine.CalamineWorkbook.from_path(path)
    names = list(book.sheet_names)
    yield names
    chosen = [name for name in names if sheet is None or name.casefold() == sheet.casefold()]
    if len(chosen) == 1:
        for number, row in enumerate(book.get_sheet_by_name(chosen[0]).iter_rows()):
            texts = [_text(cell) for cell in row]
            if number == 0 or any(text is not None for text in texts):
                yield texts


def _text(cell: Any) -> str | None:
    """Write a cell as text; an empty one is NULL."""
    match cell:
        case bool():
            return "true" if cell else "false"
        case float():
            return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
        case datetime():
            return cell.isoformat(" ")
        case date() | time():
            return cell.isoformat()
        case timedelta():
            return str(cell.total_seconds())
        case _:
            text = str(cell)
            return text if text != "" else None

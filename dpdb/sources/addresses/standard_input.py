"""Standard input as a file: it can be read only once."""

from __future__ import annotations

import shutil
import sys
from functools import cache
from pathlib import Path

from dpdb.errors import SourceError
from dpdb.files.new_file import WorkFolder

__all__ = ["keep_standard_input"]


def keep_standard_input() -> Path:
    """Return a copy of all of standard input, which lives as long as the process.

    Its first bytes tell its kind as those of a file do; texts are JSON lines if they begin with a brace, also after
    blanks, else CSV.

    Raises
    ------
    SourceError
        If it is a terminal, or nothing comes.
    """
    _, path = _kept()
    return path


@cache
def _kept() -> tuple[WorkFolder, Path]:
    if sys.stdin is None or sys.stdin.isatty():
        raise SourceError("standard input: is a terminal; pipe the rows into it")
    folder = WorkFolder()
    plain = folder.path / "rows"
    with plain.open("xb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with plain.open("rb") as file:
        head = file.read(1 << 10)
    if not head:
        raise SourceError("standard input: is empty")
    is_json = head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    return folder, plain.rename(plain.with_suffix(".jsonl" if is_json else ".csv"))

"""From an address to local copies of its files, fetched once, when the table is opened.

A release never waits for a network, and what is fetched cannot change between two releases of a session. A ledger
compares the rows, not the addresses. Names and passwords of an address are shown nowhere.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

from dpdb.errors import SourceError
from dpdb.files.new_file import WorkFolder
from dpdb.sources.addresses.urls import STANDARD_INPUT, is_address
from dpdb.sources.files import Files
from dpdb.sources.places import find_files

__all__ = [
    "fetched_files",
    "has_tables",
    "keep_standard_input",
]


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


_DATABASES = ("duckdb", "sqlite", "excel")


def has_tables(place: str) -> bool:
    """Say whether a table can be named of a source; nothing is fetched, so a file behind an address is one table."""
    if is_address(place):
        return place.lower().startswith("adbc:")
    return place != STANDARD_INPUT and find_files(place, or_text=True).kind in _DATABASES


def fetched_files(place: str, folder: Path, *, or_text: bool = False) -> Files:
    """Fetch the files of an address into a folder; see `is_fetched`.

    Parameters
    ----------
    place : str
        ``-`` for standard input; or an address: ``https://``, ``http://``, or ``s3://`` of an object, a glob or a
        folder of objects.
    folder : Path
        A private one, which lives as long as the table is open.
    or_text : bool
        See `find_files`.

    Raises
    ------
    SourceError
        As `find_files`; if nothing can be fetched, or only a part of it.
    """
    scheme = place.partition("://")[0].lower()
    if place == STANDARD_INPUT:
        shown, found = "standard input", keep_standard_input()
    elif scheme in ("https", "http"):
        from dpdb.sources.addresses.https import download

        shown, found = download(place, _new(folder))
    else:
        from dpdb.sources.addresses.s3 import download_objects, is_delta

        if is_delta(place):
            return Files("delta", place, (place,), is_fetched=True)
        shown, found = place, download_objects(place, _new(folder))
    try:
        return replace(find_files(str(found), or_text=or_text), place=shown, is_fetched=True)
    except SourceError as error:  # it names our copy
        raise SourceError(str(error).replace(str(found), shown)) from None


def _new(folder: Path) -> Path:
    made = folder / "fetched"
    made.mkdir(mode=0o700)
    return made

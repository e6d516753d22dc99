"""Which engines have been tried: by our own tests, or by an owner whose record of `dpdb conformance` says so.

A spelling that a server reads otherwise than ours would make a number wrong without a word. So an engine that nobody
has tried releases nothing. Exact values, which the owner can compare, need no such word.

The record is a file that the variable DPDB_CONFORMANCE names, and that nobody else may write: one line for each server
and version of dpdb that has passed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from dpdb._version import __version__
from dpdb.errors import SourceError
from dpdb.files.owned_file import read_owned, replace_owned
from dpdb.remote.table import RemoteTable

VARIABLE = "DPDB_CONFORMANCE"
_TRIED = re.compile(r"DuckDB 2\..*|PostgreSQL (1[4-9]|[2-9]\d)|ClickHouse (2[6-9]|[3-9]\d)\..*|Spark 4\..*")
"""Servers that our own tests ask, and their later versions where nothing they promise has gone."""
_trying: ContextVar[bool] = ContextVar("trying", default=False)


@contextmanager
def trying_out() -> Iterator[None]:
    """Let an engine that is only being tried be asked as for a release; nothing is released meanwhile."""
    token = _trying.set(True)
    try:
        yield
    finally:
        _trying.reset(token)


def refuse_untried(table: RemoteTable) -> None:
    """Refuse to release numbers of an engine that nobody has tried."""
    if _trying.get():
        return
    server = table.server()
    if _TRIED.fullmatch(server) or _line(server) in _recorded():
        return
    raise SourceError(
        f"{table.description}: nobody has tried whether {server} counts as dpdb does, and nothing is released of it "
        f"before: run `dpdb conformance` on it, and let {VARIABLE} name the file that it writes"
    )


def record(path: Path, server: str | None) -> None:
    """Write into a file, a new one or one of its own, that a server has passed.

    Parameters
    ----------
    server
        As `RemoteTable.server` names it; of None only the file is tried, before a suite runs for long.

    Raises
    ------
    SourceError
        If it cannot be written, or is another file: then nothing is changed.
    """
    is_new = not (path.is_symlink() or path.exists())
    lines = [] if is_new else _lines(path)
    if not all(_is_line(line) for line in lines):
        raise SourceError(f"{path}: is no record of conformance, and stays as it is; name a new file")
    if server is not None:
        lines.append(_line(server))
    try:
        replace_owned(path, "".join(f"{line}\n" for line in dict.fromkeys(lines)))
        if is_new and not lines:
            path.unlink()
    except OSError as error:
        raise SourceError(f"{path}: cannot be written: {error.strerror}") from None


def _recorded() -> list[str]:
    path = os.environ.get(VARIABLE)
    return _lines(Path(path)) if path else []


def _lines(path: Path) -> list[str]:
    try:
        return read_owned(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SourceError(f"{path}: the record of conformance cannot be read: {reason}") from None


def _is_line(line: str) -> bool:
    try:
        read = json.loads(line)
    except ValueError:
        return False
    return isinstance(read, dict) and read.keys() == {"passed", "dpdb"}


def _line(server: str) -> str:
    return json.dumps({"passed": server, "dpdb": __version__}, sort_keys=True)

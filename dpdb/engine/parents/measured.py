"""The measured table beside its parents: where a parent lies that is a table beside it, and whether it is it itself."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dpdb.engine.parents.declared import DeclaredParent
from dpdb.errors import ParameterError
from dpdb.sources import STANDARD_INPUT, Files, SourceLike, are_of_one_database, find_files, is_address, kind_of

__all__ = ["MeasuredSource", "are_one_table", "is_measured_table", "same_name", "table_beside"]

_WITH_NAMES = {"DuckDBFile", "DuckDBConnection", "SQLiteFile", "AdbcConnection"}


@dataclass(frozen=True)
class MeasuredSource:
    """What the user pointed at, the table of it that is measured, where it has several, and its text's delimiter."""

    source: SourceLike
    table: str | None
    delimiter: str | None = None


def table_beside(measured: MeasuredSource, declared: DeclaredParent) -> tuple[SourceLike, str | None]:
    """Return the source of a parent and the name of its table there, where a source has tables.

    Raises
    ------
    ParameterError
        If it is to lie beside the measured table, whose source has no others.
    """
    source, table = _place(measured, declared)
    if table is None and declared.source is None:
        raise ParameterError(
            f"parent {declared.name!r}: the measured table lies in no database (a DuckDB or SQLite file or a "
            f"connection), where this one could be beside it; say where it is (as in {declared.name}=FILE)"
        )
    return source, table


def is_measured_table(measured: MeasuredSource, declared: DeclaredParent) -> bool:
    """Return whether a parent is the measured table itself, under its own name and in its own files.

    A copy or a view of it is a table of its own here.
    """
    source, table = _place(measured, declared)
    if not _same_source(measured.source, source):
        return False
    return table is None or measured.table is None or same_name(measured.table, table)


def are_one_table(measured: MeasuredSource, one: DeclaredParent, other: DeclaredParent) -> bool:
    """Return whether two parents are one table; a view or a copy is a table of its own here, too.

    Parameters
    ----------
    measured
        The source of the measured table.
    one, other
        Two parents as they were declared.
    """
    (mine, name), (theirs, called) = _place(measured, one), _place(measured, other)
    return _same_source(mine, theirs) and (name is None or called is None or same_name(name, called))


def _place(measured: MeasuredSource, declared: DeclaredParent) -> tuple[SourceLike, str | None]:
    source = measured.source if declared.source is None else declared.source
    return source, declared.name if _has_tables(source) else None


def _has_tables(source: SourceLike) -> bool:
    """Return whether a source is a database: what has tables by names. Of a file behind an address it has one."""
    target = _local(source)
    if isinstance(target, str):
        return target.lower().startswith("adbc:")
    return type(kind_of(target)).__name__ in _WITH_NAMES


def _local(source: SourceLike) -> object:
    """Return the files of a path, the text of what is none (nothing is fetched), and any object as it is."""
    if not isinstance(source, (str, os.PathLike)):
        return source
    place = os.fspath(source)
    return place if is_address(place) or place == STANDARD_INPUT else find_files(place, or_text=True)


def _same_source(one: SourceLike, other: SourceLike) -> bool:
    mine, theirs = _local(one), _local(other)
    if isinstance(mine, Files) and isinstance(theirs, Files):
        files = {_identity(path) for path in mine.paths}
        return any(_identity(path) in files for path in theirs.paths)
    if isinstance(mine, str) and isinstance(theirs, str):
        return mine == theirs
    return mine is theirs or are_of_one_database(mine, theirs)


def _identity(path: str) -> tuple[int, int]:
    found = Path(path).stat()
    return found.st_dev, found.st_ino


def same_name(one: str, other: str) -> bool:
    """Return whether two names may be one table's: as far as both say, they say the same."""
    mine, theirs = (name.casefold().split(".") for name in (one, other))
    common = min(len(mine), len(theirs))
    return mine[-common:] == theirs[-common:]

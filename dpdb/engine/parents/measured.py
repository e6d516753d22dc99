"""The measured table beside its parents: where a parent lies that is a table beside it, and whether it is it itself."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dpdb.engine.parents.declared import DeclaredParent
from dpdb.engine.sources.kinds import kind_of
from dpdb.engine.sources.places import find_files
from dpdb.engine.sources.source import SourceLike
from dpdb.errors import ParameterError

__all__ = ["MeasuredSource", "is_measured_table", "table_beside"]


@dataclass(frozen=True)
class MeasuredSource:
    """What the user pointed at, and the table of it that is measured, where it has several."""

    source: SourceLike
    table: str | None


def table_beside(measured: MeasuredSource, declared: DeclaredParent) -> tuple[SourceLike, str | None]:
    """Return the source of a parent and the name of its table there, where a source has tables.

    Raises
    ------
    ParameterError
        If it is to lie beside the measured table, whose source has no others.
    """
    source = measured.source if declared.source is None else declared.source
    if _has_tables(source):
        return source, declared.name
    if declared.source is None:
        raise ParameterError(
            f"parent {declared.name!r}: the measured table lies in no DuckDB file or connection, where this one could "
            f"be beside it; say where it is (as in {declared.name}=FILE)"
        )
    return source, None


def is_measured_table(measured: MeasuredSource, declared: DeclaredParent) -> bool:
    """Return whether a parent is the measured table itself, under its own name and in its own files.

    A copy or a view of it is a table of its own here.
    """
    source = measured.source if declared.source is None else declared.source
    if not _same_source(measured.source, source):
        return False
    return not _has_tables(source) or measured.table is None or _same_name(measured.table, declared.name)


def _has_tables(source: SourceLike) -> bool:
    """Return whether a source is a DuckDB file or connection: what has tables by names."""
    target = find_files(os.fspath(source)) if isinstance(source, (str, os.PathLike)) else source
    return type(kind_of(target)).__name__ in {"DuckDBFile", "DuckDBConnection"}


def _same_source(one: SourceLike, other: SourceLike) -> bool:
    if not isinstance(one, (str, os.PathLike)) or not isinstance(other, (str, os.PathLike)):
        return one is other
    mine = {_identity(path) for path in find_files(os.fspath(one)).paths}
    return any(_identity(path) in mine for path in find_files(os.fspath(other)).paths)


def _identity(path: str) -> tuple[int, int]:
    found = Path(path).stat()
    return found.st_dev, found.st_ino


def _same_name(one: str, other: str) -> bool:
    mine, theirs = (name.casefold().split(".") for name in (one, other))
    common = min(len(mine), len(theirs))
    return mine[-common:] == theirs[-common:]

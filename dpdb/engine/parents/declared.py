"""Parents as the owner declares them: where each is, whether everybody may know its rows, and files of its columns.

A parent may be a table beside the measured one, or that one itself. A set of tables, many of which look into one
parent, reads and writes its columns once.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

from dpdb.errors import ParameterError
from dpdb.files.new_file import WorkFolder
from dpdb.schema import TableSchema
from dpdb.sources import STANDARD_INPUT, Files, Source, SourceLike, are_of_one_database, find_files, is_address, kind_of
from dpdb.stopping import Closing

# Names of tables with their sources; None, or a name alone, is a table beside the measured one.
ParentsLike: TypeAlias = Mapping[str, SourceLike | None] | Sequence[str] | str


@dataclass(frozen=True)
class DeclaredParent:
    """A table that rules may look into.

    Attributes
    ----------
    source : SourceLike or None
        See `open_source`; None is the table of this name in the measured table's own DuckDB file or connection.
    is_public : bool
        The owner's word that everybody may know the table's rows, in all columns. Nothing is public by default.
    """

    name: str
    source: SourceLike | None
    is_public: bool


def declared_parents(public: ParentsLike | None, private: ParentsLike | None) -> tuple[DeclaredParent, ...]:
    """Read the owner's words: every parent is public or private, and called by one name."""
    declared = [*_declared(public, is_public=True), *_declared(private, is_public=False)]
    names = [parent.name.casefold() for parent in declared]
    for parent in declared:
        if names.count(parent.name.casefold()) > 1:
            raise ParameterError(f"parent {parent.name!r} is declared twice: it is one table, either public or private")
    return tuple(declared)


def _declared(given: ParentsLike | None, *, is_public: bool) -> Iterator[DeclaredParent]:
    if given is None:
        return
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, (Mapping, list, tuple)):
        raise ParameterError("parents are given as a mapping from name to source, or as a list of names")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ParameterError(f"a parent has a name that is not empty, got {name!r}")
        yield DeclaredParent(name.strip(), names[name] if isinstance(names, Mapping) else None, is_public)


_WITH_NAMES = {"DuckDBFile", "DuckDBConnection", "SQLiteFile", "AdbcConnection"}


@dataclass(frozen=True)
class MeasuredSource:
    """What the user pointed at, the table of it that is measured, where it has several, and its text's delimiter."""

    source: SourceLike
    table: str | None
    delimiter: str | None = None


def table_beside(measured: MeasuredSource, declared: DeclaredParent) -> tuple[SourceLike, str | None]:
    """Return the source of a parent and the name of its table there, where a source has tables."""
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
    """Return whether two parents are one table; a view or a copy is a table of its own here, too."""
    (mine, name), (theirs, called) = _place(measured, one), _place(measured, other)
    return _same_source(mine, theirs) and (name is None or called is None or same_name(name, called))


def refuse_second_names(
    declared: Iterable[DeclaredParent], are_one: Callable[[DeclaredParent, DeclaredParent], bool]
) -> None:
    """Raise `ParameterError` if a private parent has two names, whichever of them the rules use today.

    By its second name its rows could belong to other units than by the first one, or be public.
    """
    for one, other in combinations(declared, 2):
        if not (one.is_public and other.is_public) and are_one(one, other):
            raise ParameterError(
                f"parents {one.name!r} and {other.name!r} are one table, and not both are public: declare it once, "
                "and call it by one name in all rules"
            )


def _place(measured: MeasuredSource, declared: DeclaredParent) -> tuple[SourceLike, str | None]:
    source = measured.source if declared.source is None else declared.source
    return source, declared.name if _has_tables(source) else None


def _has_tables(source: SourceLike) -> bool:
    """Return whether a source is a database: what has tables by names. Of a file behind an address it has one."""
    target = _local(source)
    if isinstance(target, str):
        return target.lower().startswith(("adbc:", "ducklake:", "md:", "motherduck:"))
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


@dataclass(frozen=True)
class WrittenParent:
    """Columns of a parent in a DuckDB file.

    Attributes
    ----------
    source : Source
        What it was opened as; nothing is read of it any more.
    opened : str
        The state of its rows when it was opened. Private where the parent is.
    digests : dict
        What was computed of these rows; a place to remember it.
    """

    path: Path
    columns: tuple[str, ...]
    source: Source
    opened: str
    digests: dict[str, str] = field(default_factory=dict)


class ParentFiles(Closing):
    """What tables that are opened one after another share; they may read it until it is closed."""

    def __init__(self, parent: str | Path | None = None) -> None:
        self._folder = WorkFolder(parent)
        self._written: defaultdict[Hashable, list[WrittenParent]] = defaultdict(list)

    def find(self, key: Hashable, columns: Callable[[TableSchema], tuple[str, ...]]) -> WrittenParent | None:
        """Return the file of some columns of a parent, which are told by its schema; None if there is none yet."""
        return next((each for each in self._written[key] if each.columns == columns(each.source.schema)), None)

    def new_path(self) -> Path:
        """Return where the next file is written."""
        return self._folder.path / f"parent_{sum(map(len, self._written.values()))}.duckdb"

    def keep(self, key: Hashable, written: WrittenParent) -> None:
        """Share a file with the tables that are opened later."""
        self._written[key].append(written)

    def close(self) -> None:
        """Remove the files."""
        self._folder.close()

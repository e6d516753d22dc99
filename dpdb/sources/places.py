"""From a path to the files that it names, and their kind. What is no local table is refused.

Nothing here reads a row.
"""

from __future__ import annotations

from pathlib import Path

from dpdb.errors import SourceError
from dpdb.sources.addresses.urls import refuse_url
from dpdb.sources.file_source import FileSource
from dpdb.sources.files import (
    Files,
    is_many,
    listed,
    named_place,
    partitions,
    refuse_logs,
    refuse_underscores,
    root_of,
    state_of_files,
)
from dpdb.sources.kinds import file_kinds

__all__ = ["ICEBERG", "find_files", "lake_table", "state_of"]


def find_files(place: str, *, or_text: bool = False) -> Files:
    """Find the files of a path: one file, a folder of files, or a glob.

    A file is known by its first bytes, or by its name where bytes do not tell; in a folder, at any depth, those named
    .parquet, .csv, .tsv, .jsonl or .ndjson (the text ones also .gz and .zst) count. Names that begin with a dot are
    passed over, as in a glob. A folder may also be a table of a lake; see `lake_table`. With `or_text` a file that is
    of no known kind is text that is cut at a delimiter.

    Raises
    ------
    SourceError
        If there is no such file, it is none of the supported kinds, several kinds lie together, a folder belongs to a
        table format with a log of its own (Delta, Iceberg, Hudi), the files lie in folders with different keys, a name
        in a folder begins with an underscore (most programs pass such files over, some do not), or the path is a URL.
    """
    if not place:
        raise SourceError("the path of the source is empty")
    refuse_url(place)
    try:
        with named_place(place):
            return lake_table(place) or _found(place, or_text=or_text)
    except UnicodeEncodeError:
        raise SourceError(f"{place}: a file's name is not UTF-8; rename it") from None
    except ValueError:  # a NUL character
        raise SourceError(f"{place!r}: is not a path") from None


def _found(place: str, *, or_text: bool) -> Files:
    paths = listed(place, _in_folder)
    for path in paths:
        path.encode()
    if not is_many(place):
        return Files(_kind_of(place, paths[0], or_text=or_text).kind, place, tuple(paths))
    in_folder = Path(place).is_dir()
    kinds = {_kind_by_name(path) if in_folder else _kind_of(place, path, or_text=or_text) for path in paths}
    root = root_of(place)
    refuse_logs(place, root, paths)
    if in_folder:
        refuse_underscores(place, paths)
    if not paths:
        raise SourceError(f"{place}: no {' or '.join(kind.title for kind in file_kinds() if kind.many)} file there")
    if len(kinds) > 1 or not next(iter(kinds)).many:
        raise SourceError(f"{place}: holds files of several kinds, or DuckDB files; name the files of one table")
    keys, values = partitions(place, root, paths)
    return Files(next(iter(kinds)).kind, place, tuple(paths), keys, values)


def state_of(place: str) -> str:
    """Describe the state of a path's rows; see `state_of_files`. Private.

    Raises
    ------
    SourceError
        If a file is no longer there.
    """
    with named_place(place):
        return state_of_files(place, listed(place, _in_folder))


def _in_folder(name: str) -> bool:
    return any(kind.many and kind.is_named(name) for kind in file_kinds())


def _kind_of(place: str, path: str, *, or_text: bool) -> FileSource:
    file = Path(path)
    if file.exists() and not file.is_file():
        raise SourceError(f"{place}: is not a regular file; write its rows to one")  # a pipe can be read only once
    with file.open("rb") as stream:
        head = stream.read(12)
    for kind in file_kinds():
        if kind.begins(head):
            return kind
    for kind in file_kinds():
        if kind.known_by_name and kind.is_named(path):
            return kind
    if or_text:
        return next(kind for kind in file_kinds() if kind.takes_delimiter)
    *others, last = (f"{kind.title}{kind.endings}" for kind in file_kinds())
    raise SourceError(
        f"{place}: not a {', '.join(others)} or {last} file; for CSV text of another name give its delimiter"
    )


def _kind_by_name(path: str) -> FileSource:
    """Return the kind of a file in a folder, by its name."""
    return next(kind for kind in file_kinds() if kind.many and kind.is_named(path))


ICEBERG = "iceberg:"


def lake_table(place: str) -> Files | None:
    """Return what a path names if it is a table of a lake, whose library finds its files; else None.

    That is a folder with ``_delta_log``, a folder whose ``metadata/version-hint.text`` tells the current version, a
    file ``*.metadata.json``, or ``iceberg:catalog.namespace.table``. No library reads a lake in place: its rows are
    copied, and what a ledger compares are the rows, not their files, so that compaction changes nothing.
    """
    folder = Path(place)
    if (
        place.startswith(ICEBERG)
        or place.endswith(".metadata.json")
        or (folder / "metadata/version-hint.text").exists()
    ):
        return Files("iceberg", place, (place,), is_fetched=True)
    return Files("delta", place, (place,), is_fetched=True) if (folder / "_delta_log").is_dir() else None

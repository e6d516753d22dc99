"""What a path names: the files, their kind, the columns that stand in names of folders. Refuses what is no local table.

Nothing here reads a row. The files of a table, and so the values in names of folders, are as private as its rows.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import unquote

from dpdb.engine.schema import refuse_duplicate_names
from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG

__all__ = [
    "CSV_DELIMITERS",
    "FileColumns",
    "FileKind",
    "Files",
    "csv_delimiter",
    "find_files",
    "refuse_url",
    "state_of",
]

FileKind: TypeAlias = Literal["parquet", "csv", "duckdb"]

CSV_DELIMITERS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}

# With one slash, too: that is what pathlib makes of two.
_URL = re.compile(r"(?:jdbc:)?([a-z][a-z0-9+.-]+):/|(md):", re.IGNORECASE)
_DATABASES = {
    *("postgres", "postgresql", "mysql", "mariadb", "sqlite", "mssql", "sqlserver", "oracle", "snowflake", "bigquery"),
    *("redshift", "clickhouse", "mongodb", "duckdb", "md", "motherduck"),
}  # fmt: skip
_KINDS: tuple[FileKind, ...] = ("parquet", "csv")
# What such folders hold besides their Parquet files: a log that says which files are the table. The others were
# deleted or replaced, and reading them all counts rows that are no longer there.
_LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi"}
_PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_NULL_PARTITIONS = ("", "__HIVE_DEFAULT_PARTITION__")


@dataclass(frozen=True)
class Files:
    """The files of a table.

    Attributes
    ----------
    place : str
        The path as the user wrote it, for messages.
    paths : tuple of str
        Sorted; one for a file.
    keys : tuple of str
        Columns in the names of the folders below `place` (``year=2024/month=1``), the same for all files.
    partitions : tuple of tuple of str or None
        For each file its values of `keys`. Private.
    """

    kind: FileKind
    place: str
    paths: tuple[str, ...]
    keys: tuple[str, ...] = ()
    partitions: tuple[tuple[str | None, ...], ...] = ((),)

    def state(self) -> str:
        """Describe the state of these files; see `state_of`."""
        return _state(self.place, self.paths)

    def columns(self, own: Iterable[str]) -> FileColumns:
        """Return the columns of the files and those of the keys; a key that is also a column is left to the files."""
        names = tuple(own)
        known = {name.casefold() for name in names}
        return FileColumns(names, tuple(key for key in self.keys if key.casefold() not in known))


@dataclass(frozen=True)
class FileColumns:
    """The names of the columns that are in the files, and of those that are in the names of folders."""

    own: tuple[str, ...]
    folders: tuple[str, ...]


def find_files(place: str) -> Files:
    """Find the files of a path: one file, a folder of files, or a glob.

    A file is known by its first bytes, or by its name where bytes do not tell; in a folder, at any depth, those named
    .parquet, .csv or .tsv (also .gz) count. Names that begin with a dot are passed over, as in a glob.

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
        paths = _listed(place)
        for path in paths:
            path.encode()
        if not _is_many(place):
            return Files(_kind_of(place, paths[0]), place, tuple(paths))
        kinds = {_kind_by_name(path) if Path(place).is_dir() else _kind_of(place, path) for path in paths}
        root = _root(place)
        _refuse_logs(place, root, paths)
        if Path(place).is_dir():
            _refuse_underscores(place, paths)
    except OSError as error:
        raise SourceError(f"{place}: {(error.strerror or 'cannot be read').lower()}") from None
    except UnicodeEncodeError:
        raise SourceError(f"{place}: a file's name is not UTF-8; rename it") from None
    except ValueError:  # a NUL character
        raise SourceError(f"{place!r}: is not a path") from None
    if not paths:
        raise SourceError(f"{place}: no Parquet or CSV file there")
    if kinds not in ({"parquet"}, {"csv"}):
        raise SourceError(f"{place}: holds files of several kinds, or DuckDB files; name the files of one table")
    keys, partitions = _partitions(place, root, paths)
    return Files("csv" if kinds == {"csv"} else "parquet", place, tuple(paths), keys, partitions)


def state_of(place: str) -> str:
    """Describe the state of a path's rows by sizes and times of last change, which cost nothing to read again.

    A file that is copied or touched, added or gone counts as changed, and so does one in a folder that was renamed from
    ``state=CA`` to ``state=NY``: its rows have another value. Private: it depends on the rows.

    Raises
    ------
    SourceError
        If a file is no longer there.
    """
    try:
        return _state(place, _listed(place))
    except OSError as error:
        raise SourceError(f"{place}: {(error.strerror or 'cannot be read').lower()}") from None


def _state(place: str, paths: Sequence[str]) -> str:
    # DuckDB keeps what was written last in a file beside the table's.
    files = [Path(file) for file in [*paths, f"{place}.wal"]]
    try:
        found = [file.stat() for file in files if file.suffix != ".wal" or file.exists()]
    except OSError as error:
        raise SourceError(f"{place}: {(error.strerror or 'cannot be read').lower()}") from None
    state = ";".join(f"{stat.st_size},{stat.st_mtime_ns}" for stat in found)
    root = _root(place)
    values = [[pair[0] for pair in _pairs(root, path)] for path in paths] if _is_many(place) else []
    return f"{state};{json.dumps(values)}" if any(values) else state


def refuse_url(place: str) -> None:
    """Raise `SourceError` if a text is the address of something that is not a local file; say what to do instead."""
    match = _URL.match(place)
    if match is None or Path(place).exists():
        return
    scheme = (match[1] or match[2]).lower()  # and no more of it: it may hold a password
    if scheme == "file":
        raise SourceError("file://...: give the path itself, without file://")
    if scheme in _DATABASES:
        raise SourceError(
            f"{scheme}:...: dpdb reads local files and DuckDB connections; attach the database in a DuckDB connection "
            "and give that to dpdb.open, or export the table to Parquet"
        )
    raise SourceError(
        f"{scheme}://...: dpdb reads local files and DuckDB connections, so that no release waits for a network; copy "
        "the files to a local disk, or read them in a DuckDB connection and give that to dpdb.open"
    )


def csv_delimiter(path: str) -> str | None:
    """Return the delimiter that a CSV file's name tells, or None if it is no CSV file's name."""
    return next((mark for suffix, mark in CSV_DELIMITERS.items() if path.lower().endswith(suffix)), None)


# -- one file ---------------------------------------------------------------------------------------------------


def _kind_of(place: str, path: str) -> FileKind:
    file = Path(path)
    if file.exists() and not file.is_file():
        raise SourceError(f"{place}: is not a regular file; write its rows to one")  # a pipe can be read only once
    with file.open("rb") as stream:
        head = stream.read(12)
    if head[:4] == b"PAR1":
        return "parquet"
    if head[8:12] == b"DUCK":
        return "duckdb"
    if csv_delimiter(path) is not None:
        return "csv"
    raise SourceError(f"{place}: not a Parquet, CSV (.csv, .tsv, also .gz) or DuckDB file")


# -- many files -------------------------------------------------------------------------------------------------


def _is_many(place: str) -> bool:
    return Path(place).is_dir() or (glob.has_magic(place) and not Path(place).exists())


def _listed(place: str) -> list[str]:
    if not _is_many(place):
        return [place]
    if Path(place).is_dir():
        return sorted(_below(place))
    # pathlib's glob takes no absolute patterns
    return sorted(file for file in glob.glob(place, recursive=True) if Path(file).is_file())  # noqa: PTH207


def _below(folder: str) -> Iterator[str]:
    def stop(error: OSError) -> None:
        raise error  # a folder that may not be read would be rows that are left out

    for parent, folders, names in os.walk(folder, onerror=stop):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(parent, name)
            if not name.startswith(".") and _kind_by_name(name) is not None and path.is_file():
                yield str(path)


def _kind_by_name(path: str) -> FileKind | None:
    if path.lower().endswith(".parquet"):
        return "parquet"
    return None if csv_delimiter(path) is None else "csv"


def _root(place: str) -> Path:
    """Return the folder below which names of folders may be columns: of a glob, its part without wildcards."""
    if Path(place).is_dir():
        return Path(place)
    fixed = []
    for part in Path(place).parts[:-1]:
        if glob.has_magic(part):
            break
        fixed.append(part)
    return Path(*fixed)


def _refuse_logs(place: str, root: Path, paths: Iterable[str]) -> None:
    folders = {root}
    for path in paths:
        for folder in Path(path).parents:
            if folder in folders:
                break
            folders.add(folder)
    for folder in sorted(folders):
        for log, name in _LOGS.items():
            if (folder / log).is_dir():
                raise _log_refused(place, name, log)
    tables = {*folders, root.parent} if root.name == "data" else folders
    if any(True for folder in tables for _ in (folder / "metadata").glob("*.metadata.json")):
        raise _log_refused(place, "Iceberg", "metadata")


def _refuse_underscores(place: str, paths: Iterable[str]) -> None:
    names = [part for path in paths for part in Path(path).relative_to(place).parts]
    if any(name.startswith("_") and "=" not in name for name in names):
        raise SourceError(
            f"{place}: holds files or folders whose names begin with an underscore, as programs call what is not (yet) "
            "part of a table; move them away, or name the files with a glob such as *.parquet"
        )


def _log_refused(place: str, name: str, log: str) -> SourceError:
    return SourceError(
        f"{place}: belongs to a {name} table ({log}/ says which files count); its files hold deleted rows, too. "
        "Read the table in a DuckDB connection and give that to dpdb.open, or export it to one Parquet file"
    )


def _partitions(
    place: str, root: Path, paths: Iterable[str]
) -> tuple[tuple[str, ...], tuple[tuple[str | None, ...], ...]]:
    found = [[(pair[1], _value(pair[2])) for pair in _pairs(root, path)] for path in paths]
    keys = [tuple(key for key, _ in pairs) for pairs in found]
    if len(set(keys)) > 1:
        OWNER_LOG.error("%s: keys of folders: %s", place, sorted(set(keys)))
        raise SourceError(
            f"{place}: its files lie in folders with different keys (as year=2024/ beside month=1/), which are columns "
            "and so must be the same everywhere; they are in the owner's log"
        )
    refuse_duplicate_names(keys[0])
    return keys[0], tuple(tuple(value for _, value in pairs) for pairs in found)


def _pairs(root: Path, path: str) -> list[re.Match[str]]:
    """Read the names of a file's folders that are a key and its value."""
    matches = [_PARTITION.fullmatch(part) for part in Path(path).relative_to(root).parts[:-1]]
    return [match for match in matches if match is not None]


def _value(text: str) -> str | None:
    """Read the value in a folder's name, as Hive writes it; what is not UTF-8 is NULL, as in a CSV cell."""
    try:
        return None if text in _NULL_PARTITIONS else unquote(text, errors="strict")
    except UnicodeDecodeError:
        return None

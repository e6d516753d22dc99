"""`Files`: the files of a table, which a path names, and the state of their rows.

Nothing here reads a row; files that are compressed, as their names say, are opened decompressed. The files of a table,
and so the values in names of folders, are as private as its rows.
"""

from __future__ import annotations

import glob
import gzip
import json
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import unquote

import pyarrow as pa

from dpdb.errors import OWNER_LOG, SourceError
from dpdb.schema import refuse_duplicate_names

# What such folders hold besides their Parquet files: a log that says which files are the table. The others were
# deleted or replaced, and reading them all counts rows that are no longer there.
_LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi"}
_NULL_PARTITIONS = ("", "__HIVE_DEFAULT_PARTITION__")
# A kernel's clock moves 100 to 1,000 times a second; file systems without parts of seconds move every 1 or 2 seconds.
_TICK, _SECONDS_STEP = 20_000_000, 2_000_000_000
_DUCKDB_LOG, _SQLITE_LOG = ".wal", "-wal"
_PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)


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
    is_fetched : bool
        Whether the files are our own copies of what `place` names.
    """

    kind: str
    place: str
    paths: tuple[str, ...]
    keys: tuple[str, ...] = ()
    partitions: tuple[tuple[str | None, ...], ...] = ((),)
    is_fetched: bool = False

    @property
    def path(self) -> str | None:
        """The path whose state is that of the rows, None for copies of what lies elsewhere."""
        return None if self.is_fetched else self.place

    def name_of(self, path: str) -> str:
        """Return the name by which the owner knows one of the files, which may be our copy of it."""
        if len(self.paths) == 1:
            return self.place
        root = os.path.commonpath(self.paths)
        return f"{self.place}: {Path(path).relative_to(root)}" if self.is_fetched else path

    def state(self) -> str | None:
        """Describe the state of these files, see `state_of_files`; None for our own copies, which nobody changes."""
        return None if self.is_fetched else state_of_files(self.place, self.paths)

    def settled_state(self) -> str | None:
        """Describe it, as `state`, once whatever is written to these files from now on must change it.

        A file system knows times in steps: what is written twice within one of them has one time.
        """
        if not self.is_fetched:
            times = [found.st_ctime_ns for found in _found(self.place, self.paths)]
            times += [found.st_mtime_ns for found in _found(self.place, [], _SQLITE_LOG)]
            rest = max((_step(changed) - abs(time.time_ns() - changed) for changed in times), default=0)
            time.sleep(max(0, rest) / 1e9)
        return self.state()

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


@contextmanager
def named_place(place: str) -> Iterator[None]:
    """Turn errors of the system into a `SourceError` that names the place and no other path."""
    try:
        yield
    except OSError as error:
        raise SourceError(f"{place}: {(error.strerror or 'cannot be read').lower()}") from None


def state_of_files(place: str, paths: Sequence[str]) -> str:
    """Describe the state of files by what the system keeps of them, which costs nothing to read again.

    That is the size, the time of the last change of its bytes, which whoever writes to a file may set back, the time of
    the last change of anything (ctime), which nobody but the system sets, and the inode, which is another one where
    another file was put in its place. A device's number is left out: a restart or another mount may give it anew, and a
    file with the same inode and the same ctime is the same one. So a file that is copied, touched, moved, linked or
    given to others counts as changed, as one does that was added or is gone, and so does one in a folder that was
    renamed from ``state=CA`` to ``state=NY``: its rows have another value. Private: it depends on the rows.

    Raises
    ------
    SourceError
        If a file is no longer there.
    """
    found = _found(place, paths)
    state = ";".join(f"{stat.st_size},{stat.st_mtime_ns},{stat.st_ctime_ns},{stat.st_ino}" for stat in found)
    # Whoever reads as root gives SQLite's log to the table's owner, each time: its ctime tells nothing.
    state += "".join(f";{stat.st_size},{stat.st_mtime_ns},{stat.st_ino}" for stat in _found(place, [], _SQLITE_LOG))
    root = root_of(place)
    values = [[pair[0] for pair in _key_values(root, path)] for path in paths] if is_many(place) else []
    return f"{state};{json.dumps(values)}" if any(values) else state


def _found(place: str, paths: Sequence[str], log: str = _DUCKDB_LOG) -> list[os.stat_result]:
    """Read what the system keeps of files and of the log beside them."""
    with named_place(place):
        return [Path(file).stat() for file in paths] + [found.stat() for found in _logs(place, log)]


def _step(changed: int) -> int:
    """Bound the step, in nanoseconds, in which a file system that tells this time knows times: 2 s if in seconds."""
    return _SECONDS_STEP if changed % 1_000_000_000 == 0 else _TICK


def _logs(place: str, ending: str) -> list[Path]:
    """List the file beside a table's in which DuckDB or SQLite keeps what was written last.

    An empty one has no row; SQLite makes and removes it for readers, too.
    """
    log = Path(f"{place.rstrip('/')}{ending}")
    return [log] if log.exists() and log.stat().st_size else []


def is_many(place: str) -> bool:
    """Say whether a path may name several files: a folder or a glob."""
    return Path(place).is_dir() or (glob.has_magic(place) and not Path(place).exists())


def listed(place: str, is_named: Callable[[str], bool]) -> list[str]:
    """List the files of a path, sorted; in a folder those whose names `is_named` accepts, at any depth."""
    if not is_many(place):
        return [place]
    if Path(place).is_dir():
        return sorted(_below(place, is_named))
    # pathlib's glob takes no absolute patterns
    return sorted(file for file in glob.glob(place, recursive=True) if Path(file).is_file())  # noqa: PTH207


def _below(folder: str, is_named: Callable[[str], bool]) -> Iterator[str]:
    def stop(error: OSError) -> None:
        raise error  # a folder that may not be read would be rows that are left out

    for parent, folders, names in os.walk(folder, onerror=stop):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(parent, name)
            if not name.startswith(".") and is_named(name) and path.is_file():
                yield str(path)


def root_of(place: str) -> Path:
    """Return the folder below which names of folders may be columns: of a glob, its part without wildcards."""
    if Path(place).is_dir():
        return Path(place)
    fixed = []
    for part in Path(place).parts[:-1]:
        if glob.has_magic(part):
            break
        fixed.append(part)
    return Path(*fixed)


def _key_values(root: Path, path: str) -> list[re.Match[str]]:
    """Read the names of a file's folders that are a key and its value."""
    matches = [_PARTITION.fullmatch(part) for part in Path(path).relative_to(root).parts[:-1]]
    return [match for match in matches if match is not None]


# -- folders whose files are one table ----------------------------------------------------------------------


def refuse_logs(place: str, root: Path, paths: Iterable[str]) -> None:
    """Raise `SourceError` if the files belong to a table format with a log of its own (Delta, Iceberg, Hudi).

    Parameters
    ----------
    root
        Folder below which the files were found.
    """
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


def refuse_underscores(place: str, paths: Iterable[str]) -> None:
    """Raise `SourceError` if a name in a folder begins with an underscore: some programs pass such files over."""
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


def partitions(
    place: str, root: Path, paths: Iterable[str]
) -> tuple[tuple[str, ...], tuple[tuple[str | None, ...], ...]]:
    """Read the keys in names of folders below `root`, the same for all files, and each file's values of them."""
    found = [[(pair[1], _value(pair[2])) for pair in _key_values(root, path)] for path in paths]
    keys = [tuple(key for key, _ in pairs) for pairs in found]
    if len(set(keys)) > 1:
        OWNER_LOG.error("%s: keys of folders: %s", place, sorted(set(keys)))
        raise SourceError(
            f"{place}: its files lie in folders with different keys (as year=2024/ beside month=1/), which are columns "
            "and so must be the same everywhere; they are in the owner's log"
        )
    refuse_duplicate_names(keys[0])
    return keys[0], tuple(tuple(value for _, value in pairs) for pairs in found)


def _value(text: str) -> str | None:
    """Read the value in a folder's name, as Hive writes it; what is not UTF-8 is NULL, as in a CSV cell."""
    try:
        return None if text in _NULL_PARTITIONS else unquote(text, errors="strict")
    except UnicodeDecodeError:
        return None


COMPRESSED = (".gz", ".zst")

# What reading a file that is cut short or damaged raises, besides `ShortError`, which is an OSError.
DAMAGED = (OSError, EOFError, zlib.error)


def without_compression(path: str) -> str:
    """Return a path in lower case without the ending of its compression."""
    name = path.lower()
    return next((name.removesuffix(ending) for ending in COMPRESSED if name.endswith(ending)), name)


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Open a file for reading its bytes, decompressed.

    Raises
    ------
    OSError, EOFError, zlib.error
        If the file cannot be read, is damaged or cut short; the latter two while it is read.
    """
    name = path.lower()
    if name.endswith(".zst"):
        with pa.OSFile(path) as file, pa.CompressedInputStream(file, "zstd") as stream:
            yield cast(BinaryIO, stream)
    else:
        with gzip.open(path) if name.endswith(".gz") else Path(path).open("rb") as stream:
            yield cast(BinaryIO, stream)

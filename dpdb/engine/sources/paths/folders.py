"""Folders and globs whose files are one table: which are refused, and the columns that stand in names of folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from dpdb.engine.schema import refuse_duplicate_names
from dpdb.engine.sources.paths.files import key_values
from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG

__all__ = ["partitions", "refuse_logs", "refuse_underscores"]

# What such folders hold besides their Parquet files: a log that says which files are the table. The others were
# deleted or replaced, and reading them all counts rows that are no longer there.
_LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi"}
_NULL_PARTITIONS = ("", "__HIVE_DEFAULT_PARTITION__")


def refuse_logs(place: str, root: Path, paths: Iterable[str]) -> None:
    """Raise `SourceError` if the files belong to a table format with a log of its own (Delta, Iceberg, Hudi)."""
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
    found = [[(pair[1], _value(pair[2])) for pair in key_values(root, path)] for path in paths]
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

"""Files of parents' columns: a set of tables, many of which look into one parent, reads and writes it once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path

from dpdb.closing import Closing
from dpdb.files.new_file import WorkFolder
from dpdb.schema import TableSchema
from dpdb.sources import Source

__all__ = ["ParentFiles", "WrittenParent"]


@dataclass(frozen=True)
class WrittenParent:
    """Columns of a parent in a DuckDB file.

    Attributes
    ----------
    path : Path
    columns : tuple of str
        Those that it has.
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
    """What tables that are opened one after another share; they may read it until it is closed.

    Parameters
    ----------
    parent : path, optional
        Existing folder for temporary files.
    """

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

"""What was not read of files of text: for their owner alone, who is told in words.

The counts are exact, and so they are in the owner's log, in `dpdb exact` and in `dpdb schema`, and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_MOST_FILES = 5
_LINES = {
    "short": "too few cells (those that are missing are NULL)",
    "long": "more cells than the first line (rows of NULLs)",
    "unreadable": "quotes out of place (rows of NULLs)",
    "no_object": "no JSON object in UTF-8 (rows of NULLs)",
}


@dataclass
class FileFaults:
    """Counts of one file.

    Attributes
    ----------
    short, long, unreadable, no_object : int
        Lines that lacked cells; lines that are rows of NULLs, because of too many cells, of quotes out of place, or as
        they are no JSON object.
    first_line : int or None
        Of the first of these, from 1; comments are not counted.
    not_utf8, not_of_type : Counter of str
        By column: cells that are NULL because they are no text in their encoding (UTF-8, unless another one is
        declared), or not written as a value of the declared type.
    written : Counter of str
        By column with a declared type: its cells.
    """

    rows: int = 0
    short: int = 0
    long: int = 0
    unreadable: int = 0
    no_object: int = 0
    first_line: int | None = None
    not_utf8: Counter[str] = field(default_factory=Counter)
    not_of_type: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)

    def add(self, what: str, line: int) -> None:
        """Count a line, by the name of its fault."""
        setattr(self, what, getattr(self, what) + 1)
        if self.first_line is None:
            self.first_line = line

    @property
    def is_found(self) -> bool:
        """Return whether anything was not read."""
        return self.first_line is not None or bool(self.not_utf8 or self.not_of_type)

    @property
    def has_no_row(self) -> bool:
        """Return whether there are lines, and none of them is a row."""
        return 0 < self.rows == self.long + self.unreadable + self.no_object

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, ready for JSON."""
        lines = {name: getattr(self, name) for name in ("rows", *_LINES, "first_line")}
        return lines | {"not_utf8": dict(self.not_utf8), "not_of_type": dict(self.not_of_type)}


@dataclass
class Faults:
    """Counts of all files of a table, by the names by which the owner knows them, in their order."""

    files: dict[str, FileFaults] = field(default_factory=dict)
    current: FileFaults = field(default_factory=FileFaults, repr=False)

    def begin(self, name: str) -> FileFaults:
        """Begin another file, whose rows come next."""
        self.current = self.files[name] = FileFaults()
        return self.current

    def __bool__(self) -> bool:
        return any(file.is_found for file in self.files.values())

    @property
    def not_of_type(self) -> dict[str, int]:
        """By column: cells that are NULL because they are not written as a value of its declared type."""
        return dict(sum((file.not_of_type for file in self.files.values()), Counter()))

    @property
    def not_utf8(self) -> dict[str, int]:
        """By column: cells that are NULL because they are no text in their encoding."""
        return dict(sum((file.not_utf8 for file in self.files.values()), Counter()))

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, by column and by file with some, ready for JSON."""
        files = [{"file": name, **file.to_dict()} for name, file in self.files.items() if file.is_found]
        return {"not_of_type": self.not_of_type, "not_utf8": self.not_utf8, "files": files}

    def words(self) -> list[str]:
        """Return a sentence for each column and kind of cell, and for each file with bad lines."""
        cells = ("not_of_type", "value of its type"), ("not_utf8", "text in its encoding")
        return [*(words for kind, what in cells for words in self._of_cells(kind, what)), *self._of_lines()]

    def _of_cells(self, kind: str, what: str) -> Iterator[str]:
        plural = what.replace("value", "values")
        for column, cells in getattr(self, kind).items():
            shown = f"column {column!r}: 1 cell is no {what}" if cells == 1 else (
                f"column {column!r}: {cells:,} cells are no {plural}"
            )  # fmt: skip
            where = [f"{name} {getattr(file, kind)[column]:,}" for name, file in self.files.items()
                     if getattr(file, kind)[column]]  # fmt: skip
            yield f"{shown}, so NULL" + (f" ({_some(where)})" if len(self.files) > 1 else "")

    def _of_lines(self) -> Iterator[str]:
        for name, file in self.files.items():
            found = [
                f"{_lines(getattr(file, kind))} with {what}" for kind, what in _LINES.items() if getattr(file, kind)
            ]
            if found:
                yield f"{name}: of {_rows(file.rows)}, {', '.join(found)}; the first is line {file.first_line:,}"


def _lines(number: int) -> str:
    return "1 line" if number == 1 else f"{number:,} lines"


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def _some(names: list[str]) -> str:
    more = len(names) - _MOST_FILES
    return ", ".join(names[:_MOST_FILES]) + (f" and {more:,} more files" if more > 0 else "")

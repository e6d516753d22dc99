"""A public list of keys in a file: one key a line, as a cell of CSV."""

from __future__ import annotations

import csv
from pathlib import Path

from dpdb.errors import ParameterError
from dpdb.files.bounded_file import bounded_bytes, usable

MOST_KEYS = 100_000
_LARGEST = 64 << 20


def read_keys(path: Path) -> list[str]:
    """Return the keys of a file, in its order.

    Raises
    ------
    ParameterError
        If it cannot be read, is a named pipe or a folder, is not UTF-8, has more keys than a list may have, or a line
        has no key or several, or the key of another line.
    """
    with usable(path):
        content = bounded_bytes(path, _LARGEST, "a list of keys")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ParameterError(f"{path}: line {line} is not UTF-8; write the list in UTF-8") from None
    if "\0" in text:
        raise ParameterError(f"{path}: line {text[: text.index(chr(0))].count(chr(10)) + 1} has a NUL character")
    lines: dict[str, int] = {}
    rows = csv.reader(text.splitlines(keepends=True), strict=True)
    try:
        for row in rows:
            if len(row) != 1 or not row[0]:
                found = f"has {len(row)} cells" if len(row) > 1 else "is empty, and a list has no NULL"
                raise ParameterError(
                    f"{path}: line {rows.line_num} {found}: expected one key a line, in quotes if it has a comma"
                )
            if (first := lines.setdefault(row[0], rows.line_num)) != rows.line_num:
                raise ParameterError(f"{path}: lines {first} and {rows.line_num} have the same key")
            if len(lines) > MOST_KEYS:
                raise ParameterError(f"{path} has more than {MOST_KEYS:,} keys")
    except csv.Error as error:
        raise ParameterError(f"{path}: line {rows.line_num} is no cell of CSV ({error})") from None
    if not lines:
        raise ParameterError(f"{path} has no key")
    return [*lines]

"""CSV that a spreadsheet opens without computing: text that looks like a formula gets a quote before it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence

__all__ = ["csv_text"]

# Also as full-width characters, which spreadsheets read alike.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
# A number by itself computes nothing, and stays one.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_END = "\r\n"


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a header line and rows; None is an empty cell, and values other than text stay unchanged."""
    lines = _Lines()
    writer = csv.writer(lines, lineterminator=_END)
    writer.writerow([_cell(name) for name in header])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return "".join(lines)


class _Lines(list[str]):
    """The lines of a CSV writer, which quotes only cells that hold a character of its own line end."""

    def write(self, line: str) -> None:
        self.append(line.removesuffix(_END) + "\n")


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value

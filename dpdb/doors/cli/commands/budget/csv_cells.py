"""CSV that a spreadsheet opens without computing: text that it would take for a formula gets a quote before it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

__all__ = ["csv_text"]

# Spreadsheets set for Japanese or Chinese take the wide forms, too.
_SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
_FORMULA = (*_SIGNS, "\t", "\r", "\n")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a header line and rows, without the last line break; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue().removesuffix("\n")


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value

"""Results of statements as a table of text, CSV, JSON, Parquet or Arrow.

A spreadsheet opens the CSV without computing: text that looks like a formula gets a quote before it.
"""

from __future__ import annotations

import csv
import json
import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa

from dpdb.names import aligned

_PLAN = ["explain_key", "explain_value"]
_NARROWEST = 30  # of values beside their names, however narrow the terminal is


def as_text(table: pa.Table, width: int) -> str:
    """Return rows under headings; one field per line where that would be wider than `width`."""
    if table.column_names == _PLAN:
        return "\n".join(f"{row['explain_key']}\n{row['explain_value'].rstrip()}" for row in table.to_pylist())
    names = _names(table)
    columns = [[_shown(value) for value in column.to_pylist()] for column in table.columns]
    widths = [max(map(len, [name, *cells])) for name, cells in zip(names, columns, strict=True)]
    if sum(widths) + 2 * len(widths) > width:
        return _one_field_per_line(names, columns, table.num_rows, width)
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    sides = "".join("r" if any(is_kind(field.type) for is_kind in kinds) else "l" for field in table.schema)
    lines = aligned([names, ["-" * w for w in widths], *zip(*columns, strict=True)], sides or "l")
    return "\n".join([*lines, _counted(table.num_rows)])


def as_csv(table: pa.Table) -> str:
    """Return a header line and rows; NULL is an empty cell, and no cell is a formula."""
    columns = [[_flat(value) for value in column.to_pylist()] for column in table.columns]
    return csv_text(_names(table), zip(*columns, strict=True))


def as_json(tables: Sequence[pa.Table]) -> str:
    """Return one document: for each statement, its rows as objects."""
    results = []
    for table in tables:
        names = _names(table)
        columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
        rows = [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]
        results.append({"columns": names, "rows": rows})
    return json.dumps({"results": results}, indent=2, allow_nan=False)


def as_parquet(table: pa.Table) -> bytes:
    """Return the bytes of a Parquet file."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(_storable(table), sink)
    return bytes(sink.getvalue())


def as_arrow(table: pa.Table) -> bytes:
    """Return the bytes of an Arrow stream."""
    sink = pa.BufferOutputStream()
    stored = _storable(table)
    with pa.ipc.new_stream(sink, stored.schema) as writer:
        writer.write_table(stored)
    return bytes(sink.getvalue())


def _names(table: pa.Table) -> list[str]:
    """Return the column names, changed where two are equal: rows become objects."""
    names: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for wanted in table.column_names:
        name = wanted
        while name in names:
            numbers[wanted] = numbers.get(wanted, 0) + 1
            name = f"{wanted}_{numbers[wanted]}"
        names[name] = None
    return list(names)


def _storable(table: pa.Table) -> pa.Table:
    """Return the table with distinct names, and with intervals as text: Parquet has no such type."""
    columns = [
        pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())
        if pa.types.is_interval(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=_names(table))


def _one_field_per_line(names: Sequence[str], columns: Sequence[Sequence[str]], rows: int, width: int) -> str:
    widest = max(map(len, names))
    room = max(width - widest - 2, _NARROWEST)
    lines = []
    for row in range(rows):
        lines.append(f"-- row {row + 1}")
        for name, cells in zip(names, columns, strict=True):
            first, *others = [part for line in cells[row].split("\n") for part in _wrapped(line, room)]
            lines += [f"{name.ljust(widest)}  {first}", *(f"{' ' * widest}  {other}" for other in others)]
    return "\n".join([*lines, _counted(rows)])


def _wrapped(line: str, room: int) -> list[str]:
    """Break a long line at its blanks; a longer word stays whole."""
    if len(line) <= room:
        return [line]
    return textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) or [line]


def _counted(rows: int) -> str:
    return "(1 row)" if rows == 1 else f"({rows:,} rows)"


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.12g}"
    text = value if isinstance(value, str) else str(_flat(value))
    if text.isprintable():
        return text
    # Public files may hold characters that would steer a terminal.
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def _flat(value: Any) -> Any:
    """Return a value as a cell of CSV: nested values become JSON."""
    plain = _plain(value)
    return json.dumps(plain) if isinstance(plain, (dict, list)) else plain


def _plain(value: Any) -> Any:  # noqa: PLR0911 - one line per type
    """Return a value as JSON has it; a number that is not finite becomes null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


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

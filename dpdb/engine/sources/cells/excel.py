"""Excel workbooks: one sheet is one table, read by calamine; its first row has the names of the columns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

import pyarrow as pa

from dpdb.engine.duckdb.database import Database
from dpdb.engine.schema import TableSchema, refuse_duplicate_names
from dpdb.engine.sources.cells.cell_files import CellFiles, text_batch
from dpdb.engine.sources.csv.lines import Faults
from dpdb.engine.sources.extras import needed
from dpdb.engine.sources.files import Files
from dpdb.engine.sources.source import Source, Wanted, text_column, without_rows
from dpdb.engine.sources.text_columns import declared_types, named_columns
from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG

__all__ = ["ExcelFile"]

_BATCH = 50_000
_ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


class ExcelFile(CellFiles):
    """A workbook (.xlsx, .xls, .xlsb, .ods), of which one sheet is read.

    The names of the columns are the first row's; cells left of the first name and right of the last one are dropped,
    and an empty one between them is named by its place from the first. A row without any cell is no row. Cells are
    texts until the owner gives their columns types, as in CSV files: the type of a cell is its row's, not that of its
    column. A whole number is written without a decimal point, a date as 2026-01-31.
    """

    kind = "excel"
    title = "Excel"
    endings = " (.xlsx, .xls, .ods)"
    known_by_name = True
    many = False

    def begins(self, head: bytes) -> bool:
        """Return False: other kinds of files begin like a workbook, too."""
        del head
        return False

    def is_named(self, path: str) -> bool:
        """Say whether the name is that of a workbook."""
        return path.lower().endswith(_ENDINGS)

    def describe(self, database: Database, files: Files, wanted: Wanted) -> tuple[Source, bool]:
        """Read the first row; see `FileSource`."""
        names, _ = _header(files, _rows(files, wanted.table))
        kinds = declared_types(database, files.place, names, wanted.types)
        schema = TableSchema(tuple(text_column(name, kinds) for name in names))
        return Source(files.place, schema, without_rows(schema)), False

    def batches(self, files: Files, schema: TableSchema, wanted: Wanted, faults: Faults) -> Iterator[pa.RecordBatch]:
        """Read the rows below the first one; see `CellFiles`."""
        del faults
        found = _rows(files, wanted.table)
        names, first = _header(files, found)
        texts = ([_text(cell) for cell in row[first : first + len(names)]] for row in found[1:])
        rows = [row for row in texts if any(cell is not None for cell in row)]
        for start in range(0, len(rows), _BATCH):
            yield text_batch(schema, rows[start : start + _BATCH])


def _rows(files: Files, sheet: str | None) -> list[list[Any]]:
    calamine = needed("python_calamine", "excel", files.place)
    try:
        book = calamine.CalamineWorkbook.from_path(files.paths[0])
        names = list(book.sheet_names)
        chosen = [name for name in names if sheet is None or name.casefold() == sheet.casefold()]
        if len(chosen) == 1:
            rows: list[list[Any]] = book.get_sheet_by_name(chosen[0]).to_python()
            return rows
    except Exception as error:  # calamine's errors have no common class but this, and may print cells
        OWNER_LOG.error("%s: %s", files.place, error)
        raise SourceError(f"{files.place}: cannot be read as a workbook; the reason is in the owner's log") from None
    known = ", ".join(names)
    problem = (
        f"name one sheet with table= (it has: {known})" if sheet is None else f"no sheet {sheet!r} (it has: {known})"
    )
    raise SourceError(f"{files.place}: {problem}")


def _header(files: Files, rows: list[list[Any]]) -> tuple[tuple[str, ...], int]:
    """Return the names and the number of cells left of them, of which calamine drops those that no row fills."""
    names = [_text(cell) or "" for cell in rows[0]] if rows else []
    named = [number for number, name in enumerate(names) if name.strip()]
    first = named[0] if named else 0
    names = names[first : named[-1] + 1] if named else []
    if not names:
        raise SourceError(f"{files.place}: the first row of the sheet must name the columns")
    refuse_duplicate_names(found := named_columns(names))
    return found, first


def _text(cell: Any) -> str | None:
    """Write a cell as text; an empty one is NULL."""
    match cell:
        case bool():
            return "true" if cell else "false"
        case float():
            return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
        case datetime():
            return cell.isoformat(" ")
        case date() | time():
            return cell.isoformat()
        case timedelta():
            return str(cell.total_seconds())
        case _:
            text = str(cell)
            return text if text != "" else None

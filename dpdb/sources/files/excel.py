"""Excel workbooks: one sheet is one table, read by calamine; its first row has the names of the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

import pyarrow as pa

from dpdb.database import Database
from dpdb.errors import SourceError
from dpdb.schema import TableSchema, refuse_duplicate_names
from dpdb.sources.cells.faults import Faults
from dpdb.sources.files.cell_files import CellFiles, declared_source, text_batch
from dpdb.sources.files.workbook import UnreadableWorkbookError, sheet_rows
from dpdb.sources.paths import Files
from dpdb.sources.source import Source, Wanted, named_columns, needed, reason_in_log

_BATCH = 50_000
_ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


class ExcelFile(CellFiles):
    """A workbook (.xlsx, .xls, .xlsb, .ods); one of its sheets is read.

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

    def is_named(self, path: str) -> bool:
        """Say whether the name is that of a workbook."""
        return path.lower().endswith(_ENDINGS)

    def describe(self, database: Database, files: Files, wanted: Wanted) -> Source:
        """Read the first row; see `FileSource`."""
        with _reading(files, wanted.table) as (names, _, _):
            pass
        return declared_source(database, files, names, wanted)

    def batches(self, files: Files, schema: TableSchema, wanted: Wanted, faults: Faults) -> Iterator[pa.RecordBatch]:
        """Read the rows below the first one; see `CellFiles`."""
        faults.begin(files.place)
        with _reading(files, wanted.table) as (names, left, found):
            cells = (row[left : left + len(names)] for row in found)
            rows = (row for row in cells if any(cell is not None for cell in row))
            while some := list(islice(rows, _BATCH)):
                yield text_batch(schema, some)


@contextmanager
def _reading(files: Files, sheet: str | None) -> Iterator[tuple[tuple[str, ...], int, Iterator[list[str | None]]]]:
    """Open a sheet; yield the names of its columns, the number of cells left of them, and the rows below."""
    needed("python_calamine", "excel", files.place)
    problem = f"{files.place}: cannot be read as a workbook"
    with reason_in_log(problem, UnreadableWorkbookError, OSError), sheet_rows(files.paths[0], sheet) as (sheets, rows):
        first = next(rows, None)
        if first is None:
            _refuse_sheet(files, sheet, sheets)
        names, left = _header(files, first or [])
        yield names, left, rows


def _refuse_sheet(files: Files, sheet: str | None, names: Sequence[str]) -> None:
    """Refuse a workbook in which none or several sheets are meant; a sheet that is meant may be empty."""
    meant = [name for name in names if sheet is None or name.casefold() == sheet.casefold()]
    if len(meant) != 1:
        known = ", ".join(names)
        problem = "name one sheet with table=" if sheet is None else f"no sheet {sheet!r}"
        raise SourceError(f"{files.place}: {problem} (it has: {known})")


def _header(files: Files, row: Sequence[str | None]) -> tuple[tuple[str, ...], int]:
    """Return the names and the number of empty cells left of them; calamine drops the columns that no row fills."""
    names = [cell or "" for cell in row]
    named = [number for number, name in enumerate(names) if name.strip()]
    first = named[0] if named else 0
    names = names[first : named[-1] + 1] if named else []
    if not names:
        raise SourceError(f"{files.place}: the first row of the sheet must name the columns")
    refuse_duplicate_names(found := named_columns(names))
    return found, first

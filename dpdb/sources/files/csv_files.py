"""CSV files, known by their names: text, copied in the types that the owner declares.

They are a stream of rows whose columns are all text, read once, when the source is opened, block by block. Nothing is
guessed from the rows; `csv_lines` and `line_rows` have the rules by which a text is rows, `csv_header` where these
begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import csv as arrow_csv

from dpdb.database import Database
from dpdb.errors import OWNER_LOG, SourceError
from dpdb.schema import TableSchema, refuse_duplicate_names
from dpdb.sources.cells.faults import Faults, FileFaults
from dpdb.sources.csv_lines import CsvLines, Mended, UnreadableError, named_delimiter
from dpdb.sources.files.cell_files import CellFiles, declared_source
from dpdb.sources.files.csv_header import AS_USUAL, begun
from dpdb.sources.paths import DAMAGED, FileColumns, Files
from dpdb.sources.source import Source, Wanted, named_columns, reason_in_log, refuse_table_name

_AS_TOLD = Wanted()
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class CsvColumns(FileColumns):
    """The columns of CSV files.

    Attributes
    ----------
    read_as : str
        See `Source.read_as`: the delimiter of a table of one column, unless it is the comma. The names of several
        columns tell where their header line was cut; one name is the same, cut at whatever it has not.
    written : str
        How it is written, as far as that is declared; see `Writing.state`.
    """

    read_as: str = ""
    written: str = ""


def csv_columns(files: Files, wanted: Wanted = _AS_TOLD) -> CsvColumns:
    """Return the columns of the header lines; no row is read.

    Raises
    ------
    SourceError
        If a header line cannot be read, names no column or two alike, or the files' header lines differ. A single cell
        of it may be empty; see `named_columns`.
    """
    headers = []
    for path in files.paths:
        with begun(files, path, wanted) as file:
            headers.append(file)
    if any(header.names != headers[0].names for header in headers):
        raise SourceError(f"{files.place}: its CSV files have different header lines; the columns must be the same")
    names = named_columns(headers[0].names, files.keys)
    refuse_duplicate_names(names)
    found = files.columns(names)
    marks = "".join(sorted({header.delimiter.decode() for header in headers}))
    read_as = f"; delimiter {marks!r}" if len(names) == 1 and marks != "," else ""
    return CsvColumns(found.own, found.folders, read_as, (wanted.writing or AS_USUAL).state(marks))


def csv_batches(
    files: Files, columns: FileColumns, faults: Faults, wanted: Wanted = _AS_TOLD
) -> Iterator[pa.RecordBatch]:
    """Read all rows as text; an empty cell is NULL.

    Parameters
    ----------
    faults : Faults
        Counts what becomes NULL by the rule for bad lines.

    Raises
    ------
    SourceError
        If a file cannot be read as rows; where, is in the owner's log.
    """
    schema = pa.schema([(name, pa.string()) for name in (*columns.own, *columns.folders)])
    for path, partition in zip(files.paths, files.partitions, strict=True):
        values = [partition[files.keys.index(key)] for key in columns.folders]
        own = faults.begin(files.name_of(path))
        try:
            with reason_in_log(f"{files.place}: is cut short or damaged", *DAMAGED, where=path):
                for cells in _ahead(_cells(files, path, columns.own, own, wanted)):
                    folders = [pa.repeat(pa.scalar(value, pa.string()), cells.num_rows) for value in values]
                    yield from pa.table([*cells.columns, *folders], schema=schema).to_batches()
        except UnreadableError as error:
            OWNER_LOG.error("%s, %s", path, error)
            raise SourceError(
                f"{files.place}: cannot be read as CSV: a quote is missing or out of place, or a row is too long; "
                "which line is in the owner's log"
            ) from None


def _cells(files: Files, path: str, columns: Sequence[str], faults: FileFaults, wanted: Wanted) -> Iterator[pa.Table]:
    """Read the rows of one file, without the header line, as tables of text columns."""
    with begun(files, path, wanted) as file:
        lines = file.lines(faults)
        rest = b""
        for block in file.blocks():
            rows, rest = lines.split(rest + block)
            yield from _tables(rows, lines, columns)
        yield from _tables(lines.last(rest), lines, columns)


def _ahead(items: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Make the next item while the last one is used."""
    with ThreadPoolExecutor(1) as worker:
        pending = worker.submit(next, items, None)
        while (item := pending.result()) is not None:
            pending = worker.submit(next, items, None)
            yield item


def _tables(rows: bytes, lines: CsvLines, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Read complete rows, into one table or none."""
    if not lines.is_plain(rows):
        found = _read(lines.mended(rows), lines, columns)
    else:
        try:  # Arrow refuses rows of another number of cells, and nothing else can be wrong here
            found = _read(Mended(rows), lines, columns)
        except pa.ArrowInvalid:
            found = _read(lines.mended(rows), lines, columns)
    lines.line += rows.count(lines.end)
    yield from found


def _read(mended: Mended, lines: CsvLines, columns: Sequence[str]) -> list[pa.Table]:
    """Read rows that have the right number of cells each."""
    rows, meaning = mended
    one = lines.columns == 1
    if not (rows if one else rows.strip(b"\r\n")):  # empty lines only
        return []
    names = [str(number) for number in range(lines.columns)]
    if rows[:1] == _MARK[:1]:  # Arrow would take the first row's character for a mark of the text, and drop it
        rows = _MARK + rows

    def read(kind: pa.DataType) -> pa.Table:
        return arrow_csv.read_csv(
            pa.py_buffer(rows),
            read_options=arrow_csv.ReadOptions(column_names=names, block_size=len(rows) + 1),
            parse_options=arrow_csv.ParseOptions(
                delimiter=lines.delimiter.decode(), newlines_in_values=True, ignore_empty_lines=not one
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, kind),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )

    try:
        return [_meant(read(pa.string()), meaning)]
    except pa.ArrowInvalid:  # some cell is not UTF-8
        cells = zip(columns, _meant(read(pa.binary()), meaning).columns, strict=True)
        return [pa.table([_texts(name, column, lines.faults) for name, column in cells], names=names)]


def _meant(cells: pa.Table, meaning: bytes | None) -> pa.Table:
    """Return cells in which each byte is what it stands for: ASCII for ASCII, so that text stays text."""
    if meaning is None:
        return cells

    def translated(chunk: pa.Array) -> pa.Array:
        valid, places, data = chunk.buffers()
        said = None if data is None else pa.py_buffer(data.to_pybytes().translate(meaning))
        return pa.Array.from_buffers(chunk.type, len(chunk), [valid, places, said], chunk.null_count, chunk.offset)

    columns = [pa.chunked_array(map(translated, column.chunks), column.type) for column in cells.columns]
    return pa.table(columns, schema=cells.schema)


def _texts(name: str, column: pa.ChunkedArray, faults: FileFaults) -> pa.ChunkedArray:
    """Decode cells; those that are not UTF-8 become NULL."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [None if cell is None else _text(cell) for cell in column.to_pylist()]
        decoded = pa.chunked_array([pa.array(texts, pa.string())])
        if lost := decoded.null_count - column.null_count:
            faults.not_utf8[name] += lost
        return decoded


def _text(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


class CsvFiles(CellFiles):
    """A CSV file, or a folder or glob of them."""

    kind = "csv"
    title = "CSV"
    known_by_name = True
    endings = " (.csv, .tsv, also .gz, .zst)"
    takes_delimiter = True
    rows_are = "each has more cells than the first line, or quotes out of place"

    def is_named(self, path: str) -> bool:
        """Say whether the name ends in .csv or .tsv, also compressed."""
        return named_delimiter(path) is not None

    def describe(self, database: Database, files: Files, wanted: Wanted) -> Source:
        """Read the header lines; see `FileSource`."""
        refuse_table_name(files.place, wanted.table)
        named = csv_columns(files, wanted)
        names = (*named.own, *named.folders)
        return declared_source(database, files, names, wanted, read_as=named.read_as, written=named.written)

    def batches(self, files: Files, schema: TableSchema, wanted: Wanted, faults: Faults) -> Iterator[pa.RecordBatch]:
        """Read all rows by the rule of `lines`; see `CellFiles`."""
        del schema
        return csv_batches(files, csv_columns(files, wanted), faults, wanted)

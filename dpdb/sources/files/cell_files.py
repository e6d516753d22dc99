"""`CellFiles`: files that are read once, as text, and copied in the types of their columns."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from dpdb.database import Database
from dpdb.errors import OWNER_LOG, SourceError
from dpdb.names import in_double_quotes
from dpdb.schema import TableSchema
from dpdb.sources.cells.faults import Faults
from dpdb.sources.cells.typed import reading, typed
from dpdb.sources.kinds import FileSource
from dpdb.sources.paths import Files
from dpdb.sources.source import (
    Source,
    Wanted,
    copied,
    declared_formats,
    declared_nulls,
    declared_types,
    text_column,
    unreadable,
    without_rows,
)

_STREAM = exp.to_table("source_stream")


class CellFiles(FileSource):
    """A kind of files whose rows come as texts, one for each column; what is no value of its type is NULL.

    Attributes
    ----------
    rows_are : str
        What a line must be to be a row, for messages.
    """

    rows_are: ClassVar[str] = ""
    has_cells = True

    @abstractmethod
    def batches(self, files: Files, schema: TableSchema, wanted: Wanted, faults: Faults) -> Iterator[pa.RecordBatch]:
        """Read all rows, each by itself: columns of text in the order of the schema.

        Parameters
        ----------
        wanted
            What the owner has said of the table: its name, types, delimiter.
        faults
            Counts the cells and rows that cannot be read, for the owner's log.

        Raises
        ------
        SourceError
            If the files cannot be read as rows.
        """

    def read(self, database: Database, source: Source, files: Files, wanted: Wanted) -> Source:
        """Copy the rows, in the types of their columns."""
        faults = Faults()
        refusals: list[SourceError] = []
        kinds = {c.name: c.declared_type for c in source.schema.columns if not c.is_untyped and c.type is not None}
        formats = declared_formats(wanted.types)
        cells = [
            exp.alias_(typed(exp.column(name, quoted=True), kinds.get(name), formats.get(name)), name, quoted=True)
            for name in source.schema.names
        ]
        scan = exp.select(*cells).from_(_STREAM.copy()).subquery("cell_row")

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                for batch in with_nulls(self.batches(files, source.schema, wanted, faults), wanted):
                    faults.current.rows += len(batch)
                    for name in kinds:
                        faults.current.written[name] += len(batch) - batch.column(name).null_count
                    yield batch
                _refuse_without_rows(files, faults, self.rows_are)
            except SourceError as error:
                refusals.append(error)
                raise

        try:
            with database.arrow_table(
                _STREAM.name, pa.RecordBatchReader.from_batches(_texts(source.schema), batches())
            ):
                copy = copied(database, replace(source, scan=scan))
        except SourceError:
            raise (refusals[0] if refusals else unreadable(source)) from None
        _count_lost(database, copy, faults)
        if faults:
            OWNER_LOG.warning("%s: not read: %s", files.place, "; ".join(faults.words()))
        return replace(source, scan=copy.scan, faults=faults, by_column=True)


def with_nulls(batches: Iterator[pa.RecordBatch], wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Give batches whose cells are NULL where they are a text that is declared to be, in all columns or in this one.

    Blanks around it do not count.

    Parameters
    ----------
    batches
        Columns of text.
    wanted
        What the owner has said of the table.
    """
    of_all = () if wanted.writing is None else wanted.writing.nulls
    own = declared_nulls(wanted.types)
    if not of_all and not own:
        yield from batches
        return
    for batch in batches:
        columns = [
            _without(column, (*of_all, *own.get(name, ())))
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        yield pa.record_batch(columns, schema=batch.schema)


def _without(column: pa.Array, texts: Sequence[str]) -> pa.Array:
    if not texts:
        return column
    nulls = pa.array([text.strip(" \t") for text in texts], pa.string())
    return pc.if_else(pc.is_in(pc.utf8_trim(column, " \t"), nulls), pa.scalar(None, pa.string()), column)


def _refuse_without_rows(files: Files, faults: Faults, rows_are: str) -> None:
    found = [name for name, file in faults.files.items() if file.has_no_row]
    if found:
        OWNER_LOG.error("%s: no line is a row: %s", files.place, "; ".join(faults.words()))
        raise no_row(files.place, rows_are, is_one=len(files.paths) == 1)


def no_row(place: str, rows_are: str, *, is_one: bool) -> SourceError:
    """Make the error of a file that has lines, none of which is a row: it is no such file, or damaged.

    Parameters
    ----------
    place, rows_are
        What messages call the source, and what a line must be.
    is_one
        Whether it is the only file.
    """
    which = "no line of it is a row" if is_one else "of one of its files no line is a row"
    return SourceError(f"{place}: {which}: {rows_are}; what its lines are is in the owner's log")


def _count_lost(database: Database, copy: Source, faults: Faults) -> None:
    """Count, of each file and typed column, the cells that have no value in the copy, whose rows are in their order."""
    files = [file for file in faults.files.values() if file.rows]
    names = sorted({name for file in files for name, cells in file.written.items() if cells})
    if not names:
        return
    starts = [0, *accumulate(file.rows for file in files)][:-1]
    # Rows of the copy are in the order of the stream, by which its files are told apart.
    cells = ", ".join(f"{in_double_quotes(name)} AS c{at}" for at, name in enumerate(names))
    counts = ", ".join(f"count(c{at})" for at in range(len(names)))
    listed = ", ".join(f"({place}, {start})" for place, start in enumerate(starts))
    rows = f"(SELECT {cells}, row_number() OVER () - 1 AS r FROM {copy.scan.sql('duckdb')})"
    found = database.rows(
        f"SELECT place, {counts} FROM {rows} AS copy_row ASOF JOIN (VALUES {listed}) AS file(place, start) "
        "ON r >= start GROUP BY place"
        if len(files) > 1
        else f"SELECT 0, {counts} FROM {rows} AS copy_row"
    )
    for place, *kept in found:
        file = files[place]
        file.not_of_type = Counter(
            {name: lost for name, cells in zip(names, kept, strict=True) if (lost := file.written[name] - int(cells))}
        )


def declared_source(
    database: Database,
    files: Files,
    names: Sequence[str],
    wanted: Wanted,
    *,
    read_as: str = "",
    written: str | None = None,
) -> Source:
    """Describe files by the names of their columns, which are text unless the owner declares a type.

    Parameters
    ----------
    wanted
        What the owner has said of the table.
    written
        What a ledger must know of how all cells are written. Default: what is declared.
    """
    if written is None:
        written = "" if wanted.writing is None else wanted.writing.state("")
    kinds = declared_types(database, files.place, names, wanted.types)
    schema = TableSchema(tuple(text_column(name, kinds) for name in names))
    return Source(
        files.place,
        schema,
        without_rows(schema),
        read_as=read_as,
        reading=reading(kinds.values(), wanted.types, written),
    )


def text_batch(
    schema: TableSchema, rows: Sequence[Sequence[str | None]], partition: Sequence[str | None] = ()
) -> pa.RecordBatch:
    """Put rows of texts into a batch, and beside each of them the values that the file's folders name.

    Parameters
    ----------
    rows
        The texts of each row; None for NULL.
    partition
        The values that the names of the file's folders have. Default: none.
    """
    columns = [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)]
    columns += [pa.repeat(pa.scalar(value, pa.string()), len(rows)) for value in partition]
    return pa.record_batch(columns, schema=_texts(schema))


def _texts(schema: TableSchema) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in schema.names])

"""`CellFiles`: files that are read once, as text, and copied in the types of their columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from dpdb.database import Database
from dpdb.errors import OWNER_LOG, SourceError
from dpdb.schema import TableSchema
from dpdb.sources.cells.typed import reading, typed
from dpdb.sources.csv_lines import Faults
from dpdb.sources.files import Files
from dpdb.sources.kinds import FileSource
from dpdb.sources.source import Source, Wanted, copied, declared_types, text_column, unreadable, without_rows

_STREAM = exp.to_table("source_stream")


class CellFiles(FileSource):
    """A kind of files whose rows come as texts, one for each column; what does not convert to its type is NULL."""

    @abstractmethod
    def batches(self, files: Files, schema: TableSchema, wanted: Wanted, faults: Faults) -> Iterator[pa.RecordBatch]:
        """Read all rows, each by itself: columns of text in the order of the schema.

        Parameters
        ----------
        files
            The files of the source.
        schema
            Its columns.
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
        """Copy the rows, in the types of their columns.

        Parameters
        ----------
        database, source, files, wanted
            As of `FileSource.read`.
        """
        faults = Faults()
        refusals: list[SourceError] = []
        kinds = {c.name: c.declared_type for c in source.schema.columns if not c.is_untyped and c.type is not None}
        cells = [
            exp.alias_(typed(exp.column(name, quoted=True), kinds.get(name)), name, quoted=True)
            for name in source.schema.names
        ]
        written = dict.fromkeys(kinds, 0)
        scan = exp.select(*cells).from_(_STREAM.copy()).subquery("cell_row")

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                for batch in self.batches(files, source.schema, wanted, faults):
                    for name in written:
                        written[name] += len(batch) - batch.column(name).null_count
                    yield batch
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
        faults.not_of_type = _lost(database, copy, written)
        if faults != Faults():
            OWNER_LOG.warning("%s: read as NULL, by the rules for bad lines and cells: %s", files.place, faults)
        return replace(source, scan=copy.scan, faults=faults)


def _lost(database: Database, copy: Source, written: Mapping[str, int]) -> dict[str, int]:
    """Return for each typed column how many of its cells have no value in the copy, where there are such."""
    if not any(written.values()):
        return {}
    counts = [exp.Count(this=exp.column(name, quoted=True)) for name in written]
    [kept] = database.rows(exp.select(*counts).from_(copy.scan.copy()))
    lost = {name: cells - int(found) for (name, cells), found in zip(written.items(), kept, strict=True)}
    return {name: cells for name, cells in lost.items() if cells}


def declared_source(
    database: Database, files: Files, names: Sequence[str], wanted: Wanted, read_as: str = ""
) -> Source:
    """Describe files by the names of their columns, which are text unless the owner declares a type.

    Parameters
    ----------
    database
        Its parser reads the types.
    files
        The files.
    names
        The columns.
    wanted
        What the owner has said of the table.
    read_as
        As in `Source`.
    """
    kinds = declared_types(database, files.place, names, wanted.types)
    schema = TableSchema(tuple(text_column(name, kinds) for name in names))
    return Source(files.place, schema, without_rows(schema), read_as=read_as, reading=reading(kinds.values()))


def text_batch(
    schema: TableSchema, rows: Sequence[Sequence[str | None]], partition: Sequence[str | None] = ()
) -> pa.RecordBatch:
    """Put rows of texts into a batch, and beside each of them the values that the file's folders name.

    Parameters
    ----------
    schema
        Columns of the source.
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

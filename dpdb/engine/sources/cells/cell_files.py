"""`CellFiles`: files that are read once, as text, and copied in the types of their columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from dpdb.engine.duckdb.database import Database
from dpdb.engine.schema import TableSchema
from dpdb.engine.sources.csv.lines import Faults
from dpdb.engine.sources.file_source import FileSource
from dpdb.engine.sources.files import Files
from dpdb.engine.sources.source import Source, Wanted, copied, unreadable
from dpdb.engine.sources.text_columns import typed
from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG

__all__ = ["CellFiles", "text_batch"]

_STREAM = exp.to_table("source_stream")


class CellFiles(FileSource):
    """A kind of files whose rows come as texts, one for each column; what does not convert to its type is NULL."""

    @abstractmethod
    def batches(self, files: Files, schema: TableSchema, wanted: Wanted, faults: Faults) -> Iterator[pa.RecordBatch]:
        """Read all rows, each by itself: columns of text in the order of the schema.

        Raises
        ------
        SourceError
            If the files cannot be read as rows.
        """

    def read(self, database: Database, source: Source, files: Files, wanted: Wanted) -> Source:
        """Copy the rows, in the types of their columns."""
        faults = Faults()
        refusals: list[SourceError] = []
        cells = []
        for column in source.schema.columns:
            kind = None if column.is_untyped or column.type is None else column.declared_type
            cells.append(exp.alias_(typed(exp.column(column.name, quoted=True), kind), column.name, quoted=True))
        scan = exp.select(*cells).from_(_STREAM.copy()).subquery("cell_row")

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                yield from self.batches(files, source.schema, wanted, faults)
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
        if faults != Faults():
            OWNER_LOG.warning("%s: read by the rule for bad lines: %s", files.place, faults)
        return replace(source, scan=copy.scan, faults=faults)


def text_batch(
    schema: TableSchema, rows: Sequence[Sequence[str | None]], partition: Sequence[str | None] = ()
) -> pa.RecordBatch:
    """Put rows of texts into a batch, and beside each of them the values that the file's folders name."""
    columns = [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)]
    columns += [pa.repeat(pa.scalar(value, pa.string()), len(rows)) for value in partition]
    return pa.record_batch(columns, schema=_texts(schema))


def _texts(schema: TableSchema) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in schema.names])

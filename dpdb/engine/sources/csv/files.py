"""CSV files, known by their names: text, copied in the types that the owner declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from dpdb.engine.duckdb.database import Database
from dpdb.engine.schema import TableSchema, TypeOrigin
from dpdb.engine.sources.csv import rows as csv_rows
from dpdb.engine.sources.csv.lines import Faults
from dpdb.engine.sources.file_source import FileSource
from dpdb.engine.sources.files import Files
from dpdb.engine.sources.source import Source, Wanted, copied, text_column, unreadable, without_rows
from dpdb.engine.sources.table_choice import refuse_table_name
from dpdb.engine.sources.text_columns import declared_types, typed
from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG

__all__ = ["CsvFiles"]

_STREAM = exp.to_table("source_stream")


class CsvFiles(FileSource):
    """A CSV file, or a folder or glob of them."""

    kind = "csv"
    title = "CSV"
    known_by_name = True
    endings = " (.csv, .tsv, also .gz)"

    def begins(self, head: bytes) -> bool:
        """Return False: text begins with anything."""
        del head
        return False

    def is_named(self, path: str) -> bool:
        """Say whether the name ends in .csv or .tsv, also with .gz."""
        return csv_rows.csv_delimiter(path) is not None

    def describe(self, database: Database, files: Files, wanted: Wanted) -> tuple[Source, bool]:
        """Read the header lines; see `FileSource`."""
        refuse_table_name(files.place, wanted.table)
        named = csv_rows.csv_columns(files)
        names = (*named.own, *named.folders)
        kinds = declared_types(database, files.place, names, wanted.types)
        schema = TableSchema(tuple(text_column(name, kinds) for name in names))
        return Source(files.place, schema, without_rows(schema)), False

    def read(self, database: Database, source: Source, files: Files) -> Source:
        """Copy the rows, in their declared types."""
        faults = Faults()
        refusals: list[SourceError] = []
        cells = [
            exp.alias_(
                typed(
                    exp.column(column.name, quoted=True),
                    column.declared_type if column.origin is TypeOrigin.DECLARED else None,
                ),
                column.name,
                quoted=True,
            )
            for column in source.schema.columns
        ]
        scan = exp.select(*cells).from_(_STREAM.copy()).subquery("csv_row")
        schema = pa.schema([(name, pa.string()) for name in source.schema.names])

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                yield from csv_rows.csv_batches(files, csv_rows.csv_columns(files), faults)
            except SourceError as error:
                refusals.append(error)
                raise

        try:
            with database.arrow_table(_STREAM.name, pa.RecordBatchReader.from_batches(schema, batches())):
                copy = copied(database, replace(source, scan=scan))
        except SourceError:
            raise (refusals[0] if refusals else unreadable(source)) from None
        if faults != Faults():
            OWNER_LOG.warning("%s: read by the rule for bad lines: %s", files.place, faults)
        return replace(source, scan=copy.scan, faults=faults)

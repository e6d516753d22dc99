"""CSV files, known by their names: text, copied in the types that the owner declares."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from dpdb.database import Database
from dpdb.schema import TableSchema
from dpdb.sources.cells.cell_files import CellFiles
from dpdb.sources.csv import rows as csv_rows
from dpdb.sources.csv.delimiter import named_delimiter
from dpdb.sources.csv.lines import Faults
from dpdb.sources.files import Files
from dpdb.sources.source import Source, Wanted, text_column, without_rows
from dpdb.sources.table_choice import refuse_table_name
from dpdb.sources.text_columns import declared_types

__all__ = ["CsvFiles"]


class CsvFiles(CellFiles):
    """A CSV file, or a folder or glob of them."""

    kind = "csv"
    title = "CSV"
    known_by_name = True
    endings = " (.csv, .tsv, also .gz, .zst)"
    takes_delimiter = True

    def is_named(self, path: str) -> bool:
        """Say whether the name ends in .csv or .tsv, also compressed."""
        return named_delimiter(path) is not None

    def describe(self, database: Database, files: Files, wanted: Wanted) -> tuple[Source, bool]:
        """Read the header lines; see `FileSource`.

        Parameters
        ----------
        database, files, wanted
            As of `FileSource.describe`.
        """
        refuse_table_name(files.place, wanted.table)
        named = csv_rows.csv_columns(files, wanted)
        names = (*named.own, *named.folders)
        kinds = declared_types(database, files.place, names, wanted.types)
        schema = TableSchema(tuple(text_column(name, kinds) for name in names))
        return Source(files.place, schema, without_rows(schema), read_as=named.read_as), False

    def batches(self, files: Files, schema: TableSchema, wanted: Wanted, faults: Faults) -> Iterator[pa.RecordBatch]:
        """Read all rows by the rule of `lines`; see `CellFiles`.

        Parameters
        ----------
        files, schema, wanted, faults
            As of `CellFiles.batches`.
        """
        del schema
        return csv_rows.csv_batches(files, csv_rows.csv_columns(files, wanted), faults, wanted)

"""Tables of many files whose log says which of them count: Delta Lake and Apache Iceberg, by their own libraries.

A library finds its table's files and gives the rows of the newest version when the table is opened. pyiceberg looks for
its settings (`.pyiceberg.yaml`: which catalogs there are, which classes read them) where PYICEBERG_HOME says, in the
home directory, and in the current folder, too. What is there anybody may have written: here that place is left out.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, ClassVar

import pyarrow as pa

from dpdb.errors import SourceError
from dpdb.sources.open import ICEBERG
from dpdb.sources.paths import Files
from dpdb.sources.source import needed, reason_in_log, refuse_table_name
from dpdb.sources.stream import Stream, StreamSource


class Lake(StreamSource):
    """A table of a lake. What its library says may hold values: that is for the owner's log only."""

    kind: ClassVar[str]
    library: ClassVar[str]

    @abstractmethod
    def scan(self, place: str) -> pa.RecordBatchReader:
        """Read the rows of the table as it is now; any error of the library may be raised."""

    def reads(self, target: object) -> bool:
        """Say whether it is a table of this lake."""
        return isinstance(target, Files) and target.kind == self.kind

    def stream(self, source: Any, table: str | None, *, rows: bool) -> Stream:
        """Read the table as it is now; see `StreamSource`."""
        del rows
        refuse_table_name(source.place, table)
        with reason_in_log(f"{source.place}: {self.library} cannot read it", Exception):
            return Stream.checked(source.place, self.scan(source.place))


_MAPPING = "delta.columnMapping.mode"


class DeltaTable(Lake):
    """A folder with a Delta log, local or on S3. One version is read, whatever is written meanwhile."""

    kind = "delta"
    library = "deltalake"

    def scan(self, place: str) -> pa.RecordBatchReader:
        """Read the newest version; see `Lake`."""
        found = needed("deltalake", "delta", place).DeltaTable(place)
        if found.metadata().configuration.get(_MAPPING, "none") != "none":  # it would give NULLs, or other columns
            raise SourceError(f"{place}: deltalake cannot read tables with column mapping; export it to Parquet")
        return found.to_pyarrow_dataset().scanner().to_reader()


class IcebergTable(Lake):
    """A table of a catalog, ``iceberg:catalog.namespace.table``, as pyiceberg's own configuration names catalogs.

    Or a table's folder with ``metadata/version-hint.text``, or one of its ``*.metadata.json``. One snapshot is read.
    """

    kind = "iceberg"
    library = "pyiceberg"

    def scan(self, place: str) -> pa.RecordBatchReader:
        """Read the current snapshot; see `Lake`."""
        needed("pyiceberg.utils.config", "iceberg", place).os = _NowhereInParticular()
        catalogs = needed("pyiceberg.catalog", "iceberg", place)
        tables = needed("pyiceberg.table", "iceberg", place)
        if not place.startswith(ICEBERG):
            return tables.StaticTable.from_metadata(place).scan().to_arrow_batch_reader()
        catalog, _, name = place.removeprefix(ICEBERG).partition(".")
        return catalogs.load_catalog(catalog).load_table(name).scan().to_arrow_batch_reader()


class _NowhereInParticular:
    """The module `os` for pyiceberg's settings, without a current folder."""

    def getcwd(self) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

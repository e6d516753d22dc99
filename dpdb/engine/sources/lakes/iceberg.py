"""Apache Iceberg tables, by the library pyiceberg: the rows of the current snapshot when the table is opened."""

from __future__ import annotations

import pyarrow as pa

from dpdb.engine.sources.extras import needed
from dpdb.engine.sources.lakes.lake import Lake
from dpdb.engine.sources.lakes.places import ICEBERG

__all__ = ["IcebergTable"]


class IcebergTable(Lake):
    """A table of a catalog, ``iceberg:catalog.namespace.table``, as pyiceberg's own configuration names catalogs.

    Or a table's folder with ``metadata/version-hint.text``, or one of its ``*.metadata.json``. One snapshot is read.
    """

    kind = "iceberg"
    library = "pyiceberg"

    def scan(self, place: str) -> pa.RecordBatchReader:
        """Read the current snapshot; see `Lake`."""
        catalogs = needed("pyiceberg.catalog", "iceberg", place)
        tables = needed("pyiceberg.table", "iceberg", place)
        if not place.startswith(ICEBERG):
            return tables.StaticTable.from_metadata(place).scan().to_arrow_batch_reader()
        catalog, _, name = place.removeprefix(ICEBERG).partition(".")
        return catalogs.load_catalog(catalog).load_table(name).scan().to_arrow_batch_reader()

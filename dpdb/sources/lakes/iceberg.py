"""Apache Iceberg tables, by the library pyiceberg: the rows of the current snapshot when the table is opened.

pyiceberg looks for its settings (`.pyiceberg.yaml`: which catalogs there are, which classes read them) where
PYICEBERG_HOME says, in the home directory, and in the current folder, too. What is there anybody may have written: here
that place is left out.
"""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

from dpdb.sources.extras import needed
from dpdb.sources.lakes.lake import Lake
from dpdb.sources.lakes.places import ICEBERG

__all__ = ["IcebergTable"]


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

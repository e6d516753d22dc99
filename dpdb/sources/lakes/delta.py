"""Delta Lake tables, by the library deltalake: the rows of the newest version when the table is opened."""

from __future__ import annotations

import pyarrow as pa

from dpdb.errors import SourceError
from dpdb.sources.extras import needed
from dpdb.sources.lakes.lake import Lake

__all__ = ["DeltaTable"]

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

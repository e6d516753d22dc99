"""Delta Lake tables, by the library deltalake: the rows of the newest version when the table is opened."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dpdb.engine.sources.arrow import validated
from dpdb.engine.sources.extras import needed
from dpdb.engine.sources.files import Files
from dpdb.engine.sources.stream_source import Stream, StreamSource, without_batches
from dpdb.engine.sources.table_choice import refuse_table_name
from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG

__all__ = ["DeltaTable"]


_MAPPING = "delta.columnMapping.mode"


class DeltaTable(StreamSource):
    """A folder with a Delta log, local or on S3. One version is read, whatever is written meanwhile."""

    def reads(self, target: object) -> bool:
        """Say whether it is a Delta table."""
        return isinstance(target, Files) and target.kind == "delta"

    def stream(self, source: Any, table: str | None) -> Stream:
        """Read the newest version; see `StreamSource`."""
        return Stream(source.place, validated(_scan(source, table)))

    def empty(self, source: Any, table: str | None) -> Stream:
        """Read the schema of the newest version; see `StreamSource`."""
        return Stream(source.place, without_batches(_scan(source, table)))


def _scan(source: Files, table: str | None) -> pa.RecordBatchReader:
    refuse_table_name(source.place, table)
    library = needed("deltalake", "delta", source.place)
    try:
        found = library.DeltaTable(source.place)
        if found.metadata().configuration.get(_MAPPING, "none") != "none":  # it would give NULLs, or other columns
            raise SourceError(f"{source.place}: deltalake cannot read tables with column mapping; export it to Parquet")
        return found.to_pyarrow_dataset().scanner().to_reader()
    except SourceError:
        raise
    except Exception as error:  # its errors have no common class but this
        OWNER_LOG.error("%s: %s", source.place, error)
        raise SourceError(f"{source.place}: deltalake cannot read it; the reason is in the owner's log") from None

"""Apache Iceberg tables, by the library pyiceberg: the rows of the current snapshot when the table is opened."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dpdb.engine.sources.arrow import validated
from dpdb.engine.sources.extras import needed
from dpdb.engine.sources.files import Files
from dpdb.engine.sources.lakes.places import ICEBERG
from dpdb.engine.sources.stream_source import Stream, StreamSource, without_batches
from dpdb.engine.sources.table_choice import refuse_table_name
from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG

__all__ = ["IcebergTable"]


class IcebergTable(StreamSource):
    """A table of a catalog, ``iceberg:catalog.namespace.table``, as pyiceberg's own configuration names catalogs.

    Or a table's folder with ``metadata/version-hint.text``, or one of its ``*.metadata.json``. One snapshot is read.
    """

    def reads(self, target: object) -> bool:
        """Say whether it is an Iceberg table."""
        return isinstance(target, Files) and target.kind == "iceberg"

    def stream(self, source: Any, table: str | None) -> Stream:
        """Read the current snapshot; see `StreamSource`."""
        return Stream(source.place, validated(_scan(source, table)))

    def empty(self, source: Any, table: str | None) -> Stream:
        """Read the table's schema; see `StreamSource`."""
        return Stream(source.place, without_batches(_scan(source, table)))


def _scan(source: Files, table: str | None) -> pa.RecordBatchReader:
    refuse_table_name(source.place, table)
    catalogs = needed("pyiceberg.catalog", "iceberg", source.place)
    tables = needed("pyiceberg.table", "iceberg", source.place)
    try:
        if not source.place.startswith(ICEBERG):
            return tables.StaticTable.from_metadata(source.place).scan().to_arrow_batch_reader()
        catalog, _, name = source.place.removeprefix(ICEBERG).partition(".")
        return catalogs.load_catalog(catalog).load_table(name).scan().to_arrow_batch_reader()
    except Exception as error:  # its errors have no common class but this
        OWNER_LOG.error("%s: %s", source.place, error)
        raise SourceError(f"{source.place}: pyiceberg cannot read it; the reason is in the owner's log") from None

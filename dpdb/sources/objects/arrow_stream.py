"""Whatever has the Arrow C stream interface: pyarrow, Polars and others."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from dpdb.errors import OWNER_LOG, SourceError
from dpdb.predicates import enum_type
from dpdb.sources.source import refuse_table_name
from dpdb.sources.stream import Stream, StreamSource


class ArrowStream(StreamSource):
    """An object with the Arrow C stream interface, or none: then it is no source at all."""

    def reads(self, target: object) -> bool:
        """Return True: it is the last kind to be asked."""
        del target
        return True

    def stream(self, source: Any, table: str | None, *, rows: bool) -> Stream:
        """Start the stream, or take the schema of the object; see `StreamSource`."""
        kind = type(source).__name__
        refuse_table_name(kind, table)
        columns = None if rows else getattr(source, "schema", None)
        if isinstance(columns, pa.Schema):
            return Stream(kind, pa.RecordBatchReader.from_batches(columns, []))
        return Stream.checked(kind, arrow_stream(source, kind), texts=_enums_of_polars(source))


def _enums_of_polars(source: Any) -> dict[str, str]:
    """Return the types of the Enum columns of a Polars frame; Arrow has their values in the rows only."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(source, polars.DataFrame):
        return {}
    kinds = {name: enum_type(list(kind.categories)) for name, kind in source.schema.items() if kind == polars.Enum}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def arrow_stream(source: Any, kind: str) -> pa.RecordBatchReader:
    """Start the stream of an object; nobody has checked its batches."""
    if isinstance(source, pa.RecordBatchReader):
        return source
    if hasattr(source, "scanner"):  # pyarrow.dataset.Dataset
        return source.scanner().to_reader()
    if not hasattr(source, "__arrow_c_stream__"):
        raise SourceError(
            f"{kind}: not a source; give a path, a DuckDB connection or relation, or an object with an Arrow stream "
            "(pyarrow, pandas, Polars)"
        )
    try:
        return pa.RecordBatchReader.from_stream(source)
    except Exception as error:  # it prints values of the column that did not convert
        OWNER_LOG.error("%s: %s", kind, error)
        raise SourceError(f"{kind}: cannot be read as an Arrow stream; give every column one type") from None

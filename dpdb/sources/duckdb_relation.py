"""DuckDB relations, run once."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from dpdb.database import BATCH_ROWS
from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG
from dpdb.predicates import is_enum
from dpdb.sources.stream_source import Stream, StreamSource
from dpdb.sources.table_choice import refuse_table_name

__all__ = ["DuckDBRelation", "enums", "run"]


class DuckDBRelation(StreamSource):
    """A relation of the owner's connection."""

    def reads(self, target: object) -> bool:
        """Say whether it is a DuckDB relation."""
        return isinstance(target, duckdb.DuckDBPyRelation)

    def stream(self, source: Any, table: str | None) -> Stream:
        """Run the relation; see `StreamSource`."""
        refuse_table_name(type(source).__name__, table)
        return Stream("DuckDB relation", run("DuckDB relation", source), enums=enums(source))

    def empty(self, source: Any, table: str | None) -> Stream:
        """Run the relation with LIMIT 0; see `StreamSource`."""
        refuse_table_name(type(source).__name__, table)
        return Stream(type(source).__name__, run("DuckDB relation", source.limit(0)), enums=enums(source))


def enums(relation: duckdb.DuckDBPyRelation) -> dict[str, str]:
    """Return the types of a relation's enumerations by column: its stream of rows forgets them."""
    kinds = zip(relation.columns, map(str, relation.types), strict=True)
    return {name: kind for name, kind in kinds if is_enum(kind)}


def run(description: str, relation: duckdb.DuckDBPyRelation) -> pa.RecordBatchReader:
    """Run a relation; a failure names nothing but the source, its reason is in the owner's log."""
    try:
        return relation.to_arrow_reader(BATCH_ROWS)
    except duckdb.Error as error:  # its message may print values of rows
        OWNER_LOG.error("%s: %s", description, error)
        raise SourceError(f"{description}: running its query failed; the reason is in the owner's log") from None

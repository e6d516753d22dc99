"""Tables behind ADBC drivers: an open connection, or the address ``adbc:DRIVER:URI``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG
from dpdb.sources.addresses.urls import AdbcAddress
from dpdb.sources.arrow import validated
from dpdb.sources.extras import needed
from dpdb.sources.stream_source import Stream, StreamSource, without_batches

__all__ = ["AdbcConnection"]


class AdbcConnection(StreamSource):
    """A DB-API connection of an ADBC driver, of which one table or view is read by one query."""

    def reads(self, target: object) -> bool:
        """Say whether it is such a connection, or the address of one."""
        kinds = {kind.__module__ for kind in type(target).__mro__}
        return isinstance(target, AdbcAddress) or "adbc_driver_manager.dbapi" in kinds

    def stream(self, source: Any, table: str | None) -> Stream:
        """Read the table; see `StreamSource`."""
        return _read(source, table)

    def empty(self, source: Any, table: str | None) -> Stream:
        """Read the table's columns; see `StreamSource`."""
        found = _read(source, table, exp.false())
        return Stream(found.description, without_batches(found.reader), unordered=found.unordered)


def _read(source: Any, table: str | None, *where: exp.Expr) -> Stream:
    description = f"ADBC driver {source.driver!r}" if isinstance(source, AdbcAddress) else "ADBC connection"
    if table is None:
        raise SourceError(f"{description}: name the table with table=")
    schema, _, name = table.rpartition(".")
    query = exp.select("*").from_(exp.table_(name, db=schema or None, quoted=True)).where(*where).sql("postgres")
    batches = _batches(source, query, description)
    columns = next(batches)
    unordered = frozenset(field.name for field in columns if pa.types.is_dictionary(field.type))  # enumerations
    rows = validated(pa.RecordBatchReader.from_batches(columns, batches))
    return Stream(f"table {table!r} of an {description}", rows, unordered=unordered)


def _batches(source: Any, query: str, description: str) -> Iterator[Any]:
    """Give the schema first, then the batches."""
    try:
        if isinstance(source, AdbcAddress):
            library = needed(f"adbc_driver_{source.driver}.dbapi", "adbc", description)
            with closing(library.connect(source.uri)) as connection:
                yield from _fetched(connection, query, description)
        else:
            yield from _fetched(source, query, description)
    except (SourceError, GeneratorExit):
        raise
    except Exception as error:  # drivers' errors have no common class but this, and may print values
        OWNER_LOG.error("%s: %s", description, error)
        raise SourceError(f"{description}: the table cannot be read; the reason is in the owner's log") from None


def _fetched(connection: Any, query: str, description: str) -> Iterator[Any]:
    if connection.adbc_get_info().get("vendor_name") == "SQLite":  # rows must not decide what others mean
        raise SourceError(f"{description}: SQLite's driver guesses types from rows; give the path of the file instead")
    with closing(connection.cursor()) as cursor:
        cursor.execute(query)
        reader = cursor.fetch_record_batch()
        yield reader.schema
        yield from reader

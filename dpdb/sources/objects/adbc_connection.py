"""Tables behind ADBC drivers: an open connection, or the address ``adbc:DRIVER:URI``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dpdb.errors import SourceError
from dpdb.sources.open import AdbcAddress
from dpdb.sources.source import needed, reason_in_log
from dpdb.sources.stream import Stream, StreamSource


class AdbcConnection(StreamSource):
    """A DB-API connection of an ADBC driver; one query reads one of its tables or views."""

    def reads(self, target: object) -> bool:
        """Say whether it is such a connection, or the address of one."""
        kinds = {kind.__module__ for kind in type(target).__mro__}
        return isinstance(target, AdbcAddress) or "adbc_driver_manager.dbapi" in kinds

    def stream(self, source: Any, table: str | None, *, rows: bool) -> Stream:
        """Read the table; see `StreamSource`."""
        description = f"ADBC driver {source.driver!r}" if isinstance(source, AdbcAddress) else "ADBC connection"
        if table is None:
            raise SourceError(f"{description}: name the table with table=")
        schema, _, name = table.rpartition(".")
        query = exp.select("*").from_(exp.table_(name, db=schema or None, quoted=True))
        batches = _batches(source, (query if rows else query.where(exp.false())).sql("postgres"), description)
        columns = next(batches)
        unordered = frozenset(field.name for field in columns if pa.types.is_dictionary(field.type))  # enumerations
        reader = pa.RecordBatchReader.from_batches(columns, batches)
        return Stream.checked(f"table {table!r} of an {description}", reader, unordered=unordered)


def _batches(source: Any, query: str, description: str) -> Iterator[Any]:
    """Give the schema first, then the batches."""
    problem = f"{description}: the table cannot be read"
    with reason_in_log(problem, Exception), _connected(source, description) as connection:
        if connection.adbc_get_info().get("vendor_name") == "SQLite":  # rows must not decide what others mean
            raise SourceError(
                f"{description}: SQLite's driver guesses types from rows; give the path of the file instead"
            )
        with closing(connection.cursor()) as cursor:
            cursor.execute(query)
            reader = cursor.fetch_record_batch()
            yield reader.schema
            yield from reader


def _connected(source: Any, description: str) -> AbstractContextManager[Any]:
    if not isinstance(source, AdbcAddress):
        return nullcontext(source)
    return closing(needed(f"adbc_driver_{source.driver}.dbapi", "adbc", description).connect(source.uri))

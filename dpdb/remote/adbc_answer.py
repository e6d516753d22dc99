"""One query over ADBC: what it brings, in values that Arrow has, and how it is stopped."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dpdb.database.interruptible import interruptible

__all__ = ["answer", "sql_text"]


class _Running:
    """A query that can be stopped (implements `Interrupted`); the driver knows no other signal than Ctrl-C."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def interrupt(self) -> None:
        with suppress(Exception):  # it may have ended, or the server
            self._cursor.adbc_cancel()


def answer(cursor: Any, query: exp.Select) -> pa.Table:
    """Run a query; the exception of a signal handler stops it on the server, too."""
    return interruptible(_Running(cursor), lambda: _fetched(cursor, query))


def _fetched(cursor: Any, query: exp.Select) -> pa.Table:
    schema = cursor.adbc_execute_schema(sql_text(query))
    cursor.execute(sql_text(_with_texts(query, schema)))
    rows: pa.Table = cursor.fetch_arrow_table()
    return rows


def _with_texts(query: exp.Select, schema: pa.Schema) -> exp.Select:
    """Let values come as texts that Arrow has not: endless times, and numbers that it has as extensions."""
    lacking = [pa.types.is_temporal(kind) or isinstance(kind, pa.BaseExtensionType) for kind in schema.types]
    columns = [exp.column(name, quoted=True) for name in schema.names]
    selected = [
        exp.alias_(exp.cast(column, "TEXT"), name, quoted=True) if as_text else column
        for column, name, as_text in zip(columns, schema.names, lacking, strict=True)
    ]
    return query.select(*selected, append=False)


def sql_text(query: exp.Select) -> str:
    """Write a query; names are quoted, so that their case stays."""
    return query.sql("postgres", identify=True)

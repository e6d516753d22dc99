"""The one place where tables are opened: the engine that reads a source opens it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

from dpdb.engine.remote.engine import RemoteEngine
from dpdb.engine.schema import TableSchema
from dpdb.engine.sources.addresses.fetching import has_tables as file_has_tables
from dpdb.engine.sources.source import Reading, SourceLike
from dpdb.engine.table import LocalEngine, LocalTable, declared
from dpdb.errors import SourceError

if TYPE_CHECKING:
    from dpdb.engine.interface import Engine, Table, TableOptions

__all__ = ["ENGINES", "declared_table", "empty_table", "has_tables", "is_remote", "open_local_table", "open_table"]

_LOCAL, _REMOTE = LocalEngine(), RemoteEngine()

# In the order in which they are asked.
ENGINES: tuple[Engine, ...] = (_REMOTE, _LOCAL)


def open_table(source: SourceLike, *, rows: bool = True, **options: Unpack[TableOptions]) -> Table:
    """Open a table: its schema is read, its constraints are bound, and its rows are checked or copied.

    Parameters
    ----------
    source
        See `open_source`. Only read, never written.
    rows : bool
        False for what looks at no row: a file that is a plain table is then only described.
    options
        See `TableOptions`.

    Raises
    ------
    DpdbError
        `SourceError`, `ConstraintSyntaxError`, `UnknownColumnError`, `ConstraintTypeError` or `ParameterError`; nothing
        of the table's rows is in their messages.
    """
    return _engine(source).open(source, Reading.ALL if rows else Reading.COMPUTED, options)


def open_local_table(source: SourceLike, **options: Unpack[TableOptions]) -> LocalTable:
    """Open a table in our own database, for what only the owner may ask of rows and single conflicts.

    Raises
    ------
    SourceError
        As `open_table`, and if the table is in another engine.
    """
    if is_remote(source):
        raise SourceError(
            "a table of another engine is asked for releases and for exact values only, not for its single rows; "
            "save it as a Parquet file for this"
        )
    return _LOCAL.open(source, Reading.ALL, options)


def empty_table(source: SourceLike, **options: Unpack[TableOptions]) -> LocalTable:
    """Make a table without rows that has the schema of a source, and read no row of the source.

    Names and types are public, rows are not. Parameters and errors as `open_table`; what that would copy (views,
    relations, streams) is only described here.
    """
    if is_remote(source):
        return _REMOTE.describe(source, options)
    return _LOCAL.open(source, Reading.NONE, options)


def is_remote(source: SourceLike) -> bool:
    """Say whether a source is a table of another engine, such as ``spark:catalog.schema.table``."""
    return _REMOTE.reads(source)


def has_tables(place: str) -> bool:
    """Say whether a table can be named of a source."""
    return _REMOTE.has_tables(place) if is_remote(place) else file_has_tables(place)


def declared_table(schema: TableSchema | Mapping[str, str], **options: Unpack[TableOptions]) -> LocalTable:
    """Make a table without rows of a schema, or of column names with SQL types. Errors as `declared_schema`."""
    return declared(schema, options)


def _engine(source: SourceLike) -> Engine:
    return next(engine for engine in ENGINES if engine.reads(source))

"""The one place where tables are opened: the engine that reads a source opens it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

from dpdb.engine import LocalEngine, LocalTable, Progress, TableSettings, TableSpec, described, no_progress
from dpdb.errors import SourceError
from dpdb.remote import RemoteEngine
from dpdb.schema import TableSchema
from dpdb.sources import Reading, SourceLike, has_tables as file_has_tables

if TYPE_CHECKING:
    from dpdb.constraints import ConstraintsLike
    from dpdb.engine import Engine, Table
    from dpdb.remote import GatheredTable, RemoteSet

_LOCAL, _REMOTE = LocalEngine(), RemoteEngine()

# In the order in which they are asked.
ENGINES: tuple[Engine, ...] = (_REMOTE, _LOCAL)


def open_table(
    source: SourceLike | TableSpec,
    *,
    constraints: ConstraintsLike | None = None,
    table: str | None = None,
    rows: bool = True,
    progress: Progress = no_progress,
    **settings: Unpack[TableSettings],
) -> Table:
    """Open a table: its schema is read, its constraints are bound, and its rows are checked or copied.

    Parameters
    ----------
    source, constraints, table, **settings
        A `TableSpec`, or what makes one.
    rows : bool
        False for what looks at no row: a file that is a plain table is then only described.
    progress : callable
        Called with the name of each long step.

    Raises
    ------
    DpdbError
        `SourceError`, `ConstraintSyntaxError`, `UnknownColumnError`, `ConstraintTypeError` or `ParameterError`; nothing
        of the table's rows is in their messages.
    """
    spec = TableSpec.of(source, settings, constraints=constraints, table=table)
    engine = next(engine for engine in ENGINES if engine.reads(spec.source))
    return engine.open(spec, Reading.ALL if rows else Reading.COMPUTED, progress)


def open_local_table(
    source: SourceLike | TableSpec,
    *,
    constraints: ConstraintsLike | None = None,
    table: str | None = None,
    progress: Progress = no_progress,
    **settings: Unpack[TableSettings],
) -> LocalTable:
    """Open a table in our own database, for what only the owner may ask of rows and single conflicts."""
    spec = TableSpec.of(source, settings, constraints=constraints, table=table)
    if is_remote(spec.source):
        raise SourceError(
            "a table of another engine is asked for releases and for exact values only, not for its single rows; "
            "save it as a Parquet file for this"
        )
    return _LOCAL.open(spec, Reading.ALL, progress)


def empty_table(spec: TableSpec) -> LocalTable:
    """Make a table without rows that has the schema of a source, and read no row of the source.

    Names and types are public, rows are not. Errors as `open_table`; what that would copy (views, relations, streams)
    is only described here.
    """
    if is_remote(spec.source):
        return _REMOTE.describe(spec)
    return _LOCAL.open(spec, Reading.NONE, no_progress)


def open_set(place: SourceLike, schema: str | None = None) -> RemoteSet:
    """Open a place of another engine, with all its tables: the source of those that are then opened by their names.

    Raises
    ------
    SourceError
        If there is no such place, or schema in it, or it cannot be reached.
    """
    return _REMOTE.open_set(place, schema)


def open_remote_table(spec: TableSpec, *, rows: bool = True, progress: Progress = no_progress) -> GatheredTable:
    """Open a table of a set of another engine; errors as `open_table`.

    Parameters
    ----------
    spec
        What is opened; its source is the set, as `open_set` gives it.
    """
    return _REMOTE.open(spec, Reading.ALL if rows else Reading.COMPUTED, progress)


def is_remote(source: SourceLike) -> bool:
    """Return whether a source is a table of another engine, such as ``spark:catalog.schema.table``."""
    return _REMOTE.reads(source)


def has_tables(place: str) -> bool:
    """Return whether a source may have several tables, of which one is named."""
    return _REMOTE.has_tables(place) if is_remote(place) else file_has_tables(place)


def declared_table(
    schema: TableSchema | Mapping[str, str],
    *,
    constraints: ConstraintsLike | None = None,
    assumes_parents: bool = False,
) -> LocalTable:
    """Make a table without rows. Errors as `declared_schema`."""
    spec = TableSpec(None, constraints=constraints, assumes_parents=assumes_parents)
    return described("the schema", schema, spec)

"""`RemoteEngine`: opens tables of other engines. Loads nothing of them before it is asked to."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.engine import Progress, no_progress
from dpdb.errors import ParameterError, SourceError
from dpdb.stopping import if_it_fails

if TYPE_CHECKING:
    from dpdb.engine import LocalTable, TableSpec
    from dpdb.remote.opened import GatheredTable
    from dpdb.remote.scratch import Scratch
    from dpdb.remote.table import RemoteSet
    from dpdb.sources import Reading, SourceLike

# Named by module and class. Every source is shown to all of them, so what asks an engine is loaded when they open one.
REMOTE_KINDS = (
    "dpdb.remote.foreign_sources.SparkSource",
    "dpdb.remote.foreign_sources.PostgresSource",
    "dpdb.remote.foreign_sources.ClickHouseSource",
    "dpdb.remote.foreign_sources.AdbcSource",
    "dpdb.remote.table.SetSource",
)


class RemoteEngine:
    """Other engines than our own (implements `dpdb.engine.Engine`)."""

    def reads(self, source: SourceLike) -> bool:
        """Say whether a source is a table of another engine."""
        return _kind_of(source) is not None

    def has_tables(self, source: SourceLike) -> bool:
        """Say whether a table has to be named of a source."""
        return bool(_kind_of(source).takes_table)

    def open(self, spec: TableSpec, rows: Reading, progress: Progress) -> GatheredTable:
        """Open a table there, and let all its rows be read once if they are wanted."""
        from dpdb.engine import own_database
        from dpdb.remote.opened import GatheredTable
        from dpdb.sources import Reading

        remote = self._remote(spec, progress)
        with if_it_fails(remote.close):
            database = own_database(spec.limits)
            with if_it_fails(database.close):
                table = GatheredTable(database, remote, spec, progress)
                if rows is Reading.ALL:
                    table.read_once()
                return table

    def open_set(self, source: SourceLike, schema: str | None) -> RemoteSet:
        """Open a place of another engine, whose tables are then opened as sources of it, by their names.

        Parameters
        ----------
        source
            As of a table there, without the table.

        Raises
        ------
        SourceError
            If there is no such place.
        """
        found: RemoteSet = _kind_of(source).open_set(source, schema)
        return found

    def describe(self, spec: TableSpec) -> LocalTable:
        """Make a table without rows of the schema of one there."""
        from dpdb.engine import described

        _refuse_path(spec)
        if spec.parents:
            raise SourceError("rules across tables of another engine are measured there, and not explained here")
        remote = self._remote(spec, no_progress)
        try:
            return described(remote.description, remote.schema(), spec)
        finally:
            remote.close()

    def _remote(self, spec: TableSpec, progress: Progress) -> Any:
        kind = _kind_of(spec.source)
        _refuse_path(spec)
        if spec.csv_schema:
            raise SourceError("a CSV schema applies to files only")
        if spec.delimiter is not None:
            raise SourceError("a delimiter applies to CSV text only")
        if spec.table is not None and not kind.takes_table:
            raise SourceError("a table name applies to databases, and this source is one table")
        progress("opening the table")
        return kind.open(spec.source, spec.table)


def _refuse_path(spec: TableSpec) -> None:
    if spec.unit_path is not None:
        raise ParameterError(
            "unit: a table of another engine has its units in a column of its own; make a view there that joins it "
            "with the table that has them, or copy the tables to DuckDB or Parquet files"
        )


def scratch_of(source: SourceLike, schema: str | None) -> Scratch:
    """Open a place in another engine in which tables may be made.

    Parameters
    ----------
    source
        As of a table there, without the table.
    schema
        Of a database. Default: that of the connection.
    """
    kind = _kind_of(source)
    if kind is None or not hasattr(kind, "scratch"):
        raise SourceError(f"{source}: no table of another engine; conformance is of those that are asked there")
    found: Scratch = kind.scratch(source, schema)
    return found


def _kind_of(source: SourceLike) -> Any:
    if isinstance(source, (str, Path)) and ":" not in str(source):  # a path; other engines have addresses
        return None
    return next((kind for kind in map(_loaded, REMOTE_KINDS) if kind.reads(source)), None)


@cache
def _loaded(name: str) -> Any:
    module, _, known_as = name.rpartition(".")
    return getattr(import_module(module), known_as)()

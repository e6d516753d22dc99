"""Results in a table of a DuckDB file: one transaction per release or suite of a run, and each once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from dpdb.database import Database
from dpdb.doors.jobs.results_parquet import results_lock
from dpdb.errors import EngineError, ParameterError
from dpdb.files.file_lock import FileLock
from dpdb.files.new_file import new_file
from dpdb.steps import reached

__all__ = ["DuckDBResults"]

_LOCK_SECONDS = 30.0
_PAUSE = 0.1
_IN_USE = ("Could not set lock", "file handle conflict")  # of another process, of this one
_FILE = "results_file"
_NEW = "new_result"
_KEYS = ("PRIMARY KEY", "UNIQUE")


class DuckDBResults:
    """A table of results, made when it is missing; jobs at the same time wait for each other."""

    def __init__(
        self, path: Path, table: str, schema: pa.Schema, key: tuple[str, ...], distinct: tuple[str, ...]
    ) -> None:
        self._path = path
        self._table = table
        self._schema = schema
        self._key, self._distinct = key, distinct
        self._quoted = exp.table_(table, db="main", catalog=_FILE, quoted=True).sql("duckdb")

    def prepare(self) -> None:
        """Make file and table, add columns that an older version lacks, refuse constraints that could refuse a row."""
        with self._lock(), Database() as database, database.arrow_table(_NEW, self._schema.empty_table()):
            if not self._path.exists():
                self._make(database)
            with self._attached(database):
                self._refuse_view(database)
                database.execute(f"CREATE TABLE IF NOT EXISTS {self._quoted} AS FROM {_NEW}")
                known = {name.casefold(): kind for name, kind in database.describe(f"FROM {self._quoted}")}
                if not known.keys() >= set(self._key):
                    raise self._unusable("is not a results table of dpdb")
                for name, kind in database.describe(f"FROM {_NEW}"):
                    if name not in known:
                        column = exp.to_identifier(name, quoted=True).sql("duckdb")
                        database.execute(f"ALTER TABLE {self._quoted} ADD COLUMN {column} {kind}")
                    elif known[name] != kind:
                        raise self._unusable(f"has the column {name!r} as {known[name]}, and it must be {kind}")
                self._refuse_constraints(database)

    def _refuse_view(self, database: Database) -> None:
        views = "SELECT lower(view_name) FROM duckdb_views() WHERE database_name = ? AND schema_name = 'main'"
        if (self._table.lower(),) in database.rows(views.replace("?", f"'{_FILE}'")):
            raise self._unusable("is a view, which takes no rows")

    def _refuse_constraints(self, database: Database) -> None:
        """Refuse constraints that could refuse a paid row; one on columns that are never alike does not."""
        found = database.rows(
            "SELECT constraint_type, list_transform(constraint_column_names, lambda name: lower(name)) "
            f"FROM duckdb_constraints() WHERE database_name = '{_FILE}' AND lower(table_name) = "
            f"{exp.Literal.string(self._table.lower()).sql('duckdb')}"
        )
        filled = {field.name for field in self._schema if not field.nullable}
        for kind, columns in found:
            harmless = (
                set(columns) <= filled if kind == "NOT NULL" else kind in _KEYS and set(self._distinct) <= set(columns)
            )
            if not harmless:
                raise self._unusable(f"has the constraint {kind} on {', '.join(columns)}, which may refuse releases")
        self._refuse_computed(database)

    def _refuse_computed(self, database: Database) -> None:
        """Refuse indexes, and columns computed from a row: computing may fail, or the column may take no value of ours.

        A default that can be computed without a row is no danger in columns that are not ours.
        """
        own = f"database_name = '{_FILE}' AND lower(table_name) = " + (
            exp.Literal.string(self._table.lower()).sql("duckdb")
        )
        computed = (
            f"SELECT column_name, column_default FROM duckdb_columns() WHERE {own} AND column_default IS NOT NULL"
        )
        for column, default in database.rows(computed):
            try:
                if str(column).lower() not in self._schema.names:
                    database.rows(f"SELECT {default}")
                    continue
            except EngineError:
                pass
            raise self._unusable(f"computes the column {column!r} by itself, which may refuse releases")
        indexes = f"SELECT index_name FROM duckdb_indexes() WHERE {own}"
        for (index,) in database.rows(indexes):
            raise self._unusable(f"has the index {index!r}, which may refuse releases")

    def _unusable(self, why: str) -> ParameterError:
        return ParameterError(
            f"{self._path}: the table {self._table!r} {why}; nothing was spent, name another with results_table"
        )

    def append(self, rows: pa.Table) -> None:
        """Insert the rows that the table lacks, all or none."""
        same = " AND ".join(f"old.{name} = new.{name}" for name in self._key)
        with self._lock(), Database() as database, database.arrow_table(_NEW, rows), self._attached(database):
            database.execute("BEGIN")
            database.execute(
                f"INSERT INTO {self._quoted} BY NAME SELECT * FROM {_NEW} AS new "
                f"WHERE NOT EXISTS (SELECT 1 FROM {self._quoted} AS old WHERE {same})"
            )
            reached("result written")
            database.execute("COMMIT")
            reached("result committed")

    def read(self, *, optional: bool = False) -> pa.Table:
        """Return all rows; none of a missing table that is optional."""
        with Database() as database, self._attached(database, read_only=True):
            query = f"FROM {self._quoted}"
            try:
                database.describe(query)
            except EngineError:
                if optional:
                    return self._schema.empty_table()
                raise ParameterError(
                    f"{self._path}: there is no table {self._table!r}; name the results table with --table"
                ) from None
            batches = list(database.stream(query))
        if not batches:
            return self._schema.empty_table()
        found = pa.Table.from_batches(batches)
        names = set(self._schema.names)
        return found.rename_columns([low if (low := name.lower()) in names else name for name in found.column_names])

    def _make(self, database: Database) -> None:
        """Make a new file, which appears complete: a killed process leaves no file that cannot be opened."""
        try:
            with new_file(self._path) as partial:
                database.write_file(partial, {self._table: f"FROM {_NEW}"})
                reached("results made")
        except EngineError as error:
            raise ParameterError(f"{self._path}: the results cannot be written: {error}") from None

    @contextmanager
    def _attached(self, database: Database, *, read_only: bool = False) -> Iterator[None]:
        """Attach the file, waiting for other programs to close it."""
        path = exp.Literal.string(str(self._path)).sql("duckdb")
        end = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                database.execute(f"ATTACH {path} AS {_FILE}{' (READ_ONLY)' if read_only else ''}")
                break
            except EngineError as error:
                if not any(words in str(error) for words in _IN_USE):
                    raise ParameterError(f"{self._path}: cannot be opened: {str(error).splitlines()[0]}") from None
                if time.monotonic() > end:
                    raise ParameterError(
                        f"{self._path}: another program keeps the results open; what was released is in the ledger: "
                        "close the program and run again with the same run id"
                    ) from None
            time.sleep(_PAUSE)
        try:
            yield
        finally:
            database.execute(f"DETACH {_FILE}")

    def _lock(self) -> FileLock:
        return results_lock(self._path, self._path.with_name(f".{self._path.name}.lock"))

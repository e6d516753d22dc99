"""Where results are kept: a table of a DuckDB file, or a folder of Parquet files, by the name of the file.

In DuckDB each release or suite of a run is one transaction; in a folder it is one file, complete or absent, which never
changes. Each is kept once.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from dpdb.database import Database
from dpdb.doors.jobs.placeholders import in_utc
from dpdb.errors import EngineError, ParameterError
from dpdb.files.new_file import new_file
from dpdb.files.owned_file import FileLock
from dpdb.stopping import reached

DEFAULT_TABLE = "dpdb_results"


@dataclass(frozen=True)
class StoredRows:
    """What a table of results holds.

    Attributes
    ----------
    key : tuple of str
        Columns by which a row is known. The first three name what is appended at once: all of it or nothing.
    distinct : tuple of str
        Columns of the key in which no two rows are ever alike: a key of the table on these refuses no row.
    needed : tuple of str
        The columns that no row may lack when it is read.
    beside : str
        Of a table beside the results: the end of the name of the DuckDB table, and the folder within the folder of
        Parquet files, whose readers leave out what begins with `_`.
    """

    schema: pa.Schema
    key: tuple[str, str, str, str]
    distinct: tuple[str, ...]
    what: str
    needed: tuple[str, ...]
    beside: str = ""


def rows_beside(
    beside: str, what: str, columns: Iterable[pa.Field], key: tuple[str, str, str, str], needed: Sequence[str] = ()
) -> StoredRows:
    """Return a table beside the results, no two of whose rows have one key; key, time and day are never NULL.

    Parameters
    ----------
    beside, what, key
        As `StoredRows` has them.
    columns
        One of them is not NULL if no row may lack it.
    needed
        Columns that no row may lack, beside key, time and day. Default: as `columns` say.
    """
    found, filled = list(columns), {"time", "day", *key}
    schema = pa.schema(column.with_nullable(column.name not in filled) for column in found)
    kept = [one.name for one in found if (one.name in {*filled, *needed} if needed else not one.nullable)]
    return StoredRows(schema, key, key, what, tuple(kept), beside)


def open_stored(path: Path, table: str | None, stored: StoredRows) -> ResultsTable:
    """Choose by the file at `path`, or by its name: a DuckDB file (`.duckdb`, `.db`), else a folder of Parquet files.

    Raises
    ------
    ParameterError
        The file or its name is of another kind, or a table name is given for Parquet.
    """
    if path.is_file():
        with path.open("rb") as file:
            is_duckdb = file.read(12)[8:] == b"DUCK"
        if not is_duckdb:
            raise ParameterError(
                f"{path}: jobs append to a DuckDB file or to a folder of Parquet files; two jobs at once would lose "
                "rows of a single file"
            )
    elif path.is_dir():
        is_duckdb = False
    elif path.suffix in ("", ".parquet", ".duckdb", ".db"):
        is_duckdb = path.suffix in (".duckdb", ".db")
    else:
        raise ParameterError(f"{path}: results are kept in a DuckDB file (.duckdb) or a folder of Parquet files")
    if is_duckdb:
        return DuckDBResults(path, f"{table or DEFAULT_TABLE}{stored.beside}", stored)
    if table is not None:
        raise ParameterError(f"{path}: a table name applies to DuckDB files only")
    return ParquetResults(path / stored.beside, stored)


def read_beside(path: Path, table: str | None, stored: StoredRows) -> list[dict[str, Any]]:
    """Read the rows of a table beside the results, by day, run and place, with times in UTC; none if there are none.

    Parameters
    ----------
    path, table, stored
        As of `open_stored`; `path` may also be one Parquet file of results, which has none beside it.
    """
    if path.is_file() and path.suffix == ".parquet":
        return []
    rows: list[dict[str, Any]] = open_stored(path, table, stored).read(optional=True).to_pylist()
    for row in rows:
        missing = [name for name in stored.needed if row.get(name) is None]
        if missing or not isinstance(row["time"], datetime) or not isinstance(row["day"], date):
            wrong = missing[0] if missing else "time"
            raise ParameterError(
                f"{path}: not a table of {stored.what} of dpdb: the column {wrong!r} is missing or NULL"
            )
        row["time"] = in_utc(row["time"])
    return sorted(rows, key=lambda row: (row["day"], row["time"], *(row[name] for name in stored.key)))


def filled(kind: Any, values: Mapping[str, Any], **own: Any) -> Any:
    """Return a value of a dataclass: `own` fields, and of each other field what `values` have, or None."""
    columns = {field.name: field.metadata.get("column", field.name) for field in fields(kind)}
    return kind(**{name: values.get(column) for name, column in columns.items()} | own)


_LOCK_SECONDS = 30.0
_PAUSE = 0.1
_IN_USE = ("Could not set lock", "file handle conflict")  # of another process, of this one
_FILE = "results_file"
_NEW = "new_result"
_KEYS = ("PRIMARY KEY", "UNIQUE")


class DuckDBResults:
    """A table of results, made when it is missing; jobs at the same time wait for each other."""

    def __init__(self, path: Path, table: str, stored: StoredRows) -> None:
        self._path, self._table, self._stored = path, table, stored
        self._quoted = exp.table_(table, db="main", catalog=_FILE, quoted=True).sql("duckdb")

    def prepare(self) -> None:
        """Make file and table, add columns that an older version lacks, refuse constraints that could refuse a row."""
        with self._lock(), Database() as database, database.arrow_table(_NEW, self._stored.schema.empty_table()):
            if not self._path.exists():
                self._make(database)
            with self._attached(database):
                self._refuse_view(database)
                database.execute(f"CREATE TABLE IF NOT EXISTS {self._quoted} AS FROM {_NEW}")
                known = {name.casefold(): kind for name, kind in database.describe(f"FROM {self._quoted}")}
                if not known.keys() >= set(self._stored.key):
                    raise self._unusable("is not a results table of dpdb")
                for name, kind in database.describe(f"FROM {_NEW}"):
                    if name not in known:
                        column = exp.to_identifier(name, quoted=True).sql("duckdb")
                        database.execute(f"ALTER TABLE {self._quoted} ADD COLUMN {column} {kind}")
                    elif known[name] != kind:
                        raise self._unusable(f"has the column {name!r} as {known[name]}, and it must be {kind}")
                self._refuse_constraints(database)

    def _refuse_view(self, database: Database) -> None:
        if database.rows(f"SELECT 1 FROM duckdb_views() WHERE schema_name = 'main' AND {self._named('view_name')}"):
            raise self._unusable("is a view, which takes no rows")

    def _refuse_constraints(self, database: Database) -> None:
        """Refuse constraints that could refuse a paid row; one on columns that are never alike does not."""
        found = database.rows(
            "SELECT constraint_type, list_transform(constraint_column_names, lambda name: lower(name)) "
            f"FROM duckdb_constraints() WHERE {self._named('table_name')}"
        )
        filled = {field.name for field in self._stored.schema if not field.nullable}
        for kind, columns in found:
            distinct = set(self._stored.distinct) <= set(columns)
            if not (set(columns) <= filled if kind == "NOT NULL" else kind in _KEYS and distinct):
                raise self._unusable(f"has the constraint {kind} on {', '.join(columns)}, which may refuse releases")
        self._refuse_computed(database)

    def _refuse_computed(self, database: Database) -> None:
        """Refuse indexes, and columns computed from a row: computing may fail, or the column may take no value of ours.

        A default that can be computed without a row is no danger in columns that are not ours.
        """
        own = self._named("table_name")
        computed = (
            f"SELECT column_name, column_default FROM duckdb_columns() WHERE {own} AND column_default IS NOT NULL"
        )
        for column, default in database.rows(computed):
            try:
                if str(column).lower() not in self._stored.schema.names:
                    database.rows(f"SELECT {default}")
                    continue
            except EngineError:
                pass
            raise self._unusable(f"computes the column {column!r} by itself, which may refuse releases")
        for (index,) in database.rows(f"SELECT index_name FROM duckdb_indexes() WHERE {own}"):
            raise self._unusable(f"has the index {index!r}, which may refuse releases")

    def _named(self, column: str) -> str:
        """Return the condition on a table of DuckDB's catalog that its row is of this table."""
        name = exp.Literal.string(self._table.lower()).sql("duckdb")
        return f"database_name = '{_FILE}' AND lower({column}) = {name}"

    def _unusable(self, why: str) -> ParameterError:
        return ParameterError(
            f"{self._path}: the table {self._table!r} {why}; nothing was spent, name another with results_table"
        )

    def append(self, rows: pa.Table) -> None:
        """Insert the rows that the table lacks, all or none."""
        same = " AND ".join(f"old.{name} = new.{name}" for name in self._stored.key)
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
                    return self._stored.schema.empty_table()
                raise ParameterError(
                    f"{self._path}: there is no table {self._table!r}; name the results table with --table"
                ) from None
            batches = list(database.stream(query))
        if not batches:
            return self._stored.schema.empty_table()
        found = pa.Table.from_batches(batches)
        names = set(self._stored.schema.names)
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


def results_lock(results: Path, lock: Path) -> FileLock:
    """Lock results against other jobs, by a file; `ParameterError` if they stay locked or cannot be written."""
    try:
        return FileLock(lock, _LOCK_SECONDS)
    except TimeoutError:
        raise ParameterError(f"{results}: another job keeps the results locked; run again later") from None
    except OSError as error:
        raise ParameterError(f"{results}: the results cannot be written: {error.strerror}") from None


class ParquetResults:
    """A folder of results, read by every Parquet reader; jobs and runs at the same time write different files."""

    def __init__(self, path: Path, stored: StoredRows) -> None:
        self._path, self._stored = path, stored

    def prepare(self) -> None:
        """Make the folder and check that files can be made in it."""
        try:
            self._path.mkdir(exist_ok=True)
        except OSError as error:
            raise ParameterError(f"{self._path}: the results folder cannot be made: {error.strerror}") from None
        self._lock().close()

    def append(self, rows: pa.Table) -> None:
        """Write the file of one release or suite of one run, unless it exists."""
        first = rows.slice(0, 1).to_pylist()[0]
        name = "/".join(first[key] for key in self._stored.key[:3])
        target = self._path / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.parquet"
        with self._lock():
            if target.exists():
                return
            try:
                with new_file(target) as partial:
                    pq.write_table(rows, partial)
                    reached("result written")
            except ParameterError as error:
                raise ParameterError(
                    f"{error}; the results are in the ledger, run again with the same run id"
                ) from None

    def read(self, *, optional: bool = False) -> pa.Table:
        """Return all rows of the folder, or of the one file; none, without files, if it is optional."""
        files = [self._path] if self._path.is_file() else sorted(self._path.glob("[!.]*.parquet"))
        if not files and optional:
            return self._stored.schema.empty_table()
        if not files:
            raise ParameterError(f"{self._path}: no results there; `dpdb run JOB.toml` writes them")
        try:
            import pyarrow.dataset as ds  # brings pandas along, which no other command needs

            return ds.dataset([str(file) for file in files], schema=self._stored.schema, format="parquet").to_table()
        except (pa.ArrowException, OSError) as error:
            raise ParameterError(f"{self._path}: not a results table of dpdb: {error}") from None

    def _lock(self) -> FileLock:
        return results_lock(self._path, self._path / ".lock")


ResultsTable: TypeAlias = DuckDBResults | ParquetResults
"""`prepare` makes it or checks that rows can be appended, before anything is spent; see there for the rest."""

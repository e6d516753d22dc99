"""`Database`: the one class that executes SQL.

It owns a private in-memory DuckDB and a private temporary directory (mode 0700) for what does not fit in memory. Both
are gone after `close()`, which also runs at interpreter exit, so Ctrl-C leaves nothing behind.
"""

from __future__ import annotations

import json
import math
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from dpdb.closing import Closing
from dpdb.database.available_memory import available_memory
from dpdb.database.interruptible import interruptible
from dpdb.database.sql_files import sql_file
from dpdb.errors import EngineError, OutOfMemoryError, ParameterError
from dpdb.files.new_file import WorkFolder
from dpdb.owner_log import OWNER_LOG

__all__ = ["BATCH_ROWS", "MOST_THREADS", "WRITTEN", "Database"]

# Batches of 122,880 rows (DuckDB's own) stream 2.7 times slower than these.
BATCH_ROWS = 1_000_000

# A thread reads so many before it hands them over: windows come in batches of 2,048 rows.
_READ_TOGETHER = 100_000
_LEAST_MEBIBYTES = 31.9  # 32 MiB, as DuckDB may round it

_FORMATS = {".parquet": "FORMAT parquet, COMPRESSION zstd", ".csv": "FORMAT csv, HEADER"}
# Endings of files that can be written.
WRITTEN = (*_FORMATS, ".duckdb")

# With less DuckDB cannot sort.
_LEAST_MEMORY = 256 << 20

_TOO_LITTLE_MEMORY = (
    "memory does not suffice, even with what spills to disk: allow more (--memory-limit, memory_limit), fewer threads, "
    "or give the temporary directory room; the details are in the owner's log"
)

# More than any one machine has; DuckDB would start as many as it is told.
MOST_THREADS = 1_024


class Database(Closing):
    """A private DuckDB in which one session does all its work.

    Parameters
    ----------
    memory_limit : str, optional
        DuckDB size such as ``"1GB"``; beyond it the work spills to `temp_directory`. Default: half of what this
        process may still take now (`available_memory`), DuckDB's own at most; see also `spill_beyond`.
    temp_directory : path, optional
        Existing directory in which the private one (mode 0700) is made. Default: the system's.
    threads : int, optional
        From 1 to `MOST_THREADS`. Default: one per core.

    Raises
    ------
    ParameterError
        If the memory limit is not a size, the directory cannot be used or there are too many threads.
    """

    def __init__(
        self,
        *,
        memory_limit: str | None = None,
        temp_directory: str | Path | None = None,
        threads: int | None = None,
    ) -> None:
        if threads is not None and (
            not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= MOST_THREADS
        ):
            raise ParameterError(f"threads must be a whole number from 1 to {MOST_THREADS:,}, got {threads!r}")
        try:
            folder = WorkFolder(temp_directory)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise ParameterError(f"temp_directory {str(temp_directory)!r} cannot be used: {why}") from None
        # Values of constants that were asked for, by type and text, kept by those who ask (`bind_literals`).
        self.constants: dict[tuple[str, str], tuple[Any, ...]] = {}
        self._named: Counter[str] = Counter()
        self._directory = folder.path
        self._connection = duckdb.connect(":memory:")
        # Runs at close(), when an abandoned Database is collected, and at interpreter exit.
        self._finalizer = weakref.finalize(self, _clean_up, self._connection, folder)
        self._memory = math.inf if memory_limit is None else 0.0  # of what may still be lowered
        self._configure(memory_limit, threads)

    def _configure(self, memory_limit: str | None, threads: int | None) -> None:
        self.execute(sql_file("settings"))
        # Only where it is on: in a Jupyter kernel the setting needs ipywidgets, and without them it is off.
        if self.value("SELECT current_setting('enable_progress_bar')"):
            self._set("enable_progress_bar", value=False)
        self._set("temp_directory", str(self._directory))
        available = available_memory()
        if available is not None:
            self.spill_beyond(max(_LEAST_MEMORY, available // 2))
        try:
            if memory_limit is not None:
                if str(memory_limit).lstrip().startswith("-"):  # DuckDB takes it as no limit
                    raise EngineError("negative memory limit")
                self._set("memory_limit", memory_limit)
        except EngineError:
            self.close()
            raise ParameterError(f"memory_limit {memory_limit!r} is not a size such as '1GB'") from None
        if memory_limit is not None and self._least_memory_is_missing():
            self.close()
            raise ParameterError(f"memory_limit {memory_limit!r} is too small to read any table; give at least '32MiB'")
        if threads is not None:
            self._set("threads", threads)

    def spill_beyond(self, memory: int) -> None:
        """Keep at most so many bytes in memory from now on, never more than before; the rest is written to disk.

        Does nothing where a limit was asked for: that one holds for all.
        """
        if memory < self._memory:
            self._memory = memory
            self._set("memory_limit", f"{memory}B")

    def _least_memory_is_missing(self) -> bool:
        """Return whether the limit, as DuckDB shows it (such as ``953.6 MiB``), is below `_LEAST_MEBIBYTES`."""
        try:
            number, unit = str(self.value("SELECT current_setting('memory_limit')")).split(maxsplit=1)
        except EngineError:  # too small even for the answer
            return True
        return unit.startswith(("byte", "KiB")) or (unit == "MiB" and float(number) < _LEAST_MEBIBYTES)

    def _set(self, name: str, value: str | int | bool) -> None:
        self.execute(f"SET {name} = {exp.convert(value).sql('duckdb')}")

    def new_name(self, name: str) -> str:
        """Return a name that was not given before: `slice`, then `slice_2`."""
        self._named[name] += 1
        return name if self._named[name] == 1 else f"{name}_{self._named[name]}"

    # -- running SQL ------------------------------------------------------------------------------------------

    def execute(self, query: str | exp.Expr) -> None:
        """Run a statement for its effect."""
        with self._errors(query):
            text = _text(query)
            interruptible(self._connection, lambda: self._connection.execute(text))

    def rows(self, query: str | exp.Expr) -> list[tuple[Any, ...]]:
        """Run a query and return all its rows (for small results: counts, schemas, query plans)."""
        with self._errors(query):
            text = _text(query)
            return interruptible(self._connection, lambda: self._connection.execute(text).fetchall())

    def value(self, query: str | exp.Expr) -> Any:
        """Run a query that returns one row of one column and return that value."""
        return self.rows(query)[0][0]

    def stream(self, query: str | exp.Expr) -> Iterator[pa.RecordBatch]:
        """Stream a query's result as Arrow batches of up to `BATCH_ROWS` rows, in the query's order."""
        with self._errors(query):
            # A sibling cursor, because an open reader blocks its own connection.
            cursor = self._connection.cursor()
            text = _text(query)
            try:
                reader = interruptible(cursor, lambda: cursor.sql(text).to_arrow_reader(BATCH_ROWS))
                while batches := interruptible(cursor, lambda: _some_of(reader)):
                    yield from batches
            finally:
                cursor.close()

    def arrow_schema(self, query: str) -> pa.Schema:
        """Return the Arrow schema of a query's result without running it."""
        with self._errors(query):
            cursor = self._connection.cursor()
            try:
                text = f"SELECT * FROM ({query}) LIMIT 0"
                return interruptible(cursor, lambda: cursor.sql(text).to_arrow_reader(1).schema)
            finally:
                cursor.close()

    def describe(self, query: str | exp.Expr) -> list[tuple[str, str]]:
        """Return (name, DuckDB type) of each column of a query without running it."""
        return [(row[0], row[1]) for row in self.rows(f"DESCRIBE {_text(query)}")]

    def operators(self, query: str | exp.Expr) -> list[str]:
        """Return the names of the physical operators that DuckDB would use, from the root down; runs nothing."""
        pending = json.loads(self.rows(f"EXPLAIN (FORMAT json) {_text(query)}")[0][1])
        names: list[str] = []
        while pending:
            operator = pending.pop(0)
            names.append(operator["name"])
            pending = operator["children"] + pending
        return names

    def write_query(self, query: str, path: Path, kind: str, table: str) -> None:
        """Write a query's result in its order of rows into a new file (see `new_file`).

        Parameters
        ----------
        query
            The query.
        path
            The file to make.
        kind
            One of `WRITTEN`; the path may end otherwise.
        table
            Name of the table in a DuckDB file.

        Raises
        ------
        EngineError
            If the query or writing fails.
        """
        if kind in _FORMATS:
            place = exp.Literal.string(str(path)).sql("duckdb")
            self.execute(f"COPY ({query}) TO {place} ({_FORMATS[kind]})")
        else:
            self.write_file(path, {table: query})

    def write_file(self, path: Path, tables: Mapping[str, str], views: Mapping[str, str] | None = None) -> None:
        """Write query results as tables, and views of them, into a new DuckDB file (see `new_file`)."""
        self.execute(f"ATTACH {exp.Literal.string(str(path)).sql('duckdb')} AS exported")
        try:
            for name, query in tables.items():
                self.execute(f"CREATE TABLE exported.main.{_quoted(name)} AS {query}")
            self.execute("USE exported")  # so that views name the file's tables, whatever it is attached as
            for name, query in (views or {}).items():
                self.execute(f"CREATE VIEW {_quoted(name)} AS {query}")
        finally:
            self.execute("USE memory")
            self.execute("DETACH exported")

    @contextmanager
    def arrow_table(self, name: str, data: Any) -> Iterator[None]:
        """Make an Arrow object readable under `name` while the block lasts."""
        with self._errors(f"register {name}"):  # it tries to import pandas, and clears what a signal raises there
            interruptible(self._connection, lambda: self._connection.register(name, data))
        try:
            yield
        finally:
            self._connection.unregister(name)

    def reads(self, field: pa.Field) -> bool:
        """Return whether DuckDB reads a column of this Arrow type at all."""
        empty = pa.RecordBatchReader.from_batches(pa.schema([field]), [])
        try:
            with self.arrow_table("one_column", empty):
                return True
        except EngineError as error:
            if isinstance(error.__cause__, duckdb.NotImplementedException):
                return False
            raise

    @contextmanager
    def _errors(self, query: str | exp.Expr) -> Iterator[None]:
        try:
            yield
        # Streams fail with Arrow's errors, and messages that quote texts which are not UTF-8 cannot be made.
        except (duckdb.Error, pa.ArrowException, OSError, UnicodeDecodeError) as error:
            OWNER_LOG.error("%s\n%s", error, _text(query))
            if isinstance(error, duckdb.OutOfMemoryException):
                raise OutOfMemoryError(_TOO_LITTLE_MEMORY) from error
            raise EngineError(str(error)) from error

    # -- end of life ------------------------------------------------------------------------------------------

    @property
    def directory(self) -> Path:
        """The private temporary directory."""
        return self._directory

    def close(self) -> None:
        """Drop everything: tables, spilled data, the temporary directory. May be called twice."""
        self._finalizer()


def _clean_up(connection: duckdb.DuckDBPyConnection, folder: WorkFolder) -> None:
    connection.close()
    folder.close()


def _some_of(reader: pa.RecordBatchReader) -> list[pa.RecordBatch]:
    """Read the next batches, together if they are small; none at the end."""
    batches: list[pa.RecordBatch] = []
    rows = 0
    while rows < _READ_TOGETHER and (batch := next(reader, None)) is not None:
        batches.append(batch)
        rows += batch.num_rows
    return batches


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("duckdb")


def _text(query: str | exp.Expr) -> str:
    return query if isinstance(query, str) else query.sql("duckdb", normalize_functions=False)

"""`Database`: the one class that executes SQL; how Ctrl-C ends a query, and how much memory is free.

It owns a private in-memory DuckDB and a private temporary directory (mode 0700) for what does not fit in memory. Both
are gone after `close()`, which also runs at interpreter exit, so Ctrl-C leaves nothing behind.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
import weakref
from _thread import start_new_thread
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import duckdb
import pyarrow as pa
from sqlglot import exp

from dpdb.database.templates import files_of, sql_file
from dpdb.errors import OWNER_LOG, EngineError, OutOfMemoryError, ParameterError, SourceError
from dpdb.files.new_file import WorkFolder
from dpdb.names import in_double_quotes
from dpdb.stopping import Closing

# Batches of 122,880 rows (DuckDB's own) stream 2.7 times slower than these.
BATCH_ROWS = 1_000_000

# A thread reads so many before it hands them over: windows come in batches of 2,048 rows.
_READ_TOGETHER = 100_000
_LEAST_MEBIBYTES = 31.9  # 32 MiB, as DuckDB may round it

_FORMATS = {".parquet": "FORMAT parquet, COMPRESSION zstd", ".csv": "FORMAT csv, HEADER"}
# Endings of files that can be written.
WRITTEN = (*_FORMATS, ".duckdb")

SPARED = 640 << 20
"""Bytes in which most work has room, however many rows there are; see `Database.sparing`."""

# With less DuckDB cannot sort.
_LEAST_MEMORY = 256 << 20

T = TypeVar("T")

_TOO_LITTLE_MEMORY = (
    "memory does not suffice, even with what spills to disk: allow more (--memory-limit, memory_limit), fewer threads, "
    "or give the temporary directory room; the details are in the owner's log"
)

# After these DuckDB gives up the whole database: every later query fails.
_FATAL = (duckdb.FatalException, duckdb.InternalException)
_FAILED = (
    "the database of this session failed inside and is closed; nothing more is spent: open a new session (the reason "
    "is in the owner's log)"
)

# More than any one machine has; DuckDB would start as many as it is told.
MOST_THREADS = 1_024


@dataclass(frozen=True)
class Statement:
    """A statement that ran, in lines, and the files of `sql/` that it was made of, outermost first."""

    sql: str
    files: tuple[str, ...]


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
        self, *, memory_limit: str | None = None, temp_directory: str | Path | None = None, threads: int | None = None
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
        self._trace: list[Statement] | None = None
        self._has_failed = False
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

    def sparing(self, work: Callable[[], T]) -> T:
        """Return what work returns, in at most `SPARED` bytes of memory; if they do not suffice, it works again.

        Scans of long texts buffer as many of them as they may, whatever is done with them; and one GROUP BY takes
        hardly longer where it spills. Whether they suffice may depend on rows; what is returned does not.

        Parameters
        ----------
        work
            Leaves nothing behind when it fails.
        """
        most = self._memory
        if most <= SPARED:
            return work()
        self.spill_beyond(SPARED)
        try:
            return work()
        except OutOfMemoryError:
            pass
        finally:
            self._memory = most
            if not self._has_failed:
                self.execute("RESET memory_limit") if most == math.inf else self._set("memory_limit", f"{most}B")
        return work()

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

    @contextmanager
    def traced(self) -> Iterator[list[Statement]]:
        """List the statements that run in the block, in their order.

        Private: how many there are may depend on rows. `explain` traces a database whose tables are empty.
        """
        self._trace = []
        try:
            yield self._trace
        finally:
            self._trace = None

    def _noted(self, query: str | exp.Expr) -> str:
        """Return the text of a statement that runs now."""
        if self._trace is not None:
            files = () if isinstance(query, str) else files_of(query)
            self._trace.append(Statement(_text(query, in_lines=True), files))
        return _text(query)

    def execute(self, query: str | exp.Expr) -> None:
        """Run a statement for its effect."""
        with self._errors(query):
            text = self._noted(query)
            interruptible(self._connection, lambda: self._connection.execute(text))

    def rows(self, query: str | exp.Expr) -> list[tuple[Any, ...]]:
        """Run a query and return all its rows (for small results: counts, schemas, query plans)."""
        with self._errors(query):
            text = self._noted(query)
            return interruptible(self._connection, lambda: self._connection.execute(text).fetchall())

    def value(self, query: str | exp.Expr) -> Any:
        """Run a query that returns one row of one column and return that value."""
        return self.rows(query)[0][0]

    def stream(self, query: str | exp.Expr) -> Iterator[pa.RecordBatch]:
        """Stream a query's result as Arrow batches of up to `BATCH_ROWS` rows, in the query's order."""
        with self._errors(query):
            # A sibling cursor, because an open reader blocks its own connection.
            cursor = self._connection.cursor()
            text = self._noted(query)
            try:
                reader = interruptible(cursor, lambda: cursor.sql(text).to_arrow_reader(BATCH_ROWS))
                while batches := interruptible(cursor, lambda: _some_of(reader)):
                    yield from batches
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
        kind
            One of `WRITTEN`; the path may end otherwise.

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
                self.execute(f"CREATE TABLE exported.main.{in_double_quotes(name)} AS {query}")
            self.execute("USE exported")  # so that views name the file's tables, whatever it is attached as
            for name, query in (views or {}).items():
                self.execute(f"CREATE VIEW {in_double_quotes(name)} AS {query}")
        finally:
            self.execute("USE memory")
            self.execute("DETACH exported")

    @contextmanager
    def arrow_table(self, name: str, data: Any) -> Iterator[None]:
        """Make an Arrow object readable under `name` while the block lasts."""
        with self._errors(f"register {name}"):  # it tries to import pandas, and clears what a signal raises there
            self._connection.execute("SELECT 1").fetchall()  # a result that nobody has fetched would block it
            interruptible(self._connection, lambda: self._connection.register(name, data))
        try:
            yield
        finally:
            with suppress(duckdb.FatalException):  # a failure is being told
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

    def refuse_failure(self) -> None:
        """Raise `SourceError` if DuckDB has failed inside: it answers nothing more, whatever it is asked."""
        if self._has_failed:
            raise SourceError(_FAILED)

    @contextmanager
    def _errors(self, query: str | exp.Expr) -> Iterator[None]:
        self.refuse_failure()
        try:
            yield
        # Streams fail with Arrow's errors, and messages that quote texts which are not UTF-8 cannot be made.
        except (duckdb.Error, pa.ArrowException, OSError, UnicodeDecodeError) as error:
            OWNER_LOG.error("%s\n%s", error, _text(query))
            if isinstance(error, _FATAL):
                self._has_failed = True
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


def _text(query: str | exp.Expr, *, in_lines: bool = False) -> str:
    if isinstance(query, str):
        return query
    return query.sql("duckdb", normalize_functions=False, pretty=in_lines, comments=False)


_LOOK = 0.2
"""Seconds after which the main thread looks for signals, though it does nothing else."""


class Interrupted(Protocol):
    """What works, such as a connection of DuckDB."""

    def interrupt(self) -> None:
        """Stop what it does; nothing, if it does nothing."""


def interruptible(connection: Interrupted, work: Callable[[], T]) -> T:
    """Return what `work` returns, or raise what it raises; an exception of a signal handler stops its query first.

    DuckDB looks at Python's signals only between the tasks of a query, and one task can take hours; even then it
    reports the signal as a `RuntimeError`. So the main thread, the only one that gets signals, waits while another one
    works.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    task = _Task(work)
    try:
        start_new_thread(task.run, ())
        # A signal that comes just before the wait begins does not end it, and is only seen between two of them.
        while not task.end.acquire(timeout=_LOOK):
            pass
    finally:
        task.is_stopped = True
        while task.has_begun and not task.has_ended:  # left by a signal
            connection.interrupt()  # again and again: a query that is only just starting forgets it
            task.end.acquire(timeout=0.02)
    return task.outcome()


class _Task(Generic[T]):
    """Work for a thread, waited for by one lock.

    The main thread gets an exception of a signal handler between any two of its steps. In the midst of a `Condition`,
    on which threads, events and futures are built, it would leave with the lock that the worker needs to say that it
    has begun or ended, and wait for it for ever. To acquire one lock is one step.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._values: list[T] = []
        self._error: BaseException | None = None
        self.has_begun = self.is_stopped = self.has_ended = False
        self.end = threading.Lock()
        self.end.acquire()

    def run(self) -> None:
        """Work, unless the signal came while this thread was starting."""
        self.has_begun = True  # before it looks whether it is stopped: else nobody might wait for it
        try:
            if not self.is_stopped:
                self._values.append(self._work())
        except BaseException as error:
            self._error = error
        finally:
            self.has_ended = True
            self.end.release()

    def outcome(self) -> T:
        """Return what came of it."""
        error, self._error = self._error, None  # which holds frames that hold this
        try:
            if error is not None:
                raise error
            return self._values.pop()
        finally:
            del error


_UNLIMITED = 1 << 60
"""Control groups without a limit say a number near 2^63, or `max`."""


def available_memory(root: Path = Path("/")) -> int | None:
    """Return how much memory this process may still take, in bytes; None where nothing tells.

    It is the least of what the machine has left, its control groups and its own limits.

    Parameters
    ----------
    root : path
        Where `proc` and `sys` are.
    """
    limits = chain(_of_machine(root), _of_control_groups(root), _of_process(root))
    return min((max(0, left) for left in limits), default=None)


def _of_machine(root: Path) -> Iterator[int]:
    known = re.search(r"^MemAvailable:\s*(\d+) kB", _content_of(root / "proc/meminfo"), re.MULTILINE)
    if known:
        yield int(known[1]) << 10
    else:
        with suppress(ValueError, OSError, AttributeError):  # not everywhere
            yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _of_control_groups(root: Path) -> Iterator[int]:
    """Of each group that this process is in, and those that hold it; in a container the own one is the topmost."""
    groups = root / "sys/fs/cgroup"
    for line in _content_of(root / "proc/self/cgroup").splitlines():
        _, kinds, path = line.split(":", 2)
        inside = Path(path.lstrip("/"))
        if not kinds:
            base, limit, used = groups, "memory.max", "memory.current"
        elif "memory" in kinds.split(","):
            base, limit, used = groups / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        for each in (inside, *inside.parents):
            most, taken = _number(base / each / limit), _number(base / each / used)
            if most is not None and most < _UNLIMITED:
                # Pages of files count as used, and go when others need memory.
                file = re.search(
                    r"^(?:total_)?inactive_file (\d+)", _content_of(base / each / "memory.stat"), re.MULTILINE
                )
                yield most - (taken or 0) + (int(file[1]) if file else 0)


def _of_process(root: Path) -> Iterator[int]:
    """`ulimit -v`."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            taken = re.search(r"^VmSize:\s*(\d+) kB", _content_of(root / "proc/self/status"), re.MULTILINE)
            yield most - ((int(taken[1]) << 10) if taken else 0)


def _number(path: Path) -> int | None:
    text = _content_of(path).strip()
    return int(text) if text.isdigit() else None


def _content_of(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""

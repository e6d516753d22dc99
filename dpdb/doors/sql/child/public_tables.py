"""`PublicTables`: Parquet and CSV files that statements may read by name, copied into one DuckDB file.

Workers open the copy, never the files. It is of the moment in which it was made; where the files change, the owner of
the copy asks for another (`open_again`), and statements that run keep the one that they began with.
"""

from __future__ import annotations

import glob
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sqlglot import exp

from dpdb.database import Database
from dpdb.doors.sql.parse import one_line
from dpdb.errors import EngineError, ParameterError, SourceError
from dpdb.files.new_file import WorkFolder
from dpdb.names import folded
from dpdb.sources import Files, find_files, parquet_columns, parquet_scan, state_of
from dpdb.stopping import Closing

_LOADING_MEMORY = "1GB"
_FILE = "public.duckdb"
_ATTACHED = "public"


class PublicTables(Closing):
    """Public tables by name. May be used by several threads at once; `open_again` by one of them at a time.

    Attributes
    ----------
    names : frozenset of str
        The names as `folded`.

    Raises
    ------
    SourceError, ParameterError
        If a file cannot be read or two tables have one name.
    """

    def __init__(self, tables: Mapping[str, str | Path]) -> None:
        self.names = frozenset(folded(name) for name in tables)
        if len(self.names) != len(tables):
            raise ParameterError("two public tables have the same name")
        self._paths = {name: str(path) for name, path in tables.items()}
        self._lock = threading.Lock()
        self._copy = _Copy(self._paths) if tables else None

    def __iter__(self) -> Iterator[str]:
        """Give their names as they are written."""
        return iter(self._paths)

    @property
    def file(self) -> Path | None:
        """The copy as it is now; None if there are no tables."""
        return None if self._copy is None else self._copy.file

    @contextmanager
    def in_use(self) -> Iterator[Path | None]:
        """Give the copy, which stays while the block lasts, also where another takes its place."""
        with self._lock:
            copy = self._copy
            if copy is not None:
                copy.users += 1
        try:
            yield None if copy is None else copy.file
        finally:
            with self._lock:
                if copy is not None:
                    copy.users -= 1
                    copy.close_if_over()

    def has_changed(self) -> bool:
        """Whether the files are in another state than those that were copied, or are gone."""
        if self._copy is None:
            return False
        try:
            return _states(self._paths) != self._copy.states
        except SourceError:
            return True

    def open_again(self) -> None:
        """Copy the files again; statements that begin from then on read the new copy.

        Raises
        ------
        SourceError, ParameterError
            If a file cannot be read, or has other columns than before, on which statements that are prepared rely. The
            copy from before stays.
        """
        before = self._copy
        if before is None:
            return
        copy = _Copy(self._paths)
        if other := sorted(name for name in self._paths if copy.columns[name] != before.columns[name]):
            copy.close()
            raise ParameterError(f"the columns of {', '.join(other)} are others: start the server again")
        with self._lock:
            self._copy, before.is_over = copy, True
            before.close_if_over()

    def close(self) -> None:
        """Remove the copy. May be called twice."""
        if self._copy is not None:
            self._copy.close()


class _Copy:
    """One copy: a DuckDB file in a folder of its own (mode 0700), and the states of the files that it was made of."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self.users, self.is_over = 0, False
        try:
            self._folder = WorkFolder()
        except OSError as error:
            raise ParameterError(f"no temporary folder can be made for public tables: {error.strerror}") from None
        self.file = self._folder.path / _FILE
        self.columns: dict[str, list[tuple[object, ...]]] = {}
        self.states: dict[str, str] = {}
        try:
            with Database(memory_limit=_LOADING_MEMORY) as database:
                database.execute(f"ATTACH {exp.Literal.string(str(self.file)).sql('duckdb')} AS {_ATTACHED}")
                for name, path in paths.items():
                    find_files(path).settled_state()  # waits, so that no change from now on is missed
                    self.states[name] = state_of(path)
                    self.columns[name] = _load(database, name, path)
                database.execute(f"DETACH {_ATTACHED}")
            self.file.chmod(0o400)
        except BaseException:
            self.close()
            raise

    def close_if_over(self) -> None:
        """Close if another has taken its place and no statement uses it; the lock is held."""
        if self.is_over and not self.users:
            self.close()

    def close(self) -> None:
        """Remove the file. May be called twice."""
        self._folder.close()


def _states(paths: Mapping[str, str]) -> dict[str, str]:
    return {name: state_of(path) for name, path in paths.items()}


def _load(database: Database, name: str, path: str) -> list[tuple[object, ...]]:
    """Copy a file, and return names and types of its columns."""
    try:
        files = find_files(path)
        if files.kind not in ("parquet", "csv"):
            raise SourceError(f"{path}: a public table is a Parquet or CSV file")
        scan = _csv(files)
        if files.kind == "parquet":
            scan = parquet_scan(files, parquet_columns(database, files), {})
        table = exp.table_(name, db=_ATTACHED, quoted=True)
        database.execute(exp.select("*").from_(scan).ctas(table, dialect="duckdb"))
        return [row[:2] for row in database.rows(exp.Describe(this=table))]
    except EngineError as error:
        raise SourceError(f"{path}: cannot be read: {one_line(str(error))}") from None


def _csv(files: Files) -> exp.Expr:
    # Types may be guessed here: the table is public.
    paths = exp.Array(expressions=[exp.Literal.string(glob.escape(path)) for path in files.paths])
    return exp.Table(this=exp.Anonymous(this="read_csv", expressions=[paths]))

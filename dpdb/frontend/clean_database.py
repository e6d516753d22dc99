"""`CleanDatabase`: where an analyst's statement runs. It holds public tables and answers of releases, nothing else."""

from __future__ import annotations

import glob
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pyarrow as pa
from sqlglot import exp

from dpdb.engine.database import Database
from dpdb.engine.sources.parquet import parquet_columns, parquet_scan
from dpdb.engine.sources.places import Files, find_files
from dpdb.errors import EngineError, ParameterError, SourceError, StatementRefusedError
from dpdb.frontend.names import folded
from dpdb.frontend.rewrite import ANSWERS
from dpdb.session.release_table import RELEASE_SCHEMA

__all__ = ["CleanDatabase"]

_MEMORY = "1GB"
_DISK = "4GB"
_MOST_ROWS = 1_000_000
_ROWS = "result_row"


class CleanDatabase:
    """A database without anything private, closed to files, extensions, settings and Python's variables.

    Parameters
    ----------
    public : mapping of name to path
        Parquet and CSV files of the owner's choice that statements may read by name.
    seconds : float
        How long one statement may run.

    Raises
    ------
    SourceError, ParameterError
        If a public table cannot be read or two have one name.
    """

    def __init__(self, public: Mapping[str, str | Path], *, seconds: float = 60.0) -> None:
        self._seconds = seconds
        self.public = frozenset(folded(name) for name in public)
        if len(self.public) != len(public):
            raise ParameterError("two public tables have the same name")
        self._database = Database(memory_limit=_MEMORY)
        try:
            self._database.execute(f"SET max_temp_directory_size = '{_DISK}'")
            self._database.execute(f"CREATE SCHEMA {ANSWERS}")
            for name, path in public.items():
                self._load(name, str(path))
            self._database.seal()
        except BaseException:
            self._database.close()
            raise

    def _load(self, name: str, path: str) -> None:
        try:
            files = find_files(path)
            if files.kind == "duckdb":
                raise SourceError(f"{path}: a public table is a Parquet or CSV file")
            scan = _csv(files)
            if files.kind == "parquet":
                scan = parquet_scan(files, parquet_columns(self._database, files), {})
            self._database.execute(exp.select("*").from_(scan).ctas(exp.table_(name, quoted=True), dialect="duckdb"))
        except EngineError as error:
            raise SourceError(f"{path}: cannot be read: {_first_line(error)}") from None

    # -- statements -------------------------------------------------------------------------------------------

    @contextmanager
    def answers(self, names: Sequence[str]) -> Iterator[None]:
        """Make empty tables for answers while the block lasts."""
        columns = [
            exp.ColumnDef(this=exp.to_identifier(f.name, quoted=True), kind=_type(f.type)) for f in RELEASE_SCHEMA
        ]
        try:
            for name in names:
                schema = exp.Schema(this=exp.table_(name, db=ANSWERS), expressions=[c.copy() for c in columns])
                self._database.execute(exp.Create(this=schema, kind="TABLE", replace=True))
            yield
        finally:
            for name in names:
                self._database.execute(f"DROP TABLE IF EXISTS {ANSWERS}.{name}")

    def fill(self, name: str, answers: pa.Table) -> None:
        """Put answers into their table."""
        with self._database.arrow_table(_ROWS, answers):
            self._database.execute(f"INSERT INTO {ANSWERS}.{name} SELECT * FROM {_ROWS}")

    def refuse_unrunnable(self, query: str) -> None:
        """Run a statement over empty answers, so that what is wrong with it is known before anything is spent.

        Raises
        ------
        StatementRefusedError
            With DuckDB's message, which is about public things only.
        """
        try:
            kinds = self._database.kinds(query)
            if kinds != ["SELECT"]:  # our parser and DuckDB's must agree on what this is
                raise StatementRefusedError(f"DuckDB reads this as {', '.join(kinds) or 'nothing'}, not as one query")
            self._run(f"EXPLAIN {query}")
            self._run(query)
        except EngineError as error:
            raise StatementRefusedError(f"{_message(error)}; nothing was spent") from None

    def run(self, query: str, form: Literal["query", "explain", "describe"] = "query") -> pa.Table:
        """Run a statement, or show its plan or its columns.

        Raises
        ------
        EngineError
            With DuckDB's message, or if the statement takes too long or its result is too large.
        """
        try:
            return self._run(query if form == "query" else f"{form.upper()} {query}")
        except EngineError as error:
            raise EngineError(_message(error)) from None

    def _run(self, query: str) -> pa.Table:
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._database.interrupt()

        timer = threading.Timer(self._seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            return self._database.table(query, most_rows=_MOST_ROWS)
        except EngineError:
            if late.is_set():
                raise EngineError(f"the statement was stopped after {self._seconds:g} seconds") from None
            raise
        finally:
            timer.cancel()

    def close(self) -> None:
        """Drop everything. May be called twice."""
        self._database.close()


def _csv(files: Files) -> exp.Expr:
    # Types may be guessed here: the table is public.
    paths = exp.Array(expressions=[exp.Literal.string(glob.escape(path)) for path in files.paths])
    return exp.Table(this=exp.Anonymous(this="read_csv", expressions=[paths]))


def _type(kind: pa.DataType) -> exp.DataType:
    names = {pa.string(): "VARCHAR", pa.float64(): "DOUBLE", pa.int64(): "BIGINT"}
    return exp.DataType.build(names[kind], dialect="duckdb")


def _message(error: EngineError) -> str:
    """DuckDB's message without the lines that quote the rewritten statement."""
    return str(error).split("\n\nLINE ")[0].strip()


def _first_line(error: EngineError) -> str:
    return str(error).splitlines()[0]

"""`PublicTables`: the tables that statements may read by name, in one file that every worker opens."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from pathlib import Path

from sqlglot import exp

from dpdb.database import Database
from dpdb.doors.sql.refusal_words import one_line
from dpdb.errors import EngineError, ParameterError, SourceError
from dpdb.files.new_file import WorkFolder
from dpdb.names import folded
from dpdb.sources import Files, find_files, parquet_columns, parquet_scan

__all__ = ["PublicTables"]

_LOADING_MEMORY = "1GB"
_FILE = "public.duckdb"
_ATTACHED = "public"


class PublicTables:
    """Parquet and CSV files, read once into a DuckDB file in a folder of its own (mode 0700).

    Parameters
    ----------
    tables : mapping of name to path

    Attributes
    ----------
    names : frozenset of str
        The names as `folded`.
    file : Path or None
        The file; None if there are no tables.

    Raises
    ------
    SourceError, ParameterError
        If a file cannot be read or two tables have one name.
    """

    def __init__(self, tables: Mapping[str, str | Path]) -> None:
        self.names = frozenset(folded(name) for name in tables)
        if len(self.names) != len(tables):
            raise ParameterError("two public tables have the same name")
        self.file: Path | None = None
        if not tables:
            return
        try:
            self._folder = WorkFolder()
        except OSError as error:
            raise ParameterError(f"no temporary folder can be made for public tables: {error.strerror}") from None
        self.file = self._folder.path / _FILE
        try:
            _write(tables, self.file)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the file. May be called twice."""
        if self.file is not None:
            self._folder.close()


def _write(tables: Mapping[str, str | Path], file: Path) -> None:
    with Database(memory_limit=_LOADING_MEMORY) as database:
        database.execute(f"ATTACH {exp.Literal.string(str(file)).sql('duckdb')} AS {_ATTACHED}")
        for name, path in tables.items():
            _load(database, name, str(path))
        database.execute(f"DETACH {_ATTACHED}")
    file.chmod(0o400)


def _load(database: Database, name: str, path: str) -> None:
    try:
        files = find_files(path)
        if files.kind not in ("parquet", "csv"):
            raise SourceError(f"{path}: a public table is a Parquet or CSV file")
        scan = _csv(files)
        if files.kind == "parquet":
            scan = parquet_scan(files, parquet_columns(database, files), {})
        table = exp.table_(name, db=_ATTACHED, quoted=True)
        database.execute(exp.select("*").from_(scan).ctas(table, dialect="duckdb"))
    except EngineError as error:
        raise SourceError(f"{path}: cannot be read: {one_line(str(error))}") from None


def _csv(files: Files) -> exp.Expr:
    # Types may be guessed here: the table is public.
    paths = exp.Array(expressions=[exp.Literal.string(glob.escape(path)) for path in files.paths])
    return exp.Table(this=exp.Anonymous(this="read_csv", expressions=[paths]))

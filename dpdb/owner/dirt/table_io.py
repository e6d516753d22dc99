"""Reading a source into an Arrow table with all its columns, and writing the noisy table to a new file."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from dpdb.engine.duckdb.database import Database
from dpdb.engine.schema import TableSchema
from dpdb.engine.sources.open import SourceLike, open_source
from dpdb.errors import ParameterError, SourceError
from dpdb.files.new_file import new_file

__all__ = ["OutputFile", "ReadTable", "arrow_forgets", "read_table"]

_TABLE = exp.to_table("noisy_table")
_ATTACHED = "noisy_file"
_FORMATS = {".parquet": "FORMAT parquet, COMPRESSION zstd", ".csv": "FORMAT csv, HEADER", ".duckdb": ""}


@dataclass(frozen=True)
class ReadTable:
    """All rows of a source.

    Attributes
    ----------
    rows : pyarrow.Table
        Every column, in the source's order of rows. Types that Arrow does not know are read as text.
    schema : TableSchema
        The types as the source declares them.
    """

    rows: pa.Table
    schema: TableSchema


def read_table(
    database: Database,
    source: SourceLike,
    *,
    table: str | None = None,
    csv_schema: Mapping[str, str] | None = None,
) -> ReadTable:
    """Read a whole source (see `open_source`).

    Raises
    ------
    SourceError
        If it cannot be read, has no rows, or is a view or stream with columns of nested types, which are lost.
    """
    opened = open_source(database, source, table=table, csv_schema=csv_schema)
    kept = {name for name, _ in database.describe(exp.select("*").from_(opened.scan.copy()))}
    for column in opened.schema.columns:
        if column.name not in kept:
            raise SourceError(
                f"{opened.description}: column {column.name!r} of type {column.declared_type} cannot be kept when a "
                "view or stream is copied; save it as a Parquet or DuckDB table first"
            )
    cells = [_as_arrow_knows_it(column.name, column.declared_type) for column in opened.schema.columns]
    batches = list(database.stream(exp.select(*cells).from_(opened.scan.copy())))
    if not batches:
        raise SourceError(f"{opened.description}: the table has no rows, so there is nothing to change")
    return ReadTable(pa.Table.from_batches(batches), opened.schema)


class OutputFile:
    """A new Parquet (.parquet), CSV (.csv) or DuckDB (.duckdb) file, written whole or not at all.

    Parameters
    ----------
    path
        Its ending chooses the format.
    source
        What is read: never overwritten.
    overwrite
        Whether an existing file may be replaced, which takes a source that is a path or a pyarrow Table: of
        others it is not known which files they read.

    Raises
    ------
    ParameterError
        If the ending is unknown, there is no such directory, or a file would be overwritten that must not be.
    """

    def __init__(self, path: str | os.PathLike[str], source: SourceLike, *, overwrite: bool = False) -> None:
        self.path = Path(path)
        self._overwrite = overwrite
        if self.path.suffix.lower() not in _FORMATS:
            raise ParameterError(f"{self.path}: the output file must end in {', '.join(_FORMATS)}")
        if not self.path.parent.is_dir():
            raise ParameterError(f"{self.path}: there is no directory {str(self.path.parent)!r}")
        self._refuse_source(source)
        self._refuse_existing()

    def write(self, database: Database, rows: pa.Table, types: Mapping[str, str], table: str = "data") -> None:
        """Write the rows in their order.

        Parameters
        ----------
        types
            SQL types of columns that get back a type which Arrow does not know.
        table
            Name of the table in a DuckDB file.

        Raises
        ------
        EngineError, ParameterError
            If writing fails; then nothing is left behind.
        """
        cells = [_in_type(name, types.get(name)) for name in rows.column_names]
        query = exp.select(*cells).from_(_TABLE.copy())
        with new_file(self.path, replace=self._overwrite) as file, database.arrow_table(_TABLE.name, rows):
            options = _FORMATS[self.path.suffix.lower()]
            place = exp.Literal.string(str(file)).sql("duckdb")
            if options:
                database.execute(f"COPY ({query.sql('duckdb')}) TO {place} ({options})")
            else:
                _write_duckdb(database, query, place, table)
            self._refuse_existing()

    def _refuse_existing(self) -> None:
        log = self.path.with_name(f"{self.path.name}.wal")
        if self.path.suffix.lower() == ".duckdb" and log.exists():
            raise ParameterError(f"{log} exists: the database is in use or was not closed; name another output file")
        if self.path.is_dir():
            raise ParameterError(f"{self.path} is a directory; name a file")
        if self.path.exists() and not self._overwrite:
            raise ParameterError(f"{self.path} exists; name another output file or allow overwriting")

    def _refuse_source(self, source: SourceLike) -> None:
        if isinstance(source, (str, os.PathLike)):
            if any(self._is(file) for file in _files_of(os.fspath(source))):
                raise ParameterError(f"{self.path} is the source, which is never overwritten; name another output file")
        elif self.path.exists() and not isinstance(source, pa.Table):
            raise ParameterError(f"{self.path} exists and may be what the source reads; name another output file")

    def _is(self, file: Path) -> bool:
        return file.exists() and self.path.exists() and file.samefile(self.path)


def _write_duckdb(database: Database, query: exp.Select, place: str, table: str) -> None:
    database.execute(f"ATTACH {place} AS {_ATTACHED}")
    try:
        target = exp.table_(table, db="main", catalog=_ATTACHED, quoted=True)
        database.execute(query.ctas(target, dialect="duckdb"))
    finally:
        database.execute(f"DETACH {_ATTACHED}")


def _files_of(path: str) -> Collection[Path]:
    if Path(path).is_dir():
        return list(Path(path).rglob("*"))
    if has_magic(path) and not Path(path).exists():
        return [Path(file) for file in glob(path, recursive=True)]  # noqa: PTH207 - as the source is read
    return [Path(path)]


# -- types that Arrow does not know -----------------------------------------------------------------------------


def arrow_forgets(declared: str) -> bool:
    """Whether a declared type comes back from Arrow as another one."""
    return _read_as_text(declared) or declared in {"HUGEINT", "UHUGEINT"}


def _read_as_text(declared: str) -> bool:
    return declared.startswith("ENUM(") or declared in {"BIT", "JSON", "TIME WITH TIME ZONE", "UUID"}


def _as_arrow_knows_it(name: str, declared: str) -> exp.Expr:
    return _in_type(name, "VARCHAR" if _read_as_text(declared) else None)


def _in_type(name: str, wanted: str | None) -> exp.Expr:
    column = exp.column(name, quoted=True)
    if wanted is None:
        return column
    return exp.alias_(exp.cast(column, exp.DataType.build(wanted, dialect="duckdb")), name, quoted=True)

"""Reading a source into an Arrow table with all its columns, and writing the noisy table to a new file."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from glob import glob, has_magic
from pathlib import Path

import pyarrow as pa

from dpdb.database import WRITTEN
from dpdb.engine import write_rows
from dpdb.errors import ParameterError
from dpdb.files.new_file import new_file
from dpdb.sources import SourceLike

__all__ = ["OutputFile"]


class OutputFile:
    """A new Parquet (.parquet), CSV (.csv) or DuckDB (.duckdb) file, written whole or not at all.

    Parameters
    ----------
    path
        Its ending chooses the format.
    source
        The source of the rows: never overwritten.
    overwrite
        Whether an existing file may be replaced; the source must then be a path or a pyarrow Table, because the
        files that other sources read are unknown.

    Raises
    ------
    ParameterError
        If the ending is unknown, there is no such directory, or a file would be overwritten that must not be.
    """

    def __init__(self, path: str | os.PathLike[str], source: SourceLike, *, overwrite: bool = False) -> None:
        self.path = Path(path)
        self._overwrite = overwrite
        if self.path.suffix.lower() not in WRITTEN:
            raise ParameterError(f"{self.path}: the output file must end in {', '.join(WRITTEN)}")
        if not self.path.parent.is_dir():
            raise ParameterError(f"{self.path}: there is no directory {str(self.path.parent)!r}")
        self._refuse_source(source)
        self._refuse_existing()

    def write(self, rows: pa.Table, types: Mapping[str, str], table: str = "data") -> None:
        """Write the rows in their order; see `write_rows`.

        Parameters
        ----------
        rows
            The rows to write.
        types
            Column name -> SQL type that Arrow does not know and the file gets back.
        table
            Name of the table in a DuckDB file.

        Raises
        ------
        EngineError, ParameterError
            If writing fails; then nothing is left behind.
        """
        with new_file(self.path, replace=self._overwrite) as file:
            write_rows(rows, types, file, self.path.suffix.lower(), table)
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


def _files_of(path: str) -> Collection[Path]:
    if Path(path).is_dir():
        return list(Path(path).rglob("*"))
    if has_magic(path) and not Path(path).exists():
        return [Path(file) for file in glob(path, recursive=True)]  # noqa: PTH207 - as the source is read
    return [Path(path)]

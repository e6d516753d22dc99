"""Results in a folder of Parquet files: one per release or suite of a run, complete or absent, never changed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dpdb.errors import ParameterError
from dpdb.files.file_lock import FileLock
from dpdb.files.new_file import new_file
from dpdb.steps import reached

__all__ = ["ParquetResults", "results_lock"]

_LOCK_SECONDS = 30.0


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

    def __init__(self, path: Path, schema: pa.Schema, key: tuple[str, ...]) -> None:
        self._path = path
        self._schema = schema
        self._key = key

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
        name = "/".join(first[key] for key in self._key)
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
            return self._schema.empty_table()
        if not files:
            raise ParameterError(f"{self._path}: no results there; `dpdb run JOB.toml` writes them")
        try:
            import pyarrow.dataset as ds  # brings pandas along, which no other command needs

            return ds.dataset([str(file) for file in files], schema=self._schema, format="parquet").to_table()
        except (pa.ArrowException, OSError) as error:
            raise ParameterError(f"{self._path}: not a results table of dpdb: {error}") from None

    def _lock(self) -> FileLock:
        return results_lock(self._path, self._path / ".lock")

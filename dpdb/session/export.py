"""Writing Arrow batches to a new file: complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from dpdb.errors import ParameterError

__all__ = ["write_batches"]


def write_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch], path: str | Path) -> None:
    """Write batches to a new .parquet or .csv file, readable by its owner only.

    Raises
    ------
    ParameterError
        If the file exists, its directory does not, or the suffix is neither.
    """
    target = Path(path)
    if target.suffix not in (".parquet", ".csv"):
        raise ParameterError(f"{target}: the file must end in .parquet or .csv")
    if target.exists():
        raise ParameterError(f"{target}: exists already; it is not overwritten")
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise ParameterError(f"{target}: cannot be written: {error.strerror}") from None
    try:
        _write(schema, batches, partial, target.suffix)
        partial.rename(target)
    except OSError as error:
        raise ParameterError(f"{target}: cannot be written: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)


def _write(schema: pa.Schema, batches: Iterable[pa.RecordBatch], path: Path, suffix: str) -> None:
    from pyarrow import csv, parquet

    make = parquet.ParquetWriter if suffix == ".parquet" else csv.CSVWriter
    with make(str(path), schema) as writer:
        for batch in batches:
            writer.write_batch(batch.cast(schema))

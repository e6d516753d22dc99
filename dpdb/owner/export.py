"""Writing Arrow batches to a new file: complete or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from dpdb.errors import ParameterError
from dpdb.files.new_file import new_file

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
    with new_file(target, private=True) as partial:
        _write(schema, batches, partial, target.suffix)


def _write(schema: pa.Schema, batches: Iterable[pa.RecordBatch], path: Path, suffix: str) -> None:
    from pyarrow import csv, parquet

    make = parquet.ParquetWriter if suffix == ".parquet" else csv.CSVWriter
    with make(str(path), schema) as writer:
        for batch in batches:
            writer.write_batch(batch.cast(schema))

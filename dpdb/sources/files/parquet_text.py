"""Parquet files with text that is no UTF-8: the columns that have it are read by Arrow, all others as always.

DuckDB refuses such a column whole. Which columns those are depends on rows, and so does the time that a copy takes;
what is answered does not: every other cell is what it was.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlglot import exp

from dpdb.database import Database
from dpdb.errors import EngineError, SourceError
from dpdb.sources.cells.broken_text import as_text, mended
from dpdb.sources.kinds import read_all
from dpdb.sources.paths import Files
from dpdb.sources.source import Source, copied, told_of_lost, unreadable

_TEXTS = exp.to_table("source_text")
_ROWS = 1 << 14


def copied_with_nulls(database: Database, source: Source, files: Files) -> Source:
    """Copy files of which some text is no UTF-8; each such cell is NULL, and counted for the owner.

    Parameters
    ----------
    database
        Where the source is readable.

    Raises
    ------
    SourceError
        If something else is wrong with them.
    """
    texts = [name for name in source.schema.usable if _fails(database, source, [name])]
    nested = [c.name for c in source.schema.columns if c.type is None and _fails(database, source, [], [c.name])]
    if not (texts or nested) or any(source.schema[name].type != "VARCHAR" for name in texts):
        raise unreadable(source)
    rows = database.value(exp.select(exp.Count(this=exp.Star())).from_(source.scan.copy()))
    read = _Texts(files, texts, nested)
    try:
        with database.arrow_table(_TEXTS.name, pa.RecordBatchReader.from_batches(read.schema, read.batches())):
            copy = copied(database, replace(source, scan=_beside(source, [*texts, *nested])))
    except (EngineError, SourceError):
        raise unreadable(source) from None
    if read.rows != rows:  # two libraries that do not agree on a file: it is damaged
        raise unreadable(source)
    return told_of_lost(replace(source, scan=copy.scan), read.lost)


def _fails(database: Database, source: Source, names: Sequence[str], nested: Sequence[str] = ()) -> bool:
    try:
        read_all(database, source, names, nested)
    except EngineError:
        return True
    return False


def _beside(source: Source, names: Sequence[str]) -> exp.Expr:
    """Read some columns from the texts, all others from the files: both give rows in the order of the files."""
    others: list[exp.Expr] = [exp.column(name, quoted=True) for name in source.schema.names if name not in set(names)]
    own = exp.select(*others or [exp.true()]).from_(source.scan.copy()).subquery("file_row")
    cells = [
        exp.column(name, table=_TEXTS.name if name in set(names) else "file_row", quoted=True)
        for name in source.schema.names
    ]
    join = exp.Join(this=_TEXTS.copy(), method="POSITIONAL")
    return exp.Select(expressions=cells).from_(own).join(join).subquery("whole_row")


class _Texts:
    """Columns of text as Arrow reads them, and of nested columns true or NULL, in the order of the files."""

    def __init__(self, files: Files, texts: Sequence[str], nested: Sequence[str]) -> None:
        self._files, self._texts, self._nested = files, texts, nested
        self.schema = pa.schema([*((name, pa.string()) for name in texts), *((name, pa.bool_()) for name in nested)])
        self.lost: dict[str, Counter[str]] = {}
        self.rows = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        for path in self._files.paths:
            lost = self.lost[self._files.name_of(path)] = Counter()
            with pq.ParquetFile(path, metadata=_footer(path)) as file:
                for batch in file.iter_batches(_ROWS, columns=[*self._texts, *self._nested]):
                    self.rows += len(batch)
                    yield self._read(batch, lost)

    def _read(self, batch: pa.RecordBatch, lost: Counter[str]) -> pa.RecordBatch:
        texts = mended(batch.select(self._texts), lost)
        cells = [as_text(column) for column in texts.columns]
        valid = (batch.column(name).is_valid() for name in self._nested)
        presence = [pc.if_else(each, each, pa.scalar(None, pa.bool_())) for each in valid]
        return pa.record_batch([*cells, *presence], schema=self.schema)


def _footer(path: str) -> pq.FileMetaData:
    """Read a footer without the schema that Arrow has written beside it.

    By that one Arrow would read categories as a dictionary, and refuse a word of it that is no text.
    """
    with Path(path).open("rb") as file:
        file.seek(-8, os.SEEK_END)
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        file.seek(-8 - length, os.SEEK_END)
        footer = file.read(length).replace(b"ARROW:schema", b"ARROW_schema")
    return pq.read_metadata(pa.BufferReader(b"PAR1" + footer + end))

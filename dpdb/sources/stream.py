"""`StreamSource`: the steps that all sources in this process have in common: one Arrow stream, copied at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyarrow as pa
from sqlglot import exp

from dpdb.database import Database
from dpdb.errors import SourceError
from dpdb.predicates import in_type
from dpdb.schema import Column, TableSchema, TypeOrigin, refuse_duplicate_names
from dpdb.sources.source import (
    UNTYPED,
    Reading,
    Source,
    Wanted,
    copied,
    has_ordered_categories,
    nothing_usable,
    scanned,
    told_of_lost,
)

_STREAM = exp.to_table("source_stream")


@dataclass(frozen=True)
class Stream:
    """A source as a stream that can be read once.

    Attributes
    ----------
    reader : pyarrow.RecordBatchReader
        All its rows. What fails while it is read may print values.
    untyped : frozenset of str
        Columns that are text because Python objects became text.
    texts : mapping of str to str
        The types of columns that come as text, and are none: of enumerations, whose order is in their types and not in
        their rows, and of values that Arrow has no type for.
    unordered : frozenset of str
        Columns of text whose categories are in no order that is known.
    unread : frozenset of str
        Columns that the reader gives no values of: they stay in the schema, and are not compared.
    lost : Counter of str
        By column: cells that are no text, counted while the stream is read.
    """

    description: str
    reader: pa.RecordBatchReader
    untyped: frozenset[str] = frozenset()
    texts: Mapping[str, str] = field(default_factory=dict)
    unordered: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    lost: Counter[str] = field(default_factory=Counter)

    @classmethod
    def checked(cls, description: str, reader: pa.RecordBatchReader, **known: Any) -> Self:
        """Make a stream of rows that nobody has checked yet; see `validated`."""
        lost: Counter[str] = Counter()
        return cls(description, validated(reader, lost), lost=lost, **known)

    def of(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """Return the reader with these of its columns only."""
        schema = self.reader.schema
        if list(columns) == schema.names:
            return self.reader
        kept = pa.schema([schema.field(name) for name in columns])
        return pa.RecordBatchReader.from_batches(kept, (batch.select(columns) for batch in self.reader))


class StreamSource(ABC):
    """A kind of object that lives in this process and can be read as an Arrow stream."""

    @abstractmethod
    def reads(self, target: object) -> bool:
        """Say whether this kind reads the object."""

    @abstractmethod
    def stream(self, source: Any, table: str | None, *, rows: bool) -> Stream:
        """Return the stream of all rows.

        Parameters
        ----------
        table
            Which of its tables is meant, where it has several.
        rows
            Whether they are wanted. Else only the columns of the stream are read: nothing need be computed.

        Raises
        ------
        SourceError
            If the object offers no Arrow stream, or the table does not exist.
        """

    def open(self, database: Database, target: Any, wanted: Wanted) -> Source:
        """Copy the stream; see `copied_stream`."""
        if wanted.types:
            raise SourceError(f"a schema applies to columns without a type: {UNTYPED}")
        rows = wanted.rows is not Reading.NONE
        stream = self.stream(target, wanted.table, rows=rows)
        if not rows:
            stream = replace(stream, reader=without_batches(stream.reader))
        return copied_stream(database, stream)


def without_batches(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return a stream of the same columns without a row."""
    return pa.RecordBatchReader.from_batches(reader.schema, [])


def copied_stream(database: Database, stream: Stream) -> Source:
    """Copy a stream; columns of types that DuckDB does not read at all stay in the schema under Arrow's name."""
    columns = stream.reader.schema
    if not columns.names:
        raise SourceError(f"{stream.description}: the table has no columns")
    refuse_duplicate_names(columns.names)
    for place, name in enumerate(columns.names, 1):
        if not name:
            raise SourceError(
                f"{stream.description}: column {place} has a name that SQL cannot take ({name!r}): rename it"
            )
    foreign = {
        field.name: str(field.type)
        for field in columns
        if field.name in stream.unread or _is_unsafe(field.type) or not database.reads(field)
    }
    readable = [name for name in columns.names if name not in foreign]
    if not readable:
        raise nothing_usable(stream.description)
    with database.arrow_table(_STREAM.name, stream.of(readable)):
        found = scanned(database, stream.description, _in_order(stream, readable))
        copy = copied(database, replace(found, schema=_schema(found.schema, columns.names, foreign, stream)))
    return told_of_lost(copy, {stream.description: stream.lost})


# Types of DuckDB's own to which any bits of their storage belong.
_OF_ANY_BITS = ("hugeint", "uhugeint")


def _is_unsafe(kind: pa.DataType) -> bool:
    """Say whether a type is one of DuckDB's own whose bits it takes on trust: BIT, TIMETZ.

    Nothing here can check them, and a query that meets other bits ends the database.
    """
    return isinstance(kind, pa.OpaqueType) and kind.vendor_name == "DuckDB" and kind.type_name not in _OF_ANY_BITS


def _schema(known: TableSchema, names: Sequence[str], foreign: dict[str, str], stream: Stream) -> TableSchema:
    of_arrow = {each.name for each in stream.reader.schema if has_ordered_categories(each.type)}
    lost = (stream.unordered | of_arrow) - set(stream.texts)
    origins = dict.fromkeys(lost, TypeOrigin.CATEGORIES) | dict.fromkeys(stream.untyped, TypeOrigin.OBJECTS)
    columns = [Column(name, foreign[name]) if name in foreign else known[name] for name in names]
    return TableSchema(tuple(replace(column, origin=origins.get(column.name, column.origin)) for column in columns))


def _in_order(stream: Stream, names: Sequence[str]) -> exp.Expr:
    """Read the columns that come as text, and are none, in their types."""
    if not stream.texts:
        return _STREAM
    cells = [exp.column(name, quoted=True) for name in names]
    typed = [
        exp.alias_(in_type(cell, "VARCHAR", stream.texts.get(cell.name, "VARCHAR")), cell.name, quoted=True)
        for cell in cells
    ]
    return exp.select(*typed).from_(_STREAM.copy()).subquery("typed_row")


def validated(reader: pa.RecordBatchReader, lost: Counter[str]) -> pa.RecordBatchReader:
    """Check what Arrow takes on trust: nothing behind this is made for anything else.

    Text that is no UTF-8 becomes NULL and is counted in `lost` by its column; see `dpdb.sources.cells.broken_text`.
    """
    from dpdb.sources.cells.broken_text import mended

    return pa.RecordBatchReader.from_batches(reader.schema, (mended(batch, lost) for batch in reader))

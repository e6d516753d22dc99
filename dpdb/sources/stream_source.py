"""`StreamSource`: the steps that all sources in this process have in common: one Arrow stream, copied at once.

Such sources are whatever has an Arrow stream (pyarrow, Polars and others), and pandas data frames. In these, columns of
Python objects are text, which nobody has given a type.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dpdb.database import Database
from dpdb.errors import OWNER_LOG, SourceError
from dpdb.predicates import enum_type, in_type
from dpdb.schema import Column, TableSchema, TypeOrigin, refuse_duplicate_names
from dpdb.sources.source import (
    UNTYPED,
    Reading,
    Source,
    Wanted,
    copied,
    has_ordered_categories,
    nothing_usable,
    refuse_table_name,
    scanned,
)

_STREAM = exp.to_table("source_stream")


@dataclass(frozen=True)
class Stream:
    """A source as a stream that can be read once.

    Attributes
    ----------
    description : str
        What the source is called in messages.
    reader : pyarrow.RecordBatchReader
        All its rows. What fails while it is read may print values.
    untyped : frozenset of str
        Columns that are text because Python objects became text.
    texts : mapping of str to str
        The types of columns that come as text, and are none: of enumerations, whose order is in their types and not in
        their rows, and of values that Arrow has no type for.
    unordered : frozenset of str
        Columns of text whose categories are in no order that is known.
    """

    description: str
    reader: pa.RecordBatchReader
    untyped: frozenset[str] = frozenset()
    texts: Mapping[str, str] = field(default_factory=dict)
    unordered: frozenset[str] = frozenset()

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
        source
            The object.
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
        """Copy the stream; see `copied_stream`.

        Parameters
        ----------
        database, target, wanted
            As of `SourceKind.open`.
        """
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
    """Copy a stream; columns of types that DuckDB does not read at all stay in the schema under Arrow's name.

    Raises
    ------
    SourceError
        If there is no column that dpdb can compare, two have one name, or reading fails.
    """
    columns = stream.reader.schema
    if not columns.names:
        raise SourceError(f"{stream.description}: the table has no columns")
    refuse_duplicate_names(columns.names)
    for place, name in enumerate(columns.names, 1):
        if not name:
            raise SourceError(
                f"{stream.description}: column {place} has a name that SQL cannot take ({name!r}): rename it"
            )
    foreign = {field.name: str(field.type) for field in columns if _is_unsafe(field.type) or not database.reads(field)}
    readable = [name for name in columns.names if name not in foreign]
    if not readable:
        raise nothing_usable(stream.description)
    with database.arrow_table(_STREAM.name, stream.of(readable)):
        found = scanned(database, stream.description, _in_order(stream, readable))
        return copied(database, replace(found, schema=_schema(found.schema, columns.names, foreign, stream)))


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


class ArrowStream(StreamSource):
    """An object with the Arrow C stream interface, or none: then it is no source at all."""

    def reads(self, target: object) -> bool:
        """Return True: it is the last kind to be asked."""
        del target
        return True

    def stream(self, source: Any, table: str | None, *, rows: bool) -> Stream:
        """Start the stream, or take the schema of the object; see `StreamSource`.

        Parameters
        ----------
        source, table, rows
            As of `StreamSource.stream`.
        """
        kind = type(source).__name__
        refuse_table_name(kind, table)
        columns = None if rows else getattr(source, "schema", None)
        if isinstance(columns, pa.Schema):
            return Stream(kind, pa.RecordBatchReader.from_batches(columns, []))
        return Stream(kind, arrow_stream(source, kind), texts=_enums_of_polars(source))


def _enums_of_polars(source: Any) -> dict[str, str]:
    """Return the types of the Enum columns of a Polars frame; Arrow has their values in the rows only."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(source, polars.DataFrame):
        return {}
    kinds = {name: enum_type(list(kind.categories)) for name, kind in source.schema.items() if kind == polars.Enum}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def arrow_stream(source: Any, kind: str) -> pa.RecordBatchReader:
    """Start a stream whose batches are checked: Arrow takes on trust what nothing behind this is made for.

    Raises
    ------
    SourceError
        If the object offers no Arrow stream.
    """
    return validated(_started(source, kind))


def _started(source: Any, kind: str) -> pa.RecordBatchReader:
    if isinstance(source, pa.RecordBatchReader):
        return source
    if hasattr(source, "scanner"):  # pyarrow.dataset.Dataset
        return source.scanner().to_reader()
    if not hasattr(source, "__arrow_c_stream__"):
        raise SourceError(
            f"{kind}: not a source; give a path, a DuckDB connection or relation, or an object with an Arrow stream "
            "(pyarrow, pandas, Polars)"
        )
    try:
        return pa.RecordBatchReader.from_stream(source)
    except Exception as error:  # it prints values of the column that did not convert
        OWNER_LOG.error("%s: %s", kind, error)
        raise SourceError(f"{kind}: cannot be read as an Arrow stream; give every column one type") from None


def validated(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Check what Arrow takes on trust, such as that text is UTF-8: nothing behind this is made for anything else."""

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            batch.validate(full=True)
            yield batch

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


_ORDERED_KINDS = "biufMm"


class DataFrame(StreamSource):
    """A pandas data frame. pandas is never imported here: who has a frame has it."""

    def reads(self, target: object) -> bool:
        """Say whether it is a pandas data frame."""
        return "pandas" in sys.modules and isinstance(target, sys.modules["pandas"].DataFrame)

    def stream(self, source: Any, table: str | None, *, rows: bool) -> Stream:
        """Convert the frame, or its first zero rows; see `StreamSource`.

        Parameters
        ----------
        source, table, rows
            As of `StreamSource.stream`.
        """
        kind = type(source).__name__
        refuse_table_name(kind, table)
        frame, objects = _with_text_for_objects(source if rows else source.iloc[:0])
        frame, enums, unordered = _with_text_for_categories(frame)
        return Stream(kind, arrow_stream(frame, kind), objects, enums, unordered)


def _with_text_for_objects(frame: Any) -> tuple[Any, frozenset[str]]:
    """Turn object columns to text: their type would otherwise be guessed from private rows."""
    if not frame.columns.is_unique:
        raise SourceError("DataFrame: two columns have one name; rename one")
    objects = [name for name in frame.columns if frame[name].dtype == object]
    text = {name: frame[name].map(_text, na_action="ignore").astype("string") for name in objects}
    return _with(frame, text), frozenset(map(str, objects))


def _with_text_for_categories(frame: Any) -> tuple[Any, dict[str, str], frozenset[str]]:
    """Turn ordered categories to text and to the enumeration of them: they are their column's type, hence public.

    Numbers and times whose order is that of the categories stay what they are. Returned last: columns of text whose
    categories have no order, or one that cannot be written.
    """
    kinds = {name: frame[name].dtype for name in frame.columns}
    changed, enums, unordered = {}, {}, set()
    for name, kind in kinds.items():
        if not isinstance(kind, sys.modules["pandas"].CategoricalDtype):
            continue
        values = kind.categories
        if values.dtype.kind in _ORDERED_KINDS and (not kind.ordered or values.is_monotonic_increasing):
            changed[name] = frame[name].cat.as_unordered()
            continue
        words = [_text(value) for value in values]
        enum = enum_type(words) if kind.ordered else None
        if enum is not None:
            changed[name] = frame[name].cat.rename_categories(words)
            enums[str(name)] = enum
        else:
            unordered.add(str(name))
    return _with(frame, changed), enums, frozenset(unordered)


def _with(frame: Any, columns: Mapping[Any, Any]) -> Any:
    """Return a frame with other columns in the place of its own, whose names may be numbers or tuples."""
    changed = frame.copy(deep=False)
    for name, column in columns.items():
        changed[name] = column
    return changed


def _text(value: object) -> str | None:
    """Return the text of an object, or None if it has none in UTF-8."""
    try:
        text = str(value)
        text.encode()
    except Exception:
        return None
    return text

"""pandas data frames: columns of Python objects are text, which nobody has given a type."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from dpdb.errors import SourceError
from dpdb.predicates import enum_type
from dpdb.sources.objects.arrow_stream import arrow_stream
from dpdb.sources.source import refuse_table_name
from dpdb.sources.stream import Stream, StreamSource

_ORDERED_KINDS = "biufMm"


class DataFrame(StreamSource):
    """A pandas data frame. pandas is never imported here: who has a frame has it."""

    def reads(self, target: object) -> bool:
        """Say whether it is a pandas data frame."""
        return "pandas" in sys.modules and isinstance(target, sys.modules["pandas"].DataFrame)

    def stream(self, source: Any, table: str | None, *, rows: bool) -> Stream:
        """Convert the frame, or its first zero rows; see `StreamSource`."""
        kind = type(source).__name__
        refuse_table_name(kind, table)
        frame, objects = _with_text_for_objects(source if rows else source.iloc[:0])
        frame, enums, unordered = _with_text_for_categories(frame)
        return Stream.checked(kind, arrow_stream(frame, kind), untyped=objects, texts=enums, unordered=unordered)


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

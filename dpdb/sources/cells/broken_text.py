"""Text of typed tables (Arrow, Parquet) whose bytes are no UTF-8: such a cell is NULL and counted, each by itself.

Nothing behind this is made for other bytes, and to refuse the table would tell of one row. What is whole is only
checked; what is not is taken in pieces, so that few cells are looked at one by one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_PIECE = 1 << 12
"""Rows of a piece. A piece with such a cell is decoded cell by cell."""


def mended(batch: pa.RecordBatch, lost: Counter[str]) -> pa.RecordBatch:
    """Return a batch whose cells that are no text are NULL; one without such cells as it is.

    A column of structs, lists or maps with such a text inside has empty ones in its place: of them it is only asked
    whether they are NULL.

    Parameters
    ----------
    batch
        Rows as Arrow gives them, which takes on trust what is text.
    lost
        By column: cells that became NULL, counted here.

    Raises
    ------
    pyarrow.ArrowInvalid
        If anything else is wrong with the batch.
    """
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        columns = [_column(column, name, lost) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
        batch = pa.record_batch(columns, schema=batch.schema)
        batch.validate(full=True)
    return batch


def as_text(column: pa.Array) -> pa.Array:
    """Return a column of whole texts, whatever form Arrow keeps them in, as plain text."""
    plain = column.storage if isinstance(column.type, pa.BaseExtensionType) else column
    return plain.cast(pa.string())


def _column(column: pa.Array, name: str, lost: Counter[str]) -> pa.Array:
    if _is_whole(column):
        return column
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _column(column.storage, name, lost))
    if pa.types.is_dictionary(kind):
        found = _dictionary(column)
    else:
        pieces = [column.slice(at, _PIECE) for at in range(0, len(column), _PIECE)]
        mend = _without_content if pa.types.is_nested(kind) else _texts
        found = pa.concat_arrays([piece if _is_whole(piece) else mend(piece) for piece in pieces])
    if gone := found.null_count - column.null_count:
        lost[name] += gone
    return found


def _is_whole(column: pa.Array) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _bytes_of(column: pa.Array) -> pa.Array:
    """Return texts as bytes, where every text lies within its buffer."""
    kinds = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    if column.type not in kinds:
        raise pa.ArrowInvalid(f"values of type {column.type} are damaged")
    found = column.view(kinds[column.type])
    found.validate(full=True)
    return found


def _texts(column: pa.Array) -> pa.Array:
    return pa.array([None if cell is None else _text(cell) for cell in _bytes_of(column).to_pylist()], column.type)


def _text(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def _dictionary(column: pa.Array) -> pa.Array:
    """Refer to no word that is no text; where such a word stood is a blank one."""
    words, indices = _texts(column.dictionary), column.indices
    indices.validate(full=True)
    is_gone = pc.and_(words.is_null(), column.dictionary.is_valid())
    gone = pc.indices_nonzero(is_gone).cast(indices.type)
    kept = pc.if_else(pc.is_in(indices, value_set=gone), pa.scalar(None, indices.type), indices)
    blank = pc.if_else(is_gone, pa.scalar("", words.type), words)
    return pa.DictionaryArray.from_arrays(kept, blank, ordered=column.type.ordered)


def _without_content(column: pa.Array) -> pa.Array:
    """Return values of the same type that hold nothing, and are NULL where the column is."""
    column.validate()
    empty = _empty(column.type)
    return pa.array([empty if valid.as_py() else None for valid in column.is_valid()], column.type)


def _empty(kind: pa.DataType) -> Any:
    if pa.types.is_struct(kind):
        return {}
    return [None] * kind.list_size if pa.types.is_fixed_size_list(kind) else []

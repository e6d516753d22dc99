"""Read the result that a worker sends. It may be any bytes: the worker has run a stranger's SQL."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import pyarrow as pa

from dpdb.doors.sql.child.limits import Limits
from dpdb.errors import StatementFailedError

__all__ = ["read_result"]

# Places in the tables of Arrow's message format (Message.fbs).
_HEADER, _COMPRESSION = 2, 3
# Types of which a few bytes can stand for any amount of text or values; DuckDB sends none of them.
_SHARING: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_dictionary,
    pa.types.is_run_end_encoded,
    pa.types.is_string_view,
    pa.types.is_binary_view,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)

_DAMAGE = (
    pa.ArrowException, MemoryError, OverflowError, ValueError, TypeError, OSError, StopIteration, struct.error,
)  # fmt: skip


def read_result(content: bytes | bytearray, limits: Limits) -> pa.Table:
    """Read an Arrow stream.

    Raises
    ------
    StatementFailedError
        If it is damaged, or holds more rows or values than `limits` say.
    """
    try:
        _refuse_odd_messages(content)
        table = pa.ipc.open_stream(content).read_all().replace_schema_metadata()
        "".join(table.column_names).encode()
        table.validate(full=True)
        values = sum(_values(chunk) for column in table.columns for chunk in column.chunks)
    except _DAMAGE:
        raise StatementFailedError("the result is damaged") from None
    for found, most, what in ((table.num_rows, limits.rows, "rows"), (values, limits.values, "values")):
        if found > most:
            raise StatementFailedError(f"the result has more than {most:,} {what}")
    return table


def _refuse_odd_messages(content: bytes | bytearray) -> None:
    """Accept only the messages of DuckDB's results: a schema and batches of rows that are not compressed."""
    messages: Iterator[pa.ipc.Message] = iter(pa.ipc.MessageReader.open_stream(content))
    kinds = [next(messages).type]
    for message in messages:
        kinds.append(message.type)
        if _is_compressed(message.metadata.to_pybytes()):
            raise ValueError("a worker compresses nothing")
    if kinds != ["schema"] + ["record batch"] * (len(kinds) - 1):
        raise ValueError(f"a worker does not send {kinds}")


def _is_compressed(metadata: bytes) -> bool:
    """Look into a message's metadata: compressed bytes could become any number of bytes."""
    header = _field(metadata, struct.unpack_from("<I", metadata)[0], _HEADER)
    return header is None or _field(metadata, header, _COMPRESSION) is not None


def _field(metadata: bytes, table: int, number: int) -> int | None:
    """Return where the table in a field of a FlatBuffers table starts, None if the field is absent."""
    places = table - struct.unpack_from("<i", metadata, table)[0]
    size = struct.unpack_from("<H", metadata, places)[0]
    entry = 4 + 2 * number
    place = struct.unpack_from("<H", metadata, places + entry)[0] if entry < size else 0
    if not place:
        return None
    start: int = table + place + struct.unpack_from("<I", metadata, table + place)[0]
    return start


def _values(array: pa.Array) -> int:
    """Count the values of an array, those inside of lists and structs one by one."""
    kind = array.type
    if any(is_sharing(kind) for is_sharing in _SHARING):
        raise ValueError(f"a worker sends no {kind}")
    if isinstance(array, pa.ExtensionArray):
        return _values(array.storage)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return len(array) + _values(array.flatten())
    if pa.types.is_map(kind):
        return len(array) + _values(array.keys) + _values(array.items)
    if pa.types.is_struct(kind) or pa.types.is_union(kind):
        return len(array) + sum(_values(array.field(position)) for position in range(kind.num_fields))
    return len(array)

"""Results in pieces that take little time each: rows as values of Python, as JSON, and as an Arrow stream.

Arrow and JSON work without letting other threads run, so what is made at once is small: a few thousand values, also of
one long list.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_VALUES = 5_000  # at once
_BYTES = 256 << 10
_SHORT = 64 << 10


def slices(table: pa.Table, values: int = _VALUES) -> Iterator[pa.Table]:
    """Give the rows of a table, few at a time: so many values, of which lists count as one, and so many bytes."""
    each = -(-table.nbytes // max(table.num_rows, 1)) or 1
    rows = max(1, min(values // max(table.num_columns, 1), _BYTES // each))
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def python_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return values as `to_pylist` does, few of them at once; also those inside of lists and structs."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in python_values(chunk)]
    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        flat, found, place = python_values(array.flatten()), [], 0
        for size in python_values(pc.list_value_length(array)):
            # The flattened values of a list of fixed size that is NULL are left out, too.
            found.append(None if size is None else flat[place : place + size])
            place += size or 0
        return found
    if pa.types.is_struct(kind) and kind.num_fields and len({field.name for field in kind}) == kind.num_fields:
        names = [field.name for field in kind]
        fields = [python_values(one) for one in array.flatten()]
        valid = python_values(array.is_valid())
        rows = zip(*fields, strict=True)
        pairs = zip(rows, valid, strict=True)
        return [dict(zip(names, row, strict=True)) if is_valid else None for row, is_valid in pairs]
    values: list[Any] = []
    for start in range(0, len(array), _VALUES):
        values += array.slice(start, _VALUES).to_pylist()
    return values


MOST_PARTS = 1_000
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)  # one that does not end is one, too


class ManyPartsError(ValueError):
    """JSON has more lists and objects than any request needs."""


def _refuse_many_parts(text: str) -> None:
    """Count before anything is made of them: Python makes thousands without letting other threads run."""
    if text.count("[") + text.count("{") > MOST_PARTS:
        outside = _STRING.sub("", text)
        if outside.count("[") + outside.count("{") > MOST_PARTS:
            raise ManyPartsError(f"more than {MOST_PARTS:,} lists and objects")


def read_json(content: str | bytes, parse_int: Callable[[str], int] = int) -> Any:
    """Read JSON in UTF-8 in which each key of an object stands once, numbers are finite and parts are few.

    Of two equal keys programs on the way may take the first, and Python the last: what one has looked at is another's
    request.

    Raises
    ------
    ManyPartsError
        It has more than `MOST_PARTS` lists and objects.
    ValueError, RecursionError
        It is not such.
    """
    text = content if isinstance(content, str) else content.decode("utf-8-sig")
    _refuse_many_parts(text)
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refused, parse_float=_finite, parse_int=parse_int)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _refused(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text)


def json_text(found: object) -> str:
    """Return values as JSON, which has neither infinite numbers nor halves of characters."""
    if isinstance(found, dict):
        return "{" + ",".join([f"{_dumped(str(key))}:{json_text(one)}" for key, one in found.items()]) + "}"
    if isinstance(found, (list, tuple)):
        return "[" + ",".join([json_text(one) for one in found]) + "]"
    return _dumped(_plain(found))


_dumped = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str).encode


def _plain(value: object) -> object:
    """Return a value that JSON has: numbers that are none become null, decimals with places and times text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal) and value.is_finite() and value.as_tuple().exponent == 0:
        return int(value)  # such as the sum of whole numbers
    return value.hex() if isinstance(value, bytes) else value


def json_bytes(found: object) -> bytes:
    """Return values as JSON in UTF-8."""
    return json_text(found).encode("utf-8", "replace")


def rows_of(table: pa.Table) -> Iterator[list[Any]]:
    """Give each row as a list."""
    columns = [python_values(column) for column in table.columns]
    return ([*row] for row in zip(*columns, strict=True))


def json_rows(table: pa.Table) -> Iterator[bytes]:
    """Give the rows of a table as a list of JSON, in pieces."""
    before = b"["
    for some in slices(table):
        yield before + json_bytes([*rows_of(some)])[1:-1]
        before = b","
    yield b"]" if table.num_rows else b"[]"


def together(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Give small pieces together: what is short is one piece."""
    found = bytearray()
    for piece in pieces:
        found += piece
        if len(found) >= _SHORT:
            yield bytes(found)
            found.clear()
    if found:
        yield bytes(found)


def arrow_stream(table: pa.Table) -> Iterator[bytes]:
    """Give a table as a stream of Arrow, in pieces."""
    sink = io.BytesIO()

    def written() -> Iterator[bytes]:
        content = sink.getbuffer()
        for start in range(0, len(content), _BYTES):
            yield bytes(content[start : start + _BYTES])
        content.release()
        sink.seek(0)
        sink.truncate()

    with pa.ipc.new_stream(sink, table.schema) as writer:
        for some in slices(table, 1 << 20):
            writer.write_table(some.combine_chunks())
            yield from written()
    yield from written()

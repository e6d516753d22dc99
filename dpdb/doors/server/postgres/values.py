"""Values of a result as bytes, in PostgreSQL's text and binary formats."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dpdb.doors.server.postgres.calendar import (
    EPOCH,
    EPOCH_DAYS,
    INFINITE_DAYS,
    INFINITE_MICROSECONDS,
    date_text,
    time_text,
    timestamp_text,
)
from dpdb.doors.server.postgres.errors import WireError
from dpdb.doors.server.postgres.types import BY_OID, ELEMENTS, Column, Type, columns_of
from dpdb.doors.server.postgres.wire import sized

__all__ = ["encoded", "numeric_bytes", "single_text"]

_INTS = {2: "!h", 4: "!i", 8: "!q"}
_NEEDS_QUOTES = frozenset('{}",\\ \t\n\r\v\f')

Values = Sequence[bytes | None]


def encoded(table: pa.Table, columns: Sequence[Column], formats: Sequence[int]) -> list[Values]:
    """Return the values of each column.

    Parameters
    ----------
    table
        Some rows of a result.
    columns
        As the client was told.
    formats
        For each column 0 for text, 1 for binary.

    Raises
    ------
    WireError
        The result has other columns than the client was told.
    """
    if [one.type for one in columns] != [one.type for one in columns_of(table.schema)]:
        raise WireError("0A000", "the result has other columns than its description; its releases are in the history")
    return [
        _written(_plain(found.combine_chunks(), column.type), column.type, is_binary=form == 1)
        for found, column, form in zip(table.columns, columns, formats, strict=True)
    ]


def _plain(array: pa.Array, kind: Type) -> list[Any]:
    """Return values of Python; dates and times as whole numbers, so that none is out of Python's range."""
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if kind.kind == "array":
        inside = _element(kind)
        flat = _plain(array.flatten(), inside)
        found, place = [], 0
        for size in pc.list_value_length(array).to_pylist():
            found.append(None if size is None else flat[place : place + size])
            place += size or 0
        return found
    if kind.kind == "date":
        array = array.cast(pa.int32())
    elif kind.kind in ("timestamp", "timestamptz"):
        factor = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0}[array.type.unit]
        whole = array.cast(pa.int64()).to_pylist()
        return [None if one is None else one * factor if factor else one // 1_000 for one in whole]
    elif kind.kind == "time":
        array = array.cast(pa.time64("us"), safe=False).cast(pa.int64())
    return list(array.to_pylist())


def _element(kind: Type) -> Type:
    return BY_OID[ELEMENTS[kind.oid]]


def _written(values: Sequence[Any], kind: Type, *, is_binary: bool) -> Values:
    write = _binary_writer(kind) if is_binary else (lambda value: _utf8(_TEXTS[kind.kind](value, kind)))
    return [None if one is None else write(one) for one in values]


def _utf8(text: str) -> bytes:
    return text.replace("\0", "").encode("utf-8", "replace")


def _float_text(value: float, kind: Type) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return single_text(value) if kind.size == 4 else repr(value).removesuffix(".0")


def single_text(value: float) -> str:
    """Return the shortest text that is the same number of 32 bits: 0.1 is meant, not 0.10000000149011612."""
    short = (f"{value:.{digits}g}" for digits in range(6, 10))
    return next(one for one in short if struct.pack("!f", float(one)) == struct.pack("!f", value))


def _interval_text(value: Any) -> str:
    years = int(value.months / 12)
    counts = ((years, "years"), (value.months - 12 * years, "mons"), (value.days, "days"))
    parts = [f"{number} {word}" for number, word in counts if number]
    microseconds = value.nanoseconds // 1_000
    if microseconds or not parts:
        parts.append(("-" if microseconds < 0 else "") + time_text(abs(microseconds)))
    return " ".join(parts)


def _array_text(values: Sequence[Any], kind: Type) -> str:
    inside = _element(kind)
    texts = ["NULL" if one is None else _quoted(_TEXTS[inside.kind](one, inside)) for one in values]
    return "{" + ",".join(texts) + "}"


def _quoted(text: str) -> str:
    if text and text.upper() != "NULL" and not _NEEDS_QUOTES & {*text}:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


_TEXTS: dict[str, Callable[[Any, Type], str]] = {
    "text": lambda value, _: value if isinstance(value, str) else _json_text(value),
    "json": lambda value, _: _json_text(value),
    "int": lambda value, _: str(value),
    "bool": lambda value, _: "t" if value else "f",
    "float": _float_text,
    "numeric": lambda value, _: format(value, "f") if isinstance(value, Decimal) else str(value),
    "bytea": lambda value, _: "\\x" + value.hex(),
    "date": lambda value, _: date_text(value),
    "time": lambda value, _: time_text(value),
    "timestamp": lambda value, _: timestamp_text(value),
    "timestamptz": lambda value, _: timestamp_text(value, "+00"),
    "interval": lambda value, _: _interval_text(value),
    "array": _array_text,
}


def _binary_writer(kind: Type) -> Callable[[Any], bytes]:
    if kind.kind == "int":
        return struct.Struct(_INTS[kind.size] if kind.oid != 26 else "!I").pack
    if kind.kind == "float":
        return struct.Struct("!f" if kind.size == 4 else "!d").pack
    if kind.kind == "array":
        return lambda values: _array_bytes(values, _element(kind))
    writers: dict[str, Callable[[Any], bytes]] = {
        "bool": lambda value: b"\1" if value else b"\0",
        "bytea": bytes,
        "numeric": numeric_bytes,
        "date": lambda days: struct.pack("!i", _since_2000(days, EPOCH_DAYS, INFINITE_DAYS)),
        "time": lambda value: struct.pack("!q", value),
        "timestamp": lambda value: struct.pack("!q", _since_2000(value, EPOCH, INFINITE_MICROSECONDS)),
        "interval": lambda value: struct.pack("!qii", value.nanoseconds // 1_000, value.days, value.months),
    }
    writers["timestamptz"] = writers["timestamp"]
    return writers.get(kind.kind) or (lambda value: _utf8(_TEXTS[kind.kind](value, kind)))


def _since_2000(value: int, epoch: int, infinite: int) -> int:
    """Return a time since 2000; the infinite ones are PostgreSQL's, and what lies before its first, the first."""
    if value == infinite:
        return infinite
    return -infinite - 1 if value == -infinite else max(value - epoch, -infinite)


def _array_bytes(values: Sequence[Any], inside: Type) -> bytes:
    write = _binary_writer(inside)
    found = [None if one is None else write(one) for one in values]
    head = struct.pack("!iiI", 1 if found else 0, int(None in found), inside.oid)
    size = struct.pack("!ii", len(found), 1) if found else b""
    return head + size + b"".join(map(sized, found))


def numeric_bytes(value: Decimal | int) -> bytes:
    """Return a number as digits of base 10,000: how many, the weight of the first, the sign, the places behind it."""
    sign, digits, exponent = Decimal(value).as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    text = ("".join(map(str, digits)) + "0" * max(0, exponent)).rjust(scale + 1, "0")
    whole, part = text[: len(text) - scale], text[len(text) - scale :]
    whole, part = whole.rjust(-(-len(whole) // 4) * 4, "0"), part.ljust(-(-len(part) // 4) * 4, "0")
    groups = [int((whole + part)[start : start + 4]) for start in range(0, len(whole + part), 4)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    head = struct.pack("!hhHh", len(groups), weight if groups else 0, 0x4000 if sign and groups else 0, scale)
    return head + struct.pack(f"!{len(groups)}h", *groups)

"""Values of a result as bytes, in PostgreSQL's text and binary formats, and the types of its columns.

An Arrow type, or the name that DESCRIBE gives, becomes one of PostgreSQL's. Dates and times are ISO text, for all that
DuckDB has: also before our era and after the year 9999.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpdb.doors.server.pieces import python_values
from dpdb.doors.server.postgres.wire import WireError, message, sized, texts

INFINITE_DAYS, INFINITE_MICROSECONDS = 2**31 - 1, 2**63 - 1
_DAY = 86_400_000_000
_EPOCH_DAYS = 10_957  # from 1970 to 2000, where PostgreSQL begins to count
_EPOCH = _EPOCH_DAYS * _DAY


def date_text(days: int) -> str:
    """Return a date by its days since 1970.

    Examples
    --------
    >>> date_text(0), date_text(-719_163), date_text(INFINITE_DAYS)
    ('1970-01-01', '0001-12-31 BC', 'infinity')
    """
    if abs(days) == INFINITE_DAYS:
        return "infinity" if days > 0 else "-infinity"
    date, era = _civil(days)
    return date + era


def timestamp_text(microseconds: int, zone: str = "") -> str:
    """Return a time by its microseconds since 1970."""
    if abs(microseconds) == INFINITE_MICROSECONDS:
        return "infinity" if microseconds > 0 else "-infinity"
    days, rest = divmod(microseconds, _DAY)
    date, era = _civil(days)
    return f"{date} {time_text(rest)}{zone}{era}"


def time_text(microseconds: int) -> str:
    """Return a time of the day, or a longer time."""
    seconds, part = divmod(microseconds, 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{part:06}".rstrip("0") if part else text


def _civil(days: int) -> tuple[str, str]:
    """Return the date of the Gregorian calendar, and the era where it is not ours; numpy counts 1 BC as year 0."""
    text = str(np.datetime64(days, "D"))
    year = int(text[:-6])
    return f"{year if year > 0 else 1 - year:04}{text[-6:]}", "" if year > 0 else " BC"


class Type(NamedTuple):
    """A type of PostgreSQL: its number, the bytes of a value (-1 for any), and how values are written."""

    oid: int
    size: int
    kind: str


class Column(NamedTuple):
    """A column of a result."""

    name: str
    type: Type


TEXT = Type(25, -1, "text")
_BOOL, _BYTEA, _INT2, _INT4, _INT8 = (
    Type(16, 1, "bool"), Type(17, -1, "bytea"), Type(21, 2, "int"), Type(23, 4, "int"), Type(20, 8, "int"),
)  # fmt: skip
_FLOAT4, _FLOAT8, _NUMERIC = Type(700, 4, "float"), Type(701, 8, "float"), Type(1700, -1, "numeric")
_DATE, _TIME, _INTERVAL = Type(1082, 4, "date"), Type(1083, 8, "time"), Type(1186, 16, "interval")
_TIMESTAMP, _TIMESTAMPTZ = Type(1114, 8, "timestamp"), Type(1184, 8, "timestamptz")

ARRAYS = {
    16: 1000, 17: 1001, 18: 1002, 19: 1003, 20: 1016, 21: 1005, 23: 1007, 25: 1009, 26: 1028, 700: 1021, 701: 1022,
    1082: 1182, 1083: 1183, 1114: 1115, 1184: 1185, 1186: 1187, 1700: 1231,
}  # fmt: skip
"""The type of arrays of every type."""
ELEMENTS = {array: element for element, array in ARRAYS.items()}

_NAMED = {
    "BOOLEAN": _BOOL, "TINYINT": _INT2, "SMALLINT": _INT2, "INTEGER": _INT4, "BIGINT": _INT8, "UTINYINT": _INT2,
    "USMALLINT": _INT4, "UINTEGER": _INT8, "UBIGINT": _NUMERIC, "HUGEINT": _NUMERIC, "UHUGEINT": _NUMERIC,
    "FLOAT": _FLOAT4, "DOUBLE": _FLOAT8, "DATE": _DATE, "TIME": _TIME, "TIME WITH TIME ZONE": _TIME,
    "INTERVAL": _INTERVAL, "TIMESTAMP": _TIMESTAMP, "TIMESTAMP_S": _TIMESTAMP, "TIMESTAMP_MS": _TIMESTAMP,
    "TIMESTAMP_NS": _TIMESTAMP, "TIMESTAMP WITH TIME ZONE": _TIMESTAMPTZ, "TIMESTAMPTZ_NS": _TIMESTAMPTZ,
    "BLOB": _BYTEA, "BIT": _BYTEA,
}  # fmt: skip
_ARROW = {
    pa.bool_(): _BOOL, pa.int8(): _INT2, pa.int16(): _INT2, pa.int32(): _INT4, pa.int64(): _INT8, pa.uint8(): _INT2,
    pa.uint16(): _INT4, pa.uint32(): _INT8, pa.uint64(): _NUMERIC, pa.float32(): _FLOAT4, pa.float64(): _FLOAT8,
    pa.date32(): _DATE, pa.binary(): _BYTEA, pa.large_binary(): _BYTEA, pa.month_day_nano_interval(): _INTERVAL,
}  # fmt: skip
# Types of the catalog, which Arrow does not have; a field's metadata names them.
_CATALOG = {
    "char": Type(18, 1, "text"), "name": Type(19, 64, "text"), "regproc": Type(24, 4, "text"),
    "oid": Type(26, 4, "int"), "int2vector": Type(22, -1, "text"), "oidvector": Type(30, -1, "text"),
    "regclass": Type(2205, 4, "text"), "regtype": Type(2206, 4, "text"), "xid": Type(28, 4, "int"),
    "pg_node_tree": Type(194, -1, "text"), "varchar": Type(1043, -1, "text"),
}  # fmt: skip
BY_OID = {one.oid: one for one in (TEXT, *_NAMED.values(), *_CATALOG.values())}
_METADATA = b"pg_type"
_DECIMAL = re.compile(r"DECIMAL\(\d+,\d+\)")
_LIST = re.compile(r"(.*)\[\d*\]", re.DOTALL)


def columns_of(schema: pa.Schema) -> list[Column]:
    """Return the columns of a result."""
    return [Column(field.name, _of_field(field)) for field in schema]


def described_columns(table: pa.Table) -> list[Column]:
    """Return the columns that DESCRIBE tells of: the same as `columns_of` of the result."""
    names, types = table.column("column_name").to_pylist(), table.column("column_type").to_pylist()
    return [Column(name, _of_name(text)) for name, text in zip(names, types, strict=True)]


def row_description(columns: Sequence[Column], formats: Sequence[int]) -> bytes:
    """Return the message that describes a result: of each column name, type, bytes of a value, and format."""
    parts = [
        texts(column.name) + struct.pack("!ihihih", 0, 0, column.type.oid, column.type.size, -1, form)
        for column, form in zip(columns, formats, strict=True)
    ]
    return message(b"T", struct.pack("!h", len(parts)), *parts)


def _of_field(field: pa.Field) -> Type:
    named = (field.metadata or {}).get(_METADATA, b"").decode()
    if named.startswith("_") and named[1:] in _CATALOG:
        return _array(_CATALOG[named[1:]])
    return _CATALOG.get(named) or _of_arrow(field.type)


def _of_arrow(kind: pa.DataType) -> Type:
    if pa.types.is_decimal(kind):
        return _NUMERIC
    if pa.types.is_timestamp(kind):
        return _TIMESTAMP if kind.tz is None else _TIMESTAMPTZ
    if pa.types.is_time(kind):
        return _TIME
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _array(_of_arrow(kind.value_type))
    return _ARROW.get(kind, TEXT)


def _of_name(text: str) -> Type:
    inside = _LIST.fullmatch(text)
    if inside is not None:
        return _array(_of_name(inside[1]))
    return _NUMERIC if _DECIMAL.fullmatch(text) else _NAMED.get(text, TEXT)


def _array(inside: Type) -> Type:
    """Return the type of lists; lists of lists and of structs are text."""
    oid = ARRAYS.get(inside.oid)
    is_flat = inside.kind != "array" and oid is not None
    return Type(oid, -1, "array") if is_flat and oid is not None else Type(TEXT.oid, -1, "json")


_INTS = {2: "!h", 4: "!i", 8: "!q"}
_NEEDS_QUOTES = frozenset('{}",\\ \t\n\r\v\f')

Values = Sequence[bytes | None]


def encoded(table: pa.Table, columns: Sequence[Column], formats: Sequence[int]) -> list[Values]:
    """Return the values of each column.

    Parameters
    ----------
    formats
        For each column 0 for text, 1 for binary.
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
        for size in python_values(pc.list_value_length(array)):
            found.append(None if size is None else flat[place : place + size])
            place += size or 0
        return found
    if kind.kind == "date":
        array = array.cast(pa.int32())
    elif kind.kind in ("timestamp", "timestamptz"):
        factor = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0}[array.type.unit]
        whole = python_values(array.cast(pa.int64()))
        return [None if one is None else one * factor if factor else one // 1_000 for one in whole]
    elif kind.kind == "time":
        array = array.cast(pa.time64("us"), safe=False).cast(pa.int64())
    elif kind.kind == "numeric" and pa.types.is_decimal(array.type) and array.type.scale == _PLACES:
        return [None if one is None else _trimmed(one) for one in python_values(array)]
    return python_values(array)


_PLACES = 15
"""Of a numeric of no size, whose zeros at the end nobody has written."""


def _trimmed(value: Decimal) -> Decimal:
    return Decimal(format(value, "f").rstrip("0").rstrip("."))


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
    parts: list[str] = []
    is_before = False  # behind a negative part a sign tells that the next is none
    for number, word in ((years, "year"), (value.months - 12 * years, "mon"), (value.days, "day")):
        if number:
            parts.append(f"{'+' if is_before and number > 0 else ''}{number} {word}{'' if number == 1 else 's'}")
            is_before = number < 0
    microseconds = value.nanoseconds // 1_000
    if microseconds or not parts:
        sign = "-" if microseconds < 0 else "+" if is_before else ""
        parts.append(sign + time_text(abs(microseconds)))
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


def _other_text(value: Any) -> str:
    return _record_text(value) if isinstance(value, Mapping) else _json_text(value)


def _record_text(value: Mapping[str, Any]) -> str:
    """Return a struct as PostgreSQL writes a row."""
    return "(" + ",".join(map(_field_text, value.values())) + ")"


def _field_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        text = _float_text(value, _FLOAT8)
    elif isinstance(value, bool):
        text = "t" if value else "f"
    else:
        text = _json_text(value) if isinstance(value, (dict, list)) else str(value)
    if text and not re.search(r'[\s,()"\\]', text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '""') + '"'


_TEXTS: dict[str, Callable[[Any, Type], str]] = {
    "text": lambda value, _: value if isinstance(value, str) else _other_text(value),
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
        "date": lambda days: struct.pack("!i", _since_2000(days, _EPOCH_DAYS, INFINITE_DAYS)),
        "time": lambda value: struct.pack("!q", value),
        "timestamp": lambda value: struct.pack("!q", _since_2000(value, _EPOCH, INFINITE_MICROSECONDS)),
        "interval": lambda value: struct.pack("!qii", value.nanoseconds // 1_000, value.days, value.months),
    }
    writers["timestamptz"] = writers["timestamp"]
    return writers.get(kind.kind) or (lambda value: _utf8(_TEXTS[kind.kind](value, kind)))


def _since_2000(value: int, epoch: int, infinite: int) -> int:
    """Return a time since 2000; the infinite ones are PostgreSQL's, and what lies before its first, the first."""
    if value == infinite:
        return infinite
    return -infinite - 1 if value == -infinite else max(value - epoch, -infinite)


def _timestamp(content: bytes) -> str:
    return timestamp_text(_EPOCH + struct.unpack("!q", content)[0])


TIMES: Mapping[int, Callable[[bytes], str]] = {
    1082: lambda content: date_text(_EPOCH_DAYS + struct.unpack("!i", content)[0]),
    1083: lambda content: time_text(abs(struct.unpack("!q", content)[0])),
    1114: _timestamp, 1184: _timestamp,
}  # fmt: skip
"""Texts of dates and times in binary, as clients send them, by type."""


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

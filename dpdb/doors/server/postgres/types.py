"""Types of columns: which of PostgreSQL's an Arrow type becomes, of results and by the names that DESCRIBE gives."""

from __future__ import annotations

import re
from typing import NamedTuple

import pyarrow as pa

__all__ = ["ARRAYS", "BY_OID", "ELEMENTS", "TEXT", "Column", "Type", "columns_of", "described_columns"]


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
    "TIMESTAMP_NS": _TIMESTAMP, "TIMESTAMP WITH TIME ZONE": _TIMESTAMPTZ, "BLOB": _BYTEA, "BIT": _BYTEA,
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
    "pg_node_tree": Type(194, -1, "text"),
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

"""The relations of PostgreSQL's catalog and their columns, and its types: constants, from two texts beside this module.

A line of `relations.txt` is a relation and its columns with their types, as PostgreSQL 15 has them; a line of
`types.txt` a type: oid, name, length, kind, category, oid of the element, of the array, and its four functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

__all__ = ["PgType", "arrow_type", "formatted", "pg_types", "relations"]

_HERE = Path(__file__).parent
_ARROW = {
    "bool": pa.bool_(), "int2": pa.int16(), "int4": pa.int32(), "int8": pa.int64(), "oid": pa.int64(),
    "xid": pa.int64(), "float4": pa.float32(), "timestamptz": pa.timestamp("us"), "int2vector": pa.list_(pa.int16()),
    "oidvector": pa.list_(pa.int64()), "_oid": pa.list_(pa.int64()), "_int2": pa.list_(pa.int16()),
    "_text": pa.list_(pa.string()), "_char": pa.list_(pa.string()), "interval": pa.string(), "bytea": pa.binary(),
}  # fmt: skip
_FORMATTED = {
    "bool": "boolean", "bpchar": "character", "varchar": "character varying", "int2": "smallint", "int4": "integer",
    "int8": "bigint", "float4": "real", "float8": "double precision", "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone", "time": "time without time zone", "timetz": "time with time zone",
    "varbit": "bit varying", "char": '"char"',
}  # fmt: skip


class PgType(NamedTuple):
    """A type of PostgreSQL, as a line of `types.txt`."""

    oid: int
    name: str
    length: int
    kind: str
    category: str
    element: int
    array: int
    functions: tuple[str, ...]


@cache
def relations() -> Mapping[str, Mapping[str, str]]:
    """Return the types of the columns of every relation, by name; those of information_schema are named with it."""
    lines = (line.split() for line in (_HERE / "relations.txt").read_text(encoding="ascii").splitlines())
    return {name: dict(column.split(":") for column in columns) for name, *columns in lines}


@cache
def pg_types() -> Mapping[str, PgType]:
    """Return the types by name."""
    found = {}
    for line in (_HERE / "types.txt").read_text(encoding="ascii").splitlines():
        oid, name, length, kind, category, element, array, *functions = line.split()
        found[name] = PgType(int(oid), name, int(length), kind, category, int(element), int(array), tuple(functions))
    return found


def formatted(name: str) -> str:
    """Return how `format_type` writes a type."""
    if name.startswith("_") and name[1:] in pg_types():
        return f"{formatted(name[1:])}[]"
    return _FORMATTED.get(name, name)


def arrow_type(name: str) -> pa.DataType:
    """Return the Arrow type that holds values of a type of the catalog; text for what has none of its own."""
    return _ARROW.get(name, pa.string())

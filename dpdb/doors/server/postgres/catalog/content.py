"""What the catalog says: the served tables, those that may be read by name, the functions, and the catalog itself.

Everything here is public, as `Desk.schema` is, but for the analyst's own name, which only he is told. Relations with
their columns, types and their functions are constants from three texts beside this module, as PostgreSQL 15 has them:
a line of `relations.txt` is a relation and its columns with their types; a line of `types.txt` a type: oid, name,
length, kind, category, oid of the element, of the array, and its four functions; a line of `functions.txt` one of these
functions: oid, name, number of arguments, oid of the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from dpdb.doors.server.postgres.session import SETTINGS, context_of
from dpdb.doors.sql.call import RELEASES
from dpdb.errors import StatementRefusedError

_HERE = Path(__file__).parent
_ARROW = {
    "bool": pa.bool_(), "int2": pa.int16(), "int4": pa.int32(), "int8": pa.int64(), "oid": pa.int64(),
    "xid": pa.int64(), "regproc": pa.int64(), "float4": pa.float32(),
    "timestamptz": pa.timestamp("us"), "int2vector": pa.list_(pa.int16()),
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


@cache
def type_functions() -> Mapping[str, tuple[int, int, int]]:
    """Return the functions that read and write values of types by name: oid, arguments, oid of the result."""
    lines = (line.split() for line in (_HERE / "functions.txt").read_text(encoding="ascii").splitlines())
    return {name: (int(oid), int(count), int(result)) for oid, name, count, result in lines}


def _function_oid(name: str) -> int:
    """Return the number of such a function; 0 of `-`, which stands for none."""
    return 0 if name == "-" else type_functions()[name][0]


@cache
def function_names() -> Mapping[int, str]:
    """Return the names of all functions by number; of 0 it is `-`."""
    return (
        {0: "-"}
        | {one[0]: name for name, one in type_functions().items()}
        | {oid: name for name, oid in FUNCTION_OIDS.items()}
    )


def formatted(name: str) -> str:
    """Return how `format_type` writes a type."""
    if name.startswith("_") and name[1:] in pg_types():
        return f"{formatted(name[1:])}[]"
    return _FORMATTED.get(name, name)


def arrow_type(name: str) -> pa.DataType:
    """Return the Arrow type that holds values of a type of the catalog; text for what has none of its own."""
    return _ARROW.get(name, pa.string())


PUBLIC = "public"
_NAMESPACES = {"pg_catalog": 11, PUBLIC: 2200, "information_schema": 13_000}
_OWNER, _ANALYST, _DATABASE = 10, 16_384, 5
_FIRST_TABLE, _FIRST_CATALOG, _FIRST_FUNCTION = 20_000, 12_000, 30_000
_KNOWN = {
    "pg_class": 1259, "pg_type": 1247, "pg_proc": 1255, "pg_attribute": 1249, "pg_namespace": 2615,
    "pg_constraint": 2606, "pg_index": 2610, "pg_database": 1262, "pg_attrdef": 2604, "pg_description": 2609,
    "pg_authid": 1260, "pg_trigger": 2620, "pg_rewrite": 2618, "pg_language": 2612, "pg_am": 2601,
}  # fmt: skip
# DuckDB's types in PostgreSQL; every other, such as a list, is text.
_TYPES = {
    "BOOLEAN": "bool", "TINYINT": "int2", "SMALLINT": "int2", "UTINYINT": "int2", "INTEGER": "int4",
    "USMALLINT": "int4", "BIGINT": "int8", "UINTEGER": "int8", "HUGEINT": "numeric", "UHUGEINT": "numeric",
    "UBIGINT": "numeric", "FLOAT": "float4", "DOUBLE": "float8", "DATE": "date", "TIME": "time",
    "TIMESTAMP": "timestamp", "TIMESTAMP_S": "timestamp", "TIMESTAMP_MS": "timestamp", "TIMESTAMP_NS": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamptz", "TIMESTAMPTZ_NS": "timestamptz",
    "UUID": "uuid", "BLOB": "bytea", "INTERVAL": "interval",
}  # fmt: skip
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_MOST_KEPT = 500
_KEYWORDS = "all and any array as asc both case cast check collate column constraint create default desc distinct do else end except false for foreign from grant group having in initially intersect into leading limit not null offset on only or order placing primary references returning select some symmetric table then to trailing true union unique user using variadic when where window with".split()  # noqa: E501, SIM905


@dataclass(frozen=True)
class Shown:
    """A table that the catalog shows, its columns with their types in DuckDB, and what is said of it."""

    name: str
    columns: tuple[tuple[str, str], ...]
    text: str
    is_public: bool = False


HIDDEN = {"tableoid": "oid", "xmin": "xid"}
"""Columns of what has numbers, which no `SELECT *` shows."""


def schema_of(relation: str) -> pa.Schema:
    """Return the Arrow columns of a relation; those of `HIDDEN` are the last."""
    known = relations()[relation]
    hidden = HIDDEN if "oid" in known else {}
    return pa.schema([pa.field(name, arrow_type(kind)) for name, kind in {**known, **hidden}.items()])


def relation_name(relation: str) -> str:
    """Return the name under which a process of its own holds a relation."""
    return relation.replace("information_schema.", "information_")


class Content:
    """The rows of every relation.

    Attributes
    ----------
    own, oids : dict of str to int
        The oids of these tables, and of the relations of the catalog, by name.
    """

    def __init__(self, tables: tuple[Shown, ...]) -> None:
        self.tables = tables
        self._kept: dict[tuple[str, str, str], pa.Table] = {}
        self.own = {shown.name: _FIRST_TABLE + number for number, shown in enumerate(self.tables)}
        self.oids = {name: _KNOWN.get(name, _FIRST_CATALOG + number) for number, name in enumerate(relations())}

    def table(self, relation: str, analyst: str, database: str) -> pa.Table:
        """Return the rows of a relation, for an analyst who named a database; of most there are none."""
        key = (relation, analyst, database)
        if key not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = self._made(*key)
        return self._kept[key]

    def _made(self, relation: str, analyst: str, database: str) -> pa.Table:
        schema, rows = schema_of(relation), [*rows_of(self, analyst, database).get(relation, ())]
        kinds, oid = {**relations()[relation], **HIDDEN}, self.oids[relation]
        columns = []
        for name in schema.names:
            values = [oid if name == "tableoid" else row.get(name, _default(kinds[name])) for row in rows]
            columns.append(pa.array(values, schema.field(name).type))
        return pa.Table.from_arrays(columns, schema=schema)

    def oid(self, kind: str, name: str) -> int:
        """Return the number of a name, of a type whose values are shown as names; `StatementRefusedError` of none."""
        plain = name.replace('"', "").removeprefix("pg_catalog.").removeprefix("public.")
        found = None
        if kind.startswith("regproc"):
            known = type_functions().get(plain)
            found = 0 if plain == "-" else FUNCTION_OIDS.get(plain) if known is None else known[0]
        if kind == "regclass":
            found = self.own.get(name.replace('"', "").removeprefix("public."), self.oids.get(plain))
        elif kind == "regtype":
            found = next((one.oid for one in pg_types().values() if plain in (one.name, formatted(one.name))), None)
        elif kind == "regnamespace":
            found = _NAMESPACES.get(plain)
        if found is None:
            raise StatementRefusedError(f"{kind} {name!r} does not exist")
        return found

    def classes(self) -> Iterator[tuple[str, str, int, list[tuple[str, str, int]], str]]:
        """Give name, schema, oid, columns (name, type, modifier) and text of every relation, ours first."""
        for shown in self.tables:
            columns = [(name, *pg_type_of(kind)) for name, kind in shown.columns]
            yield shown.name, PUBLIC, self.own[shown.name], columns, shown.text
        for relation, known in relations().items():
            schema, _, name = relation.rpartition(".")
            columns = [(column, kind, -1) for column, kind in known.items()]
            yield name, schema or "pg_catalog", self.oids[relation], columns, ""


def _default(kind: str) -> Any:
    return {"bool": False, "oid": 0, "int2": 0, "int4": 0, "int8": 0, "xid": 0, "float4": 0.0, "regproc": 0}.get(kind)


def pg_type_of(kind: str) -> tuple[str, int]:
    """Return the type of a column and its modifier."""
    found = _DECIMAL.fullmatch(kind)
    if found is not None:
        return "numeric", (int(found[1]) << 16 | int(found[2])) + 4
    return _TYPES.get(kind.upper(), "text"), -1


def _classes(content: Content) -> Iterable[Mapping[str, Any]]:
    for name, schema, oid, columns, _text in content.classes():
        yield {
            "oid": oid, "relname": name, "relnamespace": _NAMESPACES[schema], "relowner": _OWNER,
            "relnatts": len(columns), "relkind": "r" if schema == PUBLIC else "v", "relpersistence": "p",
            "relreplident": "n", "reltuples": -1.0, "relispopulated": True, "relam": 2 if schema == PUBLIC else 0,
        }  # fmt: skip


def _attributes(content: Content) -> Iterable[Mapping[str, Any]]:
    for _name, _schema, oid, columns, _text in content.classes():
        for number, (column, kind, modifier) in enumerate(columns, 1):
            known = pg_types()[kind]
            yield {
                "attrelid": oid, "attname": column, "atttypid": known.oid, "attlen": known.length, "attnum": number,
                "attcacheoff": -1, "atttypmod": modifier, "attbyval": known.length in (1, 2, 4, 8), "attalign": "i",
                "attstorage": "p" if known.length > 0 else "x", "attcompression": "", "attidentity": "",
                "attgenerated": "", "attislocal": True, "attstattarget": -1,
                "attcollation": 100 if known.category == "S" else 0,
            }  # fmt: skip


def _types() -> Iterable[Mapping[str, Any]]:
    for one in pg_types().values():
        given, taken, received, sent = map(_function_oid, one.functions)
        yield {
            "oid": one.oid, "typname": one.name, "typnamespace": 11, "typowner": _OWNER, "typlen": one.length,
            "typbyval": one.length in (1, 2, 4, 8), "typtype": one.kind, "typcategory": one.category,
            "typisdefined": True, "typdelim": ",", "typelem": one.element, "typarray": one.array,
            "typinput": given, "typoutput": taken, "typreceive": received, "typsend": sent,
            "typalign": "i", "typstorage": "p" if one.length > 0 else "x",
            "typtypmod": -1, "typcollation": 100 if one.category == "S" else 0,
        }  # fmt: skip


FUNCTION_OIDS = {name: oid for oid, name in enumerate(RELEASES, _FIRST_FUNCTION)}
"""The functions that make releases."""


def function_arguments() -> dict[int, str]:
    """Return the parameters of the functions that make releases, by oid."""
    return {
        FUNCTION_OIDS[name]: ", ".join(
            f"{parameter} {formatted(_parameter_type(parameter))}{' DEFAULT NULL' if place else ''}"
            for place, parameter in enumerate(parameters)
        )
        for name, parameters in RELEASES.items()
    }


def _functions() -> Iterable[Mapping[str, Any]]:
    for name, parameters in RELEASES.items():
        types = [pg_types()[_parameter_type(parameter)].oid for parameter in parameters]
        yield {
            "oid": FUNCTION_OIDS[name], "proname": name, "pronamespace": _NAMESPACES[PUBLIC], "proowner": _OWNER,
            "prolang": 14, "procost": 1.0, "prorows": 1.0, "prokind": "f", "proretset": True, "provolatile": "v",
            "proparallel": "u", "pronargs": len(types), "pronargdefaults": len(types) - 1, "prorettype": 2249,
            "proargtypes": types, "proargnames": [*parameters], "prosrc": "",
        }  # fmt: skip
    for name, (oid, count, result) in type_functions().items():
        yield {
            "oid": oid, "proname": name, "pronamespace": _NAMESPACES["pg_catalog"], "proowner": _OWNER, "prolang": 12,
            "procost": 1.0, "prokind": "f", "proisstrict": True, "provolatile": "i", "proparallel": "s",
            "pronargs": count, "prorettype": result, "proargtypes": [], "prosrc": name,
        }  # fmt: skip


def _parameter_type(parameter: str) -> str:
    return "float8" if parameter in ("epsilon", "confidence") else "text"


def _information_columns(content: Content, database: str) -> Iterable[Mapping[str, Any]]:
    for name, schema, _oid, columns, _text in content.classes():
        for number, (column, kind, modifier) in enumerate(columns, 1):
            numeric = kind == "numeric" and modifier >= 4
            yield {
                "table_catalog": database, "table_schema": schema, "table_name": name, "column_name": column,
                "ordinal_position": number, "is_nullable": "YES", "udt_catalog": database, "udt_schema": "pg_catalog",
                "data_type": "ARRAY" if kind.startswith("_") else formatted(kind), "udt_name": kind,
                "numeric_precision": (modifier - 4) >> 16 if numeric else None,
                "numeric_scale": (modifier - 4) & 0xFFFF if numeric else None, "dtd_identifier": str(number),
                "is_identity": "NO", "is_generated": "NEVER", "is_updatable": "NO", "is_self_referencing": "NO",
            }  # fmt: skip


def rows_of(content: Content, analyst: str, database: str) -> dict[str, Iterable[Mapping[str, Any]]]:
    """Return the rows of every relation that has some, with columns that are no default."""
    roles = [
        {"oid": oid, "rolname": name, "rolinherit": True, "rolcanlogin": oid == _ANALYST, "rolconnlimit": -1}
        for oid, name in ((_OWNER, "dpdb"), (_ANALYST, analyst))
    ]
    return {
        "pg_namespace": [{"oid": oid, "nspname": name, "nspowner": _OWNER} for name, oid in _NAMESPACES.items()],
        "pg_class": _classes(content),
        "pg_attribute": _attributes(content),
        "pg_type": _types(),
        "pg_proc": _functions(),
        "pg_description": [
            {"objoid": oid, "classoid": _KNOWN["pg_class"], "objsubid": 0, "description": text}
            for _name, _schema, oid, _columns, text in content.classes() if text
        ],
        "pg_database": [{
            "oid": _DATABASE, "datname": database, "datdba": _OWNER, "encoding": 6, "datlocprovider": "c",
            "datallowconn": True, "datconnlimit": -1, "dattablespace": 1663, "datcollate": "C", "datctype": "C",
        }],
        "pg_roles": roles,
        "pg_authid": roles,
        "pg_user": [{"usename": analyst, "usesysid": _ANALYST}],
        "pg_am": [{"oid": 2, "amname": "heap", "amhandler": _function_oid("heap_tableam_handler"), "amtype": "t"}],
        "pg_collation": [{
            "oid": 100, "collname": "default", "collnamespace": 11, "collowner": _OWNER, "collprovider": "d",
            "collisdeterministic": True, "collencoding": -1,
        }],
        "pg_language": [
            {"oid": oid, "lanname": name, "lanowner": _OWNER} for oid, name in ((12, "internal"), (14, "sql"))
        ],
        "pg_tablespace": [{"oid": 1663, "spcname": "pg_default", "spcowner": _OWNER}],
        "pg_settings": [
            {"name": name, "setting": value, "category": "", "vartype": "string", "context": context_of(name),
             "source": "default", "boot_val": value, "reset_val": value} for name, value in SETTINGS.items()
        ],
        "pg_tables": [
            {"schemaname": PUBLIC, "tablename": shown.name, "tableowner": "dpdb"} for shown in content.tables
        ],
        "pg_get_keywords": [{"word": word, "catcode": "R", "catdesc": "reserved"} for word in _KEYWORDS],
        "information_schema.schemata": [
            {"catalog_name": database, "schema_name": name, "schema_owner": "dpdb"} for name in _NAMESPACES
        ],
        "information_schema.tables": [
            {"table_catalog": database, "table_schema": schema, "table_name": name, "is_insertable_into": "NO",
             "table_type": "BASE TABLE" if schema == PUBLIC else "VIEW", "is_typed": "NO"}
            for name, schema, _oid, _columns, _text in content.classes()
        ],
        "information_schema.columns": _information_columns(content, database),
        "information_schema.routines": [
            {"specific_catalog": database, "specific_schema": PUBLIC, "routine_catalog": database,
             "specific_name": f"{name}_{oid}", "routine_schema": PUBLIC, "routine_name": name,
             "routine_type": "FUNCTION", "data_type": "record", "external_language": "SQL"}
            for name, oid in FUNCTION_OIDS.items()
        ],
        "information_schema.information_schema_catalog_name": [{"catalog_name": database}],
        "information_schema.enabled_roles": [{"role_name": analyst}],
    }  # fmt: skip

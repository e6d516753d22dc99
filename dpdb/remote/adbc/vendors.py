"""What differs between engines behind ADBC, beside their SQL: drivers, catalogs, types, and how columns are read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

import pyarrow as pa
from sqlglot import exp

from dpdb.errors import SourceError
from dpdb.remote.adbc.spelling import BigQuerySpelling, DuckDBSpelling, SnowflakeSpelling
from dpdb.schema import Column

_MOST_DIGITS, _BIGINT_DIGITS = 38, 18
_FIRST, _LAST = "0001-01-01", "9999-12-31"


@dataclass(frozen=True, repr=False)
class AdbcAddress:
    """An address ``SCHEME://PLACE``, where a place is the vendor's own.

    Attributes
    ----------
    parts : tuple of str
        Of the place, between slashes.
    user, password, options : str
        As they are written; empty where nothing is said.
    """

    vendor: Vendor
    parts: tuple[str, ...]
    user: str = ""
    password: str = ""
    options: str = ""

    @property
    def shown(self) -> str:
        """The address without password and options."""
        who = f"{self.user}@" if self.user else ""
        return f"{self.vendor.scheme}://{who}{'/'.join(self.parts)}"

    def without_secrets(self, text: str) -> str:
        """Return a text, such as the driver's, in which the password is not, as it is or as addresses write it."""
        for secret in filter(None, (self.password, quote(self.password, safe=""))):
            text = text.replace(secret, "***")
        return text


class Vendor:
    """An engine behind a driver.

    Attributes
    ----------
    name, scheme, driver : str
        For messages and records; of its addresses; the module of its driver.
    form : str
        What its places look like.
    begin : sequence of str
        Statements of a session: what decides an answer must not be a user's setting.
    version : str
        Query of one text.
    arrays_are_texts : bool
        Whether lists come as JSON.
    made : dict of Arrow type to str
        Types of made tables.
    """

    name: str
    scheme: str
    dialect: str
    driver: str
    form: str
    begin: Sequence[str] = ()
    version: str
    arrays_are_texts = False
    made: ClassVar[dict[pa.DataType, str]]
    spelling: DuckDBSpelling | SnowflakeSpelling | BigQuerySpelling

    def arguments(self, address: AdbcAddress) -> dict[str, Any]:
        """Return what the driver's `connect` is given."""
        raise NotImplementedError

    def place(self, address: AdbcAddress, table: str) -> exp.Table:
        """Name a table of an address: alone, or with its schema before it."""
        raise NotImplementedError

    def columns(self, table: exp.Table) -> exp.Select:
        """Query the names and types of a table's columns, in their order."""
        raise NotImplementedError

    def declared(self, name: str, kind: str, precision: int | None, scale: int | None) -> Column:
        """Name a type as our own database does; one that it has not keeps the vendor's name, which compares nothing."""
        raise NotImplementedError

    def read(self, column: Column, kind: str) -> exp.Expr:
        """Read a column in values that both engines have."""
        raise NotImplementedError

    def as_read(self, kind: pa.DataType) -> pa.DataType:
        """Return the type in which a column of a made table is read."""
        return kind

    def written(self, value: str | bytes) -> exp.Expr:
        """Write a text or bytes of a made table, whatever signs are in it."""
        return self.spelling.written(value)


class DuckDB(Vendor):
    """DuckDB itself, as a file or behind another driver of its own protocol: our own SQL, unchanged."""

    name, scheme, dialect, driver, form = "DuckDB", "duckdb+adbc", "duckdb", "adbc_driver_duckdb.dbapi", "FILE"
    begin = ("SET TimeZone = 'UTC'", "SET default_collation = ''")
    version = "SELECT version()"
    spelling = DuckDBSpelling()
    made: ClassVar[dict[pa.DataType, str]] = {
        pa.int16(): "SMALLINT", pa.int32(): "INTEGER", pa.int64(): "BIGINT", pa.float32(): "FLOAT",
        pa.float64(): "DOUBLE", pa.string(): "VARCHAR", pa.date32(): "DATE", pa.bool_(): "BOOLEAN",
        pa.timestamp("us"): "TIMESTAMP", pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE", pa.binary(): "BLOB",
    }  # fmt: skip

    def arguments(self, address: AdbcAddress) -> dict[str, Any]:
        """Return the file."""
        return {"path": "/".join(address.parts)}

    def place(self, address: AdbcAddress, table: str) -> exp.Table:
        """Name a table of the file."""
        del address
        schema, _, own = table.rpartition(".")
        return exp.table_(own, db=schema or "main", quoted=True)

    def columns(self, table: exp.Table) -> exp.Select:
        """Query DuckDB's own catalog."""
        columns = exp.select("column_name", "data_type", "NULL", "NULL").from_("duckdb_columns()", dialect="duckdb")
        own = exp.column("database_name").eq(exp.func("current_database"))
        here = (exp.column("schema_name").eq(table.db), exp.column("table_name").eq(table.name))
        return columns.where(own, *here).order_by("column_index")

    def declared(self, name: str, kind: str, precision: int | None, scale: int | None) -> Column:
        """Return the type: it is ours."""
        del precision, scale
        return Column(name, kind)

    def read(self, column: Column, kind: str) -> exp.Expr:
        """Read text by code points; the rest as it is."""
        del kind
        own = exp.column(column.name, quoted=True)
        if column.type != "VARCHAR":
            return own
        collated = exp.Collate(this=own, expression=exp.to_identifier("binary", quoted=True))
        return exp.alias_(collated, column.name, quoted=True)


class _Warehouse(Vendor):
    """What Snowflake and BigQuery have in common: DOUBLE, of which NaN is read as NULL, and no other number of bits."""

    types: ClassVar[dict[str, str]]
    zoned: frozenset[str]

    def columns(self, table: exp.Table) -> exp.Select:
        """Query the information schema."""
        names = ["column_name", "data_type", *self._sizes()]
        catalog = exp.table_("COLUMNS", db="INFORMATION_SCHEMA", catalog=self._catalog(table))
        here = [exp.column("table_name").eq(table.name), *self._schema(table)]
        return exp.select(*names).from_(catalog).where(*here).order_by("ordinal_position")

    def _sizes(self) -> Sequence[str]:
        return ("NULL", "NULL")

    def _catalog(self, table: exp.Table) -> str:
        raise NotImplementedError

    def _schema(self, table: exp.Table) -> Sequence[exp.Expr]:
        del table
        return ()

    def read(self, column: Column, kind: str) -> exp.Expr:
        """Read numbers that are numbers, one zero, times of the calendar, and text by code points."""
        own: exp.Expr = exp.column(column.name, quoted=True)
        value = own
        if column.type == "DOUBLE":
            zero = exp.If(this=own.eq(0), true=exp.cast(exp.convert(0), "DOUBLE"))
            value = exp.Case(ifs=[exp.If(this=self._is_nan(own), true=exp.null()), zero], default=own.copy())
        elif column.type == "VARCHAR":
            value = exp.Anonymous(this="COLLATE", expressions=[own, exp.Literal.string("")])
        elif column.type in ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"):
            to = exp.DataType.build(column.type, dialect="duckdb")
            moment = exp.cast(own, to.copy())
            end = ("", "") if column.type == "DATE" else (" 00:00:00", " 23:59:59.999999")
            zone = "+00:00" if column.type in self.zoned else ""
            low, high = (
                exp.cast(exp.Literal.string(f"{day}{time}{zone}"), to.copy())
                for day, time in zip((_FIRST, _LAST), end, strict=True)
            )
            value = exp.Case(ifs=[exp.If(this=exp.Between(this=moment, low=low, high=high), true=moment.copy())])
        elif column.type is not None and column.type != kind:
            value = exp.cast(own, exp.DataType.build(column.type, dialect="duckdb"))
        return exp.alias_(value, column.name, quoted=True)

    def _is_nan(self, value: exp.Expr) -> exp.Expr:
        raise NotImplementedError

    def as_read(self, kind: pa.DataType) -> pa.DataType:
        """Return DOUBLE for all numbers that are no decimals and whole."""
        if pa.types.is_floating(kind):
            return pa.float64()
        return pa.int64() if pa.types.is_integer(kind) else kind


class Snowflake(_Warehouse):
    """Snowflake. Its whole numbers are decimals: those of up to 18 digits are read as BIGINT."""

    name, scheme, dialect, driver = "Snowflake", "snowflake", "snowflake", "adbc_driver_snowflake.dbapi"
    form = "USER@ACCOUNT/DATABASE/SCHEMA?warehouse=NAME, the password in SNOWFLAKE_PASSWORD"
    begin = (
        "ALTER SESSION SET TIMEZONE = 'UTC', QUOTED_IDENTIFIERS_IGNORE_CASE = FALSE, ROWS_PER_RESULTSET = 0, "
        "BINARY_INPUT_FORMAT = 'HEX', DATE_INPUT_FORMAT = 'AUTO', TIMESTAMP_INPUT_FORMAT = 'AUTO', "
        "USE_CACHED_RESULT = FALSE, TIMESTAMP_DAY_IS_ALWAYS_24H = FALSE",
    )
    version = "SELECT CURRENT_VERSION()"
    spelling = SnowflakeSpelling()
    arrays_are_texts = True
    zoned = frozenset({"TIMESTAMP WITH TIME ZONE"})
    types: ClassVar[dict[str, str]] = {
        "FLOAT": "DOUBLE", "TEXT": "VARCHAR", "BOOLEAN": "BOOLEAN", "BINARY": "BLOB", "DATE": "DATE",
        "TIMESTAMP_NTZ": "TIMESTAMP", "TIMESTAMP_LTZ": "TIMESTAMP WITH TIME ZONE",
        "TIMESTAMP_TZ": "TIMESTAMP WITH TIME ZONE",
    }  # fmt: skip
    made: ClassVar[dict[pa.DataType, str]] = {
        pa.int16(): "NUMBER(5, 0)", pa.int32(): "NUMBER(10, 0)", pa.int64(): "NUMBER(19, 0)", pa.float32(): "FLOAT",
        pa.float64(): "FLOAT", pa.string(): "TEXT", pa.date32(): "DATE", pa.bool_(): "BOOLEAN",
        pa.timestamp("us"): "TIMESTAMP_NTZ(6)", pa.timestamp("us", "UTC"): "TIMESTAMP_TZ(6)", pa.binary(): "BINARY",
    }  # fmt: skip

    def arguments(self, address: AdbcAddress) -> dict[str, Any]:
        """Return the driver's own address."""
        password = f":{quote(address.password, safe='')}" if address.password else ""
        options = f"?{address.options}" if address.options else ""
        return {"uri": f"{address.user}{password}@{'/'.join(address.parts)}{options}"}

    def place(self, address: AdbcAddress, table: str) -> exp.Table:
        """Name a table of the schema of the address, or of another one of its database."""
        if len(address.parts) != 3:
            raise SourceError(f"{address.shown}: not an address; it is {self.scheme}://{self.form}")
        schema, _, own = table.rpartition(".")
        return exp.table_(own, db=schema or address.parts[2], catalog=address.parts[1], quoted=True)

    def _sizes(self) -> Sequence[str]:
        return ("numeric_precision", "numeric_scale")

    def _catalog(self, table: exp.Table) -> str:
        return table.catalog

    def _schema(self, table: exp.Table) -> Sequence[exp.Expr]:
        return [exp.column("table_schema").eq(table.db)]

    def declared(self, name: str, kind: str, precision: int | None, scale: int | None) -> Column:
        """Name a type; see the base class."""
        if kind == "NUMBER" and precision is not None:
            whole = not scale and precision <= _BIGINT_DIGITS
            return Column(name, "BIGINT" if whole else f"DECIMAL({precision},{scale or 0})")
        return Column(name, self.types.get(kind, kind))

    def _is_nan(self, value: exp.Expr) -> exp.Expr:
        return value.eq(exp.cast(exp.Literal.string("NaN"), "DOUBLE"))

    def as_read(self, kind: pa.DataType) -> pa.DataType:
        """Return DECIMAL for numbers of 64 bits, which have a digit too much."""
        return pa.decimal128(19, 0) if kind == pa.int64() else super().as_read(kind)


class BigQuery(_Warehouse):
    """BigQuery, whose sessions are in UTC. BIGNUMERIC, which has above 38 digits, is not read."""

    name, scheme, dialect, driver = "BigQuery", "bigquery", "bigquery", "adbc_driver_bigquery.dbapi"
    form = "PROJECT/DATASET, by the login of your Google Cloud"
    version = "SELECT 'without a version'"
    spelling = BigQuerySpelling()
    zoned = frozenset({"TIMESTAMP WITH TIME ZONE"})
    types: ClassVar[dict[str, str]] = {
        "INT64": "BIGINT", "FLOAT64": "DOUBLE", "STRING": "VARCHAR", "BOOL": "BOOLEAN", "BYTES": "BLOB",
        "DATE": "DATE", "DATETIME": "TIMESTAMP", "TIMESTAMP": "TIMESTAMP WITH TIME ZONE", "NUMERIC": "DECIMAL(38,9)",
    }  # fmt: skip
    made: ClassVar[dict[pa.DataType, str]] = {
        pa.int16(): "INT64", pa.int32(): "INT64", pa.int64(): "INT64", pa.float32(): "FLOAT64",
        pa.float64(): "FLOAT64", pa.string(): "STRING", pa.date32(): "DATE", pa.bool_(): "BOOL",
        pa.timestamp("us"): "DATETIME", pa.timestamp("us", "UTC"): "TIMESTAMP", pa.binary(): "BYTES",
    }  # fmt: skip
    _SIZED = re.compile(r"(STRING|BYTES)\(\d+\)|NUMERIC\((\d+)(?:, ?(\d+))?\)")

    def arguments(self, address: AdbcAddress) -> dict[str, Any]:
        """Return the driver's options."""
        project, *rest = address.parts
        dataset = {"adbc.bigquery.sql.dataset_id": rest[0]} if rest else {}
        return {"db_kwargs": {"adbc.bigquery.sql.project_id": project, **dataset}}

    def place(self, address: AdbcAddress, table: str) -> exp.Table:
        """Name a table of the dataset of the address, or of another one of its project."""
        if len(address.parts) != 2:
            raise SourceError(f"{address.shown}: not an address; it is {self.scheme}://{self.form}")
        dataset, _, own = table.rpartition(".")
        return exp.table_(own, db=dataset or address.parts[1], catalog=address.parts[0], quoted=True)

    def columns(self, table: exp.Table) -> exp.Select:
        """Query the information schema of the dataset."""
        catalog = exp.Table(
            this=exp.to_identifier("COLUMNS"),
            db=exp.to_identifier("INFORMATION_SCHEMA"),
            catalog=exp.to_identifier(table.db, quoted=True),
        )
        found = exp.select("column_name", "data_type", "NULL", "NULL").from_(catalog)
        return found.where(exp.column("table_name").eq(table.name)).order_by("ordinal_position")

    def declared(self, name: str, kind: str, precision: int | None, scale: int | None) -> Column:
        """Name a type; see the base class."""
        del precision, scale
        sized = self._SIZED.fullmatch(kind)
        if sized is not None and sized[2]:
            return Column(name, f"DECIMAL({sized[2]},{sized[3] or 0})")
        return Column(name, self.types.get(sized[1] if sized else kind, kind))

    def _is_nan(self, value: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="IS_NAN", expressions=[value.copy()])


def with_lists(answer: pa.Table) -> pa.Table:
    """Read lists of whole numbers that have come as JSON."""
    for place, field in enumerate(answer.schema):
        if pa.types.is_string(field.type) and field.name == "sizes":
            lists = [None if each is None else json.loads(each) for each in answer[place].to_pylist()]
            answer = answer.set_column(place, field.name, pa.array(lists, pa.list_(pa.int64())))
    return answer


VENDORS: dict[str, Vendor] = {vendor.scheme: vendor for vendor in (DuckDB(), Snowflake(), BigQuery())}

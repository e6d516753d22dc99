"""Made tables in other engines: where `dpdb conformance` writes what it then asks. Never an owner's own rows."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from dpdb.errors import OWNER_LOG, SourceError
from dpdb.names import in_double_quotes
from dpdb.remote.table import new_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpdb.remote.adbc.table import AdbcSession
    from dpdb.remote.clickhouse.table import Session


class Scratch(Protocol):
    """A place of another engine in which tables are made, and dropped."""

    def lacks(self, kind: pa.DataType) -> bool:
        """Say whether the engine has no type that holds the values of one of Arrow's."""

    def hold(self, rows: pa.Table) -> tuple[Any, str | None]:
        """Make a table of some rows, and return what opens it: a source, and a table's name.

        Raises
        ------
        SourceError
            If the user may make none there; the reason is in the owner's log.
        """

    def as_read(self, rows: pa.Table) -> pa.Table:
        """Return the rows as the manual says that dpdb reads them there."""

    def close(self) -> None:
        """Drop the tables. May be called twice."""


_POSTGRES = {
    pa.int16(): "smallint", pa.int32(): "integer", pa.int64(): "bigint", pa.float32(): "real",
    pa.float64(): "double precision", pa.string(): "text", pa.date32(): "date", pa.bool_(): "boolean",
    pa.timestamp("us"): "timestamp", pa.timestamp("us", "UTC"): "timestamptz", pa.binary(): "bytea",
}  # fmt: skip


class PostgresScratch:
    """A schema of PostgreSQL (implements `Scratch`)."""

    def __init__(self, connection: Any, address: Any, schema: str) -> None:
        self._connection, self._address, self._schema = connection, address, schema
        self._made: list[str] = []

    def lacks(self, kind: pa.DataType) -> bool:
        """Say whether there is a type."""
        return not pa.types.is_decimal(kind) and kind not in _POSTGRES

    def hold(self, rows: pa.Table) -> tuple[Any, str | None]:
        """Make a table; see the protocol."""
        name = new_name()
        columns = ", ".join(f"{in_double_quotes(each.name)} {postgres_type(each.type)}" for each in rows.schema)
        place = f"{in_double_quotes(self._schema)}.{in_double_quotes(name)}"
        try:
            with closing(self._connection.cursor()) as cursor:
                cursor.execute(f"CREATE TABLE {place} ({columns})")
                self._made.append(place)
                cursor.adbc_ingest(name, rows, mode="append", db_schema_name=self._schema)
            self._connection.commit()
        except Exception as error:  # of the driver
            raise _no_table(self._schema, error) from None
        return self._address, f"{self._schema}.{name}"

    def as_read(self, rows: pa.Table) -> pa.Table:
        """Return the rows: all are read."""
        return rows

    def close(self) -> None:
        """Drop the tables, and close the connection."""
        made, self._made = self._made, []
        with suppress(Exception):  # the server may be gone
            self._connection.rollback()
            with closing(self._connection.cursor()) as cursor:
                for place in made:
                    cursor.execute(f"DROP TABLE IF EXISTS {place}")
            self._connection.commit()
        with suppress(Exception):
            self._connection.close()


def postgres_type(kind: pa.DataType) -> str:
    """Name a type of Arrow's in PostgreSQL's words."""
    return f"numeric({kind.precision},{kind.scale})" if pa.types.is_decimal(kind) else _POSTGRES[kind]


_CLICKHOUSE = {
    pa.int8(): "Int8", pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64", pa.float32(): "Float32",
    pa.float64(): "Float64", pa.string(): "String", pa.date32(): "Date32", pa.bool_(): "Bool",
    pa.timestamp("us"): "DateTime64(6)", pa.timestamp("us", "UTC"): "DateTime64(6, 'UTC')",
}  # fmt: skip


class ClickHouseScratch:
    """A database of ClickHouse (implements `Scratch`). Bytes have no type of their own there; NaN is read as NULL.

    Parameters
    ----------
    session
        Which this one closes.
    """

    def __init__(self, session: Session, address: str, database: str) -> None:
        self._session, self._address, self._database = session, address, database
        self._made: list[str] = []

    def lacks(self, kind: pa.DataType) -> bool:
        """Say whether there is a type."""
        return not pa.types.is_decimal(kind) and kind not in _CLICKHOUSE

    def hold(self, rows: pa.Table) -> tuple[Any, str | None]:
        """Make a table; see the protocol."""
        name = new_name()
        place = f"{_clickhouse_name(self._database)}.{name}"
        kinds = ", ".join(
            f"{_clickhouse_name(each.name)} Nullable({clickhouse_type(each.type)})" for each in rows.schema
        )
        cells = ",".join(f"({','.join(map(clickhouse_constant, row.values()))})" for row in rows.to_pylist())
        try:
            self._session.run(f"CREATE TABLE {place} ({kinds}) ENGINE = MergeTree ORDER BY tuple()", changes=True)
            self._made.append(place)
            if cells:
                self._session.run(f"INSERT INTO {place} VALUES {cells}", changes=True)
        except Exception as error:
            raise _no_table(self._database, error) from None
        return self._address, f"{self._database}.{name}"

    def as_read(self, rows: pa.Table) -> pa.Table:
        """Return the rows, with NULL for NaN."""
        for number, field in enumerate(rows.schema):
            if pa.types.is_floating(field.type):
                known = pc.if_else(pc.is_nan(rows[number]), pa.scalar(None, field.type), rows[number])
                rows = rows.set_column(number, field, known)
        return rows

    def close(self) -> None:
        """Drop the tables, and end the session."""
        made, self._made = self._made, []
        for place in made:
            with suppress(Exception):  # the server may be gone
                self._session.run(f"DROP TABLE IF EXISTS {place}")
        self._session.close()


def clickhouse_type(kind: pa.DataType) -> str:
    """Name a type of Arrow's in ClickHouse's words."""
    return f"Decimal({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else _CLICKHOUSE[kind]


def clickhouse_constant(value: object) -> str:
    """Write a value of a cell."""
    match value:
        case None:
            return "NULL"
        case bool() | int() | float():
            return str(value)
        case str():
            return f"unhex('{value.encode().hex()}')"
        case _:
            return f"'{str(value).removesuffix('+00:00')}'"


def _clickhouse_name(name: str) -> str:
    return in_double_quotes(name.replace("\\", "\\\\"))


class SparkScratch:
    """Frames of a Spark session (implements `Scratch`): nothing is stored.

    Parameters
    ----------
    session
        In UTC.
    stop
        Ends the session, if it was made for this.
    """

    def __init__(self, session: Any, stop: Any = None) -> None:
        self._session, self._stop = session, stop

    def lacks(self, kind: pa.DataType) -> bool:
        """Return False: Spark has all types of made tables."""
        del kind
        return False

    def hold(self, rows: pa.Table) -> tuple[Any, str | None]:
        """Make a frame; of no rows types are not read from Arrow, and are given."""
        from pyspark.sql.pandas.types import from_arrow_schema

        if rows.num_rows:
            return self._session.createDataFrame(rows), None
        return self._session.createDataFrame([], from_arrow_schema(rows.schema)), None

    def as_read(self, rows: pa.Table) -> pa.Table:
        """Return the rows: all are read."""
        return rows

    def close(self) -> None:
        """End the session, if it was made for this."""
        stop, self._stop = self._stop, None
        if stop is not None:
            with suppress(Exception):
                stop()


class AdbcScratch:
    """A schema of an engine behind ADBC (implements `Scratch`).

    Parameters
    ----------
    connect
        Makes a session. Each table has one of its own: of a file of DuckDB there may be but one at a time.
    address : str
        What opens tables.
    schema : str, optional
        In which tables are made. Default: that of the address.
    """

    def __init__(self, connect: Callable[[], AdbcSession], address: str, schema: str | None) -> None:
        self._connect, self._address = connect, address
        self._before = "" if schema is None else f"{schema}."
        self._made: list[str] = []
        with closing(connect()) as session:
            self._vendor = session.vendor

    def lacks(self, kind: pa.DataType) -> bool:
        """Say whether there is a type."""
        return not pa.types.is_decimal(kind) and kind not in self._vendor.made

    def _type(self, kind: pa.DataType) -> str:
        decimal = pa.types.is_decimal(kind)
        return f"DECIMAL({kind.precision}, {kind.scale})" if decimal else self._vendor.made[kind]

    def hold(self, rows: pa.Table) -> tuple[Any, str | None]:
        """Make a table; see the protocol. Its few cells are texts of the statement, which are cast."""
        name = f"{self._before}{new_name()}"
        quoted = [exp.to_identifier(each.name, quoted=True).sql(self._vendor.dialect) for each in rows.schema]
        kinds = [self._type(each.type) for each in rows.schema]
        columns = ", ".join(f"{own} {kind}" for own, kind in zip(quoted, kinds, strict=True))
        lines = [
            ", ".join(self._cell(value, kind) for value, kind in zip(row.values(), kinds, strict=True))
            for row in rows.to_pylist()
        ]
        with closing(self._connect()) as session:
            place = self._vendor.place(session.address, name).sql(self._vendor.dialect)
            try:
                session.run(f"CREATE TABLE {place} ({columns})")
                self._made.append(place)
                if lines:
                    session.run(f"INSERT INTO {place} {' UNION ALL '.join(f'SELECT {line}' for line in lines)}")
                session.commit()
            except Exception as error:
                raise _no_table(session.address.shown, error) from None
        return self._address, name

    def _cell(self, value: object, kind: str) -> str:
        """Write a value: text and bytes by their bytes, the rest as a text that is cast."""
        if isinstance(value, (str, bytes)):
            return self._vendor.written(value).sql(self._vendor.dialect)
        return f"CAST({'NULL' if value is None else repr(str(value))} AS {kind})"

    def as_read(self, rows: pa.Table) -> pa.Table:
        """Return the rows in the types in which they are read; warehouses have NULL for NaN."""
        for number, field in enumerate(rows.schema):
            values, kind = rows[number], self._vendor.as_read(field.type)
            if pa.types.is_floating(field.type) and self._vendor.dialect != "duckdb":
                values = pc.if_else(pc.is_nan(values), pa.scalar(None, field.type), values)
            rows = rows.set_column(number, field.name, values.cast(kind))
        return rows

    def close(self) -> None:
        """Drop the tables."""
        made, self._made = self._made, []
        if not made:
            return
        with suppress(Exception), closing(self._connect()) as session:  # the server may be gone
            for place in made:
                session.run(f"DROP TABLE IF EXISTS {place}")
            session.commit()


def _no_table(place: str, error: Exception) -> SourceError:
    OWNER_LOG.error("%s", error)
    return SourceError(f"{place}: the user may make no table there; the reason is in the owner's log")

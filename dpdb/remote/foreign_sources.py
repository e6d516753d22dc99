"""What names tables of PostgreSQL, ClickHouse, Spark, and of engines behind ADBC.

Of PostgreSQL it is a connection, or ``postgresql://user@host:port/database?option=value``; of ClickHouse
``clickhouse://user@host:port/database``, its HTTP interface; of Spark its data frames, and texts such as
``spark:catalog.schema.table``; behind ADBC ``snowflake://``, ``bigquery://`` and ``duckdb+adbc://``.

Every source is asked whether it is one, so what asks a server is loaded where one is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self
from urllib.parse import unquote

from dpdb.errors import OWNER_LOG, SourceError
from dpdb.remote.addresses import parts_of_address
from dpdb.sources import needed
from dpdb.stopping import if_it_fails

if TYPE_CHECKING:
    from dpdb.remote.adbc.table import AdbcSession, AdbcTable
    from dpdb.remote.adbc.vendors import AdbcAddress
    from dpdb.remote.clickhouse.table import ClickHouseSet, ClickHouseTable
    from dpdb.remote.postgres_table import PostgresSet, PostgresTable
    from dpdb.remote.scratch import AdbcScratch, ClickHouseScratch, PostgresScratch, SparkScratch
    from dpdb.remote.spark import SparkSet, SparkTable

_CONNECTION = "PostgreSQL connection"
_SCHEMES = ("postgresql://", "postgres://")
_SECRET = ("password", "sslpassword")


class PostgresSource:
    """The kind of sources that are tables of PostgreSQL."""

    takes_table = True

    def reads(self, source: Any) -> bool:
        """Say whether it is an address or connection of PostgreSQL; no driver is imported for that."""
        if isinstance(source, str):
            return source.startswith(_SCHEMES)
        kinds = {kind.__module__ for kind in type(source).__mro__}
        if "adbc_driver_manager.dbapi" not in kinds or not hasattr(source, "adbc_clone"):
            return False
        with suppress(Exception):  # it may be closed
            return bool(source.adbc_get_info().get("vendor_name") == "PostgreSQL")
        return False

    def open(self, source: Any, table: str | None) -> PostgresTable:
        """Connect, and find the table.

        Raises
        ------
        SourceError
            If there is no driver, no server, no such table or none is named, or the user may not connect.
        """
        from dpdb.remote.postgres_table import PostgresTable

        address = _address(source)
        if not table:
            raise SourceError(f"{address.shown}: name the table with table=")
        return PostgresTable(_connection(source, address), address.shown, table)

    def open_set(self, source: Any, schema: str | None) -> PostgresSet:
        """Connect, and find a schema.

        Raises
        ------
        SourceError
            As of `open`, and if there is no such schema.
        """
        from dpdb.remote.postgres_table import PostgresSet

        address = _address(source)
        return PostgresSet(_connection(source, address), address.shown, schema)

    def scratch(self, source: Any, schema: str | None) -> PostgresScratch:
        """Connect, and make tables in a schema; by default in `public`. Errors as of `open`."""
        from dpdb.remote.scratch import PostgresScratch

        return PostgresScratch(_connection(source, _address(source)), source, schema or "public")


@dataclass(frozen=True, repr=False)
class PostgresAddress:
    """An address, as libpq reads it.

    Attributes
    ----------
    text : str
        It may hold a password.
    shown : str
        Without password and options.
    secrets : tuple of str
        What must be in no message.
    """

    text: str
    shown: str
    secrets: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address.

        Raises
        ------
        SourceError
            If it is not clear where a password in it ends. The message shows nothing of it.
        """
        match = parts_of_address(text, ("postgresql", "postgres"), "~/.pgpass or PGPASSWORD")
        user = "" if match["user"] is None else f"{match['user']}@"
        shown = f"postgresql://{user}{match['host']}/{match['database'] or ''}"
        return cls(text, shown, tuple(_secrets(match["password"], match["options"])))

    def without_secrets(self, text: str) -> str:
        """Return a text, such as the server's, in which no secret is."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def _address(source: Any) -> PostgresAddress:
    return PostgresAddress.parse(source) if isinstance(source, str) else PostgresAddress("", _CONNECTION, ())


def _connection(source: Any, address: PostgresAddress) -> Any:
    if not isinstance(source, str):
        return _connected(source.adbc_clone, address)
    driver = needed("adbc_driver_postgresql.dbapi", "postgres", address.shown)
    return _connected(lambda: driver.connect(address.text), address)


def _connected(connect: Any, address: PostgresAddress) -> Any:
    try:
        return connect()
    except Exception as error:  # of the driver, whose errors have no class in common with others
        reason = address.without_secrets(str(error))
        OWNER_LOG.error("%s", reason)
        refused = "password" in reason or "authentication" in reason
        problem = "the server refuses the user or the password" if refused else "no connection can be made"
        raise SourceError(f"{address.shown}: {problem}; the reason is in the owner's log") from None


def _secrets(password: str | None, options: str | None) -> Iterator[str]:
    values = [password or ""]
    for option in (options or "").split("&"):
        name, _, value = option.partition("=")
        if unquote(name) in _SECRET:
            values.append(value)
    for value in values:
        yield from (written for written in {value, unquote(value)} if written)


_CLICKHOUSE = "clickhouse://"


class ClickHouseSource:
    """The kind of sources that are tables of ClickHouse."""

    takes_table = True

    def reads(self, source: object) -> bool:
        """Say whether it is an address of ClickHouse."""
        return isinstance(source, str) and source.startswith(_CLICKHOUSE)

    def open(self, source: str, table: str | None) -> ClickHouseTable:
        """Connect, and find the table."""
        from dpdb.remote.clickhouse.http import ClickHouseAddress, connected
        from dpdb.remote.clickhouse.table import ClickHouseTable

        address = ClickHouseAddress.parse(source)
        if not table:
            raise SourceError(f"{address.shown}: name the table with table=")
        return ClickHouseTable(connected(address), address.shown, address.database, table)

    def open_set(self, source: str, schema: str | None) -> ClickHouseSet:
        """Connect, and find a database; by default the one of the address.

        Raises
        ------
        SourceError
            As of `open`, and if there is no such database.
        """
        from dpdb.remote.clickhouse.http import ClickHouseAddress, connected
        from dpdb.remote.clickhouse.table import ClickHouseSet

        address = ClickHouseAddress.parse(source)
        return ClickHouseSet(connected(address), address.shown, schema or address.database)

    def scratch(self, source: str, schema: str | None) -> ClickHouseScratch:
        """Connect, and make tables in a database; by default in the one of the address. Errors as of `open`."""
        from dpdb.remote.clickhouse.http import ClickHouseAddress, connected
        from dpdb.remote.scratch import ClickHouseScratch

        address = ClickHouseAddress.parse(source)
        return ClickHouseScratch(connected(address), source, schema or address.database)


_ADBC = ("duckdb+adbc://", "snowflake://", "bigquery://")
_PLACE = re.compile(r"((?P<user>[^:@/?#]*)(:(?P<password>[^@/?#]*))?@)?(?P<place>[^@?#]*)(\?(?P<options>[^?#]*))?")


class AdbcSource:
    """The kind of sources that are asked by an ADBC driver; ``adbc:DRIVER:URI`` is another one, which is copied."""

    takes_table = True

    def reads(self, source: object) -> bool:
        """Say whether it is such an address."""
        return isinstance(source, str) and source.startswith(_ADBC)

    def open(self, source: str, table: str | None) -> AdbcTable:
        """Connect, and find the table.

        Raises
        ------
        SourceError
            If there is no driver, no server, no such table or none is named, or the user may not connect.
        """
        from dpdb.remote.adbc.table import AdbcTable

        address = _adbc_address(source)
        if not table:
            raise SourceError(f"{address.shown}: name the table with table=")
        return AdbcTable(_adbc_session(address), table)

    def open_set(self, source: str, schema: str | None) -> NoReturn:
        """Refuse."""
        del schema
        raise SourceError(f"{_adbc_address(source).shown}: sets of tables are not read by ADBC; name one table")

    def scratch(self, source: str, schema: str | None) -> AdbcScratch:
        """Connect, and make tables in a schema; by default in that of the address. Errors as of `open`."""
        from dpdb.remote.scratch import AdbcScratch

        address = _adbc_address(source)
        return AdbcScratch(lambda: _adbc_session(address), source, schema)


def _adbc_address(text: str) -> AdbcAddress:
    from dpdb.remote.adbc.vendors import VENDORS, AdbcAddress

    scheme, _, rest = text.partition("://")
    vendor, found = VENDORS[scheme], _PLACE.fullmatch(rest)
    if found is None or not found["place"]:
        raise SourceError(f"{scheme}://...: not an address; it is {scheme}://{vendor.form}")
    password = found["password"] or os.environ.get(f"{vendor.name.upper()}_PASSWORD", "")
    parts = tuple(found["place"].split("/"))
    return AdbcAddress(vendor, parts, found["user"] or "", unquote(password), found["options"] or "")


def _adbc_session(address: AdbcAddress) -> AdbcSession:
    from dpdb.remote.adbc.table import AdbcSession

    driver = needed(address.vendor.driver, "adbc", address.shown)
    try:
        connection = driver.connect(**address.vendor.arguments(address))
    except Exception as error:  # of the driver
        OWNER_LOG.error("%s", address.without_secrets(str(error)))
        raise SourceError(f"{address.shown}: no connection can be made; the reason is in the owner's log") from None
    return AdbcSession(connection, address)


_PREFIX = "spark:"


class SparkSource:
    """The kind of sources that are Spark's: its data frames, and texts such as ``spark:catalog.schema.table``."""

    takes_table = False

    def reads(self, source: object) -> bool:
        """Say whether the source is one of these; pyspark is not imported for that."""
        if isinstance(source, str):
            return source.startswith(_PREFIX)
        return hasattr(type(source), "sparkSession") and hasattr(type(source), "toArrow")

    def open(self, source: Any, table: str | None = None) -> SparkTable:
        """Open it; a text in the active session, or in one that is made for it (`SPARK_REMOTE` gives Connect).

        Raises
        ------
        SourceError
            If there is no such table, no Spark, or no session can be made.
        """
        from dpdb.remote.spark import SparkTable, frame_at, spark_session

        del table
        if not isinstance(source, str):
            return SparkTable(source, "Spark data frame")
        name = source.removeprefix(_PREFIX)
        session, is_ours = spark_session()
        with if_it_fails(session.stop) if is_ours else nullcontext():
            return SparkTable(frame_at(session, name), source, name, stop=session.stop if is_ours else None)

    def open_set(self, source: Any, schema: str | None) -> SparkSet:
        """Open the schema or folder that a text names; see `SparkSet`."""
        from dpdb.remote.spark import SparkSet

        if not isinstance(source, str) or schema is not None:
            raise SourceError("a set of tables in Spark is a text: spark:CATALOG.SCHEMA, or spark:parquet.`FOLDER`")
        return SparkSet(source.removeprefix(_PREFIX))

    def scratch(self, source: object, schema: str | None) -> SparkScratch:
        """Make frames in the active session, or in one that is made for it. Errors as of `open`."""
        from dpdb.remote.scratch import SparkScratch
        from dpdb.remote.spark import spark_session

        if not isinstance(source, str) or schema is not None:
            raise SourceError("in Spark made tables are frames of a session: name it as spark:, without a schema")
        session, is_ours = spark_session()
        return SparkScratch(session, session.stop if is_ours else None)

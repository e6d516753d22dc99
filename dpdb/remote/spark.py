"""Spark 4 as a remote table: classic sessions and Connect, by SQL text alone. No Python runs on executors.

Frames are known by what they can do (`sparkSession`, `toArrow`), because the two kinds share no class that a user's
frame is certain to have. The session is the user's: nothing of it is changed but a temporary view of the table, which
`close` drops.

A `SparkSet` is the tables of a schema of Spark's catalogs, or of a folder of files, in one session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import pyarrow as pa
from sqlglot import exp

from dpdb.errors import OWNER_LOG, EngineError, SourceError
from dpdb.remote.table import RemoteSet, new_name
from dpdb.schema import Column, TableSchema
from dpdb.sources import reason_in_log
from dpdb.stopping import if_it_fails

Located: TypeAlias = Callable[[str], str]

_UTC = {"utc", "etc/utc", "gmt", "etc/gmt", "z", "+00:00", "zulu", "etc/zulu", "universal", "etc/universal"}
_TYPES = {
    "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT", "float": "FLOAT",
    "double": "DOUBLE", "boolean": "BOOLEAN", "binary": "BLOB", "date": "DATE", "timestamp_ntz": "TIMESTAMP",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_TEXT = ("string", "char(", "varchar(")
_ZONED = "TIMESTAMP WITH TIME ZONE"
# Spark keeps other times than it documents, and not all of them have a place in DuckDB's calendar.
_CALENDAR = {
    "DATE": ("DATE '0001-01-01'", "DATE '9999-12-31'"),
    "TIMESTAMP": ("TIMESTAMP_NTZ '0001-01-01 00:00:00'", "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'"),
    _ZONED: ("TIMESTAMP '0001-01-01 00:00:00+00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999+00:00'"),
}


class SparkTable:
    """A data frame that is asked in its own session (implements `dpdb.remote.table.RemoteTable`).

    Parameters
    ----------
    stop
        Ends the session, if it was made for this table.
    located
        Finds the place of a table beside it. Default: what Spark finds by its name.
    """

    dialect = "spark"
    is_fixed = False

    def __init__(self, frame: Any, description: str, place: str = "", stop: Any = None, located: Located = str) -> None:
        self.description, self.place, self._located = description, place, located
        self._session, self._stop = frame.sparkSession, stop
        self._others: list[SparkTable] = []
        self._view = new_name()
        self._server: str | None = None
        with reason_in_log(f"{description}: cannot be described", Exception):
            fields = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
            zone = str(self._session.conf.get("spark.sql.session.timeZone"))
        self._schema = TableSchema(tuple(Column(name, _type(name, kind, zone)) for name, kind in fields))
        read = [_total(column) for column in self._schema.columns if column.type is not None]
        if not read:
            raise SourceError(f"{description}: no column has a type that constraints can compare")
        with reason_in_log(f"{description}: cannot be read", Exception):
            frame.selectExpr(*read).createOrReplaceTempView(self._view)

    def schema(self) -> TableSchema:
        """Names and types."""
        return self._schema

    def rows(self) -> exp.Table:
        """Name the view."""
        return exp.to_table(self._view)

    def beside(self, name: str) -> SparkTable:
        """Open a table or view of the same session."""
        place = self._located(name)
        self._others.append(SparkTable(frame_at(self._session, place), f"spark:{place}", place))
        return self._others[-1]

    def ask(self, tree: exp.Expr) -> pa.Table:
        """Run a query; a signal stops it on the cluster, too."""
        text = tree.sql("spark")
        tag = new_name()
        try:
            self._session.addTag(tag)
            try:
                answer: pa.Table = self._session.sql(text).toArrow()
            finally:
                self._session.removeTag(tag)
        except Exception as error:  # of many libraries, and it may print values
            OWNER_LOG.error("%s\n%s", error, text)
            problem = f"{self.description}: a query failed in Spark; the reason is in the owner's log"
            raise EngineError(problem) from None
        except BaseException:
            with suppress(Exception):
                self._session.interruptTag(tag)
            raise
        return answer

    def lend(self, name: str, table: pa.Table) -> exp.Table:
        """Make a table a view, to be sent to every executor: else Spark would shuffle the large table to join it."""
        some = table
        if not table.num_rows:  # Connect makes no frame of no rows
            some = pa.table([pa.nulls(1, kind) for kind in table.schema.types], table.schema.names)
        with reason_in_log(f"{self.description}: a table cannot be lent", Exception):
            frame = self._session.createDataFrame(some).limit(table.num_rows)
            frame.hint("broadcast").createOrReplaceTempView(name)
        return exp.to_table(name)

    def take_back(self, name: str) -> None:
        """Drop the view."""
        with suppress(Exception):  # the session may be gone
            self._session.catalog.dropTempView(name)

    def server(self) -> str:
        """Name the server: Spark says which commit it is of. What else speaks its protocol is no Spark."""
        if self._server is None:
            with reason_in_log(f"{self.description}: cannot be described", Exception):
                said = str(self._session.sql("SELECT version()").toArrow()[0][0])
                databricks = self._session.conf.get("spark.databricks.clusterUsageTags.sparkVersion", "")
            version, _, commit = said.partition(" ")
            is_spark = _COMMIT.fullmatch(commit) is not None
            self._server = f"Databricks {databricks}" if databricks else f"Spark {version}"
            if not (databricks or is_spark):
                self._server = f"Spark Connect server {said}"
        return self._server

    def version(self) -> str:
        """Name Spark's hash, whose seed is the same in all its versions."""
        return "spark xxhash64"

    def close(self) -> None:
        """Drop the views, and end the session if it was made for this table."""
        for other in self._others:
            other.close()
        self.take_back(self._view)
        if self._stop is not None:
            stop, self._stop = self._stop, None
            with suppress(Exception):
                stop()


def frame_at(session: Any, place: str) -> Any:
    """Return the table or view that Spark finds by a name.

    Raises
    ------
    SourceError
        If there is none.
    """
    with reason_in_log(f"spark:{place}: there is no such table or view", Exception):
        frame = session.table(place)
        _ = frame.schema  # Connect looks for the table now
    return frame


def spark_session() -> tuple[Any, bool]:
    """Return the session that is active, or a new one in UTC, and whether it is new."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise SourceError("spark:...: needs PySpark 4: pip install 'dpdb[spark]'") from None
    with reason_in_log(
        "spark:...: no session can be made (it needs Java, or SPARK_REMOTE to name a server)", Exception
    ):
        active = SparkSession.getActiveSession()
        if active is not None:
            return active, False
        session = SparkSession.builder.appName("dpdb").config("spark.ui.showConsoleProgress", "false").getOrCreate()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        return session, True


def _type(name: str, kind: str, zone: str) -> str:
    """Name a Spark type as our own database does; one that it has not keeps Spark's name, which compares nothing."""
    if "${" in name:
        return f"{kind}, and a name in which Spark replaces ${{...}}"
    if kind.startswith(_TEXT):
        return "VARCHAR"
    if kind.startswith("decimal("):
        return kind.upper() if "-" not in kind else kind
    if kind == "timestamp" and zone.lower() not in _UTC:
        return "timestamp in a session whose spark.sql.session.timeZone is not UTC"
    return _TYPES.get(kind, kind)


def _total(column: Column) -> str:
    """Read a column in the values that both engines have: no collation, no CHAR that compares as if it were longer."""
    name = f"`{column.name.replace('`', '``')}`"
    if column.type == "VARCHAR":
        return f"try_validate_utf8(CAST({name} AS STRING)) AS {name}"
    if column.type in _CALENDAR:
        low, high = _CALENDAR[column.type]
        return f"CASE WHEN {name} BETWEEN {low} AND {high} THEN {name} END AS {name}"
    return name


_FILES = re.compile(r"(?P<format>\w+)\.`(?P<folder>[^`]*/[^`]*)`")


class SparkSet(RemoteSet):
    """A schema, such as ``catalog.schema`` (empty: the session's own), or a folder, such as ``parquet.`/data/omop` ``.

    Parameters
    ----------
    place : str
        As Spark writes it.
    """

    def __init__(self, place: str) -> None:
        self.description, self._place = f"spark:{place}", place
        self._files = _FILES.fullmatch(place)
        self._places: dict[str, str] = {}
        self._session, self._is_ours = spark_session()
        with if_it_fails(self.close):
            self._listed = [] if self._files else self._names()

    def _names(self) -> list[str]:
        """Return the tables and views of the schema; without one those of the session's, temporary ones among them."""
        among = f" IN {self._place}" if self._place else ""
        with reason_in_log(f"{self.description}: there is no such schema", Exception):
            found = self._session.sql(f"SHOW TABLES{among}").collect()
        with suppress(Exception):  # catalogs without views
            found += self._session.sql(f"SHOW VIEWS{among}").collect()
        names = [(str(row[1]), bool(row[2])) for row in found]
        return sorted({name for name, is_temporary in names if not (self._place and is_temporary)})

    def named(self, name: str) -> Sequence[str]:
        """Return the tables of a name; see the base class. Of a folder the name is that of a file or folder in it."""
        if self._files is None:
            return [each for each in self._listed if each.casefold() == name.casefold()]
        found = [place for place in map(self._file, self._spellings(name)) if self._is_there(place)]
        if len(found) > 1:
            raise SourceError(f"{self.description} has two tables of one name: {', '.join(found)}")
        for place in found:
            self._places[name.casefold()] = place
        return [name] if found else []

    def _spellings(self, name: str) -> list[str]:
        assert self._files is not None
        return [*dict.fromkeys(f"{each}{end}" for each in (name, name.lower()) for end in ("", f".{self._files[1]}"))]

    def _file(self, name: str) -> str:
        assert self._files is not None
        return f"{self._files['format']}.`{self._files['folder'].rstrip('/')}/{name.replace('`', '')}`"

    def _is_there(self, place: str) -> bool:
        try:
            _ = self._session.table(place).schema
        except Exception as error:  # of many libraries
            if "PATH_NOT_FOUND" in str(error):
                return False
            OWNER_LOG.error("spark:%s: %s", place, error)
            raise SourceError(f"spark:{place}: cannot be described; the reason is in the owner's log") from None
        return True

    def _located(self, name: str) -> str:
        """Return where a table is that lies here, or the one that a name with its schema says."""
        if self._files is not None:
            if name.casefold() not in self._places and not self.named(name):
                raise SourceError(f"{self.description}: there is no table {name!r}")
            return self._places[name.casefold()]
        if "." in name:
            return name
        own = f"`{name.replace('`', '``')}`"
        return f"{self._place}.{own}" if self._place else own

    def table(self, name: str) -> SparkTable:
        """Open a table in the session of the set."""
        place = self._located(name)
        return SparkTable(frame_at(self._session, place), f"spark:{place}", place, located=self._located)

    def close(self) -> None:
        """End the session, if it was made for this set."""
        if self._is_ours:
            self._is_ours = False
            with suppress(Exception):
                self._session.stop()

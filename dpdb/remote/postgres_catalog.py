"""The one transaction that reads tables of a PostgreSQL database as they are at one moment, and what its catalog says.

The transaction may only read. What the catalog says is asked outside the savepoint that queries of rows go back to if
they fail. Columns are read in the values that both engines have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from threading import Lock
from typing import Any

from sqlglot import exp

from dpdb.engine.sql import is_known
from dpdb.errors import OWNER_LOG, SourceError
from dpdb.schema import Column
from dpdb.stopping import if_it_fails

_ASKED = "asked"
_OLDEST = 140_000
# Texts, and those of times among them, are written and read in one way, whatever the settings of server and user.
_BEGIN = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL client_encoding = 'UTF8'",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL standard_conforming_strings = on",
)


class PostgresTransaction:
    """A transaction of a connection of its own.

    It is begun by a statement: in one that the driver begins itself, the driver refuses to go back to a savepoint.

    Parameters
    ----------
    connection
        Of ADBC's driver, which this one closes.

    Attributes
    ----------
    server : int
        Version of the server, as the server writes it.
    lock : Lock
        Held while a query of rows runs.
    """

    def __init__(self, connection: Any, description: str) -> None:
        self.connection, self.lock, self._description = connection, Lock(), description
        self._is_saved = False
        with if_it_fails(self.close):
            self.server = self._begun()

    def _begun(self) -> int:
        self.connection.adbc_connection.set_autocommit(True)
        for statement in _BEGIN:
            self.run(statement)
        server, encoding = self.row(
            "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')"
        )
        if not isinstance(server, int):  # the driver found no type by its name
            raise SourceError(f"{self._description}: the setting quote_all_identifiers has to be off")
        if server < _OLDEST:
            raise SourceError(f"{self._description}: the server is older than PostgreSQL 14")
        if encoding != "UTF8":
            raise SourceError(f"{self._description}: the encoding of the database is {encoding}, which has to be UTF8")
        return int(server)

    @contextmanager
    def describing(self) -> Iterator[None]:
        """Find and lock tables: what is done in the block stays when a query fails later."""
        if self._is_saved:
            self.run(f"RELEASE SAVEPOINT {_ASKED}")
            self._is_saved = False
        yield
        self.run(f"SAVEPOINT {_ASKED}")
        self._is_saved = True

    def go_back(self) -> None:
        """Leave what a failed query has left: rows that are seen are as they were."""
        with suppress(Exception):  # the server may be gone
            self.run(f"ROLLBACK TO SAVEPOINT {_ASKED}")

    def run(self, statement: str) -> None:
        """Run a statement that says nothing private."""
        with closing(self.connection.cursor()) as cursor:
            cursor.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Ask the catalog: nothing private.

        Raises
        ------
        SourceError
            If that fails; the reason is in the owner's log.
        """
        try:
            with closing(self.connection.cursor()) as cursor:
                cursor.execute(query)
                found: list[tuple[Any, ...]] = cursor.fetchall()
                return found
        except Exception as error:
            OWNER_LOG.error("%s", error)
            raise SourceError(f"{self._description}: cannot be described; the reason is in the owner's log") from None

    def row(self, query: str) -> tuple[Any, ...]:
        """Ask the catalog what has one row."""
        (row,) = self.rows(query)
        return row

    def close(self) -> None:
        """End the transaction and the connection."""
        with suppress(Exception):  # the server may be gone
            self.connection.close()


_TYPES = {
    "smallint": "SMALLINT", "integer": "INTEGER", "bigint": "BIGINT", "real": "FLOAT", "double precision": "DOUBLE",
    "boolean": "BOOLEAN", "bytea": "BLOB", "uuid": "UUID", "date": "DATE", "text": "VARCHAR", "name": "VARCHAR",
    "character varying": "VARCHAR", "character": "VARCHAR", "bpchar": "VARCHAR", '"char"': "VARCHAR",
    "timestamp without time zone": "TIMESTAMP", "timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
_MOST_DIGITS = 38
_LENGTH = re.compile(r"\(\d+\)")
_CALENDAR = {
    "DATE": ("0001-01-01", "9999-12-31"),
    "TIMESTAMP": ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
    "TIMESTAMP WITH TIME ZONE": ("0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"),
}
UNORDERED = frozenset({"BOOLEAN", "UUID", "BLOB"})
"""Types without MIN and MAX."""


def table_query(table: str) -> str:
    """Find the relations of a name as the catalog spells it, with a schema or without: number, schema, name, kind."""
    name = exp.Literal.string(table).sql("postgres")
    return (
        "SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind::text "
        "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        f"WHERE n.nspname || '.' || c.relname = {name} "
        f"OR (c.relname::text = {name} AND pg_catalog.pg_table_is_visible(c.oid))"
    )


def columns_query(number: int) -> str:
    """Describe the columns of a relation: name, type (of a domain the one that it is of), no NULL, may be read.

    A column has no NULL if all relations whose rows are read promise it and keep that promise, as foreign tables do
    not, nor views, nor a constraint that was never validated. Tables that inherit may have dropped it.
    """
    return f"""
        WITH RECURSIVE {_read(number)}, typed AS (
            SELECT attnum, attname, atttypid AS type, atttypmod AS modifier FROM pg_catalog.pg_attribute
            WHERE attrelid = {number} AND attnum > 0 AND NOT attisdropped
          UNION ALL
            SELECT attnum, attname, t.typbasetype, t.typtypmod
            FROM typed JOIN pg_catalog.pg_type t ON t.oid = typed.type AND t.typtype = 'd'
        )
        SELECT attname::text, pg_catalog.format_type(typed.type, modifier), (
            SELECT bool_and(a.attnotnull AND c.relkind IN ('r', 'p') AND NOT EXISTS (
                SELECT FROM pg_catalog.pg_constraint n
                WHERE n.conrelid = number AND n.contype = 'n' AND NOT n.convalidated AND a.attnum = ANY (n.conkey)
            ))
            FROM read JOIN pg_catalog.pg_class c ON c.oid = number
            JOIN pg_catalog.pg_attribute a ON a.attrelid = number AND a.attname = typed.attname
        ), pg_catalog.has_column_privilege({number}::oid, attnum, 'SELECT')
        FROM typed JOIN pg_catalog.pg_type t ON t.oid = typed.type AND t.typtype <> 'd' ORDER BY attnum
    """


def stored_query(number: int) -> str:
    """Ask whether the rows of a relation are stored, so that a transaction sees them as they were when it began.

    Views compute them, foreign tables fetch them, and a policy chooses among them: perhaps otherwise for every query.
    """
    return f"""
        WITH RECURSIVE {_read(number)}
        SELECT bool_and(c.relkind IN ('r', 'p', 'm') AND NOT c.relrowsecurity)
        FROM read JOIN pg_catalog.pg_class c ON c.oid = number
    """


def _read(number: int) -> str:
    """Define `read`: the relations whose rows are those of a relation."""
    return f"""read AS (
            SELECT {number}::oid AS number
          UNION
            SELECT inhrelid FROM pg_catalog.pg_inherits JOIN read ON inhparent = number
        )"""


def declared_column(name: str, kind: str, required: bool, readable: bool) -> Column:
    """Name a type as our own database does; one that it has not keeps PostgreSQL's name, which compares nothing.

    Parameters
    ----------
    required
        Whether it is declared NOT NULL.
    readable
        Whether the user may read it.
    """
    if not readable:
        return Column(name, f"{kind} that the user may not read")
    numeric = _NUMERIC.fullmatch(kind)
    if numeric is not None and 0 <= int(numeric[2]) <= int(numeric[1]) <= _MOST_DIGITS:
        return Column(name, f"DECIMAL({numeric[1]},{numeric[2]})")  # NaN is read as NULL
    found = _TYPES.get(_LENGTH.sub("", kind), kind)
    return Column(name, found, nullable=not required or found in _CALENDAR)


def total(column: Column, kind: str) -> exp.Expr:
    """Read a column: no collation, CHAR with its blanks, numbers that are numbers, times of the calendar or endless."""
    name = exp.column(column.name, quoted=True)
    if column.type == "VARCHAR":
        # A cast of CHAR would cut its blanks.
        text = (
            exp.Anonymous(this="concat", expressions=[name])
            if _LENGTH.sub("", kind) in {"character", "bpchar"}
            else name
        )
        whole = exp.Case(ifs=[exp.If(this=is_known(name), true=exp.cast(text, "TEXT"))])
        value: exp.Expr = exp.Collate(this=exp.paren(whole), expression=exp.to_identifier("C", quoted=True))
    elif column.type in _CALENDAR:
        low, high = (exp.cast(exp.Literal.string(end), column.type) for end in _CALENDAR[column.type])
        ends = [exp.cast(exp.Literal.string(end), column.type) for end in ("infinity", "-infinity")]
        inside = exp.Between(this=name.copy(), low=low, high=high)
        endless = exp.In(this=name.copy(), expressions=ends)
        value = exp.Case(ifs=[exp.If(this=exp.or_(inside, endless), true=name)])
    elif column.type is not None and column.type.startswith("DECIMAL"):
        number = exp.Nullif(this=name, expression=exp.cast(exp.Literal.string("NaN"), "NUMERIC"))
        value = exp.cast(number, column.type)  # a foreign table need not keep to it
    else:
        return name
    return exp.alias_(value, column.name, quoted=True)

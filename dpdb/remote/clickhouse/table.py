"""ClickHouse as a remote table, and all tables of a database of it.

There are no transactions: nothing holds rows still while a release reads them. Their digests are computed before and
after it (`dpdb.remote.opened`), so that an answer is of one state of them or is not published.

Nothing is made on the server but temporary tables of the session.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from dpdb.database.database import interruptible
from dpdb.errors import OWNER_LOG, EngineError, SourceError
from dpdb.remote.table import DefinedRows, RemoteSet
from dpdb.schema import Column, TableSchema
from dpdb.stopping import if_it_fails

_ROWS = exp.to_table("remote_row")

SETTINGS: Mapping[str, str] = {
    # What SQL means.
    "join_use_nulls": "1", "group_by_use_nulls": "0", "transform_null_in": "0", "cast_keep_nullable": "1",
    "prefer_column_name_to_alias": "1", "aggregate_functions_null_for_empty": "0", "session_timezone": "'UTC'",
    "count_distinct_implementation": "'uniqExact'", "join_default_strictness": "'ALL'", "decimal_check_overflow": "1",
    "cast_string_to_dynamic_use_inference": "0", "asterisk_include_alias_columns": "0", "enable_analyzer": "1",
    "enable_positional_arguments": "0", "least_greatest_legacy_null_behavior": "0",
    "cast_string_to_date_time_mode": "'best_effort'", "date_time_overflow_behavior": "'ignore'",
    # All rows, as they are now.
    "final": "1", "limit": "0", "offset": "0", "additional_result_filter": "''", "additional_table_filters": "{}",
    "use_query_cache": "0", "skip_unavailable_shards": "0", "read_overflow_mode": "'throw'",
    "read_overflow_mode_leaf": "'throw'", "group_by_overflow_mode": "'throw'", "sort_overflow_mode": "'throw'",
    "result_overflow_mode": "'throw'", "timeout_overflow_mode": "'throw'", "set_overflow_mode": "'throw'",
    "join_overflow_mode": "'throw'", "transfer_overflow_mode": "'throw'", "distinct_overflow_mode": "'throw'",
    "timeout_overflow_mode_leaf": "'throw'", "apply_deleted_mask": "1", "apply_patch_parts": "1",
    "apply_mutations_on_fly": "0", "do_not_merge_across_partitions_select_final": "0", "enable_parallel_replicas": "0",
    "use_skip_indexes_if_final_exact_mode": "1", "optimize_move_to_prewhere_if_final": "0",
    "apply_row_policy_after_final": "1", "defer_partition_pruning_after_final": "1",
    # How answers come.
    "extremes": "0", "describe_include_subcolumns": "0", "output_format_arrow_unsupported_types_as_binary": "1",
    "output_format_arrow_string_as_string": "1", "output_format_arrow_low_cardinality_as_dictionary": "0",
}  # fmt: skip
"""Each decides what an answer says: the profile of a user may have another value of it."""

_STORED = re.compile(
    r"(Replicated|Shared)?(Replacing|Collapsing|VersionedCollapsing)?MergeTree|(Tiny|Stripe)?Log|Memory"
)
_WHOLE = {
    "Int8": "TINYINT", "Int16": "SMALLINT", "Int32": "INTEGER", "Int64": "BIGINT", "UInt8": "SMALLINT",
    "UInt16": "INTEGER", "UInt32": "BIGINT", "UInt64": "DECIMAL(20, 0)", "Bool": "BOOLEAN",
}  # fmt: skip
_TEXTS = re.compile(r"String|UUID|Enum(8|16)\(.*\)")
"""What is read as text: a UUID in small letters, a value of an enumeration by its name, which so has its order."""
_FLOATS = {"Float32": "FLOAT", "Float64": "DOUBLE"}
_OUTER = re.compile(r"(?:LowCardinality|Nullable)\((.*)\)")
_DECIMAL = re.compile(r"Decimal\((\d+), (\d+)\)")
_MOMENT = re.compile(r"DateTime(?:64)?(?:\((?:([0-6])(?:, )?)?('[^']*')?\))?")
_MOST_DIGITS = 38
_FIRST, _LAST = "0001-01-01", "9999-12-31"
_ROWS_AT_ONCE = 100_000


class Session(Protocol):
    """What runs statements; see `dpdb.remote.clickhouse.http.HttpSession`."""

    def run(self, text: str, *, changes: bool = False) -> bytes:
        """Run a statement, and return its answer; one that changes something only once. Any exception is a failure."""

    def close(self) -> None:
        """End it. May be called twice."""


class ClickHouseTable:
    """A table or view that is asked by a session of its own (implements `RemoteTable`).

    Parameters
    ----------
    session
        Which this one closes, unless it is that of a set.
    shown, database : str
        The address without secrets, and where tables lie that are named alone.
    table : str
        ``"name"`` or ``"database.name"``, as they are spelled there.
    """

    dialect = "clickhouse"
    is_fixed = False

    def __init__(self, session: Session, shown: str, database: str, table: str, *, of_set: bool = False) -> None:
        self._session, self._shown, self._database, self._of_set = session, shown, database, of_set
        self._others: list[DefinedRows] = []
        self._lent: set[str] = set()
        self.description = f"{shown}: table {table!r}"
        with if_it_fails(self.close):
            found = self._found(table, self.description, _ROWS.name)
            self.place, self._schema, self._select = found.place, found.columns, found.select

    def _found(self, table: str, shown: str, name: str) -> DefinedRows:
        """Find a table, its columns and rows."""
        database, _, own = table.rpartition(".")
        candidates = dict.fromkeys([(self._database, table), (database or self._database, own)])
        for place in candidates:
            where = " AND ".join(
                f"{key} = {_text(value)}" for key, value in zip(("database", "name"), place, strict=True)
            )
            engines = catalog(self._session, f"SELECT engine FROM system.tables WHERE {where}", shown)
            if engines:
                break
        else:
            raise SourceError(f"{shown}: there is no such table or view (names are spelled as they are)")
        ((engine,),) = engines
        why = _why_not_read(engine)
        if why is not None:
            raise SourceError(f"{shown}: {why}")
        there = exp.table_(place[1], db=place[0], quoted=True)
        described = catalog(self._session, f"DESCRIBE TABLE {there.sql('clickhouse')}", shown)
        described = [(column, kind) for column, kind, default, *_ in described if default != "EPHEMERAL"]
        columns = [(declared_column(column, kind), kind) for column, kind in described]
        read = [_total(column, kind) for column, kind in columns if column.type in _KNOWN or _is_decimal(column)]
        if not read:
            raise SourceError(f"{shown}: no column has a type that constraints can compare")
        schema = TableSchema(tuple(column for column, _ in columns))
        return DefinedRows(shown, ".".join(place), schema, name, exp.select(*read).from_(there))

    def schema(self) -> TableSchema:
        """Names and types."""
        return self._schema

    def rows(self) -> exp.Table:
        """Name the rows, which `ask` defines."""
        return _ROWS.copy()

    def beside(self, name: str) -> DefinedRows:
        """Find another table of the same database, or of the one that its name says."""
        shown = f"{self._shown}: table {name!r} beside it"
        self._others.append(self._found(name, shown, f"beside_{len(self._others)}"))
        return self._others[-1]

    def ask(self, tree: exp.Expr) -> pa.Table:
        """Run a query; a signal ends the connection, by which the server stops it."""
        assert isinstance(tree, exp.Query)
        asked = exp.select("*").from_(tree.subquery("asked"))
        for other in self._others:
            asked = asked.with_(other.name, as_=other.select)
        asked = asked.with_(_ROWS.name, as_=self._select)
        text = f"{sql_text(asked)} SETTINGS {_SETTINGS} FORMAT Arrow"
        try:
            answer = interruptible(_Running(self._session), lambda: self._session.run(text))
            return _with_whole_numbers(pa.ipc.open_file(pa.BufferReader(answer)).read_all())
        except Exception as error:  # it may print values
            OWNER_LOG.error("%s\n%s", error, text)
            problem = f"{self.description}: a query failed in ClickHouse; the reason is in the owner's log"
            raise EngineError(problem) from None

    def lend(self, name: str, table: pa.Table) -> exp.Table:
        """Make a temporary table of the session, of whole numbers, doubles, booleans and texts."""
        kinds = ", ".join(f"{_name(field.name)} Nullable({_LENT[field.type]})" for field in table.schema)
        try:
            self._session.run(f"CREATE TEMPORARY TABLE {name} ({kinds})", changes=True)
            self._lent.add(name)
            for first in range(0, table.num_rows, _ROWS_AT_ONCE):
                columns = [each.to_pylist() for each in table.slice(first, _ROWS_AT_ONCE).columns]
                cells = ",".join(f"({','.join(map(_constant, row))})" for row in zip(*columns, strict=True))
                self._session.run(f"INSERT INTO {name} VALUES {cells}", changes=True)
        except Exception as error:
            OWNER_LOG.error("%s", error)
            problem = f"{self.description}: the user may make no temporary table; the reason is in the owner's log"
            raise EngineError(problem) from None
        return exp.table_(name, quoted=True)

    def take_back(self, name: str) -> None:
        """Drop it."""
        self._lent.discard(name)
        with suppress(Exception):  # the server may be gone
            self._session.run(f"DROP TEMPORARY TABLE IF EXISTS {name}")

    def server(self) -> str:
        """Name the server."""
        ((version,),) = catalog(self._session, "SELECT version()", self.description)
        return f"ClickHouse {version}"

    def version(self) -> str:
        """Name the hash, which is the same in all versions, as are the texts of values."""
        return "clickhouse xxHash64"

    def close(self) -> None:
        """End the session, unless it is that of a set."""
        for name in list(self._lent):
            self.take_back(name)
        if not self._of_set:
            self._session.close()


class _Running:
    """A query that can be stopped (implements `Interrupted`)."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def interrupt(self) -> None:
        """End the connection that it is waited for."""
        self._session.close()


def sql_text(query: exp.Expr) -> str:
    """Write a query; names are quoted, so that none is a keyword."""
    return query.sql("clickhouse", identify=True)


_SETTINGS = ", ".join(f"{name} = {value}" for name, value in SETTINGS.items())
_LENT = {pa.int64(): "Int64", pa.float64(): "Float64", pa.bool_(): "Bool", pa.string(): "String"}


def _constant(value: object) -> str:
    return "NULL" if value is None else _text(value) if isinstance(value, str) else str(value)


def _text(value: str) -> str:
    return f"unhex('{value.encode().hex()}')"


def _name(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("clickhouse")


def _with_whole_numbers(answer: pa.Table) -> pa.Table:
    """Read numbers of 128 bits, which come as bytes."""
    for place, field in enumerate(answer.schema):
        if field.type == pa.binary(16):
            values = (
                None if each is None else int.from_bytes(each, "little", signed=True)
                for each in answer[place].to_pylist()
            )
            answer = answer.set_column(place, field.name, pa.array(values, pa.decimal128(_MOST_DIGITS, 0)))
    return answer


def catalog(session: Session, query: str, shown: str) -> list[tuple[str, ...]]:
    """Ask for what is public: names, types.

    Raises
    ------
    SourceError
        If that fails; the reason is in the owner's log.
    """
    try:
        answer = session.run(f"{query} SETTINGS {_SETTINGS} FORMAT Arrow")
        columns = [column.to_pylist() for column in pa.ipc.open_file(pa.BufferReader(answer)).read_all().columns]
    except Exception as error:
        OWNER_LOG.error("%s", error)
        raise SourceError(f"{shown}: cannot be described; the reason is in the owner's log") from None
    return list(zip(*columns, strict=True))


def _why_not_read(engine: str) -> str | None:
    """Say why the rows of a table are not those that were written; None where they are, or a view computes them.

    Of tables that merge rows those are read that one row of many stays of, as it will be once all are merged (FINAL).
    """
    if engine == "View" or _STORED.fullmatch(engine):
        return None
    if engine.endswith("MergeTree"):
        return (
            f"{engine} adds rows up when it merges them, so that no row is one person's: save its rows in a MergeTree"
        )
    return f"tables of the engine {engine} are not read; name a MergeTree, or a view"


_CALENDAR = {"DATE": "Date32", "TIMESTAMP": "DateTime64(6, 'UTC')", "TIMESTAMP WITH TIME ZONE": "DateTime64(6, 'UTC')"}
_KNOWN = {*_WHOLE.values(), *_FLOATS.values(), *_CALENDAR, "VARCHAR"}


def _is_decimal(column: Column) -> bool:
    return column.type is not None and column.type.startswith("DECIMAL(")


def declared_column(name: str, kind: str) -> Column:
    """Name a type as our own database does; one that it has not keeps ClickHouse's name, which compares nothing."""
    inner, is_nullable = kind, False
    while (outer := _OUTER.fullmatch(inner)) is not None:
        is_nullable |= inner.startswith("Nullable")
        inner = outer[1]
    if inner in _WHOLE:
        return Column(name, _WHOLE[inner], nullable=is_nullable)
    decimal, moment = _DECIMAL.fullmatch(inner), _MOMENT.fullmatch(inner)
    if decimal is not None and int(decimal[1]) <= _MOST_DIGITS:
        return Column(name, f"DECIMAL({decimal[1]},{decimal[2]})", nullable=is_nullable)
    if moment is not None:
        return Column(name, "TIMESTAMP WITH TIME ZONE" if moment[2] else "TIMESTAMP")
    if inner in ("Date", "Date32"):
        return Column(name, "DATE")
    return Column(name, _FLOATS.get(inner, "VARCHAR" if _TEXTS.fullmatch(inner) else kind))


def _total(column: Column, kind: str) -> exp.Expr:
    """Read a column in values that both have: text of UTF-8, numbers that are numbers, one zero, times of the calendar.

    All of them may be NULL: of no rows ClickHouse has an extreme where a type has no NULL.
    """
    name, own = exp.column(column.name, quoted=True), column.type
    if own == "VARCHAR":
        text = _as(name, "String")
        value: exp.Expr = _if(exp.Anonymous(this="isValidUTF8", expressions=[text]), text)
    elif own in _FLOATS.values():
        number = _as(name, next(there for there, ours in _FLOATS.items() if ours == own))
        is_number = exp.Anonymous(this="isNaN", expressions=[number]).eq(0)
        zero = exp.Case(ifs=[exp.If(this=number.eq(0), true=_as(exp.convert(0), _written(kind)))], default=number)
        value = _if(is_number, zero)
    elif own in _CALENDAR:
        moment = _as(name, _CALENDAR[own])
        low, high = (_as(exp.Literal.string(end), _CALENDAR[own]) for end in _ends(own))
        value = _if(exp.Between(this=moment, low=low, high=high), moment)
    else:
        assert own is not None
        value = _as(name, exp.DataType.build(own, dialect="duckdb").sql("clickhouse"))
    return exp.alias_(value, column.name, quoted=True)


def _written(kind: str) -> str:
    while (outer := _OUTER.fullmatch(kind)) is not None:
        kind = outer[1]
    return kind


def _ends(kind: str) -> tuple[str, str]:
    return (_FIRST, _LAST) if kind == "DATE" else (f"{_FIRST} 00:00:00", f"{_LAST} 23:59:59.999999")


def _if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=value.copy())])


def _as(value: exp.Expr, kind: str) -> exp.Expr:
    """Cast to a type of ClickHouse's that has NULL."""
    if kind.startswith("Nullable("):
        kind = kind.removeprefix("Nullable(")[:-1]
    built = exp.DataType.build(f"Nullable({kind})", dialect="clickhouse")
    return exp.Cast(this=value.copy(), to=built)


class ClickHouseSet(RemoteSet):
    """A database.

    Parameters
    ----------
    session
        Which this one closes.
    shown, database : str
        The address without secrets; and the database.
    """

    def __init__(self, session: Session, shown: str, database: str) -> None:
        self.description = f"{shown}: database {database!r}"
        self._session, self._shown, self._database = session, shown, database
        with if_it_fails(self.close):
            if not catalog(session, f"SELECT 1 FROM system.databases WHERE name = {_text(database)}", shown):
                raise SourceError(f"{shown}: there is no database {database!r} (names are spelled as they are)")

    def named(self, name: str) -> Sequence[str]:
        """Return the tables and views of the database that have a name; see the base class."""
        query = f"SELECT name FROM system.tables WHERE database = {_text(self._database)} ORDER BY name"
        found = (each for (each,) in catalog(self._session, query, self._shown))
        return [each for each in found if each.casefold() == name.casefold()]

    def table(self, name: str) -> ClickHouseTable:
        """Open a table in the session of the set."""
        return ClickHouseTable(self._session, self._shown, self._database, name, of_set=True)

    def close(self) -> None:
        """End the session."""
        self._session.close()

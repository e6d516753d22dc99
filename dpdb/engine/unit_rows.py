"""The rows that releases read where a unit may own many: at most k of each, or at most k children of each key.

A unit is a person or a household (`UnitRows`); or one row is the unit, and keys refer to a private parent
(`ChildRows`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import TypeAlias

from sqlglot import exp

from dpdb.database import Database, filled_select
from dpdb.engine.parents.across import BoundInclusion
from dpdb.engine.sql.comparison import is_known
from dpdb.engine.sql.input_rows import read_columns
from dpdb.errors import EngineError
from dpdb.predicates import in_type, is_enum
from dpdb.schema import TableSchema, free_name
from dpdb.sources import Source

RowHash: TypeAlias = Callable[[Sequence[exp.Expr]], exp.Expr]

_INPUT = exp.to_table("unit_input")


class KeptRows(ABC):
    """Those rows of a source that a query keeps (implements `Rows`).

    They are copied on first use, which for a release is after its debit. Private.
    """

    def __init__(self, database: Database, source: Source) -> None:
        self._database, self._source = database, source
        self._copy = exp.to_table(database.new_name("unit_row"))

    @abstractmethod
    def _kept(self, rows: exp.Table) -> exp.Select:
        """Query of those that are kept, among all rows."""

    @property
    def description(self) -> str:
        """The source as the user named it."""
        return self._source.description

    @property
    def schema(self) -> TableSchema:
        """Names and types: public."""
        return self._source.schema

    @cached_property
    def scan(self) -> exp.Expr:
        """The kept rows, in the types that dpdb compares in: collations merge no values."""
        for left in (_INPUT, self._copy):  # by a signal: the next release must not fail on it after its debit
            self._database.execute(f"DROP TABLE IF EXISTS {left.sql('duckdb')}")
        try:
            read_columns(self._database, self._source, set(self.schema.usable), _INPUT)
            self._database.execute(self._kept(_INPUT).ctas(self._copy.copy()))
        finally:
            self._database.execute(f"DROP TABLE IF EXISTS {_INPUT.sql('duckdb')}")
        return self._copy

    def forget(self) -> None:
        """Drop the copy; they are copied anew when they are next used."""
        if self.__dict__.pop("scan", None) is not None:
            with suppress(EngineError):  # a signal may have left it in any state; the next copy drops what is left
                self._database.execute(f"DROP TABLE IF EXISTS {self._copy.sql('duckdb')}")


class UnitRows(KeptRows):
    """At most `most` rows per value of `unit` of a source.

    The rows of a unit are ordered by a hash of their values, then by the values, and the first k are kept. Rows equal
    in all values are interchangeable, and no row of another unit takes part, so removing a unit with all its rows takes
    at most k rows from what is kept and changes no other row. Intervals that compare as equal are not interchangeable
    (a month and 30 days after one day are two days), so their texts have the last word: else DuckDB's sort would, which
    other units' rows steer. A row that names no unit (NULL) is never kept: its owner could own any number of them.
    """

    def __init__(self, database: Database, source: Source, unit: str, most: int) -> None:
        super().__init__(database, source)
        self._unit, self._most = unit, most

    def _kept(self, rows: exp.Table) -> exp.Select:
        """Select the same rows as `kept_rows`; only the rows of units that have more than `most` are put in order."""
        kind = self.schema[self._unit].type or ""
        if not kind.endswith("INT") and kind not in {"INTEGER", "UINTEGER", "VARCHAR", "DATE", "UUID"}:
            return kept_rows(self.schema, self._unit, self._most, rows)  # what is equal may be spelled in several ways
        owner = exp.column(self._unit, quoted=True)
        more = exp.Count(this=exp.Star()) > self._most
        large = exp.select(owner).from_(rows.copy()).where(is_known(owner)).group_by(owner).having(more)
        is_large = exp.In(this=owner, query=large.subquery())
        columns = [exp.column(name, quoted=True) for name in self.schema.usable]
        small = exp.select(*columns).from_(rows.copy()).where(is_known(owner), is_large.not_())
        among = exp.select("*").from_(rows.copy()).where(is_large.copy()).subquery("row_of_large")
        both = exp.union(small, kept_rows(self.schema, self._unit, self._most, among), distinct=False)
        return exp.select("*").from_(both.subquery("kept_row"))


def chosen_by(source: Source) -> str:
    """Name what decides the choice besides the state of a source's files.

    A ledger counts on one choice per epoch: DuckDB may change its hash between versions, two tables of one DuckDB file
    may have the same columns, and before texts of intervals were looked at, other rows chose between equal ones;
    enumerations were hashed as texts.
    """
    named = isinstance(source.scan, exp.Table) and isinstance(source.scan.this, exp.Identifier)
    named = named and (source.path is None or bool(source.scan.args.get("db")))  # the copy of a file has no schema
    table = source.scan.sql("duckdb") if named else ""
    texts = "; texts of intervals" if _spans(source.schema) else ""
    enums = "; places in enumerations" if any(is_enum(column.type or "") for column in source.schema.columns) else ""
    return f"duckdb {version('duckdb')}; {table}{texts}{enums}"


def _our_hash(columns: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Anonymous(this="hash", expressions=list(columns))


def value_order(schema: TableSchema, row_hash: RowHash = _our_hash, table: str | None = None) -> list[exp.Expr]:
    """Return what orders rows of a table: a hash of the values that dpdb can compare, these, texts of intervals."""
    columns: list[exp.Expr] = [exp.column(name, table=table, quoted=True) for name in schema.usable]
    texts = [
        exp.cast(exp.column(name, table=table, quoted=True), "VARCHAR", dialect="duckdb") for name in _spans(schema)
    ]
    return [row_hash([column.copy() for column in columns]), *columns, *texts]


def _spans(schema: TableSchema) -> list[str]:
    return [name for name in schema.usable if schema[name].type == "INTERVAL"]


def place_among(equal: Sequence[exp.Expr], order: Sequence[exp.Expr]) -> exp.Window:
    """Return the place of a row, from 1, in an order of the rows that are equal in some values."""
    return exp.Window(
        this=exp.RowNumber(),
        partition_by=[value.copy() for value in equal],
        order=exp.Order(expressions=[exp.Ordered(this=key.copy()) for key in order]),
        over="OVER",
    )


def kept_rows(schema: TableSchema, unit: str, most: int, rows: exp.Expr, row_hash: RowHash = _our_hash) -> exp.Select:
    """Query of the kept ones among `rows`, which have the columns of a table that dpdb can compare.

    Parameters
    ----------
    unit
        Column whose values are the units.
    most
        How many rows of one unit are kept.
    row_hash
        Hash of a row, by which they are chosen. Default: our own.
    """
    first = value_order(schema, row_hash, "row")
    return filled_select("unit_rows", columns=list(schema.usable), rows=rows, unit=unit, first=first, most=most)


def kept_rows_sql(schema: TableSchema, unit: str, most: int) -> str:
    """Return the query of the kept rows, for readers."""
    return kept_rows(schema, unit, most, exp.to_table("source_row")).sql("duckdb", normalize_functions=False)


@dataclass(frozen=True, order=True)
class KeyColumn:
    """A column of the measured table, its type, and the type in which it is compared with a parent's."""

    name: str
    type: str
    compared_as: str

    @property
    def value(self) -> exp.Expr:
        """What is compared."""
        return in_type(exp.column(self.name, quoted=True), self.type, self.compared_as)


# The columns by which a row is a child, sorted.
ChildKey: TypeAlias = tuple[KeyColumn, ...]


def child_key(rule: BoundInclusion) -> ChildKey:
    """Return the columns by which rows are children in a rule."""
    return tuple(sorted({KeyColumn(pair.column, pair.column_type, pair.compared_as) for pair in rule.pairs}))


def limited_keys(rules: Iterable[BoundInclusion]) -> tuple[ChildKey, ...]:
    """Return the keys whose children are limited, each once: those that refer to private parents."""
    return tuple(sorted({child_key(rule) for rule in rules if not rule.is_public}))


class ChildRows(KeptRows):
    """The rows of a source that are among the first `most` children of every key that they have.

    A child of a key is a row of the measured table that has it in the columns that a rule compares with the parent, all
    with values. The rows are ordered by a hash of their values, then by these; a row is kept if it is, for every such
    key of its own, among the first k children. The first k are chosen from the whole table, before any slice is taken,
    so no `where` has a say. A row without a value in a key is no child by it, and one whose value has no counterpart in
    the type of the comparison is an orphan whatever the parent holds: neither counts there.

    Children are grouped by their values *as the comparison takes them*: a row of the parent equals those of one group
    at most, also where several values are one in that type (2^53 and 2^53 + 1 as DOUBLE).

    Equal rows are told apart by a number, the same for all keys, so that one copy is kept by all of them or by none,
    and the rows kept are the same whatever order the table is in. See `dpdb.release.limited_children` for what that
    bounds.
    """

    def __init__(self, database: Database, source: Source, keys: Sequence[ChildKey], most: int) -> None:
        super().__init__(database, source)
        self._keys, self._most = keys, most

    def _kept(self, rows: exp.Table) -> exp.Select:
        return kept_children(self.schema, self._keys, self._most, rows)


def kept_children(
    schema: TableSchema, keys: Sequence[ChildKey], most: int, rows: exp.Expr, row_hash: RowHash | None = None
) -> exp.Select:
    """Query of the kept ones among `rows`, which have the columns of a table that dpdb can compare.

    Which number a copy has among rows that are equal in all of them decides nothing: of c copies, of which a key keeps
    the first a and another one the first b, the first min(a, b) are kept. So where rows have no order of their own, in
    another engine, copies are numbered among themselves, and every query keeps the same rows.

    Parameters
    ----------
    schema, keys, most, rows
        The table, its keys, and how many rows of each are kept.
    row_hash
        Of another engine: hash of a row. Default: our own.
    """
    columns = [exp.column(name, quoted=True) for name in schema.usable]
    copy = free_name("copy", schema.usable)
    rank = exp.Window(this=exp.RowNumber(), over="OVER") if row_hash is None else place_among(columns, columns)
    number = exp.alias_(rank, copy, quoted=True)
    numbered = exp.select(*columns, number).from_(rows.copy()).subquery("numbered_row")
    values = value_order(schema) if row_hash is None else value_order(schema, row_hash)
    order = [*values, exp.column(copy, quoted=True)]
    query = exp.select(*columns).from_(numbered)
    query.set("qualify", exp.Qualify(this=exp.and_(*(_is_among_first(key, order, most) for key in keys))))
    return query


def kept_children_sql(schema: TableSchema, rules: Iterable[BoundInclusion], most: int) -> str:
    """Return the query of the kept rows, for readers.

    Parameters
    ----------
    rules
        The rules across tables, of which those of private parents limit the rows.
    most
        How many rows of one key are kept.
    """
    query = kept_children(schema, limited_keys(rules), most, exp.to_table("source_row"))
    return query.sql("duckdb", normalize_functions=False)


def _is_among_first(key: ChildKey, order: Sequence[exp.Expr], most: int) -> exp.Expr:
    values = [column.value for column in key]
    missing = [value.is_(exp.null()) for value in values]
    first = place_among(values, order) <= most
    return exp.or_(*missing, first)

"""At most k children of each key that refers to a private parent: what releases read where one row is the unit.

A child of a key is a row of the measured table that has it in the columns that a rule compares with the parent, all
with values. The rows are ordered by a hash of their values, then by these; a row is kept if it is, for every such key
of its own, among the first k children. The first k are chosen from the whole table, before any slice is taken, so no
`where` has a say. A row without a value in a key is no child by it, and one whose value has no counterpart in the type
of the comparison is an orphan whatever the parent holds: neither counts there.

Children are grouped by their values *as the comparison takes them*: a row of the parent equals those of one group at
most, also where several values are one in that type (2^53 and 2^53 + 1 as DOUBLE).

Equal rows are told apart by a number, the same for all keys, so that one copy is kept by all of them or by none, and
the rows kept are the same whatever order the table is in. See `dpdb.release.units.limited_children` for what that
bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.parents.binding import BoundInclusion
from dpdb.engine.unit_rows import KeptRows, RowHash, place_among, value_order
from dpdb.predicates import in_type
from dpdb.schema import TableSchema, free_name
from dpdb.sources import Source

__all__ = ["ChildKey", "ChildRows", "KeyColumn", "child_key", "kept_children_sql", "limited_keys"]


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
    """The rows of a source that are among the first `most` children of every key that they have."""

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
    place = exp.Window(this=exp.RowNumber(), over="OVER") if row_hash is None else place_among(columns, columns)
    number = exp.alias_(place, copy, quoted=True)
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
    schema
        Of the measured table.
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

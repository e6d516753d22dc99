"""Orphans: rows whose values no row of a parent has, as a computed column of the measured table.

Let P be a parent and D the measured table. The column's value is a function of its own row and of P:

    orphan(r) = every key column of r has a value, and no row of P equals them all.

With P fixed, a row's value depends on its own row alone, so whatever holds of computed columns holds of this one:
adding or removing a row of D changes one value, group sizes by 1, and the order of no two other rows. For a *public*
P that is all that is needed: P is the same in neighbouring databases, an orphan is a self-conflict of its own row,
and every statistic keeps the sensitivity that it has for single-tuple constraints.

For a *private* P a row of P may decide over any number of rows of D; `dpdb.release.units.private_parents` says when
that is sound.

SQL's logic holds: NULL in a key violates nothing (MATCH SIMPLE), and NULL in P equals nothing. Both sides are read in
the common type of the comparison, as columns compared with one another are; a value that has no counterpart there
equals none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from dpdb.engine.sql.known import is_known
from dpdb.predicates import in_type
from dpdb.schema import Column, TableSchema

__all__ = ["KeyPair", "OrphanColumn", "is_orphan", "without_parents"]

_ROW, _PARENT = "child_row", "parent_row"


@dataclass(frozen=True)
class KeyPair:
    """A column of the measured table, the parent's column that it is compared with, their types, the common one."""

    column: str
    column_type: str
    parent_column: str
    parent_type: str
    compared_as: str


@dataclass(frozen=True, kw_only=True)
class OrphanColumn(Column):
    """A column that says whether its row is an orphan.

    Attributes
    ----------
    keys : exp.Expr
        A table expression of the parent's key columns, in our own database. Private where the parent is.
    pairs : tuple of KeyPair
    """

    keys: exp.Expr
    pairs: tuple[KeyPair, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of its own row that it reads."""
        return tuple(pair.column for pair in self.pairs)


def without_parents(schema: TableSchema) -> TableSchema:
    """Return the same schema, whose orphans look into parents of which no row is read."""
    return TableSchema(tuple(map(_alone, schema.columns)))


def _alone(column: Column) -> Column:
    if not isinstance(column, OrphanColumn):
        return column
    return replace(column, keys=exp.select("*").from_(column.keys.copy()).limit(0).subquery())


def is_orphan(column: OrphanColumn, rows: exp.Table) -> exp.Update:
    """Write into a column of a table whether each of its rows is an orphan."""
    known = [is_known(_of(pair.column)) for pair in column.pairs]
    same = [
        exp.EQ(
            this=in_type(
                exp.column(pair.parent_column, table=_PARENT, quoted=True), pair.parent_type, pair.compared_as
            ),
            expression=in_type(_of(pair.column), pair.column_type, pair.compared_as),
        )
        for pair in column.pairs
    ]
    parents = exp.select("1").from_(exp.alias_(column.keys.copy(), _PARENT, table=True)).where(*same)
    orphan = exp.and_(*known, exp.Not(this=exp.Exists(this=parents)))
    return exp.Update(
        this=exp.alias_(rows.copy(), _ROW, table=True),
        expressions=[exp.EQ(this=exp.column(column.name, quoted=True), expression=orphan)],
    )


def _of(name: str) -> exp.Column:
    return exp.column(name, table=_ROW, quoted=True)

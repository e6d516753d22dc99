"""Orphans, look-ups, members: what a parent's rows with a row's key say of it, as a column of the measured table.

Let P be a parent and D the measured table. The column's value is a function of its own row and of P:

    orphan(r) = every key column of r has a value, and no row of P (that counts) equals them all;
    broken(r) = some row of P (that counts) equals all key columns of r, and makes the rule's condition on both false;
    member(r) = NULL if r's column has no value, else whether some row of P (that counts) equals it.

Of P both read the rows alone that have r's key. With P fixed, a row's value depends on its own row alone, so whatever
holds of computed columns holds of this one: adding or removing a row of D changes one value, group sizes by 1, and the
order of no two other rows. For a *public* P that is all that is needed: P is the same in neighbouring databases, an
orphan or a row that breaks a look-up is a self-conflict of its own row, and every statistic keeps the sensitivity that
it has for single-tuple constraints.

For a *private* P a row of P may decide over any number of rows of D; `dpdb.release.units.private_parents` says when
that is sound.

A member is a part of conditions, also of those of a look-up into another parent, and its P is public. So it is a
function m(r) of its own row alone, the same in neighbouring databases: D with m as a further column is a table of the
same schema, whose neighbours are those of D with m, row by row. What is proved of a rule over columns of a row holds of
one over m: sensitivities, units and limits of children (which are chosen by the columns of D) are those of the rule in
which m were a column that the table has.

SQL's logic holds: NULL in a key violates nothing (MATCH SIMPLE), and NULL in P equals nothing. Both sides are read in
the common type of the comparison, as columns compared with one another are; a value that has no counterpart there
equals none. A row of P counts if the rule's condition on P is true for it, not if that is NULL; a condition on both
that is NULL breaks nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from dpdb.engine.sql.known import is_known
from dpdb.predicates import Node, in_type
from dpdb.schema import Column, TableSchema

__all__ = ["CHILD_ROW", "PARENT_ROW", "AcrossColumn", "KeyPair", "MetRow", "violates_across", "without_parents"]

CHILD_ROW, PARENT_ROW = "child_row", "parent_row"


@dataclass(frozen=True)
class KeyPair:
    """A column of the measured table, the parent's column that it is compared with, their types, the common one."""

    column: str
    column_type: str
    parent_column: str
    parent_type: str
    compared_as: str


@dataclass(frozen=True)
class MetRow:
    """Which rows of a parent with a row's key are looked for.

    Attributes
    ----------
    violates : bool
        Whether a row violates if there is one, or if there is none. Of a member: True.
    condition : exp.Expr or None
        What is true of it, over columns called `CHILD_ROW` and `PARENT_ROW`. None: any will do.
    own : tuple of str
        The columns of the measured table in it, members among them.
    trees : tuple of Node
        What it says, for engines that might read it differently.
    is_member : bool
        Whether it is a part of conditions: NULL for a row without the key.
    """

    violates: bool
    condition: exp.Expr | None = None
    own: tuple[str, ...] = ()
    trees: tuple[Node, ...] = ()
    is_member: bool = False


@dataclass(frozen=True, kw_only=True)
class AcrossColumn(Column):
    """A column that says whether its row is an orphan, breaks a look-up, or has a value that the parent has.

    Attributes
    ----------
    keys : exp.Expr
        A table expression of the parent's columns that rules name, in our own database. Private where the parent is.
    pairs : tuple of KeyPair
    met : MetRow
        Which rows of the parent with the row's key make it one, or save it from being one.
    """

    keys: exp.Expr
    pairs: tuple[KeyPair, ...]
    met: MetRow

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of its own row that it reads."""
        return tuple(dict.fromkeys((*(pair.column for pair in self.pairs), *self.met.own)))

    def told(self, found: exp.Expr, table: str | None = None) -> exp.Expr:
        """Return its value, where `found` is whether such a row of the parent is there, and never NULL.

        `table` is the name of the measured row; None: its columns stand alone.
        """
        known = [is_known(exp.column(pair.column, table=table, quoted=True)) for pair in self.pairs]
        if self.met.is_member:
            return exp.Case(ifs=[exp.If(this=exp.and_(*known), true=found)])
        return found if self.met.violates else exp.and_(*known, exp.Not(this=exp.paren(found)))


def without_parents(schema: TableSchema) -> TableSchema:
    """Return the same schema, whose orphans look into parents of which no row is read."""
    return TableSchema(tuple(map(_alone, schema.columns)))


def _alone(column: Column) -> Column:
    if not isinstance(column, AcrossColumn):
        return column
    return replace(column, keys=exp.select("*").from_(column.keys.copy()).limit(0).subquery())


def violates_across(column: AcrossColumn, rows: exp.Table) -> exp.Update:
    """Write a column of a table: whether each of its rows is an orphan, breaks a look-up or has the parent's value."""
    wanted: list[exp.Expr] = [
        exp.EQ(
            this=in_type(
                exp.column(pair.parent_column, table=PARENT_ROW, quoted=True), pair.parent_type, pair.compared_as
            ),
            expression=in_type(_of(pair.column), pair.column_type, pair.compared_as),
        )
        for pair in column.pairs
    ]
    if column.met.condition is not None:
        wanted.append(exp.paren(column.met.condition))
    parents = exp.select("1").from_(exp.alias_(column.keys.copy(), PARENT_ROW, table=True)).where(*wanted)
    return exp.Update(
        this=exp.alias_(rows.copy(), CHILD_ROW, table=True),
        expressions=[
            exp.EQ(
                this=exp.column(column.name, quoted=True), expression=column.told(exp.Exists(this=parents), CHILD_ROW)
            )
        ],
    )


def _of(name: str) -> exp.Column:
    return exp.column(name, table=CHILD_ROW, quoted=True)

"""Units that are reached through keys: items -> orders -> customers. A view of the measured rows, each with its unit.

Let T0 be the measured table, T1 ... Tm the tables of the path, and c the column of Tm whose values are the units. A
row t of T0 *belongs* to v if there are rows t1 ... tm, each with the key of the one before, and c(tm) = v; so does t1
then, and t2, and so on. A row may belong to several units, where a key is repeated with another one, and to none, where
a key is NULL or found nowhere (dangling), or c is NULL.

**The view** V has one row for each pair of a row t of T0 and a unit v that it belongs to: the values of t, and v. How
many keys lead from t to v does not matter. A row that belongs to nobody is not in V. Of V are used:

1. of each key of T0 (the columns of the first step) the first k rows, in an order of their own values;
2. of what is left the first k rows of each unit (`dpdb.engine.unit_rows.UnitRows`).

A unit has all rows of each of its keys, so the first limit says nothing about units within theirs. It keeps a key that
thousands of units share (order 0) from being joined with thousands of rows of it.

**Neighbours.** D' is D without the unit v: Tm has lost all rows with c = v; of the other tables any rows may be gone,
all, some or none of them, that belong to v alone or to nobody. So an order of v goes with its items, and an item that
stays without its order is read by nobody. A row that another unit has, too, stays: an order number that two customers
share keeps its items, and each customer loses only what is told of them through their own rows.

**Theorem** (stability 1 in units). Let W(D) be the rows used. W(D') is W(D) without the rows of v, at most k; no row of
another unit comes, goes or changes.

Proof. (a) *Belonging.* Let t belong to w other than v in D, by t1 ... tm. None of them has left: c(tm) is w, and not v;
t and t1 ... t(m-1) belong to w. So t belongs to w in D'. All rows of D' are rows of D, so nothing belongs to w in D'
that did not before. To v nothing belongs in D', because no row of Tm has it. So V(D') is V(D) without the rows of v.
(b) *The limit of a key.* Whether a row belongs to w depends on its key alone. So if one row of T0 belongs to w, all
rows of its key do, and all of these stay: the first k of the key are the same. (c) *The limit of a unit.* The first k
are chosen among the unit's own rows in V (`UnitRows`), so those of w are the same; of v at most k were used.

Nothing is asked of keys: any equality that reads the two rows alone will do, so keys may be of any types that compare
(NaN equals NaN; text is compared as it is, with its blanks). Units have to be told apart by it exactly, so FLOAT,
DOUBLE, INTERVAL and TIME WITH TIME ZONE are refused as types of c. A table that is on the path twice would lose rows of
v that other units need on its other place, and so would the measured table; rows of a public table never leave. All of
these are refused.

By the theorem W is what `UnitRows` is for any table with a unit column: at most k rows leave with a unit. All that is
proved of these holds as it stands, also of slices, whose columns are those of T0 and c, and of the rows that a ledger
charges.

What the theorem does not name: one row of T0 that comes or goes while units stay is a row of each unit that it belongs
to; and one row of Ti may give up to k rows to each unit that it leads to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from dpdb.constraints import UnitPath
from dpdb.database import Database, filled_select
from dpdb.engine.parents.across import key_pair
from dpdb.engine.sql.comparison import is_known
from dpdb.engine.sql.input_rows import CHILD_ROW, PARENT_ROW, KeyPair, typed_rows
from dpdb.engine.sql.where import resolve_column, unit_column
from dpdb.engine.unit_rows import place_among, value_order
from dpdb.errors import ParameterError
from dpdb.schema import Column, TableSchema
from dpdb.sources import Source

if TYPE_CHECKING:
    from dpdb.engine.parents.opened import Parents, ParentTable

_BLURRED = ("FLOAT", "DOUBLE", "INTERVAL", "TIME WITH TIME ZONE")
_OWNER, _UNIT = "owner", "unit"


@dataclass(frozen=True)
class ReachedRows(Source):
    """The view of a source with its units, before the limit of a unit."""

    origin: Source | None = None
    keys: UnitPath | None = None
    tables: tuple[ParentTable, ...] = ()

    @property
    def own(self) -> Source:
        """The measured table."""
        assert self.origin is not None, "a view is of a table"
        return self.origin

    @property
    def beside(self) -> Sequence[ParentTable]:
        """The tables of the path."""
        return self.tables

    @property
    def reached(self) -> UnitPath | None:
        """The path."""
        return self.keys


def reached_rows(database: Database, source: Source, asked: UnitPath, parents: Parents, most: int) -> ReachedRows:
    """Return the view of a source with the units that its rows belong to. Reads no row of the source.

    Parameters
    ----------
    asked
        The path, as the owner writes it.
    most
        How many rows of a key, and of a unit, are used.

    Raises
    ------
    SourceError, UnknownColumnError
        If a table cannot be opened, or lacks a column.
    """
    tables = parents.on_path(database, _wanted(asked))
    if source.schema.usable == ():
        raise ParameterError(f"{source.description}: no column has a type that can be compared")
    path = _spelled(asked, source.schema, tables)
    schemas = [source.schema, *(table.schema for table in tables)]
    pairs = [
        [
            key_pair("unit", schemas[place][own], step.parent, schemas[place + 1][theirs])
            for own, theirs in zip(step.columns, step.parent_columns, strict=True)
        ]
        for place, step in enumerate(path.steps)
    ]
    column = tables[-1].schema[path.column]
    if column.type in _BLURRED:
        raise ParameterError(
            f"unit: {path.unit} has type {column.declared_type}, in which different values may be equal; a unit "
            "that is reached through keys is a whole number, a decimal, text or a date"
        )
    if path.unit.casefold() in (name.casefold() for name in source.schema.names):
        raise ParameterError(f"unit: the measured table has a column {path.unit!r} of its own; rename it in a view")
    schema = TableSchema((*source.schema.columns, Column(path.unit, column.declared_type)))
    scan = filled_select(
        "reached_rows",
        columns=list(source.schema.usable),
        rows=_of_each_key(source, pairs[0], most),
        owners=_owners(path, pairs, [table.keys for table in tables]),
        same=_same_key(pairs[0], CHILD_ROW),
        unit=path.unit,
    )
    given = {each.name: getattr(source, each.name) for each in fields(Source)}
    given |= {"schema": schema, "scan": scan.subquery("reached_row")}
    return ReachedRows(**given, origin=source, keys=path, tables=tuple(tables))


def _wanted(path: UnitPath) -> list[tuple[str, tuple[str, ...]]]:
    """Return the tables of a path with their columns that it reads, as they are written."""
    after = [step.columns for step in path.steps[1:]] + [(path.column,)]
    return [(step.parent, (*step.parent_columns, *names)) for step, names in zip(path.steps, after, strict=True)]


def _spelled(path: UnitPath, schema: TableSchema, tables: Sequence[ParentTable]) -> UnitPath:
    steps = []
    for step, table in zip(path.steps, tables, strict=True):
        own_columns = tuple(resolve_column(name, schema, "unit") for name in step.columns)
        schema = table.schema
        theirs = tuple(resolve_column(name, schema, f"unit: {table.name}") for name in step.parent_columns)
        steps.append(replace(step, columns=own_columns, parent=table.name, parent_columns=theirs))
    return UnitPath(tuple(steps), unit_column(path.column, schema))


def _owners(path: UnitPath, pairs: Sequence[Sequence[KeyPair]], tables: Sequence[exp.Expr]) -> exp.Select:
    """Query which units the keys of the first step lead to, each pair once; from the last table to the first one."""
    unit: exp.Expr = exp.column(path.column, table=PARENT_ROW, quoted=True)
    owners: exp.Select | None = None
    for place in reversed(range(len(tables))):
        keys = [pair.parents() for pair in pairs[place]]
        named = [exp.alias_(key, f"key_{n}") for n, key in enumerate(keys)]
        query = exp.select(*named, exp.alias_(unit, _UNIT)).distinct()
        query = query.from_(exp.alias_(tables[place].copy(), PARENT_ROW, table=True))
        if owners is not None:
            query = query.join(owners.subquery(_OWNER), on=_same_key(pairs[place + 1], PARENT_ROW))
        owners = query.where(*(is_known(value.copy()) for value in (*keys, unit)))
        unit = exp.column(_UNIT, table=_OWNER)
    assert owners is not None, "a path has a step"
    return owners


def _same_key(pairs: Sequence[KeyPair], table: str) -> exp.Expr:
    keys = [exp.column(f"key_{n}", table=_OWNER) for n in range(len(pairs))]
    return exp.and_(*(exp.EQ(this=key, expression=pair.own(table)) for key, pair in zip(keys, pairs, strict=True)))


def _of_each_key(source: Source, pairs: Sequence[KeyPair], most: int) -> exp.SetOperation:
    """Query the rows that have a key: of each the first ones, in the order in which rows of units are chosen.

    Only the rows of keys that have more are put in order.
    """
    columns = set(source.schema.usable)
    own_columns = [pair.own(CHILD_ROW) for pair in pairs]
    known = [is_known(value.copy()) for value in own_columns]
    rows = exp.alias_(typed_rows(source, columns), CHILD_ROW, table=True)
    named = [exp.alias_(value.copy(), f"key_{n}") for n, value in enumerate(own_columns)]
    more = exp.Count(this=exp.Star()) > most
    large = exp.select(*named).from_(rows).where(*known).group_by(*(value.copy() for value in own_columns)).having(more)
    is_large = exp.Exists(this=exp.select("1").from_(large.subquery(_OWNER)).where(_same_key(pairs, CHILD_ROW)))
    read = exp.select(*(exp.column(name, table=CHILD_ROW, quoted=True) for name in source.schema.usable)).from_(rows)
    first = read.where(*known, is_large)
    place = place_among(own_columns, value_order(source.schema, table=CHILD_ROW))
    first.set("qualify", exp.Qualify(this=place <= most))
    return exp.union(read.where(*known, is_large.not_()), first, distinct=False)

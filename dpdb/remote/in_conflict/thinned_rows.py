"""A part of the rows in conflict that may do for 2 tau*, as one query: what has to come here for `repair`.

Of each constraint, some rows are *special*: every conflict has one among them. They all come. Of the others in a group
of conflicts, only as many come as the special ones can make use of as partners, chosen by a hash of the row. A special
row of a group from which a row may be missing is *open*. So

    every conflict has an end that comes, and if its other end does not come, then the end that comes is open:

special rows come, two rows of which neither is special do not conflict, and rows are missing only in groups whose
special rows are open. This is condition (*) of `dpdb.graph.thinned`, which proves from it alone whether
2 tau* of the rows that came is that of all rows. So every condition here may be wider, never narrower; and rows must be
chosen alike in every part of an answer, hence by values, never by an order that may change.

- A dependency X -> A: special are the rows outside the most frequent class of A of their group (the least class of
  those, if there are several).
- An order rule: special are the rows outside a heaviest chain, which is found here from counts of values
  (`dpdb.graph.thinned`). What comes of it is lent as a table of hashes of values. Two values of one hash come
  together.
- Of other constraints all rows come that may conflict.

Special rows and groups are those of one constraint, and never merged: a row with NULL in A takes no part in X -> A and
may be special for X -> B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpdb.constraints import block_shape
from dpdb.engine import Partners
from dpdb.engine.sql import BoundConstraint
from dpdb.remote.in_conflict.gather import (
    ROW,
    Join,
    conflict_joins,
    equal_keys,
    order_join,
    row_column,
    takes_part,
)
from dpdb.remote.queries import TUPLES
from dpdb.remote.spelling import Spelling

__all__ = ["ALL", "HASH", "OPEN", "SHARE", "Thinned", "is_thinned", "order_values", "thinned_rows"]

ALL = 1_000_000
"""Shares of rows are counted in millionths."""
HASH, SHARE, OPEN = "value_hash", "share", "is_open"
"""The columns of the tables that are lent."""


@dataclass(frozen=True)
class Thinned:
    """What rows are thinned by.

    Attributes
    ----------
    partners : Partners
    row_hash, is_open : str
        Free names: of a column of the tuples, a hash of the whole row; and of what is said of the rows that come.
    lent : mapping of position to exp.Table
        Of each order rule: hashes of the values of which rows come (HASH), how many in millionths (SHARE), and whether
        they are open (OPEN). Each hash is there once.
    values : mapping of position to sequence of str
        The columns that are hashed there.
    """

    partners: Partners
    row_hash: str
    is_open: str
    lent: Mapping[int, exp.Table]
    values: Mapping[int, Sequence[str]]


def thinned_rows(
    tuples: exp.Query,
    constraints: Sequence[BoundConstraint],
    columns: Sequence[str],
    thinned: Thinned,
    spelling: Spelling,
) -> exp.Select:
    """Select columns of the rows that come, and 1 or 0 for whether each is open.

    Parameters
    ----------
    tuples
        The rows of the slice that do not conflict with themselves, with all constrained columns, `columns` and
        `thinned.row_hash`.
    constraints
        Over two tuples; positions in `thinned` are theirs.
    """
    joined: list[Join] = []
    opened: list[exp.Expr] = []
    for place, dc in enumerate(constraints):
        if not is_thinned(dc):
            joined += conflict_joins(dc, place)
            continue
        chosen = _chosen(thinned, place, spelling)
        if place in thinned.lent:
            value_hash = spelling.row_hash([row_column(name) for name in thinned.values[place]])
            join, is_open = _of_order(dc, thinned.lent[place], value_hash, chosen, place)
        else:
            join, is_open = _of_dependency(dc, thinned.partners, chosen, place)
        joined.append(join)
        opened.append(exp.paren(is_open))
    flag = exp.Case(ifs=[exp.If(this=exp.or_(*opened), true=exp.convert(1))], default=exp.convert(0))
    query = exp.select(*map(row_column, columns), exp.alias_(flag if opened else exp.convert(0), thinned.is_open))
    query = query.from_(exp.alias_(TUPLES.copy(), ROW, table=True))
    for join in joined:
        query = query.join(join.query, on=join.on, join_type="left")
    comes = exp.or_(*(exp.paren(join.may_conflict) for join in joined)) if joined else exp.false()
    return query.where(comes).with_(TUPLES.name, as_=tuples)


def order_values(
    tuples: exp.Query, dc: BoundConstraint, columns: Sequence[str], names: tuple[str, str], spelling: Spelling
) -> exp.Select:
    """Select the distinct values of the rows that may conflict through an order rule, their hash and their number.

    Parameters
    ----------
    columns
        All that the rule reads, of `tuples`.
    names
        Free names of the hash and of the number of rows.
    """
    shape = block_shape(dc.constraint)
    assert shape is not None
    join = order_join(dc, shape, "group_0")
    values = [row_column(name) for name in columns]
    # Grouped by it, too: values that compare as equal need not have one hash.
    value_hash = spelling.row_hash(values)
    count = exp.Count(this=exp.Star())
    query = exp.select(*values, exp.alias_(value_hash, names[0]), exp.alias_(count, names[1]))
    query = query.from_(exp.alias_(TUPLES.copy(), ROW, table=True))
    query = query.join(join.query, on=join.on, join_type="left").where(join.may_conflict)
    return query.group_by(*(each.copy() for each in values), value_hash.copy()).with_(TUPLES.name, as_=tuples)


def is_thinned(dc: BoundConstraint) -> bool:
    """Say whether not all rows come that may conflict through a constraint. Public: its shape."""
    shape = block_shape(dc.constraint)
    return shape is not None and (shape.order is not None or (shape.alike and len(shape.differing) == 1))


def _chosen(thinned: Thinned, place: int, spelling: Spelling) -> exp.Expr:
    """Number rows from 0 to `ALL` - 1 by a hash: other numbers for each constraint."""
    row_hash = spelling.row_hash([row_column(thinned.row_hash), exp.convert(place)])
    return exp.func("abs", exp.paren(row_hash) % ALL)


def _of_dependency(dc: BoundConstraint, partners: Partners, chosen: exp.Expr, place: int) -> tuple[Join, exp.Expr]:
    """Join a row with its group, if that has two classes: the most frequent one, its rows, and how many others."""
    shape = block_shape(dc.constraint)
    assert shape is not None
    alias = f"group_{place}"
    (class_column,) = shape.differing
    keys = [row_column(name) for name in shape.equal]
    names = [exp.column(f"key_{number}") for number in range(len(keys))]
    part = takes_part(dc, shape)
    classes = exp.select(
        *(exp.alias_(key, name.name) for key, name in zip(keys, names, strict=True)),
        exp.alias_(row_column(class_column), "class"),
        exp.alias_(exp.Count(this=exp.Star()), "size"),
    )
    classes = classes.from_(exp.alias_(TUPLES.copy(), ROW, table=True)).where(part)
    classes = classes.group_by(*(key.copy() for key in keys), row_column(class_column))
    largest = exp.Window(
        this=exp.Max(this=exp.column("size")), partition_by=[name.copy() for name in names], over="OVER"
    )
    sized = exp.select(*names, "class", "size", exp.alias_(largest, "largest")).from_(classes.subquery("classes"))
    is_largest = exp.column("size").eq(exp.column("largest"))
    common = exp.Min(this=exp.Case(ifs=[exp.If(this=is_largest, true=exp.column("class"))]))
    plain = exp.Max(this=exp.column("largest"))
    groups = exp.select(
        *(name.copy() for name in names),
        exp.alias_(common, "common"),
        exp.alias_(plain, "plain"),
        exp.alias_(exp.Sum(this=exp.column("size")) - plain, "special"),
    ).from_(sized.subquery("sized"))
    groups = groups.group_by(*(name.copy() for name in names)) if names else groups
    dirty = groups.having(exp.Count(this=exp.Star()) > 1)

    its_plain, its_special = (exp.column(name, table=alias) for name in ("plain", "special"))
    wanted = exp.paren((its_special * partners.ratio) + partners.least)
    is_special = row_column(class_column).neq(exp.column("common", table=alias))
    is_wanted = (chosen * its_plain) < (wanted * ALL)
    comes = exp.or_(is_special, is_wanted)  # all of them, where more are wanted than there are
    some_missing = wanted < its_plain
    join = Join(dirty.subquery(alias), equal_keys(keys, alias), exp.and_(exp.paren(part.copy()), exp.paren(comes)))
    return join, exp.and_(exp.paren(part.copy()), is_special.copy(), some_missing)


def _of_order(
    dc: BoundConstraint, lent: exp.Table, value_hash: exp.Expr, chosen: exp.Expr, place: int
) -> tuple[Join, exp.Expr]:
    """Join a row with what is said of its value."""
    shape = block_shape(dc.constraint)
    assert shape is not None
    alias = f"group_{place}"
    part = exp.paren(takes_part(dc, shape))
    comes = chosen < exp.column(SHARE, table=alias)
    is_open = exp.column(OPEN, table=alias).eq(1)
    join = Join(
        exp.alias_(lent.copy(), alias, table=True), value_hash.eq(exp.column(HASH, table=alias)), exp.and_(part, comes)
    )
    return join, exp.and_(part.copy(), is_open)

"""`RemoteThinning`: asks a remote table for the rows that may do for 2 tau*, and for what has to be known for that.

These rows are a part of those in conflict, brought by one query: what has to come here for `repair`.

Of each constraint, some rows are *special*: every conflict has one among them. They all come. Of the others in a group
of conflicts, only as many come as the special ones can make use of as partners, chosen by a hash of the row. A special
row of a group from which a row may be missing is *open*. So

    every conflict has an end that comes, and if its other end does not come, then the end that comes is open:

special rows come, two rows of which neither is special do not conflict, and rows are missing only in groups whose
special rows are open. This is condition (*) of `dpdb.graph.blocks.thinned`, which proves from it alone whether 2 tau*
of the rows that came is that of all rows. So every condition here may be wider, never narrower; and rows must be chosen
alike in every part of an answer, hence by values, never by an order that may change.

- A dependency X -> A: special are the rows outside the most frequent class of A of their group (the least class of
  those, if there are several).
- An order rule: special are the rows outside a heaviest chain, which is found here from counts of values
  (`dpdb.graph.blocks.thinned`). What comes of it is lent as a table of hashes of values. Two values of one hash come
  together.
- Of other constraints all rows come that may conflict.

Special rows and groups are those of one constraint, and never merged: a row with NULL in A takes no part in X -> A and
may be special for X -> B.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from dpdb.engine import AcrossColumn, LocalSlice, Partners
from dpdb.engine.sql import BoundConstraint, ComputedColumn, WherePredicate
from dpdb.remote.asking import TUPLES, Asking, fetched, in_parts
from dpdb.remote.foreign_spelling import ForeignSpelling
from dpdb.remote.gather import ROW, Join, conflict_joins, equal_keys, joined, order_join, row_column, takes_part
from dpdb.remote.table import new_name
from dpdb.schema import Column, TableSchema, free_name
from dpdb.stopping import if_it_fails


def may_be_thinned(constraints: Sequence[BoundConstraint]) -> bool:
    """Say whether fewer rows may do than all in conflict. Public: the constraints' shapes.

    Conflicts that have to be listed need their rows; for the others, one constraint must have rows to spare.
    """
    pairwise = [dc for dc in constraints if not dc.constraint.is_single_tuple]
    return all(dc.shape is not None for dc in pairwise) and any(map(is_thinned, pairwise))


@dataclass(frozen=True, eq=False)
class _Values:
    """The values of an order rule: a slice of them, and their hashes in its own order."""

    slice: LocalSlice
    hashes: pa.Array


class RemoteThinning:
    """Parts of the rows of a slice (implements `dpdb.engine.Thinning`).

    Parameters
    ----------
    constraints
        All those of the slice: rows that conflict with themselves do not come.
    name : str
        A name for what is made in our own database.
    """

    def __init__(
        self, asking: Asking, constraints: Sequence[BoundConstraint], where: WherePredicate | None, *, name: str
    ) -> None:
        self._asking, self._all, self._where, self._name = asking, tuple(constraints), where, name
        self.constraints = tuple(dc for dc in constraints if not dc.constraint.is_single_tuple)
        self.orders: Sequence[int] = [place for place, dc in enumerate(self.constraints) if _is_order(dc)]
        self._values: dict[int, _Values] = {}

    def values(self, position: int) -> tuple[LocalSlice, NDArray[np.int64]]:
        """Ask for the values of an order rule; see `dpdb.engine.Thinning`. Private."""
        asking, dc = self._asking, self.constraints[position]
        columns = asking.stored_columns([dc])
        value_hash, copies, number = (free_name(name, asking.schema.names) for name in (HASH, "copies", "number"))
        tuples = asking.tuples(self._all, self._where, columns)
        query = order_values(tuples, dc, columns, (value_hash, copies), asking.spelling)
        answer = pa.concat_tables(in_parts(asking, query, columns)).combine_chunks()
        numbered = answer.select(list(columns)).append_column(number, pa.array(np.arange(answer.num_rows)))
        name = f"{self._name}_values_{position}"
        kept = Column(number, "BIGINT")
        with fetched(asking, name, columns, iter([numbered]), [kept]) as rows:
            made = LocalSlice(asking.database, rows, [dc], None, name=name, keep=[number])
        order = made.numbers(number)
        counts = answer[copies].to_numpy().astype(np.int64)[order]
        self._values[position] = _Values(made, answer[value_hash].combine_chunks().take(pa.array(order)))
        return made, counts

    def part(
        self, partners: Partners, chosen: Mapping[int, tuple[NDArray[np.float64], NDArray[np.bool_]]]
    ) -> tuple[LocalSlice, NDArray[np.bool_]]:
        """Ask for a part of the rows; see `dpdb.engine.Thinning`. Private."""
        asking = self._asking
        columns = asking.stored_columns(self.constraints)
        row_hash, is_open = (free_name(name, asking.schema.names) for name in ("row_hash", OPEN))
        tuples = self._with_hash(row_hash, columns)
        hashed = {place: asking.stored_columns([self.constraints[place]]) for place in self.orders}
        with self._lent(chosen) as lent:
            thinned = Thinned(partners, row_hash, is_open, lent, hashed)
            query = thinned_rows(tuples, self.constraints, columns, thinned, asking.spelling)
            name = f"{self._name}_part"
            flag = Column(is_open, "BIGINT")
            with fetched(asking, name, columns, in_parts(asking, query, columns), [flag]) as rows:
                made = LocalSlice(asking.database, rows, self.constraints, None, name=name, keep=[is_open])
        with if_it_fails(made.close):
            return made, made.numbers(is_open) > 0

    def _with_hash(self, row_hash: str, columns: Sequence[str]) -> exp.Select:
        """Select the rows with a hash of all their values, by which rows differ that the constraints cannot tell."""
        asking = self._asking
        own = (each for each in asking.schema.columns if not isinstance(each, (AcrossColumn, ComputedColumn)))
        known = [exp.column(each.name, quoted=True) for each in own if each.type is not None]
        hashed = asking.spelling.row_hash(known)
        rows = exp.select("*", exp.alias_(hashed, row_hash, quoted=True)).from_(asking.rows.copy())
        schema = TableSchema((*asking.schema.columns, Column(row_hash, "UBIGINT")))
        hashing = replace(asking, rows=rows.subquery("hashed_row"), schema=schema)
        return hashing.tuples(self._all, self._where, [*columns, row_hash])

    @contextmanager
    def _lent(
        self, chosen: Mapping[int, tuple[NDArray[np.float64], NDArray[np.bool_]]]
    ) -> Iterator[dict[int, exp.Table]]:
        """Lend the hashes of the values that come, under names that no other process uses."""
        table, lent = self._asking.table, dict[int, exp.Table]()
        names = {place: new_name() for place in chosen}
        try:
            for place, name in names.items():
                lent[place] = table.lend(name, _by_hash(self._values[place].hashes, *chosen[place]))
            yield lent
        finally:
            for name in names.values():
                table.take_back(name)

    def close(self) -> None:
        """Drop the values of order rules."""
        for values in self._values.values():
            values.slice.close()


def _by_hash(hashes: pa.Array, share: NDArray[np.float64], is_open: NDArray[np.bool_]) -> pa.Table:
    """Make the table that is lent: each hash once, with the most that is said of its values."""
    whole = np.ceil(share * ALL).astype(np.int64)
    table = pa.table({HASH: hashes, SHARE: whole, OPEN: is_open.astype(np.int64)}).filter(pa.array(whole > 0))
    said = table.group_by(HASH).aggregate([(SHARE, "max"), (OPEN, "max")])
    return said.select([HASH, f"{SHARE}_max", f"{OPEN}_max"]).rename_columns([HASH, SHARE, OPEN])


def _is_order(dc: BoundConstraint) -> bool:
    shape = dc.shape
    return shape is not None and shape.order is not None


ALL = 1_000_000
"""Shares of rows are counted in millionths."""
HASH, SHARE, OPEN = "value_hash", "share", "is_open"
"""The columns of the tables that are lent."""


@dataclass(frozen=True)
class Thinned:
    """What rows are thinned by.

    Attributes
    ----------
    row_hash, is_open : str
        Free names: of a column of the tuples, a hash of the whole row; and of what is said of the rows that come.
    lent : mapping of position to exp.Table
        Of each order rule: hashes of the values of which rows come (HASH), how many in millionths (SHARE), and whether
        they are open (OPEN). Each hash is there once.
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
    spelling: ForeignSpelling,
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
    joins: list[Join] = []
    opened: list[exp.Expr] = []
    for place, dc in enumerate(constraints):
        if not is_thinned(dc):
            joins += conflict_joins(dc, place)
            continue
        chosen = _chosen(thinned, place, spelling)
        if place in thinned.lent:
            value_hash = spelling.row_hash([row_column(name) for name in thinned.values[place]])
            join, is_open = _of_order(dc, thinned.lent[place], value_hash, chosen, place)
        else:
            join, is_open = _of_dependency(dc, thinned.partners, chosen, place)
        joins.append(join)
        opened.append(exp.paren(is_open))
    flag = exp.Case(ifs=[exp.If(this=exp.or_(*opened), true=exp.convert(1))], default=exp.convert(0))
    query = exp.select(*map(row_column, columns), exp.alias_(flag if opened else exp.convert(0), thinned.is_open))
    return joined(query, joins, tuples)


def order_values(
    tuples: exp.Query, dc: BoundConstraint, columns: Sequence[str], names: tuple[str, str], spelling: ForeignSpelling
) -> exp.Select:
    """Select the distinct values of the rows that may conflict through an order rule, their hash and their number.

    Parameters
    ----------
    columns
        All that the rule reads, of `tuples`.
    names
        Free names of the hash and of the number of rows.
    """
    shape = dc.shape
    assert shape is not None
    join = order_join(dc, shape, "group_0")
    values = [row_column(name) for name in columns]
    # Grouped by it, too: values that compare as equal need not have one hash.
    value_hash = spelling.row_hash(values)
    count = exp.Count(this=exp.Star())
    query = exp.select(*values, exp.alias_(value_hash, names[0]), exp.alias_(count, names[1]))
    return joined(query, [join], tuples).group_by(*(each.copy() for each in values), value_hash.copy())


def is_thinned(dc: BoundConstraint) -> bool:
    """Say whether not all rows come that may conflict through a constraint. Public: its shape."""
    shape = dc.shape
    return shape is not None and (shape.order is not None or (shape.alike and len(shape.differing) == 1))


def _chosen(thinned: Thinned, place: int, spelling: ForeignSpelling) -> exp.Expr:
    """Number rows from 0 to `ALL` - 1 by a hash: other numbers for each constraint."""
    row_hash = spelling.row_hash([row_column(thinned.row_hash), exp.convert(place)])
    return exp.func("abs", exp.paren(row_hash) % ALL)


def _of_dependency(dc: BoundConstraint, partners: Partners, chosen: exp.Expr, place: int) -> tuple[Join, exp.Expr]:
    """Join a row with its group, if that has two classes: the most frequent one, its rows, and how many others."""
    shape = dc.shape
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
    most = exp.Max(this=exp.column("size"))
    largest = exp.Window(this=most, partition_by=[name.copy() for name in names], over="OVER")
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
    shape = dc.shape
    assert shape is not None
    alias = f"group_{place}"
    part = exp.paren(takes_part(dc, shape))
    comes = chosen < exp.column(SHARE, table=alias)
    is_open = exp.column(OPEN, table=alias).eq(1)
    same = value_hash.eq(exp.column(HASH, table=alias))
    join = Join(exp.alias_(lent.copy(), alias, table=True), same, exp.and_(part, comes))
    return join, exp.and_(part.copy(), is_open)

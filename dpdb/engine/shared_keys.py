"""Keys whose values owners share: how many owners repeat a value, and how many disjoint pairs of others share one.

Why it is not the owners "in duplicates", who have a row whose value a row of another owner has, too: one owner with r
values, each of one further owner, takes r + 1 of them along, so no noise is enough. Where at most K rows of an owner
are used it changes by 0 to K + 1: a row flips at most one other owner, because of two others who have its value each
is in duplicates without it.

What is counted. Let L be the owners who have a value in two rows of their own. They go. Of the others two are joined by
each value that both have. These edges (value, smaller owner, larger owner) are taken in their order, each whose two
owners no edge has taken before: M disjoint pairs. The number is |L| + M. It is 0 iff no value occurs twice, at most the
fewest owners without whom none would, and at least half of these, because those in no pair share nothing with one
another.

Sensitivity. All rows of one owner v more change it by 0 or 1. Whether another owner is in L depends on its own rows.
If v is in L, the others' edges are the same: + 1. If not, compare the edges taken without and with v, in the one order
that values and owners have whoever is there. At any time exactly one owner d is free in one of the two and not in the
other: at first v, which is not there at all without v. An edge without d is taken in both or in none. An edge of d and
a free owner e is taken only where d is free, and from then on e is free only where d is not: e is the new d. An edge of
d and an owner that is not free is taken in none. Each taken edge takes two owners, with v there is one owner more, and
the free ones of both differ by one: so the pairs with v are as many or one more. QED
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.closed_forms import GroupForm, exact_statistic
from dpdb.engine.sql.bind import BoundConstraint
from dpdb.engine.sql.known import is_known
from dpdb.schema import TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["count_sharing_owners", "disjoint_pairs", "key_of", "sharing_queries"]

_ROW = "owned_row"


def key_of(rule: BoundConstraint, schema: TableSchema) -> GroupForm | None:
    """Return a rule as a key, of all rows or of those that meet its conditions; None if it is none."""
    statistic = exact_statistic([rule], schema, "rows in duplicates")
    form = None if statistic is None else statistic.form
    return form if isinstance(form, GroupForm) else None


def count_sharing_owners(database: Database, key: GroupForm, owner: str, table: exp.Expr) -> int:
    """Return the owners who repeat a value of a key, and the disjoint pairs of others who share one. Private.

    Parameters
    ----------
    database
        Where the table is.
    key, owner, table
        As of `sharing_queries`.
    """
    repeating, shared = sharing_queries(key, owner, table)
    return int(database.value(repeating)) + disjoint_pairs(database.stream(shared))


def sharing_queries(key: GroupForm, owner: str, table: exp.Expr) -> tuple[exp.Select, exp.Select]:
    """Return the query that counts owners who repeat a value, and that of the values that others share.

    The second one has a row for each such value and owner of it, both as numbers in their order, in that order: for
    `disjoint_pairs`.

    Parameters
    ----------
    key
        See `key_of`.
    owner
        The column whose values own the rows.
    table
        The rows, in the types that dpdb compares in.
    """
    own, copies = _of_row(owner), exp.column("copies")
    columns = [_of_row(name) for name in key.equal]
    met = [predicate.over((_ROW, _ROW)) for predicate in key.conditions]
    known = [is_known(_of_row(name)) for name in dict.fromkeys([owner, *key.equal, *key.known])]
    values = [exp.column(f"value_{place}") for place in range(len(columns))]
    rows = exp.alias_(table.copy(), _ROW, table=True)
    several = exp.Count(this=exp.Star()) > 1
    repeated = (
        exp.select(*(exp.alias_(column, value.name) for column, value in zip(columns, values, strict=True)))
        .from_(rows.copy())
        .where(*known, *met)
        .group_by(*columns)
        .having(several)
        .subquery("repeated")
    )
    same = [exp.column(value.name, table="repeated").eq(column) for column, value in zip(columns, values, strict=True)]
    found = exp.Exists(this=exp.select("1").from_(repeated).where(*same))  # of most keys this leaves few rows
    held = (
        exp.select(
            exp.alias_(own, "owner"),
            *(exp.alias_(column, value.name) for column, value in zip(columns, values, strict=True)),
            exp.alias_(exp.Count(this=exp.Star()), copies.name),
        )
        .from_(rows)
        .where(*known, *met, found)
        .group_by(own, *columns)
        .subquery("held")
    )
    most = exp.Window(this=exp.Max(this=copies.copy()), partition_by=[exp.column("owner")])
    repeats = exp.alias_(most > 1, "repeats")
    told = exp.select(exp.column("owner"), *values, repeats).from_(held).subquery("told")
    sharers = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[value.copy() for value in values])
    alone = (
        exp.select(_place(values, "value"), _place([exp.column("owner")], "owner"), exp.alias_(sharers, "sharers"))
        .from_(told.copy())
        .where(exp.column("repeats").not_())
        .subquery("alone")
    )
    shared = exp.select("value", "owner").from_(alone).where("sharers > 1").order_by("value", "owner")
    repeating = exp.select(exp.Count(this=exp.Distinct(expressions=[exp.column("owner")]))).from_(told).where("repeats")
    return repeating, shared


def _of_row(name: str) -> exp.Column:
    return exp.column(name, table=_ROW, quoted=True)


def _place(values: list[exp.Column], name: str) -> exp.Expr:
    order = exp.Order(expressions=[exp.Ordered(this=value.copy()) for value in values])
    return exp.alias_(exp.Window(this=exp.DenseRank(), order=order), name)


def disjoint_pairs(shared: Iterable[pa.RecordBatch]) -> int:
    """Count pairs, taking edges in their order: of each value the free owners, two by two. Private.

    Parameters
    ----------
    shared
        The answer to the second of `sharing_queries`.
    """
    taken: set[int] = set()
    value, free = -1, None
    for batch in shared:
        for each, owner in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            if each != value:
                value, free = each, None
            if owner in taken:
                continue
            if free is None:
                free = owner
            else:
                taken |= {free, owner}
                free = None
    return len(taken) // 2

"""How many owners have rows that violate a rule: each value of one column owns its rows, and counts once.

Of an owner only its own rows matter: one that violates a rule on single rows (also one that looks into other tables),
or two of them that together violate a rule on pairs. Rows without an owner (NULL) are not looked at. Of keys, values
that owners share count, too: `dpdb.engine.shared_keys`, which has the proof for these.

Sensitivity. Of other rules the number is the sum, over the owners, of a value in {0, 1} that depends on the owner's own
rows here and, by rules across tables, on rows of parents of the same owner (`dpdb.release.units.private_parents`) or on
public ones. So all rows of one owner more, in all tables, change one term of the sum, from 0 to 0 or 1: the number
changes by 0 or 1, however many rows the owner has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.shared_keys import count_sharing_owners, key_of
from dpdb.engine.sql.bind import BoundConstraint
from dpdb.engine.sql.constraint_sql import self_conflict
from dpdb.engine.sql.input_rows import read_columns
from dpdb.engine.sql.known import is_known
from dpdb.engine.sql.where import WherePredicate
from dpdb.sources import Rows

__all__ = ["OwnerQuestion", "count_owners"]

OwnerQuestion: TypeAlias = BoundConstraint | WherePredicate | None
"""A rule that an owner may violate, or rows of which he may have one; None: any row."""

_ROW, _OTHER, _PER_SCAN = "owned_row", "other_row", 100


def count_owners(database: Database, rows: Rows, owner: str, asked: Sequence[OwnerQuestion], *, name: str) -> list[int]:
    """Count for each question the owners of whom it is true. Private.

    Parameters
    ----------
    database
        Where the rows can be read.
    rows
        The rows of the source.
    owner
        The column whose values own the rows.
    asked
        The questions, in any number; those on single rows share scans.
    name
        Of a table that the rows are copied to while they are counted.
    """
    table = exp.table_(name, quoted=True)
    columns = {owner, *(column for each in asked if each is not None for column in each.columns)}
    try:
        read_columns(database, rows, columns, table)
        own = [(place, each) for place, each in enumerate(asked) if not _is_of_pairs(each)]
        found: dict[int, int] = {}
        for start in range(0, len(own), _PER_SCAN):
            part = own[start : start + _PER_SCAN]
            [counts] = database.rows(_with_such_row([_holds(each) for _, each in part], owner, table))
            found |= {place: int(count or 0) for (place, _), count in zip(part, counts, strict=True)}
        for place, each in enumerate(asked):
            if isinstance(each, BoundConstraint) and _is_of_pairs(each):
                key = key_of(each, rows.schema)
                found[place] = (
                    int(database.value(_with_such_pair(each, owner, table)))
                    if key is None or owner in key.equal  # only one owner has its values
                    else count_sharing_owners(database, key, owner, table)
                )
    finally:
        database.execute(f"DROP TABLE IF EXISTS {table.sql('duckdb')}")
    return [found[place] for place in range(len(asked))]


def _is_of_pairs(asked: OwnerQuestion) -> bool:
    return isinstance(asked, BoundConstraint) and not asked.constraint.is_single_tuple


def _holds(asked: OwnerQuestion) -> exp.Expr:
    """Condition of one row."""
    if asked is None:
        return exp.true()
    return self_conflict([asked], _ROW) if isinstance(asked, BoundConstraint) else asked.over(_ROW)


def _with_such_row(conditions: Sequence[exp.Expr], owner: str, table: exp.Table) -> exp.Select:
    """Query of how many owners have a row for which each condition is true: one group for each owner."""
    names = [f"has_{place}" for place in range(len(conditions))]
    has = [exp.alias_(exp.LogicalOr(this=condition), name) for condition, name in zip(conditions, names, strict=True)]
    own = exp.column(owner, table=_ROW, quoted=True)
    grouped = exp.select(*has).from_(exp.alias_(table.copy(), _ROW, table=True)).where(is_known(own)).group_by(own)
    return exp.select(*(exp.CountIf(this=exp.column(name)) for name in names)).from_(grouped.subquery("by_owner"))


def _with_such_pair(rule: BoundConstraint, owner: str, table: exp.Table) -> exp.Select:
    """Query of how many owners have two rows that together violate a rule, in either order."""
    one, other = (exp.column(owner, table=side, quoted=True) for side in (_ROW, _OTHER))
    two = [exp.column("rowid", table=side) for side in (_ROW, _OTHER)]
    return (
        exp.select(exp.Count(this=exp.Distinct(expressions=[one.copy()])))
        .from_(exp.alias_(table.copy(), _ROW, table=True))
        .join(exp.alias_(table.copy(), _OTHER, table=True), on=exp.EQ(this=one, expression=other))
        .where(exp.NEQ(this=two[0], expression=two[1]), rule.over(_ROW, _OTHER))
    )

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
from dpdb.engine.parents.by_key import readable
from dpdb.engine.parents.orphans import AcrossColumn
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

_ROW, _OTHER, _PER_SCAN = "owned_row", "other_row", 240
_BITS = 60  # of a number of 64


def count_owners(database: Database, rows: Rows, owner: str, asked: Sequence[OwnerQuestion], *, name: str) -> list[int]:
    """Count, for each question, the owners for whom it is true. Private.

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
    own = [(place, each) for place, each in enumerate(asked) if not _is_of_pairs(each)]
    found = _own_rows(database, rows, owner, own, name=name)
    pairs = {
        place: each for place, each in enumerate(asked) if isinstance(each, BoundConstraint) and _is_of_pairs(each)
    }
    if pairs:
        table = exp.table_(name, quoted=True)
        try:
            read_columns(
                database, rows, {owner, *(column for each in pairs.values() for column in each.columns)}, table
            )
            for place, each in pairs.items():
                key = key_of(each, rows.schema)
                found[place] = (
                    int(database.value(_with_such_pair(each, owner, table)))
                    if key is None or owner in key.equal  # only one owner has its values
                    else count_sharing_owners(database, key, owner, table)
                )
        finally:
            database.execute(f"DROP TABLE IF EXISTS {table.sql('duckdb')}")
    return [found[place] for place in range(len(asked))]


def _own_rows(
    database: Database, rows: Rows, owner: str, asked: Sequence[tuple[int, OwnerQuestion]], *, name: str
) -> dict[int, int]:
    """Count owners by the place of a question on single rows: some hundred questions a scan."""
    across = [isinstance(rows.schema[column], AcrossColumn) for _, each in asked for column in _columns(each)]
    if any(across):  # few scans join: those that look into parents come together
        asked = sorted(asked, key=lambda one: [c for c in _columns(one[1]) if isinstance(rows.schema[c], AcrossColumn)])
    found: dict[int, int] = {}
    columns = {owner, *(column for _, each in asked for column in _columns(each))}
    with readable(database, rows, columns, name=name) as read:
        for start in range(0, len(asked), _PER_SCAN):
            part = asked[start : start + _PER_SCAN]
            known = read({owner, *(column for _, each in part for column in _columns(each))})
            [counts] = database.rows(_with_such_row([_holds(each) for _, each in part], owner, known))
            found |= {place: int(count or 0) for (place, _), count in zip(part, counts, strict=True)}
    return found


def _columns(asked: OwnerQuestion) -> Sequence[str]:
    return () if asked is None else asked.columns


def _is_of_pairs(asked: OwnerQuestion) -> bool:
    return isinstance(asked, BoundConstraint) and not asked.constraint.is_single_tuple


def _holds(asked: OwnerQuestion) -> exp.Expr:
    """Condition of one row."""
    if asked is None:
        return exp.true()
    return self_conflict([asked], _ROW) if isinstance(asked, BoundConstraint) else asked.over(_ROW)


def _with_such_row(conditions: Sequence[exp.Expr], owner: str, rows: exp.Expr) -> exp.Select:
    """Query of how many owners have a row for which each condition is true: one group for each owner.

    What is true of a row is a bit of a number: an owner's numbers are those of his rows, joined bit by bit.
    """
    words = [conditions[start : start + _BITS] for start in range(0, len(conditions), _BITS)]
    own = exp.column(owner, table=_ROW, quoted=True)
    told = [exp.alias_(_word(word), f"word_{place}", copy=False) for place, word in enumerate(words)]
    source = exp.alias_(rows, _ROW, table=True, copy=False)
    by_row = exp.select(exp.alias_(own, "owner"), *told, copy=False).from_(source, copy=False).where(is_known(own))
    ored = [exp.BitwiseOrAgg(this=exp.column(f"word_{place}")) for place in range(len(words))]
    named = [exp.alias_(each, f"word_{place}", copy=False) for place, each in enumerate(ored)]
    by_owner = exp.select(*named).from_(by_row.subquery("told", copy=False), copy=False).group_by("owner", copy=False)
    has = [_has_bit(place, bit) for place, word in enumerate(words) for bit in range(len(word))]
    counts = [exp.CountIf(this=each) for each in has]
    return exp.select(*counts, copy=False).from_(by_owner.subquery("by_owner", copy=False), copy=False)


def _word(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """Write the bits of conditions: CASE is the quickest way to make one (a cast and a shift take twice the time)."""
    word: exp.Expr | None = None
    for bit, condition in enumerate(conditions):
        one = exp.Case(ifs=[exp.If(this=condition, true=exp.convert(1 << bit))], default=exp.convert(0))
        word = one if word is None else exp.BitwiseOr(this=word, expression=one)
    assert word is not None, "there is a condition"
    return word


def _has_bit(place: int, bit: int) -> exp.Expr:
    found = exp.BitwiseAnd(this=exp.column(f"word_{place}"), expression=exp.convert(1 << bit))
    return exp.NEQ(this=exp.paren(found, copy=False), expression=exp.convert(0))


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

"""How many owners have rows that violate a rule: each value of one column owns its rows, and counts once.

Of an owner only its own rows matter: one that violates a rule on single rows (also one that looks into other tables),
or two of them that together violate a rule on pairs. Rows without an owner (NULL) are not looked at. Of keys, values
that owners share count, too: `count_sharing_owners` has the proof for these.

Sensitivity. Of other rules the number is the sum, over the owners, of a value in {0, 1} that depends on the owner's own
rows here and, by rules across tables, on rows of parents of the same owner (`dpdb.release.privacy_unit`) or on public
ones. So all rows of one owner more, in all tables, change one term of the sum, from 0 to 0 or 1: the number changes by
0 or 1, however many rows the owner has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.closed_forms import GroupForm, exact_statistic
from dpdb.engine.parents.by_key import readable
from dpdb.engine.sql.bind import BoundConstraint, self_conflict
from dpdb.engine.sql.comparison import is_known
from dpdb.engine.sql.input_rows import AcrossColumn, copied_columns
from dpdb.engine.sql.where import WherePredicate
from dpdb.schema import TableSchema
from dpdb.sources import Rows

if TYPE_CHECKING:
    import pyarrow as pa

OwnerQuestion: TypeAlias = BoundConstraint | WherePredicate | None
"""A rule that an owner may violate, or rows of which he may have one; None: any row."""

_ROW, _OTHER, _PER_SCAN = "owned_row", "other_row", 240
BITS = 60  # of a number of 64


def count_owners(database: Database, rows: Rows, owner: str, asked: Sequence[OwnerQuestion], *, name: str) -> list[int]:
    """Count, for each question, the owners for whom it is true. Private.

    Parameters
    ----------
    database
        Where the rows can be read.
    asked
        The questions, in any number; those on single rows share scans.
    name
        Of a table that the rows are copied to while they are counted.
    """
    own = [(place, each) for place, each in enumerate(asked) if not is_of_pairs(each)]
    found = _own_rows(database, rows, owner, own, name=name)
    pairs = {place: each for place, each in enumerate(asked) if is_of_pairs(each)}
    if pairs:
        with copied_columns(database, rows, questions_columns(owner, pairs.values()), name=name) as table:
            for place, each in pairs.items():
                key = key_of(each, rows.schema)
                found[place] = (
                    int(database.value(_with_such_pair(each, owner, table)))
                    if key is None or owner in key.equal  # only one owner has its values
                    else count_sharing_owners(database, key, owner, table)
                )
    return [found[place] for place in range(len(asked))]


def _own_rows(
    database: Database, rows: Rows, owner: str, asked: Sequence[tuple[int, OwnerQuestion]], *, name: str
) -> dict[int, int]:
    """Count owners by the place of a question on single rows: some hundred questions a scan."""
    columns = questions_columns(owner, [each for _, each in asked])
    across = {column for column in columns if isinstance(rows.schema[column], AcrossColumn)}
    if across:  # few scans join: those that look into parents come together
        asked = sorted(asked, key=lambda one: [] if one[1] is None else [c for c in one[1].columns if c in across])
    found: dict[int, int] = {}
    with readable(database, rows, columns, name=name) as read:
        for start in range(0, len(asked), _PER_SCAN):
            part = asked[start : start + _PER_SCAN]
            known = read(questions_columns(owner, [each for _, each in part]))
            [counts] = database.rows(_with_such_row([holds(each, _ROW) for _, each in part], owner, known))
            found |= {place: int(count or 0) for (place, _), count in zip(part, counts, strict=True)}
    return found


def questions_columns(owner: str, asked: Iterable[OwnerQuestion]) -> set[str]:
    """Return the columns that questions read, with that of the owners."""
    return {owner}.union(*(each.columns for each in asked if each is not None))


def is_of_pairs(asked: OwnerQuestion) -> TypeGuard[BoundConstraint]:
    """Return whether a question is a rule over two rows."""
    return isinstance(asked, BoundConstraint) and not asked.constraint.is_single_tuple


def holds(asked: OwnerQuestion, row: str) -> exp.Expr:
    """Condition that a row, which is called so, answers a question that is no rule over two rows."""
    if asked is None:
        return exp.true()
    return exp.paren(self_conflict([asked], row)) if isinstance(asked, BoundConstraint) else asked.over(row)


def _with_such_row(conditions: Sequence[exp.Expr], owner: str, rows: exp.Expr) -> exp.Select:
    """Query of how many owners have a row for which each condition is true: one group for each owner.

    What is true of a row is a bit of a number: an owner's numbers are those of his rows, joined bit by bit.
    """
    words = [conditions[start : start + BITS] for start in range(0, len(conditions), BITS)]
    owner_column = exp.column(owner, table=_ROW, quoted=True)
    told = [exp.alias_(_word(word), f"word_{place}", copy=False) for place, word in enumerate(words)]
    source = exp.alias_(rows, _ROW, table=True, copy=False)
    by_row = (
        exp.select(exp.alias_(owner_column, "owner"), *told, copy=False)
        .from_(source, copy=False)
        .where(is_known(owner_column))
    )
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
        bit_value = exp.Case(ifs=[exp.If(this=condition, true=exp.convert(1 << bit))], default=exp.convert(0))
        word = bit_value if word is None else exp.BitwiseOr(this=word, expression=bit_value)
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


def key_of(rule: BoundConstraint, schema: TableSchema) -> GroupForm | None:
    """Return a rule as a key, of all rows or of those that meet its conditions; None if it is none."""
    statistic = exact_statistic([rule], schema, "rows in duplicates")
    form = None if statistic is None else statistic.form
    return form if isinstance(form, GroupForm) else None


def count_sharing_owners(database: Database, key: GroupForm, owner: str, table: exp.Expr) -> int:
    """Return the owners who repeat a value of a key, and the disjoint pairs of others who share one. Private.

    Why the number is not that of the owners "in duplicates", who have a row whose value a row of another owner has,
    too: one owner with r values, each of one further owner, takes r + 1 of them along, so no noise is enough. Where at
    most K rows of an owner are used it changes by 0 to K + 1: a row flips at most one other owner, because of two
    others who have its value each is in duplicates without it.

    What is counted. Let L be the owners who have a value in two rows of their own. They go. Of the others two are
    joined by each value that both have. These edges (value, smaller owner, larger owner) are taken in their order, each
    whose two owners no edge has taken before: M disjoint pairs. The number is |L| + M. It is 0 iff no value occurs
    twice, at most the fewest owners without whom none would, and at least half of these, because those in no pair share
    nothing with one another.

    Sensitivity. All rows of one owner v more change it by 0 or 1. Whether another owner is in L depends on its own
    rows. If v is in L, the others' edges are the same: + 1. If not, compare the edges taken without and with v, in the
    one order that values and owners have whoever is there. At any time exactly one owner d is free in one of the two
    and not in the other: at first v, which is not there at all without v. An edge without d is taken in both or in
    none. An edge of d and a free owner e is taken only where d is free, and from then on e is free only where d is not:
    e is the new d. An edge of d and an owner that is not free is taken in none. Each taken edge takes two owners, with
    v there is one owner more, and the free ones of both differ by one: so the pairs with v are as many or one more. QED

    Parameters
    ----------
    database
        Where the table is.
    """
    repeating, shared = sharing_queries(key, owner, table)
    return int(database.value(repeating)) + disjoint_pairs(database.stream(shared))


def sharing_queries(key: GroupForm, owner: str, table: exp.Expr) -> tuple[exp.Select, exp.Select]:
    """Return the query that counts owners who repeat a value, and that of the values that others share.

    The second one has a row for each such value and owner of it, both as numbers in their order, in that order: for
    `disjoint_pairs`.

    Parameters
    ----------
    table
        The rows, in the types that dpdb compares in.
    """
    of_row, copies = _of_row(owner), exp.column("copies")
    columns = [_of_row(name) for name in key.equal]
    met = [predicate.over((_ROW, _ROW)) for predicate in key.conditions]
    known = [is_known(_of_row(name)) for name in dict.fromkeys([owner, *key.equal, *key.known])]
    values = [exp.column(f"value_{place}") for place in range(len(columns))]
    named = [exp.alias_(column, value.name) for column, value in zip(columns, values, strict=True)]
    rows = exp.alias_(table.copy(), _ROW, table=True)
    several = exp.Count(this=exp.Star()) > 1
    repeated = (
        exp.select(*named)
        .from_(rows.copy())
        .where(*known, *met)
        .group_by(*columns)
        .having(several)
        .subquery("repeated")
    )
    same = [exp.column(value.name, table="repeated").eq(column) for column, value in zip(columns, values, strict=True)]
    found = exp.Exists(this=exp.select("1").from_(repeated).where(*same))  # of most keys this leaves few rows
    held = (
        exp.select(exp.alias_(of_row, "owner"), *named, exp.alias_(exp.Count(this=exp.Star()), copies.name))
        .from_(rows)
        .where(*known, *met, found)
        .group_by(of_row, *columns)
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

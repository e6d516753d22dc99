"""How many owners have rows that violate a rule, in another engine: by aggregates, so no row comes here.

What is counted is what `dpdb.engine.owners` counts, whose sensitivity holds: owners, each 0 or 1. Rows there
have no number by which two of them are told apart, so an owner's rows are first grouped by the values that the rule
reads: two rows of an owner violate it iff two different groups do, or a group with itself that holds two rows. Of the
values of a key that owners share come the places of value and owner in their orders, whose pairs are taken here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.engine import OwnerQuestion, disjoint_pairs, key_of, sharing_queries
from dpdb.engine.sql import BoundConstraint, is_known, self_conflict
from dpdb.remote.fetched import Asking
from dpdb.remote.queries import ROWS, counted_if, in_queries, with_computed
from dpdb.schema import free_name

__all__ = ["count_owners"]

_ONE, _OTHER, _GROUPS = "one_group", "other_group", "owned_group"


def count_owners(asking: Asking, owner: str, asked: Sequence[OwnerQuestion]) -> list[int]:
    """Count, for each question, the owners for whom it is true. Private.

    Parameters
    ----------
    asking
        The table.
    owner
        The column whose values own the rows.
    asked
        The questions; those on single rows share queries.
    """
    found: dict[int, int] = {}
    single = [place for place, each in enumerate(asked) if not _is_of_pairs(each)]
    for part in in_queries(asking.schema, [_columns(asked[place]) for place in single]):
        places = [single[place] for place in part]
        counts = asking.row(_with_such_row(asking, owner, [asked[place] for place in places]))
        found |= {place: int(count) for place, count in zip(places, counts, strict=True)}
    for place, each in enumerate(asked):
        if isinstance(each, BoundConstraint) and _is_of_pairs(each):
            key = key_of(each, asking.schema)
            if key is None or owner in key.equal:  # only one owner has its values
                found[place] = int(asking.value(_with_such_pair(asking, owner, each)))
            else:
                repeating, shared = sharing_queries(key, owner, _read(asking, {owner, *each.columns}))
                places = asking.ask(shared)  # no engine promises the order of a query within another one
                in_order = places.sort_by([(name, "ascending") for name in places.column_names])
                found[place] = int(asking.value(repeating)) + disjoint_pairs(in_order.to_batches())
    return [found[place] for place in range(len(asked))]


def _read(asking: Asking, names: set[str]) -> exp.Subquery:
    return with_computed(asking.rows, asking.schema, names, None).subquery(ROWS.name)


def _is_of_pairs(asked: OwnerQuestion) -> bool:
    return isinstance(asked, BoundConstraint) and not asked.constraint.is_single_tuple


def _columns(asked: OwnerQuestion) -> tuple[str, ...]:
    return () if asked is None else asked.columns


def _with_such_row(asking: Asking, owner: str, asked: Sequence[OwnerQuestion]) -> exp.Select:
    """Query of how many owners have a row for which each question is true: one group for each owner."""
    names = {owner, *(name for each in asked for name in _columns(each))}
    rows = _read(asking, names)
    own = exp.column(owner, table=ROWS.name, quoted=True)
    has = [exp.alias_(counted_if(_holds(each)), f"has_{place}") for place, each in enumerate(asked)]
    grouped = exp.select(*has).from_(rows).where(is_known(own)).group_by(own.copy())
    some = [exp.column(f"has_{place}") > 0 for place in range(len(asked))]
    counts = [exp.alias_(counted_if(each), f"count_{place}") for place, each in enumerate(some)]
    return exp.select(*counts).from_(grouped.subquery("by_owner"))


def _holds(asked: OwnerQuestion) -> exp.Expr:
    """Condition of one row."""
    if asked is None:
        return exp.true()
    row = ROWS.name
    return exp.paren(self_conflict([asked], row)) if isinstance(asked, BoundConstraint) else asked.over(row)


def _with_such_pair(asking: Asking, owner: str, rule: BoundConstraint) -> exp.Select:
    """Query of how many owners have two rows that together violate a rule, in either order."""
    copies = free_name("copies", asking.schema.names)
    names = [owner, *(name for name in rule.columns if name != owner)]
    rows = _read(asking, set(names))
    values = [exp.column(name, table=ROWS.name, quoted=True) for name in names]
    groups = exp.select(*values, exp.alias_(exp.Count(this=exp.Star()), copies, quoted=True)).from_(rows)
    groups = groups.where(is_known(values[0])).group_by(*(value.copy() for value in values))

    def of(group: str, name: str) -> exp.Column:
        return exp.column(name, table=group, quoted=True)

    same = exp.and_(*(exp.NullSafeEQ(this=of(_ONE, name), expression=of(_OTHER, name)) for name in names))
    two_rows = exp.or_(of(_ONE, copies) > 1, exp.paren(same).not_())
    counted = exp.Count(this=exp.Distinct(expressions=[of(_ONE, owner)]))
    return (
        exp.select(exp.alias_(counted, "count_0"))
        .from_(exp.alias_(exp.to_table(_GROUPS), _ONE, table=True))
        .join(exp.alias_(exp.to_table(_GROUPS), _OTHER, table=True), on=of(_ONE, owner).eq(of(_OTHER, owner)))
        .where(exp.paren(two_rows), exp.paren(rule.over(_ONE, _OTHER)))
        .with_(_GROUPS, as_=groups)
    )

"""How many of some rules on single rows each row, or each owner, breaks: everything by that number, in one scan.

A row breaks a rule if the rule's condition is true of it; a condition that is NULL counts 0. v_i is 1 for a row that
breaks rule i; of an owner it is the number of his rows that do, or 1 if some row does. A is the sum of v_i over the
rules. `count_broken` returns by A >= 1 the sum of max_i v_i and, for each rule, the sum of v_i: what numbers need in
which each row counts in at most k checks (`dpdb.suites.mechanism.capped`), for every k at once.

Rows are grouped by A where they lie, so at most one row for each value of A comes. Of owners come those who break
something, with their v_i: an owner may have rows in several slices and tables, and only the sum over all of them is A.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.parents.by_key import readable
from dpdb.engine.sql.bind import BoundConstraint, self_conflict
from dpdb.engine.sql.comparison import is_known
from dpdb.engine.sql.where import WherePredicate
from dpdb.sources import Rows

if TYPE_CHECKING:
    import pyarrow as pa

_ROW, _BROKEN = "broken_row", "broken"
PER_SCAN = 400
"""Rules whose sums one query returns; A is that of all rules in each."""


@dataclass(frozen=True)
class BrokenCounts:
    """What rows or owners break, by A, how many rules each of them breaks. Private.

    Attributes
    ----------
    tops : dict of int to int
        By A >= 1, the sum of max_i v_i.
    counts : list of dict of int to int
        By rule, by A, the sum of v_i, where it is not 0.
    """

    tops: Mapping[int, int]
    counts: Sequence[Mapping[int, int]]


Told = Literal["rows", "any"]
"""Of an owner v_i is the number of rows that break a rule, or 1 if any does."""


def count_broken(
    database: Database, rows: Rows, where: WherePredicate | None, rules: Sequence[BoundConstraint], *, name: str
) -> BrokenCounts:
    """Count what each row breaks, in one scan for some hundred rules. Private.

    Parameters
    ----------
    database
        Where the rows can be read.
    where
        The slice; None for all rows.
    name
        Of a table that rows are copied to where what other tables hold is written beside them.
    """
    with readable(database, rows, columns_of(rules, where), name=name) as read:
        source = exp.alias_(read(columns_of(rules, where)), _ROW, table=True, copy=False)
        chosen = [] if where is None else [where.over(_ROW)]
        return of_rows(rules, database.rows, source, chosen, row=_ROW)


def broken_by_owner(
    database: Database,
    rows: Rows,
    where: WherePredicate | None,
    rules: Sequence[BoundConstraint],
    *,
    owner: str,
    told: Told,
    name: str,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Return the owners who break some of the rules, with the v_i of some hundred rules at a time. Private.

    Each batch has the owner as text, then v_i of the rules from the place that is returned with it.

    Parameters
    ----------
    owner
        The column whose values own the rows; rows without one are no owner's.
    """
    columns = columns_of(rules, where) | {owner}
    with readable(database, rows, columns, name=name) as read:
        for start in range(0, len(rules), PER_SCAN):
            source = exp.alias_(read(columns), _ROW, table=True, copy=False)
            chosen = [] if where is None else [where.over(_ROW)]
            query = of_owners(rules[start : start + PER_SCAN], owner, told, source, chosen, row=_ROW)
            for batch in database.stream(query):
                yield start, batch


def columns_of(rules: Iterable[BoundConstraint], where: WherePredicate | None) -> set[str]:
    """Return the columns that rules and the condition of a slice read."""
    return {column for rule in rules for column in rule.columns} | set(where.columns if where else ())


def of_rows(
    rules: Sequence[BoundConstraint],
    ask: Callable[[exp.Select], Iterable[Sequence[Any]]],
    source: exp.Expr,
    chosen: Sequence[exp.Expr],
    *,
    row: str,
) -> BrokenCounts:
    """Count what each row breaks by the answers to queries.

    Parameters
    ----------
    source
        The rows, called `row`.
    """
    tops: dict[int, int] = {}
    counts: list[dict[int, int]] = [{} for _ in rules]
    for start in range(0, len(rules), PER_SCAN):
        part = range(start, min(start + PER_SCAN, len(rules)))
        for broken, units, *sums in ask(_by_broken(rules, part, source, chosen, row)):
            tops[int(broken)] = int(units)
            for place, found in zip(part, sums, strict=True):
                if found:
                    counts[place][int(broken)] = int(found)
    return BrokenCounts(tops, counts)


def _by_broken(
    rules: Sequence[BoundConstraint], part: Sequence[int], source: exp.Expr, chosen: Sequence[exp.Expr], row: str
) -> exp.Select:
    """Query, by how many rules a row breaks, how many rows do, and how many of them break each rule of a part."""
    told = [exp.alias_(_told(rules[place], row), f"told_{place}", copy=False) for place in part]
    others = [_told(rule, row) for place, rule in enumerate(rules) if place not in part]
    beside = [exp.alias_(_added(others), "others", copy=False)] if others else []
    by_row = exp.select(*told, *beside, copy=False).from_(source.copy(), copy=False)
    by_row = by_row.where(*chosen) if chosen else by_row
    summed: list[exp.Expr] = [exp.column(f"told_{place}") for place in part]
    added = exp.alias_(_added([*summed, *([exp.column("others")] if others else [])]), _BROKEN, copy=False)
    rows = exp.select("*", added, copy=False).from_(by_row.subquery("told", copy=False), copy=False)
    sums = [_big(exp.Sum(this=exp.column(f"told_{place}")), f"sum_{place}") for place in part]
    units = _big(exp.Count(this=exp.Star()), "units")
    query = exp.select(exp.column(_BROKEN), units, *sums, copy=False).from_(rows.subquery("summed", copy=False))
    return query.where(exp.column(_BROKEN) > 0).group_by(exp.column(_BROKEN))


def of_owners(
    rules: Sequence[BoundConstraint],
    owner: str,
    told: Told,
    source: exp.Expr,
    chosen: Sequence[exp.Expr],
    *,
    row: str,
) -> exp.Select:
    """Query, of each owner who breaks some of the rules, his name as text and v_i.

    Parameters
    ----------
    rules, owner, told
        As of `broken_by_owner`; few enough for one query.
    """
    owner_column = exp.column(owner, table=row, quoted=True)
    known = exp.select(
        exp.alias_(owner_column, "owner"), *(exp.alias_(_told(rule, row), f"told_{n}") for n, rule in enumerate(rules))
    )
    known = known.from_(source.copy()).where(is_known(owner_column.copy()), *chosen)
    joined = exp.Sum if told == "rows" else exp.Max
    values = [_big(joined(this=exp.column(f"told_{n}")), f"value_{n}") for n in range(len(rules))]
    by_owner = exp.select(exp.column("owner"), *values).from_(known.subquery("told")).group_by(exp.column("owner"))
    named = exp.alias_(exp.cast(exp.column("owner"), "VARCHAR"), "owner")
    found = [exp.column(f"value_{n}") for n in range(len(rules))]
    query = exp.select(named, *found, copy=False).from_(by_owner.subquery("by_owner", copy=False), copy=False)
    return query.where(_added([each.copy() for each in found]) > 0)


def _told(rule: BoundConstraint, row: str) -> exp.Expr:
    condition = exp.paren(self_conflict([rule], row))
    return exp.Case(ifs=[exp.If(this=condition, true=exp.convert(1))], default=exp.convert(0))


def _added(terms: Sequence[exp.Expr]) -> exp.Expr:
    """Add up terms in a tree that is as deep as its logarithm: parsers and writers go down by recursion."""
    level = list(terms)
    while len(level) > 1:
        pairs = [level[place : place + 2] for place in range(0, len(level), 2)]
        level = [exp.paren(exp.Add(this=p[0], expression=p[1]), copy=False) if p[1:] else p[0] for p in pairs]
    return level[0]


def _big(value: exp.Expr, name: str) -> exp.Expr:
    """Name a number as one of 64 bits: the engines add up in types of their own."""
    return exp.alias_(exp.cast(value, "BIGINT", copy=False), name, copy=False)


class OwnersBroken:
    """What owners break, added up over slices and tables: A is the sum of all that was added. Private."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._found: list[tuple[int, NDArray[np.int64], NDArray[np.int64]]] = []

    def add(self, batch: pa.RecordBatch, first: int) -> None:
        """Add a batch of `broken_by_owner`, whose v_i are of the statistics from `first` on, each of which is new."""
        names = batch.column(0).to_pylist()
        owners = np.fromiter((self._places.setdefault(n, len(self._places)) for n in names), np.int64, len(names))
        for place, column in enumerate(batch.columns[1:], start=first):
            values = np.from_dlpack(column).astype(np.int64)
            some = np.flatnonzero(values)
            if some.size:
                self._found.append((place, owners[some], values[some]))

    def counts(self, statistics: Sequence[int]) -> BrokenCounts:
        """Return everything by A, of some statistics together, in their order."""
        counts: dict[int, dict[int, int]] = {place: {} for place in statistics}
        broken, top = (np.zeros(len(self._places), np.int64) for _ in range(2))
        asked = [each for each in self._found if each[0] in counts]
        for _, owners, values in asked:
            broken[owners] += values  # an owner is in a batch once
            top[owners] = np.maximum(top[owners], values)
        for place, owners, values in asked:
            for a, count in _summed(broken[owners], values).items():
                counts[place][a] = counts[place].get(a, 0) + count
        return BrokenCounts(_summed(broken, top), [*counts.values()])


def _summed(by: NDArray[np.int64], values: NDArray[np.int64]) -> dict[int, int]:
    found, places = np.unique(by, return_inverse=True)
    sums = np.zeros(found.size, np.int64)
    np.add.at(sums, places, values)
    return dict(zip(found.tolist(), sums.tolist(), strict=True))

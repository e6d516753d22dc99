"""Counts of columns and of pairs of them, for scores of dependencies and keys: a query for each, whoever answers it.

Both directions of a pair come from one GROUP BY. The trees are of no dialect, as in `dpdb.engine.sql.rule_counts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlglot import exp

from dpdb.database import filled_select
from dpdb.engine.sql.comparison import is_known

_Ask: TypeAlias = Callable[[exp.Select], Sequence[Any]]
_Rows: TypeAlias = Callable[[set[str]], exp.Expr]


_ONE, _OTHER, _SIZE = exp.column("one"), exp.column("other"), exp.column("size")


@dataclass(frozen=True)
class ValueCounts:
    """Of one column: the rows in which it has a value, and its values. Private."""

    rows: int
    values: int


@dataclass(frozen=True)
class Direction:
    """Of X and Y, over the rows in which both have values. Private.

    Attributes
    ----------
    kept : int
        Rows that may stay under X -> Y: of each value of X those with its most frequent value of Y.
    largest : int
        Rows of the most frequent value of Y.
    agreement : float
        Sum over the values of X of the mean number of its rows that agree in Y with a row of it; 0 if it was not asked.
    likeness : float
        Sum of the squares of how many rows each value of Y has; 0 if it was not asked.
    """

    groups: int
    kept: int
    largest: int
    agreement: float = 0.0
    likeness: float = 0.0


@dataclass(frozen=True)
class PairCounts:
    """Of two columns: the rows in which both have values, and what each direction counts. Private."""

    rows: int
    forth: Direction
    back: Direction


@dataclass(frozen=True)
class DependencyCounts:
    """The counts of some columns, and of some pairs of columns, in the order in which they were asked. Private."""

    values: Sequence[ValueCounts]
    pairs: Sequence[PairCounts]


def count_dependencies(
    ask: _Ask, rows: _Rows, columns: Sequence[str], pairs: Sequence[tuple[str, str]], *, spread: bool = False
) -> DependencyCounts:
    """Count columns and pairs. Which queries are asked depends on no row. Private.

    Parameters
    ----------
    rows
        Returns a table or subquery without alias that has some columns.
    """
    return DependencyCounts(
        [values_of(ask(value_counts(rows({name}), name))) for name in columns],
        [pair_of(ask(pair_counts(rows({*pair}), *pair, spread=spread))) for pair in pairs],
    )


def value_counts(rows: exp.Expr, name: str) -> exp.Select:
    """Return the query of `ValueCounts`, which `values_of` reads: one row.

    Parameters
    ----------
    rows
        A table or subquery without alias.
    """
    return filled_select("value_counts", column=name, rows=rows)


def values_of(found: Sequence[Any]) -> ValueCounts:
    """Read what `value_counts` asks."""
    return ValueCounts(*map(int, found))


def pair_counts(rows: exp.Expr, first: str, second: str, *, spread: bool = False) -> exp.Select:
    """Return the query of `PairCounts`, which `pair_of` reads: one row.

    The rows are grouped by both columns; the groups once by each of the two, in one scan. A group of the first column
    has no value of the second.

    Parameters
    ----------
    rows
        A table or subquery without alias.
    spread
        Whether `agreement` and `likeness` are asked, too.
    """
    if not spread:
        return filled_select("pair_counts", first=first, second=second, rows=rows)
    sized = _grouped(rows, {"one": first, "other": second})
    square = _double(_SIZE)
    measured = {"most": exp.Max(this=_SIZE.copy()), "total": _whole(exp.Sum(this=_SIZE.copy()))}
    if spread:
        measured["squares"] = exp.Sum(this=square * square)
    sets = exp.GroupingSets(expressions=[exp.Tuple(expressions=[each.copy()]) for each in (_ONE, _OTHER)])
    sides = exp.select(exp.alias_(_OTHER.is_(exp.null()), "forth"))
    sides = sides.select(*(exp.alias_(value, name) for name, value in measured.items())).from_(sized.subquery("sized"))
    sides.set("group", exp.Group(grouping_sets=[sets]))
    asked: list[exp.Expr] = [_whole(exp.Sum(this=_of(exp.column("total"), forth=True)))]
    for forth in (True, False):
        asked += [
            exp.Count(this=_of(exp.convert(1), forth=forth, default=exp.null())),
            _whole(exp.Sum(this=_of(exp.column("most"), forth=forth))),
            exp.Max(this=_of(exp.column("total"), forth=not forth)),
        ]
        if spread:
            total = _double(exp.column("total"))
            mean = exp.Div(this=exp.column("squares"), expression=total, typed=False)
            asked.append(exp.Sum(this=_of(mean, forth=forth)))
            asked.append(exp.Sum(this=_of(total * total, forth=not forth)))
    named = [exp.alias_(value, f"count_{place}") for place, value in enumerate(asked)]
    return exp.select(*named).from_(sides.subquery("sides"))


def pair_of(found: Sequence[Any]) -> PairCounts:
    """Read what `pair_counts` asks; what is summed of no row is NULL."""
    rows, *rest = [value or 0 for value in found]
    half = len(rest) // 2
    return PairCounts(int(rows), _direction(rest[:half]), _direction(rest[half:]))


def _direction(found: Sequence[Any]) -> Direction:
    return Direction(*map(int, found[:3]), *map(float, found[3:]))


def _grouped(rows: exp.Expr, columns: Mapping[str, str]) -> exp.Select:
    """Count the rows of each group of known values; columns get names of ours first, so that none means two things."""
    named = [exp.alias_(exp.column(name, quoted=True), alias) for alias, name in columns.items()]
    keys = [exp.column(alias) for alias in columns]
    known = exp.select(*named).from_(rows.copy()).subquery("known")
    sized = exp.select(*keys, exp.alias_(exp.Count(this=exp.Star()), "size")).from_(known)
    return sized.where(*map(is_known, keys)).group_by(*(key.copy() for key in keys))


def _whole(value: exp.Expr) -> exp.Expr:
    return exp.cast(exp.func("coalesce", value, exp.convert(0)), "BIGINT")


def _double(value: exp.Expr) -> exp.Expr:
    return exp.cast(value.copy(), "DOUBLE")


def _of(value: exp.Expr, *, forth: bool, default: exp.Expr | None = None) -> exp.Case:
    """A value of the groups of one column, else 0."""
    side: exp.Expr = exp.column("forth")
    met = side if forth else side.not_()
    return exp.Case(ifs=[exp.If(this=met, true=value.copy())], default=default or exp.convert(0))

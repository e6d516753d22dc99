"""Dependencies and keys that differ in their conditions alone, counted together: one GROUP BY serves many of them.

Rows of one group are looked at once for all conditions. In our own database, and of keys wherever rows are hashed, only
groups that may hold a conflict are: those whose hash several classes have (of a key: several rows). In every other
group all rows that meet some condition are of one class, so nothing goes from it under any of them, however bad the
hash. What is left is grouped by its values, with a count for each condition.

The numbers are those of each form by itself (`dpdb.engine.sql.rule_counts`, `dpdb.engine.count_all.of_key`), so their
sensitivity is, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dpdb.engine.closed_forms import Form, GroupForm, RuleStatistic, StatisticKind
from dpdb.engine.count_classes import HASH, KeyRows, may_be_few
from dpdb.engine.sql.class_histograms import CLASS_ROWS, class_rows, of_row
from dpdb.engine.sql.comparison import is_known

_MOST, _PER_QUERY = 250, 50
"""Forms whose rows one condition chooses, and forms that one query counts: planners take longer than their number."""

Ask = Callable[[exp.Select], Sequence[Any]]
"""Answers a query of one row."""


@dataclass(frozen=True)
class Alike:
    """Forms of the same groups and classes, each over the rows that meet its own conditions. Public."""

    forms: tuple[GroupForm, ...]

    @property
    def equal(self) -> tuple[str, ...]:
        """The columns whose values are the group."""
        return self.forms[0].equal

    @property
    def classes(self) -> tuple[str, ...]:
        """The columns whose values are the class; none of keys."""
        return self.forms[0].classes

    @property
    def columns(self) -> set[str]:
        """The columns that they read."""
        return {name for form in self.forms for name in form.columns}

    def parts(self) -> list[Alike]:
        """Part them into as many at a time as one query counts."""
        return [Alike(self.forms[start : start + _PER_QUERY]) for start in range(0, len(self.forms), _PER_QUERY)]

    def rows(self, rows: exp.Expr, conditions: Sequence[exp.Expr]) -> exp.Select:
        """Query the rows of some form; it lacks what to select."""
        some = exp.or_(*map(_met, self.forms))
        return class_rows(rows, (*self.equal, *self.classes), (), [*conditions, exp.paren(some)])


def may_be_together(asked: Sequence[RuleStatistic]) -> list[Form]:
    """Return the forms of statistics of which all that is asked can be counted here, as often as it is."""
    others = {each.form for each in asked if each.kind in ("distinct values", "decision bits") or each.alone}
    return [each.form for each in asked if each.form is not None and each.form not in others]


def forms_alike(forms: Iterable[Form]) -> list[Alike]:
    """Return those of some forms that can be counted together, each once: dependencies and keys over some column."""
    found: dict[object, list[GroupForm]] = {}
    for form in dict.fromkeys(forms):
        if isinstance(form, GroupForm) and form.equal and not form.loose and form.sides is None:
            found.setdefault((form.equal, form.classes), []).append(form)
    return [
        Alike(tuple(forms[start : start + _MOST])) for forms in found.values() for start in range(0, len(forms), _MOST)
    ]


def _met(form: GroupForm) -> exp.Expr:
    """Condition that a row with values in group and class is in a group of a form."""
    met = [is_known(of_row(name)) for name in form.known]
    met += [each.over((CLASS_ROWS, CLASS_ROWS)) for each in form.conditions]
    return exp.paren(exp.and_(*met)) if met else exp.true()


def count_thinned(
    there: KeyRows, ask: Ask, alike: Alike, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()
) -> list[dict[StatisticKind, int]] | None:
    """Count what `count_together` counts, of the groups alone that may hold a conflict. Private.

    Parameters
    ----------
    there
        Hashes groups.
    ask, alike, rows, conditions
        As of `count_together`.

    Returns
    -------
    list of dict or None
        None if so many groups may hold one that it would not be shorter.
    """
    group = [of_row(name) for name in alike.equal]
    row_hash = there.row_hash(group)
    hashed = alike.rows(rows, conditions).select(exp.alias_(row_hash, HASH.name))
    found = there.hashes(hashed.group_by(*group, *map(of_row, alike.classes)) if alike.classes else hashed)
    if found is None or not may_be_few(found):
        return None
    if not len(found.shared):
        return [_of_none(alike) for _ in alike.forms]
    with there.lent(found.shared) as lent:
        among = exp.In(this=row_hash.copy(), query=exp.select(HASH.copy()).from_(lent).subquery())
        return count_together(ask, alike, rows, [*conditions, among])


def count_together(
    ask: Ask, alike: Alike, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()
) -> list[dict[StatisticKind, int]]:
    """Count by form what must go, of keys also duplicates (but not distinct values), by one query for many. Private.

    Parameters
    ----------
    rows
        A table or subquery without alias.
    conditions
        Of rows called `CLASS_ROWS`, beside those of the forms.
    """
    found: list[dict[StatisticKind, int]] = []
    for part in alike.parts():
        kinds = [*_of_none(part)]
        numbers = iter(ask(_query(part, rows, conditions)))
        found += [{kind: int(next(numbers) or 0) for kind in kinds} for _ in part.forms]
    return found


def _of_none(alike: Alike) -> dict[StatisticKind, int]:
    if alike.classes:
        return {"violations": 0}
    return {"violations": 0, "duplicate values": 0, "rows in duplicates": 0}


def _query(alike: Alike, rows: exp.Expr, conditions: Sequence[exp.Expr]) -> exp.Select:
    """Query by form, in one row, what `_of_none` names; a sum over no row is NULL."""
    equal, classes = (_named(part, names) for part, names in (("equal", alike.equal), ("class", alike.classes)))
    sizes = [f"size_{place}" for place in range(len(alike.forms))]
    counted = [_counted(_met(form), size) for form, size in zip(alike.forms, sizes, strict=True)]
    by = [of_row(name) for name in (*alike.equal, *alike.classes)]
    sized = alike.rows(rows, conditions).select(*equal, *classes, *counted).group_by(*by)
    if not alike.classes:
        return _summed(sized, [each for size in sizes for each in _of_key(exp.column(size))])
    goes = [exp.Sum(this=exp.column(size)) - exp.Max(this=exp.column(size)) for size in sizes]
    named = [exp.alias_(exp.cast(each, "BIGINT"), f"goes_{place}") for place, each in enumerate(goes)]
    groups = [exp.column(each.alias) for each in equal]
    grouped = exp.select(*groups, *named).from_(sized.subquery("sized")).group_by(*(each.copy() for each in groups))
    return _summed(grouped, [exp.column(each.alias) for each in named])


def _summed(query: exp.Select, values: Sequence[exp.Expr]) -> exp.Select:
    sums = [exp.cast(exp.Sum(this=value), "BIGINT") for value in values]
    named = [exp.alias_(each, f"count_{place}") for place, each in enumerate(sums)]
    return exp.select(*named).from_(query.subquery("counted"))


def _of_key(size: exp.Column) -> list[exp.Expr]:
    one = exp.convert(1)
    return [_if_several(size, value) for value in (size - one, one, size)]


def _if_several(size: exp.Column, value: exp.Expr) -> exp.Expr:
    case = exp.If(this=size.copy() > 1, true=value.copy())
    return exp.Case(ifs=[case], default=exp.convert(0))


def _counted(condition: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(exp.Count(this=exp.Case(ifs=[exp.If(this=condition, true=exp.convert(1))])), name)


def _named(part: str, names: Sequence[str]) -> list[exp.Expr]:
    return [exp.alias_(of_row(name), f"{part}_{place}") for place, name in enumerate(names)]

"""Counts of exact statistics of rules, by GROUP BY alone: of each group of rows, all but the most that may stay.

The trees are of no dialect, as those of class histograms. Rows in conflict with themselves are in no group.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.engine.closed_forms import GroupForm
from dpdb.engine.sql.class_histograms import BOTH, CLASS_ROWS, FIRST, SECOND, all_of, of_row, side_of
from dpdb.engine.sql.known import is_known

__all__ = ["group_count", "grouped", "most", "number_of_rows", "sum_of", "total"]

_SIZE = exp.column("size")


def group_count(form: GroupForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> exp.Select:
    """Return the query of the fewest rows to delete from the groups of a form: one row with a BIGINT. Private.

    Parameters
    ----------
    rows
        A table or subquery without alias.
    conditions
        Of rows called `CLASS_ROWS`, beside those of the form.
    """
    equal = [f"equal_{place}" for place in range(len(form.equal))]
    classes = [f"class_{place}" for place in range(len(form.classes))]
    loose = [f"loose_{place}" for place in range(len(form.loose))]
    names = dict(zip([*form.equal, *form.classes, *form.loose], [*equal, *classes, *loose], strict=True))
    known = [is_known(of_row(name)) for name in (*form.equal, *form.known, *form.classes)]
    met = [predicate.over((CLASS_ROWS, CLASS_ROWS)) for predicate in form.conditions]
    chosen = exp.select(*(exp.alias_(of_row(name), alias) for name, alias in names.items()))
    if form.sides is not None:
        chosen = chosen.select(exp.alias_(side_of(form.sides), "side"))
        met.append(exp.or_(*map(all_of, form.sides)))
    chosen = chosen.from_(exp.alias_(rows.copy(), CLASS_ROWS, table=True))
    where = [*known, *met, *(each.copy() for each in conditions)]
    chosen = chosen.where(*where)
    if not names and form.sides is None:  # of a table without rows no row is left
        return _selected(chosen.select(exp.convert(1)), exp.func("greatest", number_of_rows() - 1, exp.convert(0)))
    if form.is_key:
        counted = grouped(chosen, equal, goes=number_of_rows() - 1)
    elif form.sides is not None:
        counted = _of_sides(chosen, equal, classes)
    elif loose:
        counted = _of_loose(chosen, equal, classes, loose)
    else:
        counted = _of_classes(chosen, equal, classes)
    return _selected(counted, exp.func("coalesce", exp.Sum(this=exp.column("goes")), exp.convert(0)))


def _of_classes(chosen: exp.Select, equal: list[str], classes: list[str]) -> exp.Select:
    """All but the largest class of each group."""
    sized = grouped(chosen, [*equal, *classes], size=number_of_rows())
    return grouped(sized, equal, goes=sum_of(_SIZE) - exp.Max(this=_SIZE.copy()))


def _of_loose(chosen: exp.Select, equal: list[str], classes: list[str], loose: list[str]) -> exp.Select:
    """All but the most rows of one class that agree in loose columns where they have values.

    Of two loose columns the best pair of values is that of some row, or no row has both of its values: then the most
    rows with the one and no other value, and with the other and no one value, may come from any two rows.
    """
    sized = grouped(chosen, [*equal, *classes, *loose], size=number_of_rows())
    has = [is_known(exp.column(name)) for name in loose]
    lacks = [each.not_() for each in has]
    if len(loose) == 1:
        best: exp.Expr = most(_SIZE, has[0]) + total(_SIZE, lacks[0])
    else:
        beside = {}
        for place, name in enumerate(loose):
            window = exp.Window(
                this=total(_SIZE, lacks[1 - place]),
                partition_by=[exp.column(each) for each in [*equal, *classes, name]],
                over="OVER",
            )
            beside[f"beside_{place}"] = window
        columns = [*equal, *classes, *loose, "size"]
        sized = exp.select(*columns, *(exp.alias_(one, name) for name, one in beside.items())).from_(
            sized.subquery("sized")
        )
        together = _SIZE + exp.column("beside_0") + exp.column("beside_1")
        one, other = (most(_SIZE, exp.and_(has[k].copy(), lacks[1 - k].copy())) for k in (0, 1))
        best = exp.func("greatest", most(together, exp.and_(*(each.copy() for each in has))), one + other)
        best = best + total(_SIZE, exp.and_(*(each.copy() for each in lacks)))
    stay = grouped(sized, [*equal, *classes], size=sum_of(_SIZE), stay=best)
    return grouped(stay, equal, goes=sum_of(_SIZE) - exp.Max(this=exp.column("stay")))


def _of_sides(chosen: exp.Select, equal: list[str], classes: list[str]) -> exp.Select:
    """All but the most rows of one class, or that meet the same side only.

    A row that meets both conditions is in conflict with every other one of another class; without classes each row is a
    class of its own. Two rows that meet different sides only may both stay if they are of one class, and then all are.
    """
    side = exp.column("side")
    sizes = {
        name: total(exp.convert(1), side.eq(value))
        for name, value in (("both", BOTH), ("first", FIRST), ("second", SECOND))
    }
    sized = grouped(chosen, [*equal, *classes], size=number_of_rows(), **sizes)
    if not classes:
        one = exp.Case(ifs=[exp.If(this=exp.column("both") > 0, true=exp.convert(1))], default=exp.convert(0))
        stay = exp.func("greatest", exp.column("first"), exp.column("second"), one)
        return exp.select(exp.alias_(_SIZE - stay, "goes")).from_(sized.subquery("sized"))
    stay = exp.func("greatest", exp.Max(this=_SIZE.copy()), sum_of(exp.column("first")), sum_of(exp.column("second")))
    return grouped(sized, equal, goes=sum_of(_SIZE) - stay)


# -- parts ----------------------------------------------------------------------------------------------------------


def grouped(query: exp.Select, keys: Sequence[str], **aggregates: exp.Expr) -> exp.Select:
    """Group by keys; without any, all rows are one group, which is left out if it is empty."""
    named = [exp.alias_(value, name) for name, value in aggregates.items()]
    found = exp.select(*keys, *named).from_(query.subquery("grouped"))
    return found.group_by(*keys) if keys else found.having(number_of_rows() > 0)


def number_of_rows() -> exp.Expr:
    """Count rows."""
    return exp.Count(this=exp.Star())


def _if(condition: exp.Expr, value: exp.Expr) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())], default=exp.convert(0))


def sum_of(value: exp.Expr) -> exp.Expr:
    """Sum over a group."""
    return exp.cast(exp.Sum(this=value.copy()), "BIGINT")


def total(value: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """Sum over the rows of a group that meet a condition; 0 if none does."""
    return exp.Sum(this=_if(condition, value))


def most(value: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """Find the most, 0 or more, among the rows of a group that meet a condition; 0 if none does."""
    return exp.Max(this=_if(condition, value))


def _selected(query: exp.Select, value: exp.Expr) -> exp.Select:
    return exp.select(exp.alias_(exp.cast(value, "BIGINT"), "goes")).from_(query.subquery("counted"))

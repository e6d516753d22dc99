"""The fewest rows to delete under rules, by GROUP BY alone: of each group of rows, all but the most that may stay.

The trees are of no dialect, as those of class histograms. Rows in conflict with themselves are in no group.

A set of rules that comes apart into steps is counted from the last step to the first: each group of rows has its size
and how many of them may stay. Where a step is a matching, a query gives its edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from dpdb.database import Database, filled_select
from dpdb.engine.closed_forms import GroupForm, SteppedForm
from dpdb.engine.simplified import Step, StepKind
from dpdb.engine.sql.class_histograms import all_of, class_rows, of_row, side_of
from dpdb.engine.sql.coded_rows import integer_column
from dpdb.engine.sql.comparison import is_known
from dpdb.graph import greatest_matching

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
    chosen = class_rows(rows, (*form.equal, *form.known, *form.classes), form.conditions, conditions)
    chosen = chosen.select(*(exp.alias_(of_row(name), alias) for name, alias in names.items()))
    if form.sides is not None:
        chosen = chosen.select(exp.alias_(side_of(form.sides), "side")).where(exp.or_(*map(all_of, form.sides)))
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
    return filled_select("largest_class", equal=equal, classes=classes, chosen=chosen)


def _of_loose(chosen: exp.Select, equal: list[str], classes: list[str], loose: list[str]) -> exp.Select:
    """All but the most rows of one class that agree in loose columns where they have values.

    Of two loose columns the best pair of values is that of some row, or no row has both of its values: then the most
    rows with the one and no other value, and with the other and no one value, may come from any two rows.
    """
    if len(loose) == 1:
        return filled_select("loose_class", equal=equal, classes=classes, loose=loose[0], chosen=chosen)
    sized = grouped(chosen, [*equal, *classes, *loose], size=number_of_rows())
    has = [is_known(exp.column(name)) for name in loose]
    lacks = [each.not_() for each in has]
    beside = []
    for place, name in enumerate(loose):
        by = [exp.column(each) for each in [*equal, *classes, name]]
        window = exp.Window(this=total(_SIZE, lacks[1 - place]), partition_by=by, over="OVER")
        beside.append(exp.alias_(window, f"beside_{place}"))
    sized = exp.select(*equal, *classes, *loose, "size", *beside).from_(sized.subquery("sized"))
    together = _SIZE + exp.column("beside_0") + exp.column("beside_1")
    one, other = (most(_SIZE, exp.and_(has[k].copy(), lacks[1 - k].copy())) for k in (0, 1))
    best: exp.Expr = exp.func("greatest", most(together, exp.and_(*(each.copy() for each in has))), one + other)
    best = best + total(_SIZE, exp.and_(*(each.copy() for each in lacks)))
    stay = grouped(sized, [*equal, *classes], size=sum_of(_SIZE), stay=best)
    return grouped(stay, equal, goes=sum_of(_SIZE) - exp.Max(this=exp.column("stay")))


def _of_sides(chosen: exp.Select, equal: list[str], classes: list[str]) -> exp.Select:
    """All but the most rows of one class, or that meet the same side only.

    A row that meets both conditions is in conflict with every other one of another class; without classes each row is a
    class of its own. Two rows that meet different sides only may both stay if they are of one class, and then all are.
    """
    if classes:
        return filled_select("largest_side", equal=equal, classes=classes, chosen=chosen)
    return filled_select("larger_side", equal=equal, chosen=chosen)


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


_STAY = exp.column("stay")


def stepped_count(form: SteppedForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> exp.Select:
    """Return the query of the fewest rows to delete: one row with a BIGINT. Private.

    Parameters
    ----------
    form
        Without a matching.
    """
    goes = sum_of(_SIZE - _STAY)
    found = exp.select(exp.alias_(exp.func("coalesce", goes, exp.convert(0)), "goes"))
    return found.from_(_Stepped(form).parted(rows, conditions, 0).subquery("parted"))


def matching_edges(form: SteppedForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> exp.Select:
    """Return the query of the edges of a matching: two nodes, rows, and how many of these may stay. Private.

    A node is a whole number from 1 on each side; 0 where the rows have no value there, and a node of their own.
    """
    place = [step.kind for step in form.steps].index(StepKind.MATCH)
    stepped, step = _Stepped(form), form.steps[place]
    edges = stepped.parted(rows, conditions, place + 1)
    outer = stepped.names(form.steps[:place])
    nodes = (_node([*outer, *stepped.called(side)], lacking=bool(step.lacking)) for side in (step.columns, step.others))
    found = exp.select(*nodes, *(exp.cast(each.copy(), "BIGINT") for each in (_SIZE, _STAY)))
    if step.lacking:
        found = found.where(exp.or_(*(_all_known(stepped.called(side)) for side in (step.columns, step.others))))
    return found.from_(edges.subquery("parted"))


class _Stepped:
    """The steps of a form, over rows whose columns have names that no other column has.

    X -> Y with X, Z -> W, where rows may lack Y (`BESIDE`): of the rows of one X those of one value y of Y may stay,
    beside those without; of each value of Z as many as have the most frequent W among both together. Rows without Z or
    W always may. Where no row of y has a value z, what stays of z are rows without Y alone: so what they have by
    themselves (`alone`) is counted once, and of each y only what it adds to that. No row is written twice.
    """

    def __init__(self, form: SteppedForm) -> None:
        self._form = form
        self._names = {name: f"c{place}" for place, name in enumerate(form.parting)}

    def called(self, columns: Sequence[str]) -> list[str]:
        """Return what columns are called."""
        return [self._names[name] for name in columns]

    def names(self, steps: Sequence[Step]) -> list[str]:
        """Return what the columns of steps are called."""
        return [name for step in steps for name in self.called([*step.columns, *step.others])]

    def parted(self, rows: exp.Expr, conditions: Sequence[exp.Expr], upto: int) -> exp.Select:
        """Query the size and what may stay of the groups that the steps before `upto` part."""
        steps = self._form.steps
        stay = exp.convert(1) if self._form.one_row else number_of_rows()
        counted = grouped(self._rows(rows, conditions), self.names(steps), size=number_of_rows(), stay=stay)
        last = len(steps)
        beside = [place for place, step in enumerate(steps) if step.kind is StepKind.BESIDE]
        if beside:
            counted, last = self._beside(counted, beside[0]), beside[0] + 1
        for place in range(last - 1, upto - 1, -1):
            if steps[place].columns:
                keys = self.names(steps[:place])
                counted = grouped(counted, keys, size=sum_of(_SIZE), stay=self._stay(steps[place]))
        return counted

    def _rows(self, rows: exp.Expr, conditions: Sequence[exp.Expr]) -> exp.Select:
        form = self._form
        chosen = class_rows(rows, form.known, form.conditions, conditions)
        return chosen.select(*(exp.alias_(of_row(name), alias) for name, alias in self._names.items()))

    def _stay(self, step: Step) -> exp.Expr:
        """What may stay of the rows that a step parts; of rows without a value all, or as many as counted before."""
        if not step.lacking:
            return exp.Max(this=_STAY.copy()) if step.kind is StepKind.BEST else sum_of(_STAY)
        has = _all_known(self.called(step.lacking))
        without = total(_STAY if step.kind is StepKind.BESIDE else _SIZE, exp.paren(has.copy()).not_())
        return exp.cast((total if step.kind is StepKind.EACH else most)(_STAY, has) + without, "BIGINT")

    def _beside(self, counted: exp.Select, place: int) -> exp.Select:
        """Query what each value of a `BESIDE` adds to the rows without one, and what these have by themselves."""
        choice, each, best = self._form.steps[place : place + 3]
        keys, inner = self.names(self._form.steps[: place + 1]), self.called(each.columns)
        outer = self.names(self._form.steps[:place])
        has = _all_known(self.called(choice.columns))
        here = _all_known(self.called([*each.lacking, *best.lacking]))
        lacks = exp.paren(has.copy()).not_()
        windows = {
            "beside": (total(_SIZE, lacks), [*inner, *self.called(best.columns)]),
            "alone": (most(_STAY, exp.and_(lacks.copy(), here.copy())), inner),
        }
        added = [
            exp.alias_(exp.Window(this=value, partition_by=list(map(exp.column, [*outer, *by])), over="OVER"), name)
            for name, (value, by) in windows.items()
        ]
        columns = [*keys, *inner, *self.called(best.columns), "size", "stay"]
        counted = exp.select(*columns, *added).from_(counted.subquery("counted"))
        together = _STAY if self._form.one_row else _STAY + exp.column("beside")
        counted = grouped(
            counted,
            [*keys, *inner],
            size=sum_of(_SIZE),
            free=total(_SIZE, exp.paren(here.copy()).not_()),
            best=most(together, exp.and_(has.copy(), here.copy())),
            alone=exp.Max(this=exp.column("alone")),
        )
        more = exp.func("greatest", exp.column("best"), exp.column("alone")) - exp.column("alone")
        stay = exp.column("free") + exp.Case(ifs=[exp.If(this=has.copy(), true=more)], default=exp.column("alone"))
        counted = exp.select(*keys, "size", exp.alias_(stay, "stay")).from_(counted.subquery("beside"))
        return grouped(counted, keys, size=sum_of(_SIZE), stay=sum_of(_STAY))


def _all_known(names: Sequence[str]) -> exp.Expr:
    return exp.and_(*(is_known(exp.column(name)) for name in names)) if names else exp.true()


def _node(names: Sequence[str], *, lacking: bool) -> exp.Expr:
    order = exp.Order(expressions=[exp.Ordered(this=exp.column(name)) for name in names])
    rank = exp.Window(this=exp.DenseRank(), order=order, over="OVER")
    if not lacking:
        return rank
    return exp.Case(ifs=[exp.If(this=_all_known(names), true=rank)], default=exp.convert(0))


def count_stepped(database: Database, form: SteppedForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> int:
    """Count the fewest rows to delete, by one query. Private.

    Parameters
    ----------
    rows : exp.Expr
        A table or subquery without alias that has `form.columns`, and what the conditions read.
    conditions : sequence of exp.Expr
        Which rows are meant, called `CLASS_ROWS`.
    """
    if not form.matches:
        return int(database.value(stepped_count(form, rows, conditions)))
    batches = database.stream(matching_edges(form, rows, conditions))
    parts = [np.stack([integer_column(batch, column) for column in range(4)]) for batch in batches]
    one, other, size, stay = np.concatenate([np.empty((4, 0), np.int64), *parts], axis=1)
    return int(size.sum()) - greatest_matching(one - 1, other - 1, stay)

"""Counts of sets of rules that come apart into steps, by GROUP BY, and the edges of a matching where one is a step.

From the last step to the first, each group of rows has its size and how many of them may stay. The trees are of no
dialect. Rows in conflict with themselves are in no group.

X -> Y with X, Z -> W, where rows may lack Y (`BESIDE`): of the rows of one X those of one value y of Y may stay, beside
those without; of each value of Z as many as have the most frequent W among both together. Rows without Z or W always
may. Where no row of y has a value z, what stays of z are rows without Y alone: so what they have by themselves
(`alone`) is counted once, and of each y only what it adds to that. No row is written twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.engine.closed_forms import SteppedForm
from dpdb.engine.sql.class_histograms import CLASS_ROWS, of_row
from dpdb.engine.sql.known import is_known
from dpdb.engine.sql.rule_counts import grouped, most, number_of_rows, sum_of, total
from dpdb.engine.steps.simplified import Step, StepKind

__all__ = ["matching_edges", "stepped_count"]

_SIZE, _STAY = exp.column("size"), exp.column("stay")


def stepped_count(form: SteppedForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> exp.Select:
    """Return the query of the fewest rows to delete: one row with a BIGINT. Private.

    Parameters
    ----------
    form
        Without a matching.
    rows, conditions
        As of `dpdb.engine.sql.rule_counts.group_count`.
    """
    goes = sum_of(_SIZE - _STAY)
    found = exp.select(exp.alias_(exp.func("coalesce", goes, exp.convert(0)), "goes"))
    return found.from_(_Stepped(form).parted(rows, conditions, 0).subquery("parted"))


def matching_edges(form: SteppedForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> exp.Select:
    """Return the query of the edges of a matching: two nodes, rows, and how many of these may stay. Private.

    A node is a whole number from 1 on each side; 0 where the rows have no value there, and a node of their own.

    Parameters
    ----------
    form
        With a matching.
    rows, conditions
        As of `dpdb.engine.sql.rule_counts.group_count`.
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
    """The steps of a form, over rows whose columns have names that no other column has."""

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
        chosen = exp.select(*(exp.alias_(of_row(name), alias) for name, alias in self._names.items()))
        met = [predicate.over((CLASS_ROWS, CLASS_ROWS)) for predicate in form.conditions]
        where = [*(is_known(of_row(name)) for name in form.known), *met, *(each.copy() for each in conditions)]
        return chosen.from_(exp.alias_(rows.copy(), CLASS_ROWS, table=True)).where(*where)

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

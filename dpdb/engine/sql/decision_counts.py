"""How many maximal consistent subsets groups of rows have, by GROUP BY: counts of distinct values. Private.

Rows of a group that differ in a class are in conflict, so that each class is one maximal set (`decision_counts`); where
classes have groups themselves, all distinct values are listed as numbers, of groups with several sets alone
(`nested_counts`). What the counts together say is summed in `dpdb.graph.exact.decision_bits`, for every engine alike.

With `sides` (conditions of t1 and of t2 that differ) a row meets the first, the second or both. Two rows that differ
in a class are in conflict iff one meets the first and the other the second. So a maximal set is

- a class all of whose rows are in it, which has a row that meets both, or rows that meet either: no other row fits;
- all rows of the group that meet the first alone, unless they are of one class, which is a set of that kind; and the
  same of the second.

Without classes each row is a class of its own: one set for each row that meets both, and one for either side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlglot import exp

from dpdb.database import filled_select
from dpdb.engine.closed_forms import Form, GroupForm, SteppedForm
from dpdb.engine.simplified import StepKind
from dpdb.engine.sql.class_histograms import BOTH, FIRST, SECOND, all_of, class_rows, of_row, side_of
from dpdb.engine.sql.rule_counts import grouped, number_of_rows, total
from dpdb.graph import decision_steps

_SETS = exp.column("sets")


def count_decisions(
    ask: Callable[[exp.Select], Iterable[Sequence[Any]]],
    form: Form,
    rows: exp.Expr,
    conditions: Sequence[exp.Expr] = (),
) -> int:
    """Count decision bits, in steps of 10^-6 bit, by one query. Private.

    Parameters
    ----------
    form, rows, conditions
        As of `decision_counts` or `nested_counts`.
    """
    if isinstance(form, SteppedForm):
        return decision_steps(ask(nested_counts(form, rows, conditions)))
    assert isinstance(form, GroupForm), "`exact_statistic` gives no other form"
    return decision_steps(ask(decision_counts(form, rows, conditions)))


def decision_counts(form: GroupForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> exp.Select:
    """Return the query of (sets, groups): how many groups have so many maximal sets, if more than one. All BIGINT.

    Parameters
    ----------
    form
        Without `loose`.
    rows
        A table or subquery without alias.
    conditions
        Of rows called `CLASS_ROWS`, beside those of the form.
    """
    equal = [f"equal_{place}" for place in range(len(form.equal))]
    classes = [f"class_{place}" for place in range(len(form.classes))]
    chosen = class_rows(rows, (*form.equal, *form.known, *form.classes), form.conditions, conditions)
    names = dict(zip([*form.equal, *form.classes], [*equal, *classes], strict=True))
    chosen = chosen.select(*(exp.alias_(of_row(name), alias) for name, alias in names.items()))
    if form.sides is not None:
        chosen = chosen.select(exp.alias_(side_of(form.sides), "side")).where(exp.or_(*map(all_of, form.sides)))
        counted = _of_sides(chosen, equal, classes)
    elif not names:
        counted = exp.select(exp.alias_(number_of_rows(), "sets")).from_(
            chosen.select(exp.alias_(exp.convert(1), "one")).subquery("chosen")
        )
    else:
        each = grouped(chosen, [*equal, *classes], size=number_of_rows()) if classes else chosen
        return filled_select("decision_sets", equal=equal, classes=each)
    return _by_sets(counted)


def _of_sides(chosen: exp.Select, equal: list[str], classes: list[str]) -> exp.Select:
    side, one = exp.column("side"), exp.convert(1)
    met = {"both": BOTH, "first": FIRST, "second": SECOND}
    sizes = {name: total(one, side.eq(value)) for name, value in met.items()}
    sized = grouped(chosen, [*equal, *classes], **sizes)
    has = {name: exp.column(name) > 0 for name in met}
    if not classes:
        flags = [exp.Case(ifs=[exp.If(this=has[name], true=one.copy())], default=exp.convert(0)) for name in met][1:]
        return exp.select(exp.alias_(exp.column("both") + flags[0] + flags[1], "sets")).from_(sized.subquery("sized"))
    whole = exp.or_(has["both"], exp.and_(has["first"].copy(), has["second"].copy()))
    numbers = {"whole": total(one, whole)}
    for name in ("first", "second"):
        numbers[f"of_{name}"] = total(one, has[name])
        numbers[f"held_{name}"] = total(one, exp.and_(has[name].copy(), exp.paren(whole.copy())))
    by_group = grouped(sized, equal, **numbers)
    sides = []
    for name in ("first", "second"):
        of, held = exp.column(f"of_{name}"), exp.column(f"held_{name}")
        apart = exp.or_(of > 1, exp.and_(of.copy().eq(1), held.eq(0)))
        sides.append(exp.Case(ifs=[exp.If(this=apart, true=one.copy())], default=exp.convert(0)))
    return exp.select(exp.alias_(exp.column("whole") + sides[0] + sides[1], "sets")).from_(by_group.subquery("sided"))


def _by_sets(counted: exp.Select) -> exp.Select:
    names = exp.cast(_SETS.copy(), "BIGINT"), exp.cast(number_of_rows(), "BIGINT")
    found = exp.select(exp.alias_(names[0], "sets"), exp.alias_(names[1], "groups")).from_(counted.subquery("counted"))
    return found.where(_SETS > 1).group_by(exp.cast(_SETS.copy(), "BIGINT"))


def nested_counts(form: SteppedForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> exp.Select:
    """Return the query of what `dpdb.graph.steps_of_nested` reads: numbers of groups and classes, sets, groups.

    Parameters
    ----------
    form
        Whose steps are `EACH` and `BEST` alone, and leave no row out (`SteppedForm.is_nested`).
    """
    alias = {name: f"c{place}" for place, name in enumerate(form.parting)}
    chosen = class_rows(rows, form.known, form.conditions, conditions)
    chosen = chosen.select(*(exp.alias_(of_row(name), short) for name, short in alias.items()))
    steps = [(each, [alias[name] for name in columns]) for each, columns in _alternating(form)]
    paths = [[name for _, columns in steps[: place + 1] for name in columns] for place in range(len(steps))]
    last = paths[-1] if steps[-1][1] else None  # of a key the rows themselves are the classes
    distinct = chosen if last is None else grouped(chosen, last, size=number_of_rows())
    leaves = grouped(distinct, paths[-2], sets=number_of_rows())
    if len(paths) == 2:
        return _by_sets(leaves)
    nodes = [f"node_{place}" for place in range(len(paths) - 2)]
    numbered = exp.select(*(exp.alias_(_number(path), node) for path, node in zip(paths, nodes, strict=False)), "sets")
    numbered = numbered.from_(leaves.subquery("leaf"))
    several: list[exp.Expr] = [_SETS > 1]
    for group, one in zip(nodes[::2], nodes[1::2], strict=True):
        ends = (exp.Min(this=exp.column(one)), exp.Max(this=exp.column(one)))
        least, most = (exp.Window(this=end, partition_by=[exp.column(group)]) for end in ends)
        several.append(least < most)
    flag = exp.Case(ifs=[exp.If(this=exp.or_(*several), true=exp.convert(1))], default=exp.convert(0))
    flagged = exp.select(*nodes, "sets", exp.alias_(flag, "several")).from_(numbered.subquery("numbered"))
    several_window = exp.Window(this=exp.Max(this=exp.column("several")), partition_by=[exp.column(nodes[0])])
    flagged = exp.select(*nodes, "sets", exp.alias_(several_window, "kept")).from_(flagged.subquery("flagged"))
    columns = [*map(exp.column, nodes), _SETS.copy()]
    typed = [exp.alias_(exp.cast(each.copy(), "BIGINT"), each.name) for each in columns]
    answer = exp.select(*typed, exp.alias_(exp.cast(number_of_rows(), "BIGINT"), "groups"))
    return answer.from_(flagged.subquery("kept")).where(exp.column("kept") > 0).group_by(*columns)


def _alternating(form: SteppedForm) -> list[tuple[bool, tuple[str, ...]]]:
    """Return the steps as (whether groups, columns), groups and classes in turns, from groups on to classes."""
    levels: list[tuple[bool, tuple[str, ...]]] = [(True, ())]
    for step in form.steps:
        each = step.kind is StepKind.EACH
        if levels[-1][0] is each:
            columns = (*levels[-1][1], *step.columns)
            levels[-1] = (each, columns if each or step.columns else ())
        else:
            levels.append((each, step.columns))
    return levels


def _number(path: Sequence[str]) -> exp.Expr:
    if not path:
        return exp.convert(1)
    order = exp.Order(expressions=[exp.Ordered(this=exp.column(name)) for name in path])
    return exp.Window(this=exp.DenseRank(), order=order)

"""Exact statistics of rules over the rows of a slice in our own database: read from the source, and not ranked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from dpdb.constraints import SortedKind, sorted_shape
from dpdb.database import Database
from dpdb.engine.closed_forms import Form, GroupForm, KeysForm, RuleStatistic, SortedForm, StatisticKind, SteppedForm
from dpdb.engine.count_classes import LocalKeys, histogram_of
from dpdb.engine.parents.by_key import Readable, readable
from dpdb.engine.simplified import may_match
from dpdb.engine.sql.bind import BoundConstraint, not_alone, self_conflict
from dpdb.engine.sql.class_histograms import CLASS_ROWS, ClassHistogram
from dpdb.engine.sql.coded_rows import integer_column
from dpdb.engine.sql.decision_counts import count_decisions
from dpdb.engine.sql.key_counts import sharing_rows
from dpdb.engine.sql.rule_counts import count_stepped, group_count
from dpdb.engine.sql.sorted_rows import is_reversed, numbered, sorted_rows
from dpdb.engine.sql.where import WherePredicate
from dpdb.graph import (
    deletions_of_chain,
    deletions_of_cross,
    deletions_of_intervals,
    load_greatest_matching,
    load_one_sort,
)
from dpdb.sources import Rows


def count_sorted(database: Database, form: SortedForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> int:
    """Count the fewest rows to delete, by one query. Private.

    Parameters
    ----------
    rows : exp.Expr
        A table or subquery without alias that has `form.columns`, and what the conditions read.
    conditions : sequence of exp.Expr
        Which rows are meant, called `CLASS_ROWS`.
    """
    shape = form.shape
    batches = numbered(database.stream(sorted_rows(form.bound, shape, rows, conditions)))
    if shape.kind is SortedKind.ORDER:
        return deletions_of_chain(batches, strict=shape.second_ties)
    if shape.kind is SortedKind.CROSS:
        return deletions_of_cross(batches)
    return deletions_of_intervals(batches, reversed_go=form.reversed_go)


_PER_SCAN = 250
"""Counts of rows in one query: the time to plan one grows faster than their number. As `count_if`: with FILTER every
count would take all columns of the rows that it counts."""

FEWEST_ALIKE = 4
"""Forms that pay for looking at all their groups first: of fewer each reads its own rows sooner."""

_Alone: TypeAlias = tuple[BoundConstraint, ...]
_GroupKey: TypeAlias = tuple[Form, _Alone, StatisticKind | None]
"""What is counted together: of a form what must go, and of a key its duplicates; bits by themselves."""


def count_all(
    database: Database, rows: Rows, where: WherePredicate | None, asked: Sequence[RuleStatistic], *, name: str
) -> list[int]:
    """Count exact statistics of rules; see `dpdb.engine.Table`. Private.

    Parameters
    ----------
    name : str
        Of a table that rows are copied to where what other tables hold is written beside them.
    """
    columns = {column for each in asked for column in each.columns} | set(where.columns if where else ())
    with readable(database, rows, columns, name=name) as read:
        counting = _Counting(database, read, where)
        alone = counting.alone(list(dict.fromkeys(each.alone for each in asked if each.alone)))
        groups = counting.together(asked) if len(asked) >= FEWEST_ALIKE else {}
        missing = [key for key in dict.fromkeys(map(_key, asked)) if key is not None and key not in groups]
        groups |= {key: counting.groups(*key) for key in missing}
    return [_found(each, alone, groups) for each in asked]


def count_gathered(database: Database, rows: Rows, asked: RuleStatistic, *, name: str) -> int:
    """Count an exact statistic of rows that have come from another engine; see `count_all`. Private."""
    [found] = count_all(database, rows, None, [asked], name=name)
    return found


def counted_in_any_case(form: Form | None, row: str) -> list[exp.Expr]:
    """Return the conditions of rows that a form may count although no other row is in conflict with them."""
    return [is_reversed(form.bound, form.shape, row)] if isinstance(form, SortedForm) and form.reversed_go else []


def load_counting(constraints: Iterable[BoundConstraint]) -> None:
    """Load the code that counts exact statistics of constraints, before anything is spent: this module, and kernels."""
    constraints = list(constraints)
    if any(sorted_shape(bound.constraint) is not None for bound in constraints):
        load_one_sort()
    shapes = [bound.shape for bound in constraints if bound.shape is not None]
    if len(shapes) > 1 and may_match(shapes):
        load_greatest_matching()


def _key(asked: RuleStatistic) -> _GroupKey | None:
    of_bits: StatisticKind | None = asked.kind if asked.kind == "decision bits" else None
    return None if asked.form is None else (asked.form, asked.alone, of_bits)


def _found(asked: RuleStatistic, alone: dict[_Alone, int], groups: dict[_GroupKey, dict[StatisticKind, int]]) -> int:
    key = _key(asked)
    return violating_alone(asked, alone.get(asked.alone, 0)) + (0 if key is None else groups[key][asked.kind])


def violating_alone(asked: RuleStatistic, rows: int) -> int:
    """Return what the rows that violate constraints by themselves add to a statistic: nothing to decision bits."""
    return 0 if asked.kind == "decision bits" else rows


class _Counting:
    """The rows of a slice, as they are read."""

    def __init__(self, database: Database, read: Readable, where: WherePredicate | None) -> None:
        self._database, self._readable, self._where = database, read, where
        self._chosen = [] if where is None else [where.over(CLASS_ROWS)]

    def alone(self, asked: Sequence[_Alone]) -> dict[_Alone, int]:
        """Count the rows that violate one of some constraints by themselves, for each group of constraints."""
        found: dict[_Alone, int] = {}
        for start in range(0, len(asked), _PER_SCAN):
            together = asked[start : start + _PER_SCAN]
            counts = [exp.CountIf(this=self_conflict(each, CLASS_ROWS)) for each in together]
            query = exp.Select(expressions=counts).from_(exp.alias_(self._typed(*together), CLASS_ROWS, table=True))
            [numbers] = self._database.rows(query.where(*self._chosen) if self._chosen else query)
            found |= zip(together, (int(number or 0) for number in numbers), strict=True)  # NULL of no row
        return found

    def together(self, asked: Sequence[RuleStatistic]) -> dict[_GroupKey, dict[StatisticKind, int]]:
        """Count forms that differ in their conditions alone, where that is shorter than one after the other."""
        from dpdb.engine.alike import count_thinned, forms_alike, may_be_together  # of suites alone

        found: dict[_GroupKey, dict[StatisticKind, int]] = {}
        for alike in forms_alike(may_be_together(asked)):
            if len(alike.forms) < FEWEST_ALIKE:
                continue
            rows = self._typed(more=[*alike.columns])
            counted = count_thinned(LocalKeys(self._database), self._one_row, alike, rows, self._chosen)
            if counted is not None:
                found |= {(form, (), None): each for form, each in zip(alike.forms, counted, strict=True)}
        return found

    def _one_row(self, query: exp.Select) -> Sequence[Any]:
        [row] = self._database.rows(query)
        return row

    def groups(self, form: Form, alone: _Alone, of_bits: StatisticKind | None) -> dict[StatisticKind, int]:
        """Count what must go of the rows of a form, of a key also its duplicates; or its decision bits."""
        conditions = [*self._chosen, *not_alone(alone, CLASS_ROWS)]
        rows = self._typed(alone, more=form.columns)
        if of_bits:
            return {of_bits: count_decisions(self._database.rows, form, rows, conditions)}
        if isinstance(form, KeysForm):
            return {"rows sharing keys": int(self._database.value(sharing_rows(form, rows, conditions)))}
        if isinstance(form, SortedForm):
            return {"violations": count_sorted(self._database, form, rows, conditions)}
        if isinstance(form, SteppedForm):
            return {"violations": count_stepped(self._database, form, rows, conditions)}
        if form.is_key and form.equal:
            return of_key(histogram_of(LocalKeys(self._database), key_histogram(form), rows, conditions))
        return {"violations": int(self._database.value(group_count(form, rows, conditions)))}

    def _typed(self, *alone: _Alone, more: Sequence[str] = ()) -> exp.Expr:
        read = {name for each in alone for bound in each for name in bound.columns}
        return self._readable({*read, *more, *(self._where.columns if self._where else ())})


def key_histogram(form: GroupForm) -> ClassHistogram:
    """Return the class histogram of a key."""
    return ClassHistogram((), form.equal, form.known, (), form.conditions)


def of_key(histogram: pa.Table) -> dict[StatisticKind, int]:
    """Read the statistics of a key from its class histogram. Private."""
    # `pyarrow.compute` would import pandas for its constants.
    sizes, groups = (integer_column(histogram, name) for name in ("singles", "groups"))
    several = np.where(sizes > 1, groups, 0)
    totals: dict[StatisticKind, npt.NDArray[Any]] = {
        "violations": (sizes - 1) * groups,
        "distinct values": groups,
        "duplicate values": several,
        "rows in duplicates": sizes * several,
    }
    return {kind: int(values.sum()) for kind, values in totals.items()}

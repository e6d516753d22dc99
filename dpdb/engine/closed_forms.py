"""Exact statistics of a rule: which closed form has the fewest rows to delete. Public: from rules and schema alone.

Two rows are in conflict if together they violate a constraint, and the fewest rows to delete are a minimum vertex cover
of the graph of conflicts, plus the rows that violate a constraint by themselves. Whatever the graph, one more row
changes that by 0 or 1: the row may go, too. In general it is hard to compute, but not for the shapes here, whose graph
is a union of groups of rows, of each of which the most rows that may stay are known from counts (`GroupForm`).

Whether there is a closed form is decided from constraints and declarations, never from rows: where there is none,
another statistic is released (`fractional`), and one NULL that decided between the two would move the answer by far
more than a row may.

Source
------
Fewest rows to delete is g3 of Kivinen and Mannila (1995); which sets of dependencies have closed forms without NULL is
from Livshits, Kimelfeld and Roy (2020); the forms with NULL and with conditions are new here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise as pairwise_of
from typing import TYPE_CHECKING, Literal, TypeAlias

from dpdb.constraints import BlockShape, SortedKind, SortedShape, sorted_shape
from dpdb.engine.sql.bind import BoundConstraint, BoundPredicate, Sides, never_missing
from dpdb.schema import TableSchema

if TYPE_CHECKING:
    from dpdb.engine.simplified import Step

StatisticKind = Literal[
    "violations", "distinct values", "duplicate values", "rows in duplicates", "rows sharing keys", "decision bits"
]

_MOST_LOOSE = 2

_ESTIMANDS: dict[StatisticKind, str] = {
    "violations": "fewest rows to delete, exactly",
    "distinct values": "number of values that are there",
    "duplicate values": "number of values that more than one row has",
    "rows in duplicates": "number of rows whose value another row has, too",
    "rows sharing keys": "number of rows that share a key with another row, and of those that break a rule alone",
    "decision bits": "log2 of the number of maximal consistent subsets, in bits: yes/no decisions that cleaning takes",
}
_OF_SETS = ("rows sharing keys", "decision bits")
_HIGHEST: dict[StatisticKind, int] = {
    "violations": 1, "distinct values": 1, "duplicate values": 1, "rows in duplicates": 2,
}  # fmt: skip


@dataclass(frozen=True)
class GroupForm:
    """Rows in groups, of each of which the most rows that may stay follow from counts.

    A row without a value in `equal`, `known` or `classes`, or that does not meet the conditions, is in no group: it is
    in no conflict. Of a group may stay:

    - without `classes`, `loose` and `sides` (a key): one row;
    - else the most rows that are equal in `classes` and, where they have values, in `loose`: two rows are in conflict
      iff they differ in one of these. Besides, with `sides`, all rows that meet the same one only.

    Attributes
    ----------
    known : tuple of str
        Further columns that must have a value.
    classes : tuple of str
        Columns that must not differ, of which no row lacks a value: rows that do are in no group.
    loose : tuple of str
        At most two columns that must not differ, where NULL differs from nothing.
    conditions : tuple of BoundPredicate
        All of which a row must meet.
    sides : tuple of (tuple of BoundPredicate, tuple of BoundPredicate) or None
        Conditions of t1 and of t2 where these differ: a pair is in conflict only if one row meets the first and the
        other the second. Never with `loose`. Without `classes` every two rows differ.
    """

    equal: tuple[str, ...]
    known: tuple[str, ...]
    classes: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    conditions: tuple[BoundPredicate, ...] = ()
    sides: Sides = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, sorted."""
        first, second = self.sides or ((), ())
        met = {side.column for each in (*self.conditions, *first, *second) for side in each.operands}
        return tuple(sorted({*self.equal, *self.known, *self.classes, *self.loose, *met}))

    @property
    def is_key(self) -> bool:
        """Whether every two rows of a group are in conflict."""
        return not self.classes and not self.loose and self.sides is None


@dataclass(frozen=True)
class SortedForm:
    """A constraint over two tuples whose fewest deletions one sort gives. Public: from the constraint alone.

    Attributes
    ----------
    bound, shape
        The constraint and its shape.
    reversed_go : bool
        Whether intervals that end before they begin go in any case.
    """

    bound: BoundConstraint
    shape: SortedShape
    reversed_go: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, sorted."""
        return self.bound.columns


@dataclass(frozen=True)
class SteppedForm:
    """A set of dependencies and keys that comes apart into steps (`dpdb.engine.simplified`). Public.

    Attributes
    ----------
    known : tuple of str
        Columns without a value in which a row is in no group.
    conditions : tuple of BoundPredicate
        All of which a row must meet.
    steps : tuple of Step
        From the whole table on; one at most is a matching.
    """

    known: tuple[str, ...]
    conditions: tuple[BoundPredicate, ...]
    steps: tuple[Step, ...]

    @property
    def parting(self) -> tuple[str, ...]:
        """The columns of the steps."""
        return tuple(dict.fromkeys(name for step in self.steps for name in (*step.columns, *step.others)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, sorted."""
        met = {side.column for each in self.conditions for side in each.operands}
        return tuple(sorted({*self.known, *self.parting, *met}))

    @property
    def matches(self) -> bool:
        """Whether one step is a matching."""
        return any(step.others for step in self.steps)

    @property
    def is_nested(self) -> bool:
        """Whether the steps are groups and classes of them in turns, of which no row lacks a value."""
        from dpdb.engine.simplified import StepKind

        return all(step.kind in (StepKind.EACH, StepKind.BEST) and not step.lacking for step in self.steps)

    @property
    def one_row(self) -> bool:
        """Whether of rows that no step parts one may stay."""
        last = self.steps[-1]
        return not last.columns or bool(last.others and last.lacking)


@dataclass(frozen=True)
class KeysForm:
    """Keys, of which none contains another one over the same rows. Public: from the constraints alone."""

    keys: tuple[GroupForm, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that they read, sorted."""
        return tuple(sorted({name for key in self.keys for name in key.columns}))


Form: TypeAlias = GroupForm | SteppedForm | SortedForm | KeysForm


@dataclass(frozen=True)
class RuleStatistic:
    """An exact statistic of rules, which `dpdb.engine.Table.count_all` counts. Public.

    Attributes
    ----------
    kind : str
        ``"violations"`` are the fewest rows to delete: those that violate a constraint by themselves, each once, and
        of the other rows the fewest that must go. ``"distinct values"``, ``"duplicate values"`` and ``"rows in
        duplicates"`` are of a key, whose columns all have a value.
        ``"rows sharing keys"`` are the rows in conflict of keys, those that violate a constraint by themselves among
        them. ``"decision bits"`` are log2 of the number of maximal consistent subsets, in steps of 10^-6 bit.
    estimand : str
        The same in words.
    form : GroupForm, SteppedForm, SortedForm, KeysForm or None
        Of the constraints over two tuples; None if there is none.
    low, high : int
        One more row changes the statistic by at least `low` and at most `high`.
    parts : int
        Steps of one row, or of one bit.
    """

    kind: StatisticKind
    estimand: str
    constraints: tuple[BoundConstraint, ...]
    form: Form | None
    low: int = 0
    high: int = 1
    parts: int = 1

    @property
    def by_aggregates(self) -> bool:
        """Whether GROUP BY alone counts it, in any engine."""
        if isinstance(self.form, SteppedForm):
            return not self.form.matches
        return not isinstance(self.form, SortedForm)

    @property
    def alone(self) -> tuple[BoundConstraint, ...]:
        """The constraints over one tuple."""
        return tuple(bound for bound in self.constraints if bound.constraint.is_single_tuple)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, sorted."""
        return tuple(sorted({name for bound in self.constraints for name in bound.columns}))


def exact_statistic(
    constraints: Sequence[BoundConstraint],
    schema: TableSchema,
    kind: StatisticKind = "violations",
    *,
    reversed_go: bool = False,
) -> RuleStatistic | None:
    """Return the exact statistic of constraints taken together, or None if none is known. Reads no row.

    Parameters
    ----------
    reversed_go : bool
        Whether intervals that end before they begin go in any case, where intervals must not overlap.

    Sensitivity
    -----------
    `RuleStatistic.low` to `RuleStatistic.high`; a wrong declaration of NOT NULL costs accuracy, and no privacy: rows
    with NULL there are in no group, and what is counted is the fewest rows to delete of the others.

    Of distinct values: one more row may be the first of its value, and takes away no other. Of duplicate values: it may
    be the second. Of rows in duplicates: then both rows are. Of rows
    that share one of K keys: one more row may be in conflict itself, and of each key with one row that had no conflict
    by it, for two such rows would have been in conflict: 0 to 1 + K. Of decision bits: 0 to one bit
    (`dpdb.graph.exact.decision_bits`). A row that violates a constraint by itself changes none of these but the first,
    the fourth by 1.
    """
    alone = [bound for bound in constraints if bound.constraint.is_single_tuple]
    pairwise = [bound for bound in constraints if not bound.constraint.is_single_tuple]
    if kind == "rows sharing keys":
        keys = _keys(pairwise)
        if keys is not None:
            return RuleStatistic(kind, _ESTIMANDS[kind], tuple(constraints), keys, 0, 1 + len(keys.keys))
    if kind == "decision bits":
        from dpdb.graph import BIT  # few releases are in bits

        counted = _decisions(pairwise, never_missing(alone, schema))
        if counted is not None:
            return RuleStatistic(kind, _ESTIMANDS[kind], tuple(constraints), counted, 0, BIT, BIT)
    if kind in _OF_SETS:
        return None
    if kind != "violations" and (alone or len(pairwise) != 1):
        return None
    form: Form | None = None
    if pairwise:
        declared = never_missing(alone, schema)
        form = _form(pairwise, declared) or _sorted_form(pairwise, reversed_go=reversed_go)
        has_values = isinstance(form, GroupForm) and form.is_key and form.equal
        if form is None or (kind != "violations" and not has_values):  # a key over no column has none
            return None
    estimand = _ESTIMANDS[kind]
    if isinstance(form, SortedForm) and form.reversed_go:
        estimand += ", reversed intervals among them"
    return RuleStatistic(kind, estimand, tuple(constraints), form, 0, _HIGHEST[kind])


def _keys(pairwise: Sequence[BoundConstraint]) -> KeysForm | None:
    """Return keys as rows are in conflict by them; None if there is none, or a constraint is no key nor follows of one.

    With a condition on one row alone it is none: one row that meets it would be in conflict with many that do not.
    A constraint that follows of a key (a -> b of UNIQUE(a)) has no further conflict, and changes nothing.
    """
    least: dict[object, list[GroupForm]] = {}
    others = []
    for bound in sorted(pairwise, key=lambda bound: len(bound.shape.equal) if bound.shape else 0):
        if bound.shape is None or bound.shape.order or bound.shape.differing or not bound.shape.alike:
            others.append(bound)
            continue
        conditions, sides = bound.row_conditions
        same_rows = least.setdefault((bound.shape.known, _texts(conditions, sides)), [])
        if not any(set(other.equal) <= set(bound.shape.equal) for other in same_rows):
            same_rows.append(GroupForm(bound.shape.equal, bound.shape.known, conditions=conditions))
    keys = tuple(key for same_rows in least.values() for key in same_rows)
    if not all(key.equal for key in keys) or not all(any(_follows(bound, key) for key in keys) for bound in others):
        return None
    return KeysForm(keys) if keys else None


def _follows(bound: BoundConstraint, key: GroupForm) -> bool:
    """Return whether two rows that violate a constraint share a key: they are equal in it, and meet its conditions."""
    shape = bound.shape
    if shape is None or not (set(key.equal) <= set(shape.equal) and set(key.known) <= set(shape.columns)):
        return False
    conditions, sides = bound.row_conditions
    wanted = _texts(key.conditions, None)[0]
    return all(wanted <= _texts(met, None)[0] for met in sides or (conditions,))


def _decisions(pairwise: Sequence[BoundConstraint], declared: set[str]) -> GroupForm | SteppedForm | None:
    """Return the form whose maximal consistent subsets counts of distinct values count."""
    form = _form(pairwise, declared) if pairwise else None
    if isinstance(form, GroupForm):
        return None if form.loose else form
    return form if form is not None and form.is_nested else None


def why_no_decisions(constraints: Sequence[BoundConstraint], schema: TableSchema) -> str:
    """Say why the maximal consistent subsets under constraints are not counted. Reads no row."""
    alone = [bound for bound in constraints if bound.constraint.is_single_tuple]
    pairwise = [bound for bound in constraints if not bound.constraint.is_single_tuple]
    if not pairwise:
        return "rules on one row leave nothing to decide: what violates them must go"
    for bound in pairwise:
        shape = bound.shape
        if shape is None or shape.order is not None or len(shape.differing) > 1:
            return f"{bound.constraint.label} is neither a dependency nor a key"
    declared = never_missing(alone, schema)
    known = [bound.shape for bound in pairwise if bound.shape is not None]
    sides = sorted({shape.equal for shape in known}, key=len)
    if any(not set(one) <= set(other) for one, other in pairwise_of(sides)):
        return "there are several rules, whose left sides are not one in another"
    lacking = sorted({name for shape in known for name in (*shape.equal, *shape.differing)} - declared)
    if len(pairwise) > 1 and lacking:
        return f"there are several rules, and {lacking[0]!r} may be NULL: the schema, or NOT NULL, must exclude it"
    return "there are several rules, with conditions that differ or left sides that are not one in another"


def _sorted_form(pairwise: Sequence[BoundConstraint], *, reversed_go: bool) -> SortedForm | None:
    """Return the form of one constraint over two tuples."""
    shape = sorted_shape(pairwise[0].constraint) if len(pairwise) == 1 else None
    if shape is None:
        return None
    return SortedForm(pairwise[0], shape, reversed_go and shape.kind is SortedKind.INTERVALS)


def _form(pairwise: Sequence[BoundConstraint], declared: set[str]) -> GroupForm | SteppedForm | None:
    """Return the closed form of constraints over two tuples."""
    shapes = [bound.shape for bound in pairwise]
    known = [shape for shape in shapes if shape is not None and shape.order is None and len(shape.differing) < 2]
    if len(known) < len(shapes):
        return None
    read = [bound.row_conditions for bound in pairwise]
    if len({(shape.known, *_texts(*of_row)) for shape, of_row in zip(known, read, strict=True)}) > 1:
        return None  # they speak of different rows
    conditions, sides = read[0]
    parts = _parts(known, declared)
    if parts is None and sides is None:
        return _stepped(known, declared, conditions)
    if parts is None or (sides is not None and parts[2]):
        return None
    return GroupForm(parts[0], known[0].known, parts[1], parts[2], conditions, sides)


def _stepped(
    shapes: Sequence[BlockShape], declared: set[str], conditions: tuple[BoundPredicate, ...]
) -> SteppedForm | None:
    sides = {frozenset(shape.equal) for shape in shapes}
    least = [side for side in sides if not any(other < side for other in sides)]
    if len(least) > 2 and not frozenset.intersection(*sides):
        return None  # no first step: most sets, which need not load what follows
    from dpdb.engine.simplified import of_two_keys, steps_of

    steps = steps_of(shapes, declared) or of_two_keys(shapes)
    if steps is None:
        return None
    read = {name for step in steps for name in (*step.columns, *step.others)}
    lacking = {name for step in steps for name in step.lacking}
    return SteppedForm(tuple(sorted({*shapes[0].known, *read} - lacking)), conditions, steps)


def _texts(conditions: Iterable[BoundPredicate], sides: Sides) -> tuple[frozenset[str], frozenset[frozenset[str]]]:
    """Say conditions so that what reads the same rows is the same; which side is the first does not matter."""

    def said(predicates: Iterable[BoundPredicate]) -> frozenset[str]:
        return frozenset(predicate.over(("row", "row")).sql() for predicate in predicates)

    return said(conditions), frozenset(map(said, sides or ()))


_Columns = tuple[str, ...]


def _parts(shapes: Sequence[BlockShape], declared: set[str]) -> tuple[_Columns, _Columns, _Columns] | None:
    """Return (equal, classes, loose) of keys and dependencies over the same rows.

    - A key that every other left-hand side contains has all conflicts.
    - Dependencies of one left-hand side X: of one right-hand column rows without a value conflict with none. Of several
      those that may lack a value are loose: a row without a city violates `zip -> state` all the same.
    - X -> Y with X, Y -> Z: the same, whether Y may lack a value or not: then neither of them reads the row.
    """
    smallest = min((shape.equal for shape in shapes), key=len)
    if any(set(smallest) - set(shape.equal) for shape in shapes):
        return None
    first = [shape for shape in shapes if shape.equal == smallest]
    if not all(shape.differing for shape in first):
        return smallest, (), ()
    classes = {shape.differing[0] for shape in first}
    further = [shape for shape in shapes if shape.equal != smallest]
    may_lack = classes - declared
    if further and (len(classes) > 1 and may_lack):
        return None
    if any(set(shape.equal) != {*smallest, *classes} or not shape.differing for shape in further):
        return None
    inner = {shape.differing[0] for shape in further}
    loose = (may_lack if len(classes) > 1 else set()) | (inner - declared)
    if len(loose) > _MOST_LOOSE:
        return None
    return smallest, tuple(sorted((classes | inner) - loose)), tuple(sorted(loose))

"""How a set of dependencies and keys comes apart into steps, each of which a count or a matching decides. Public.

A set of dependencies is a tractable case of the fewest rows to delete iff it simplifies (Livshits, Kimelfeld and Roy).
A largest set of rows without conflict, of rows that no step has parted yet, is:

- `EACH`, columns on every left-hand side: rows that differ in them are in no conflict, so the sum over their values.
- `BEST`, columns that no two rows may differ in: the most over their values. Of a key it is the row itself: one.
- `MATCH`, left-hand sides X and Y that determine each other, one of which every left-hand side contains. Rows of equal
  X and unequal Y are in conflict, and so the other way round; rows that differ in both are in none. So what stays takes
  each value of X with one of Y at most, and each of Y with one of X: a matching of greatest weight, an edge of which
  weighs what may stay of the rows of its two values. Of two keys every edge weighs 1.

The columns of a step are equal from then on, and leave the dependencies. NULL differs from nothing and equals nothing,
so a row that lacks a value in a column that *every* dependency left reads is in no conflict: it stays, whatever else
does. A row that lacks one that some dependency reads and another does not, may be in conflict by the other: such a
column must be declared NOT NULL. So must those by which X and Y determine each other. There is one exception: of
X -> Y with X, Z -> W, rows without Y stay beside each value of Y (`BESIDE`, see `dpdb.engine.sql.rule_counts`).

Source
------
OptSRepair of Livshits, Kimelfeld and Roy (2020), for tables without NULL; NULL is new here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce

from dpdb.constraints import BlockShape

_Columns = frozenset[str]

_ROW = ""
"""What a key determines; no column is called so."""


class StepKind(Enum):
    """What may stay of rows, from what may stay of those of each value."""

    EACH = "each"
    BEST = "best"
    BESIDE = "best beside those without"
    MATCH = "match"


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes
    ----------
    columns, others : tuple of str
        Its columns, sorted; `others` are those of Y. Of `BEST` none: one row.
    lacking : tuple of str
        Columns that rows may lack here: these stay.
    """

    kind: StepKind
    columns: tuple[str, ...]
    others: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Dependency:
    left: _Columns
    right: str

    @property
    def columns(self) -> _Columns:
        return self.left | {self.right}


def steps_of(shapes: Sequence[BlockShape], declared: set[str]) -> tuple[Step, ...] | None:
    """Return the steps of keys and of dependencies with one right-hand column; None if they do not simplify.

    A matching is taken only where nothing but `EACH` comes before.

    Parameters
    ----------
    declared
        Columns that no row lacks. The others that no step lists as `lacking` are in no conflict where they are NULL.
    """
    left = {_Dependency(frozenset(shape.equal), shape.differing[0] if shape.differing else _ROW) for shape in shapes}
    steps: list[Step] = []
    while left:
        step = _next(left, declared | {_ROW}, first=all(step.kind is StepKind.EACH for step in steps))
        if step is None:
            return None
        steps.append(step)
        if not step.columns:
            break
        gone = {*step.columns, *step.others}
        left = {_Dependency(one.left - gone, one.right) for one in left if one.right not in gone}
    return tuple(steps)


def of_two_keys(shapes: Sequence[BlockShape]) -> tuple[Step, ...] | None:
    """Return the step of two keys; None unless each other left-hand side contains that of one of them.

    Two rows are in conflict iff they are equal in one of the keys. A row without a value in one of them is in no
    conflict by it, as if nobody else had its value.
    """
    sides = sorted({shape.equal for shape in shapes if not shape.differing}, key=lambda one: (len(one), one))
    keys = [key for k, key in enumerate(sides) if not any(set(key) >= set(smaller) for smaller in sides[:k])]
    if len(keys) != 2 or not all(any(set(shape.equal) >= set(key) for key in keys) for shape in shapes):
        return None
    first, second = keys
    return (Step(StepKind.MATCH, first, second, tuple(sorted({*first, *second}))),)


def may_match(shapes: Sequence[BlockShape]) -> bool:
    """Return whether a matching may be a step: of two left-hand sides neither contains the other."""
    sides = {frozenset(shape.equal) for shape in shapes}
    return any(not (one <= other or other <= one) for one in sides for other in sides)


def _next(left: set[_Dependency], declared: set[str], *, first: bool) -> Step | None:
    """Return the next step; `first`: no row is in a group with others because of what it may lack."""
    common = _shared(one.left for one in left)
    read_by_all = _shared(one.columns for one in left)
    if common:
        return Step(StepKind.EACH, _sorted(common), lacking=() if first else _sorted(common - declared))
    fixed = frozenset(one.right for one in left if not one.left)
    if _ROW in fixed:
        return Step(StepKind.BEST, ())
    if fixed:
        lacking = fixed - declared
        if lacking <= read_by_all:
            return Step(StepKind.BEST, _sorted(fixed), lacking=() if first else _sorted(lacking))
        others = {one for one in left if one.right not in fixed}
        if first and len(fixed) == 1 and len({one.left for one in others}) == 1:
            further = frozenset(one.right for one in others)
            if len(further) == 1 or _ROW in further or further <= declared:
                return Step(StepKind.BESIDE, _sorted(fixed), lacking=_sorted(fixed))
        return None
    return _match(left, (read_by_all | declared)) if first else None


def _match(left: set[_Dependency], known: _Columns) -> Step | None:
    sides = sorted({one.left for one in left}, key=lambda side: (len(side), sorted(side)))
    for place, x in enumerate(sides):
        for y in sides[place + 1 :]:
            if not all(one.left >= x or one.left >= y for one in left) or not known >= x | y:
                continue
            if _closure(x, left, known) >= y and _closure(y, left, known) >= x:
                return Step(StepKind.MATCH, _sorted(x), _sorted(y))
    return None


def _closure(side: _Columns, dependencies: set[_Dependency], known: _Columns) -> _Columns:
    """Return the columns that rows without conflict agree in if they agree in a side, as far as none lacks them."""
    found, before = side, frozenset[str]()
    while found != before:
        before = found
        found |= {one.right for one in dependencies if one.left <= before and one.right in known}
    return found


def _shared(sets: Iterable[_Columns]) -> _Columns:
    return reduce(frozenset.intersection, sets)


def _sorted(columns: _Columns) -> tuple[str, ...]:
    return tuple(sorted(columns))

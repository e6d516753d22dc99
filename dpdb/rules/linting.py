"""`lint`: find oddities in a set of constraints, from their texts alone.

Whether all violations of a constraint violate another, or whether it has none, is decided by predicates alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from heapq import heappop, heappush
from itertools import combinations
from typing import Any, Protocol

from dpdb.constraints import (
    ColumnRef,
    Constant,
    ConstraintsLike,
    DenialConstraint,
    FunctionalDependency,
    Operator,
    OrderDependency,
    Predicate,
    compares_every_pair,
    functional_dependency,
    load_constraints,
    order_dependency,
)
from dpdb.errors import ConstraintTypeError, ParameterError
from dpdb.rules.odd_characters import odd_characters

MOST_PAIRS = 1_000_000  # pairs of constraints over the same columns to compare; takes about five seconds


class Binding(Protocol):
    """What `lint` asks of an opened table: its columns, and whether constraints bind to them. It yields no row."""

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""

    def with_constraints(self, constraints: ConstraintsLike | None) -> object:
        """Bind the constraints, or raise `ConstraintTypeError`."""


@dataclass(frozen=True)
class Finding:
    """An oddity.

    Attributes
    ----------
    kind : str
        `characters`, `duplicate`, `implied`, `contradiction`, `quadratic` or `type`.
    rules : tuple of int
        Positions of its constraints, from 1; the first is the one to look at.
    """

    kind: str
    rules: tuple[int, ...]
    message: str


def lint(
    constraints: ConstraintsLike, columns: Sequence[str] | None = None, *, table: Binding | None = None
) -> tuple[Finding, ...]:
    """Find duplicates, implied rules, contradictions, odd characters and rules that compare every row with each other.

    Of a table also rules that its columns' types do not bear, such as a number beside text. Reads no row, spends
    nothing. If a constraint compiles to several, each of them has its own position.

    Parameters
    ----------
    constraints
        As `dpdb.open` takes them.
    columns
        The table's columns, to resolve names; None takes names as they are written.
    table
        A table, opened without constraints.
    """
    rules = load_constraints(constraints, columns if table is None else table.schema.names)
    twins = list(_duplicates(rules))
    repeated = {finding.rules[0] for finding in twins}
    kept = {number: dc for number, dc in enumerate(rules, 1) if number not in repeated}
    hopeless = list(_contradictions(kept))
    sound = {number: dc for number, dc in kept.items() if (number,) not in {finding.rules for finding in hopeless}}
    implied = list(_implied(sound))
    found = [
        *_not_what_they_seem(rules),
        *twins,
        *hopeless,
        *implied,
        *_transitive(sound, implied),
        *_opposite_orders(sound),
        *_quadratic(kept),
    ]
    found += [] if table is None else _without_meaning(kept, table)
    return tuple(sorted(found, key=lambda finding: finding.rules))


def _not_what_they_seem(rules: Sequence[DenialConstraint]) -> Iterator[Finding]:
    for number, dc in enumerate(rules, 1):
        for odd in odd_characters(str(dc)):
            yield Finding("characters", (number,), f"{odd}; a column or value is called otherwise than it looks")


def _duplicates(rules: Sequence[DenialConstraint]) -> Iterator[Finding]:
    first: dict[DenialConstraint, int] = {}
    for number, dc in enumerate(rules, 1):
        twin = first.setdefault(dc.canonical(), number)
        if twin != number:
            yield Finding("duplicate", (number, twin), f"{dc.label} says the same as rule {twin}; it counts once")


def _contradictions(rules: dict[int, DenialConstraint]) -> Iterator[Finding]:
    for number, dc in rules.items():
        if never_holds(dc):
            yield Finding("contradiction", (number,), f"{dc.label} can never be violated: its predicates contradict")


def _implied(rules: dict[int, DenialConstraint]) -> Iterator[Finding]:
    """Find rules whose every violation violates another rule: they add nothing to any measure."""
    read = {number: Entailing(dc) for number, dc in rules.items()}
    candidates = _wider_candidates(read)
    pairs = sum(map(len, candidates.values()))
    if pairs > MOST_PAIRS:
        raise ParameterError(f"lint would compare {pairs:,} pairs of constraints, at most {MOST_PAIRS:,}: split them")
    for number, others in candidates.items():
        one = read[number]
        for other in others:
            wider = read[other]
            if one.entails(wider) and (other < number or not wider.entails(one)):
                message = f"whatever violates {rules[number].label} violates rule {other}, too"
                yield Finding("implied", (number, other), message)
                break


def _wider_candidates(read: dict[int, Entailing]) -> dict[int, list[int]]:
    """Return for each rule the rules that it may entail, in order: it has the rarest of their left sides."""
    common = Counter(left for one in read.values() for left in one.given)
    by_left: dict[ColumnRef, list[int]] = {}
    for number, one in read.items():
        for left in {min((p.left for p in orientation), key=common.__getitem__) for orientation in one.wanted}:
            by_left.setdefault(left, []).append(number)
    return {
        number: sorted({other for left in one.given for other in by_left.get(left, ())} - {number})
        for number, one in read.items()
    }


def _transitive(rules: dict[int, DenialConstraint], implied: Iterable[Finding]) -> Iterator[Finding]:
    """Find dependencies that follow from others by Armstrong's rules; with NULLs their violations may differ."""
    known = {finding.rules[0] for finding in implied}
    dependencies = {
        number: dependency
        for number, dc in rules.items()
        if number not in known and (dependency := functional_dependency(dc)) is not None
    }
    derive = _Derivations(dependencies)
    for number in dependencies:
        used = derive(number)
        if used:
            listed = " and ".join(str(other) for other in used)
            words = rules[number].label
            message = f"{words} follows from rules {listed} wherever no value is missing; it may be meant so"
            yield Finding("implied", (number, *used), message)


class _Derivations:
    """Derives each dependency from the others; looks only at those whose left sides it has reached."""

    def __init__(self, dependencies: dict[int, FunctionalDependency]) -> None:
        self._lhs = {number: frozenset(dependency.lhs) for number, dependency in dependencies.items()}
        self._rhs = {number: dependency.rhs for number, dependency in dependencies.items()}
        self._concluding = Counter(self._rhs.values())
        self._everywhere = [number for number, lhs in self._lhs.items() if not lhs]  # ascending, so a heap
        self._from: dict[str, list[int]] = {}
        for number, lhs in self._lhs.items():
            for name in lhs:
                self._from.setdefault(name, []).append(number)

    def __call__(self, wanted: int) -> list[int]:
        """Return the rules that derive a dependency, in ascending order; none if it does not follow."""
        if self._concluding[self._rhs[wanted]] == 1:  # no other dependency has its right side
            return []
        missing: dict[int, int] = {}
        closure, reached = set(self._lhs[wanted]), list(self._lhs[wanted])
        usable = [number for number in self._everywhere if number != wanted]
        used: list[int] = []
        while self._rhs[wanted] not in closure:
            for name in reached:
                for number in self._from.get(name, ()):
                    missing[number] = missing.get(number, len(self._lhs[number])) - 1
                    if missing[number] == 0 and number != wanted:
                        heappush(usable, number)
            while usable and self._rhs[usable[0]] in closure:
                heappop(usable)
            if not usable:
                return []
            used.append(heappop(usable))
            reached = [self._rhs[used[-1]]]
            closure.update(reached)
        return sorted(used)


def _opposite_orders(rules: dict[int, DenialConstraint]) -> Iterator[Finding]:
    alike: dict[object, list[tuple[int, OrderDependency]]] = {}
    for number, dc in rules.items():
        order = order_dependency(dc)
        if order is not None:
            alike.setdefault((order.prefix, order.first, order.second), []).append((number, order))
    pairs = (pair for orders in alike.values() for pair in combinations(orders, 2))
    for (one, first), (other, second) in pairs:
        if first.opposite != second.opposite:
            message = (
                f"rules {one} and {other} are opposite orders: together they allow {first.second} to differ only where "
                f"{first.first} is equal"
            )
            yield Finding("contradiction", (other, one), message)


def _quadratic(rules: dict[int, DenialConstraint]) -> Iterator[Finding]:
    for number, dc in rules.items():
        if compares_every_pair(dc):
            message = f"{dc.label} compares every row with every other one; it needs a public --row-bound"
            yield Finding("quadratic", (number,), message)


def _without_meaning(rules: dict[int, DenialConstraint], table: Binding) -> Iterator[Finding]:
    for number, dc in rules.items():
        try:
            table.with_constraints([dc])
        except ConstraintTypeError as error:
            yield Finding("type", (number,), str(error))


def entails(special: DenialConstraint, general: DenialConstraint) -> bool:
    """Return True if every violation of `special` is one of `general`, whatever the table holds.

    Sufficient, not necessary: each predicate of `general`, with its tuples as they are or exchanged, follows from one
    of `special`. A pair that violates a `special` over two tuples has a row that violates a `general` over one.
    """
    return Entailing(special).entails(Entailing(general))


class Entailing:
    """A constraint prepared for `entails`, for callers that compare many constraints with one another.

    Attributes
    ----------
    given : dict
        Its predicates by their left sides.
    wanted : tuple of two lists
        Its predicates, with t1 and t2 as they are and exchanged.
    """

    def __init__(self, dc: DenialConstraint) -> None:
        as_it_is = [_Compared(predicate) for predicate in dc.predicates]
        self.wanted = as_it_is, [_Compared(predicate.swapped()) for predicate in dc.predicates]
        self.given: dict[ColumnRef, list[_Compared]] = {}
        for predicate in as_it_is:
            self.given.setdefault(predicate.left, []).append(predicate)

    def entails(self, general: Entailing) -> bool:
        """Return the result of `entails` for the two constraints."""
        return any(all(map(self._implies, orientation)) for orientation in general.wanted)

    def _implies(self, wanted: _Compared) -> bool:
        return any(given.implies(wanted) for given in self.given.get(wanted.left, ()))


class _Compared:
    """A predicate with its sides in order, and the number on its right side, if there is a number."""

    def __init__(self, predicate: Predicate) -> None:
        canonical = predicate.canonical()
        self.left, self.op, self.right = canonical.left, canonical.op, canonical.right
        self.number = _number(canonical)

    def implies(self, wanted: _Compared) -> bool:
        """Return whether this predicate implies `wanted`, which has the same left side."""
        if self.right == wanted.right:
            return self.op.signs <= wanted.op.signs
        one, other = self.number, wanted.number
        return one is not None and other is not None and _within(self.op, one, wanted.op, other)


def _number(predicate: Predicate) -> Fraction | None:
    right = predicate.right
    if not isinstance(right, Constant) or isinstance(right.value, (bool, str)):
        return None
    return Fraction(right.value) if isinstance(right.value, (int, Decimal)) else None


def _within(given: Operator, one: Fraction, wanted: Operator, other: Fraction) -> bool:
    """Return True if x `given` one makes x `wanted` other, for numbers that differ."""
    below, above = given.signs <= {-1, 0}, given.signs <= {0, 1}
    if below and one < other:
        return -1 in wanted.signs
    if above and one > other:
        return 1 in wanted.signs
    return False


def never_holds(dc: DenialConstraint) -> bool:
    """Return True if no two rows can satisfy all predicates, because two on the same operands exclude one another."""
    predicates = [predicate.canonical() for predicate in dc.predicates]
    if any(predicate.left == predicate.right and 0 not in predicate.op.signs for predicate in predicates):
        return True
    return any(_exclude(one, other) for k, one in enumerate(predicates) for other in predicates[k + 1 :])


def _exclude(one: Predicate, other: Predicate) -> bool:
    if one.left != other.left:
        return False
    if one.right == other.right:
        return not one.op.signs & other.op.signs
    first, second = _number(one), _number(other)
    if first is None or second is None or first == second:
        return False
    low, high = (one, other) if first < second else (other, one)
    return low.op.signs <= {-1, 0} and high.op.signs <= {0, 1}

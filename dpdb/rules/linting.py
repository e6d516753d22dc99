"""`lint`: what is odd about a set of constraints, from their texts alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from dpdb.constraints import (
    ConstraintsLike,
    DenialConstraint,
    FunctionalDependency,
    compares_every_pair,
    functional_dependency,
    load_constraints,
    order_dependency,
)
from dpdb.rules.entailment import entails, never_holds

__all__ = ["Finding", "lint"]


@dataclass(frozen=True)
class Finding:
    """Something odd.

    Attributes
    ----------
    kind : str
        `duplicate`, `implied`, `contradiction` or `quadratic`.
    rules : tuple of int
        Positions of the constraints it is about, from 1; the first is the one to look at.
    message : str
        In words.
    """

    kind: str
    rules: tuple[int, ...]
    message: str


def lint(constraints: ConstraintsLike, columns: Sequence[str] | None = None) -> tuple[Finding, ...]:
    """Find duplicates, implied rules, contradictions and rules that compare every row with every other one.

    Reads no row, spends nothing. Constraints that compile to several count each by its own number.

    Parameters
    ----------
    constraints
        As `dpdb.open` takes them.
    columns
        The table's columns, to resolve names; None takes names as they are written.

    Raises
    ------
    ConstraintSyntaxError, UnknownColumnError, ParameterError
        As `load_constraints` does.
    """
    rules = load_constraints(constraints, columns)
    twins = list(_duplicates(rules))
    repeated = {finding.rules[0] for finding in twins}
    kept = {number: dc for number, dc in enumerate(rules, 1) if number not in repeated}
    hopeless = list(_contradictions(kept))
    sound = {number: dc for number, dc in kept.items() if (number,) not in {finding.rules for finding in hopeless}}
    implied = list(_implied(sound))
    found = [*twins, *hopeless, *implied, *_transitive(sound, implied), *_opposite_orders(sound), *_quadratic(kept)]
    return tuple(sorted(found, key=lambda finding: finding.rules))


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
    """A rule whose every violation violates another one: it adds nothing to any measure."""
    for number, dc in rules.items():
        wider = [other for other, general in rules.items() if other != number and entails(dc, general)]
        wider = [other for other in wider if other < number or not entails(rules[other], dc)]
        if wider:
            yield Finding("implied", (number, wider[0]), f"whatever violates {dc.label} violates rule {wider[0]}, too")


def _transitive(rules: dict[int, DenialConstraint], implied: Iterable[Finding]) -> Iterator[Finding]:
    """Dependencies that follow from others by Armstrong's rules: their violations may be others where values miss."""
    known = {finding.rules[0] for finding in implied}
    dependencies = {
        number: dependency
        for number, dc in rules.items()
        if number not in known and (dependency := functional_dependency(dc)) is not None
    }
    for number, dependency in dependencies.items():
        others = {other: fd for other, fd in dependencies.items() if other != number}
        used = _derivation(dependency, others)
        if used:
            listed = " and ".join(str(other) for other in used)
            words = rules[number].label
            message = f"{words} follows from rules {listed} wherever no value is missing; it may be meant so"
            yield Finding("implied", (number, *used), message)


def _derivation(wanted: FunctionalDependency, others: dict[int, FunctionalDependency]) -> list[int]:
    """The rules that derive a dependency, in the order of their use; none if they do not."""
    closure, used = set(wanted.lhs), []
    while wanted.rhs not in closure:
        step = next((n for n, fd in others.items() if set(fd.lhs) <= closure and fd.rhs not in closure), None)
        if step is None:
            return []
        closure.add(others[step].rhs)
        used.append(step)
    return sorted(used)


def _opposite_orders(rules: dict[int, DenialConstraint]) -> Iterator[Finding]:
    orders = [(number, order) for number, dc in rules.items() if (order := order_dependency(dc)) is not None]
    for (one, first), (other, second) in combinations(orders, 2):
        same = (first.prefix, first.first, first.second) == (second.prefix, second.first, second.second)
        if same and first.opposite != second.opposite:
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

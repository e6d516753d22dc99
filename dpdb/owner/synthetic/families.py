"""Families: columns of a synthetic table that are made from one another, so that constraints hold by construction.

All columns of a family are coarser and coarser, monotone views of one number per row. That satisfies every functional
dependency with one column on the left and every order constraint inside the family. A dependency with several columns
on the left makes the first column of its family a random function of them, or is narrowed to one of those columns:
`A -> C` implies `A, B -> C`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from dpdb.constraints import DenialConstraint, FunctionalDependency, OrderDependency
from dpdb.constraints import functional_dependency as as_dependency
from dpdb.constraints import order_dependency as as_order

__all__ = ["Families", "find_families", "reachable"]

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Families:
    """The dependencies of the columns on one another.

    Attributes
    ----------
    members : tuple of tuple of str
        The columns of each family, sorted.
    determines : frozenset of (str, str)
        (finer, coarser): pairs of columns of one family whose dependency must hold.
    function_of : dict
        Family -> (columns of other families, the column that is a random function of them).
    falling : frozenset of str
        Columns whose values fall where their family's number rises.
    constant : frozenset of str
        Columns with one value.
    notes : tuple of str
        In words, the constraints that the table satisfies in a stricter form.
    """

    members: tuple[tuple[str, ...], ...]
    determines: frozenset[tuple[str, str]]
    function_of: dict[int, tuple[tuple[str, ...], str]]
    falling: frozenset[str]
    constant: frozenset[str]
    notes: tuple[str, ...]

    def of(self, column: str) -> int:
        """Return the family of a column."""
        return next(k for k, family in enumerate(self.members) if column in family)


@dataclass
class _Draft:
    columns: Sequence[str]
    orders: list[OrderDependency]
    constant: set[str] = field(default_factory=set)
    single: set[tuple[str, str]] = field(default_factory=set)
    several: list[FunctionalDependency] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def make_constant(self, names: Iterable[str], dependencies: Sequence[FunctionalDependency]) -> None:
        """Give columns one value, and with them all columns that only constant columns determine."""
        self.constant.update(names)
        while found := {fd.rhs for fd in dependencies if self.constant.issuperset(fd.lhs)} - self.constant:
            self.constant |= found

    def varies(self, order: OrderDependency) -> bool:
        """Return whether an order constraint is between columns with several values."""
        return self.constant.isdisjoint((order.first, order.second))


def find_families(constraints: Iterable[DenialConstraint], columns: Sequence[str]) -> Families:
    """Sort the columns of the functional dependencies and order constraints into families."""
    dcs = list(constraints)
    dependencies = [fd for dc in dcs if (fd := as_dependency(dc)) is not None]
    draft = _Draft(columns, [order for dc in dcs if (order := as_order(dc)) is not None])
    draft.make_constant((), dependencies)
    falling = _directions(draft, dependencies)
    for fd in dependencies:
        lhs = tuple(name for name in fd.lhs if name not in draft.constant)
        if fd.rhs in draft.constant:
            continue
        if len(lhs) == 1:
            draft.single.add((lhs[0], fd.rhs))
        else:
            draft.several.append(FunctionalDependency(lhs, fd.rhs))
    while True:
        members = _joined(draft)
        unsuitable, functions = _functions(draft, members)
        if unsuitable is None:
            return Families(
                tuple(map(tuple, members)),
                frozenset(draft.single),
                functions,
                frozenset(falling),
                frozenset(draft.constant),
                tuple(draft.notes),
            )
        _narrow(draft, unsuitable, members)


def _directions(draft: _Draft, dependencies: Sequence[FunctionalDependency]) -> set[str]:
    """Give every ordered column a direction, and one value where none agrees with all its order constraints."""
    rising: dict[str, bool] = {}
    pending: list[str] = []
    for order in draft.orders:
        if order.first not in rising:
            rising[order.first] = True
            pending.append(order.first)
        while pending:
            name = pending.pop()
            for near in draft.orders:
                if name not in (near.first, near.second) or not draft.varies(near):
                    continue
                other = near.second if name == near.first else near.first
                wanted = rising[name] is near.opposite
                if other not in rising:
                    rising[other] = wanted
                    pending.append(other)
                elif rising[other] is not wanted:
                    draft.make_constant((other,), dependencies)
                    draft.notes.append(f"{other} has one value: its order constraints contradict one another")
    draft.orders = [order for order in draft.orders if draft.varies(order)]
    return {name for name, up in rising.items() if not up}


def _joined(draft: _Draft) -> list[list[str]]:
    """Return the groups of columns that single-column dependencies and order constraints connect."""
    family = {name: {name} for name in draft.columns}
    for one, other in [*draft.single, *((o.first, o.second) for o in draft.orders)]:
        if family[one] is not family[other]:
            family[one] |= family[other]
            for name in family[other]:
                family[name] = family[one]
    unique = {id(group): sorted(group) for group in family.values()}
    return sorted(unique.values())


def _functions(
    draft: _Draft, members: list[list[str]]
) -> tuple[FunctionalDependency | None, dict[int, tuple[tuple[str, ...], str]]]:
    """Make the first column of a family a function of other families; return a dependency that cannot be one."""
    family = {name: k for k, group in enumerate(members) for name in group}
    needs: dict[int, set[int]] = {}
    functions: dict[int, tuple[tuple[str, ...], str]] = {}
    for fd in draft.several:
        target, sources = family[fd.rhs], {family[name] for name in fd.lhs}
        determined = any(rhs == fd.rhs for _, rhs in draft.single)
        if determined or target in functions or target in reachable(needs, sources):
            return fd, {}
        needs[target] = sources
        functions[target] = fd.lhs, fd.rhs
    return None, functions


def reachable(needs: Mapping[T, set[T]], start: Iterable[T]) -> set[T]:
    """Return what is needed from `start` on, step by step, and `start` itself."""
    seen, pending = set(start), list(start)
    while pending:
        found = needs.get(pending.pop(), set()) - seen
        seen |= found
        pending.extend(found)
    return seen


def _narrow(draft: _Draft, fd: FunctionalDependency, members: list[list[str]]) -> None:
    family = next(group for group in members if fd.rhs in group)
    alone = next((name for name in fd.lhs if name in family), fd.lhs[0])
    draft.several.remove(fd)
    draft.single.add((alone, fd.rhs))
    draft.notes.append(f"{fd} is made to hold through {alone} alone")

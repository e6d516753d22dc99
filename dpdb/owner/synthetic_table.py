"""`synthesize`: a clean table of a given shape, seeded, to plan with instead of a private table. It reads no table.

Families are columns that are made from one another, so that constraints hold by construction. All columns of a family
are coarser and coarser, monotone views of one number per row: its levels, from fine to coarse. That satisfies every
functional dependency with one column on the left and every order constraint inside the family. A dependency with
several columns on the left makes the first column of its family a random function of them, or is narrowed to one of
those columns: `A -> C` implies `A, B -> C`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpdb.constraints import (
    DenialConstraint,
    FunctionalDependency,
    OrderDependency,
    functional_dependency as as_dependency,
    key_columns,
    order_dependency as as_order,
)
from dpdb.errors import ParameterError
from dpdb.owner.synthetic_domains import Domain, domain_of

Codes = NDArray[np.int64]


class ColumnCodes:
    """Codes of all columns. A family that is a function of others, or completes a key with them, comes after them.

    Parameters
    ----------
    most : mapping of str to int
        Largest number of values of a column, whatever a key needs; other columns have no limit.

    Attributes
    ----------
    codes : dict
        Column -> int64 codes from 0, shape `(rows,)`; filled by `draw`.
    """

    def __init__(
        self, rows: int, families: Families, levels: Sequence[Sequence[Level]], most: Mapping[str, int]
    ) -> None:
        self._rows, self._families, self._levels, self._most = rows, families, levels, most
        self._counted: dict[int, tuple[str, ...]] = {}  # family -> the other columns of a key that it completes
        self._unique: set[int] = set()
        self.codes: dict[str, Codes] = {}
        self.count: dict[str, int] = {}

    def plan_key(self, key: tuple[str, ...]) -> None:
        """Find a family that numbers the rows of each group of the key's other columns, or all rows."""
        homes = [self._families.of(name) for name in key]
        if any(
            home in self._unique and name in self._levels[home][0].columns
            for name, home in zip(key, homes, strict=True)
        ):
            return
        size = {name: len(self._families.members[home]) for name, home in zip(key, homes, strict=True)}
        for name in sorted(key, key=lambda name: (name in self._most, size[name], name)):
            home, others = self._families.of(name), tuple(other for other in key if other != name)
            is_free = home not in self._families.function_of and home not in self._counted
            if is_free and name in self._levels[home][0].columns and homes.count(home) == 1:
                self._counted[home] = others
                if self._order() is not None:
                    return
                del self._counted[home]
        for name, home in zip(key, homes, strict=True):
            first = self._levels[home][0].columns
            if home not in self._families.function_of and name in first and self._most.keys().isdisjoint(first):
                self._counted.pop(home, None)
                self._unique.add(home)
                return

    def _order(self) -> list[int] | None:
        needs = {family: set[int]() for family in range(len(self._levels))}
        for family, (columns, _) in self._families.function_of.items():
            needs[family] |= set(map(self._families.of, columns))
        for family, columns in self._counted.items():
            needs[family] |= set(map(self._families.of, columns))
        try:
            return list(TopologicalSorter(needs).static_order())
        except CycleError:
            return None

    def draw(self, rng: np.random.Generator) -> None:
        """Draw all codes.

        Raises
        ------
        ParameterError
            If a key needs more values of a column than it may have.
        """
        order = self._order()
        assert order is not None, "plan_key keeps the families free of cycles"
        for family in order:
            levels = self._levels[family]
            codes, count = self._first(family, levels[0], rng)
            for level in levels:
                if level is not levels[0]:
                    codes, count = codes * level.count // count, level.count
                for name in level.columns:
                    self.codes[name], self.count[name] = codes, count

    def _first(self, family: int, level: Level, rng: np.random.Generator) -> tuple[Codes, int]:
        if family in self._unique:
            return rng.permutation(self._rows), self._rows
        if family in self._counted:
            return self._numbered(level, self._counted[family], rng)
        if family in self._families.function_of:
            group = self._groups(self._families.function_of[family][0])
            return rng.integers(level.count, size=int(group.max(initial=0)) + 1)[group], level.count
        return rng.integers(level.count, size=self._rows), level.count

    def _numbered(self, level: Level, others: tuple[str, ...], rng: np.random.Generator) -> tuple[Codes, int]:
        """Give the rows of each group of the other columns different codes, from a random one on."""
        group = self._groups(others)
        sizes = np.bincount(group)
        needed, count = int(sizes.max(initial=1)), level.count
        if needed > count:
            fixed = [name for name in level.columns if self._most.get(name, needed) < needed]
            if fixed:
                raise ParameterError(
                    f"the key ({', '.join(sorted({*others, *level.columns}))}) needs at least {needed:,} different "
                    f"values of {fixed[0]!r} for {self._rows:,} rows, which may have {count:,}"
                )
            count = needed
        order = np.argsort(group, kind="stable")
        place = np.empty(self._rows, np.int64)
        place[order] = np.arange(self._rows) - (np.cumsum(sizes) - sizes)[group[order]]
        return (place + rng.integers(count, size=len(sizes))[group]) % count, count

    def _groups(self, columns: Sequence[str]) -> Codes:
        """Number the distinct tuples of some columns; one group if there are none."""
        group = np.zeros(self._rows, np.int64)
        for name in columns:
            _, group = np.unique(group * self.count[name] + self.codes[name], return_inverse=True)
        return group


@dataclass(frozen=True, eq=False)
class SyntheticTable:
    """A synthetic table.

    Attributes
    ----------
    distinct : dict
        Column -> the number of values that it may take.
    """

    rows: pa.Table
    distinct: dict[str, int]
    notes: tuple[str, ...]


def synthesize(
    constraints: Sequence[DenialConstraint],
    types: Mapping[str, str],
    *,
    rows: int,
    distinct: Mapping[str, int],
    usual: int,
    rng: np.random.Generator,
    known: Mapping[str, Domain] = MappingProxyType({}),
) -> SyntheticTable:
    """Make a table whose rows satisfy functional dependencies, keys, order constraints and bounds of single columns.

    Values are spread evenly. Other constraints are ignored, and rows may violate a key whose columns depend on one
    another: check the result.

    Parameters
    ----------
    types : mapping of str to str
        The constrained columns with their SQL types, in the table's order.
    distinct : mapping of str to int
        Numbers of distinct values, by column.
    usual : int
        Number of distinct values of the other columns; more where a key needs more.
    rng
        Seeded by the caller.
    known : mapping of str to Domain
        Values of columns, where they are not the usual ones.

    Raises
    ------
    ParameterError
        If a column of a key has too few values, or the constraints leave a column no value.
    """
    families = find_families(constraints, list(types))
    domains = {name: known.get(name) or domain_of(name, kind, constraints) for name, kind in types.items()}
    levels, notes = levels_of(families, domains, distinct, usual)
    limits = {name: domain.size for name, domain in domains.items() if domain.size is not None}
    draft = ColumnCodes(rows, families, levels, {**limits, **distinct})
    for key in filter(None, map(key_columns, constraints)):
        draft.plan_key(key)
    draft.draw(rng)
    columns = {
        name: domain.column(_codes(draft, name, falling=name in families.falling), draft.count[name])
        for name, domain in domains.items()
    }
    return SyntheticTable(pa.table(columns), {name: draft.count[name] for name in types}, (*families.notes, *notes))


def _codes(draft: ColumnCodes, name: str, *, falling: bool) -> NDArray[np.int64]:
    return draft.count[name] - 1 - draft.codes[name] if falling else draft.codes[name]


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


@dataclass(frozen=True)
class Level:
    """Columns that determine one another, and how many values each has."""

    columns: tuple[str, ...]
    count: int


def levels_of(
    families: Families, domains: Mapping[str, Domain], distinct: Mapping[str, int], usual: int
) -> tuple[list[list[Level]], list[str]]:
    """Order every family by its dependencies; a column never has more values than a column that determines it.

    Parameters
    ----------
    domains
        The domain of each column; its size bounds the column's number of values.
    distinct
        Requested numbers of distinct values, by column.
    usual
        Number of distinct values of the other columns; more where a coarser level has more.

    Returns
    -------
    (levels of each family, notes)
        The notes name the columns whose number of values differs from the requested one.
    """
    notes: list[str] = []
    arranged = []
    for family, members in enumerate(families.members):
        head = families.function_of[family][1] if family in families.function_of else None
        wanted = {name: distinct.get(name, usual) for name in members}
        groups = _fine_to_coarse(members, families.determines, wanted, head)
        counts = _counts(groups, domains, distinct, usual)
        levels = [
            Level(group, 1 if families.constant.issuperset(group) else count)
            for group, count in zip(groups, counts, strict=True)
        ]
        arranged.append(levels)
        notes += [
            f"{name} has {level.count:,} distinct values, not {distinct[name]:,}: the constraints allow no more"
            for level in levels
            for name in level.columns
            if name in distinct and distinct[name] != level.count
        ]
    return arranged, notes


def _counts(
    groups: list[tuple[str, ...]], domains: Mapping[str, Domain], distinct: Mapping[str, int], usual: int
) -> list[int]:
    """Return numbers of values, never rising: those requested; else at least as many as the next coarser level has."""
    counts: list[int] = []
    for group in reversed(groups):
        asked = [distinct[name] for name in group if name in distinct]
        counts.insert(0, min(asked) if asked else max(usual, *counts[:1], 1))
    for k, group in enumerate(groups):
        limits = [size for name in group if (size := domains[name].size) is not None]
        counts[k] = min([counts[k], *counts[max(k - 1, 0) : k], *limits])
    return counts


def _fine_to_coarse(
    members: tuple[str, ...], determines: frozenset[tuple[str, str]], wanted: Mapping[str, int], head: str | None
) -> list[tuple[str, ...]]:
    """Sort columns so that each comes after the columns that determine it; group those that determine one another."""
    coarser = {name: {other for finer, other in determines if finer == name} for name in members}
    below = {name: reachable(coarser, coarser[name]) for name in members}
    groups = {tuple(o for o in members if o == n or (o in below[n] and n in below[o])) for n in members}
    left, arranged = sorted(groups), []
    while left:
        ready = [group for group in left if not any(group[0] in below[other[0]] for other in left if other != group)]
        best = max(ready, key=lambda group: (head in group, max(wanted[name] for name in group)))
        left.remove(best)
        arranged.append(best)
    return arranged

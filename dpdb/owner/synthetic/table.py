"""`synthesize`: a clean table of a given shape, seeded, to plan with instead of a private table. It reads no table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpdb.constraints import DenialConstraint, key_columns
from dpdb.errors import ParameterError
from dpdb.owner.synthetic.domains import Domain, domain_of
from dpdb.owner.synthetic.families import Families, find_families
from dpdb.owner.synthetic.levels import Level, levels_of

__all__ = [
    "ColumnCodes",
    "SyntheticTable",
    "synthesize",
]


Codes = NDArray[np.int64]


class ColumnCodes:
    """Codes of all columns. A family that is a function of others, or completes a key with them, comes after them.

    Parameters
    ----------
    rows : int
    families : Families
    levels : sequence of sequence of Level
        The levels of each family.
    most : mapping of str to int
        Largest number of values of a column, whatever a key needs; other columns have no limit.

    Attributes
    ----------
    codes : dict
        Column -> int64 codes from 0, shape `(rows,)`; filled by `draw`.
    count : dict
        Column -> number of its codes.
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
            if self._is_free(home) and name in self._levels[home][0].columns and homes.count(home) == 1:
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

    def _is_free(self, family: int) -> bool:
        return family not in self._families.function_of and family not in self._counted

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
    rows : pyarrow.Table
        The constrained columns.
    distinct : dict
        Column -> the number of values that it may take.
    notes : tuple of str
        Differences from the request, in words.
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

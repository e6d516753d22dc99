"""The counts of the suites of a set of tables: rows used of each unit, or units that own violating rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, cast

from dpdb.constraints import DISTINCT_VALUES, Limit, Statistic, known_rows
from dpdb.engine import OwnerQuestion, OwnersBroken, Table, WherePredicate, unit_column
from dpdb.errors import ParameterError
from dpdb.release import PrivateSlices
from dpdb.suites.counted import (
    CheckedLimit,
    CountedSuite,
    RulePlaces,
    as_tested,
    is_known_by_text,
    row_local_lines,
)
from dpdb.suites.mechanism.capped import CappedSums, Cell
from dpdb.suites.numbers import RowLocal
from dpdb.suites.suite import Suite, SuiteLine

if TYPE_CHECKING:
    import pyarrow as pa

UNITS = "units"
"""The statistic of a check that counts units."""


@dataclass(frozen=True)
class RowsUsed:
    """A suite on one table of the set: at most k rows of each unit are used, and rows are counted.

    Sensitivity: that of `counted_suite` with a unit of k rows. With private parents, too, because a unit more is at
    most k rows more of the table that is read (`dpdb.release.privacy_unit`).
    """

    counted: CountedSuite
    empty: CountedSuite

    @property
    def limits(self) -> tuple[CheckedLimit, ...]:
        """The limits that are tested."""
        return self.counted.limits

    @property
    def single(self) -> list[bool]:
        """By line, whether it is a rule on single rows."""
        return self.counted.single

    @property
    def reach(self) -> int:
        """How many rows of a unit are used."""
        return self.counted.table.unit.rows

    @property
    def moves(self) -> list[int]:
        """By line, how many rows one unit changes its count by at most."""
        return self.counted.moves

    @property
    def share_rows(self) -> list[tuple[Hashable, int] | None]:
        """By limit, which rows a share is of, and how many of them one unit has at most."""
        return self.counted.share_rows

    @property
    def owner_type(self) -> str:
        """The type of the unit's column."""
        return self.counted.owner_type

    def broken(self, lines: Sequence[int]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Return who breaks some lines, by how many of the rows used. Private."""
        try:
            yield from self.counted.by_owner(PrivateSlices(self.counted.table.opened), None, lines)
        finally:
            self.counted.table.opened.forget_rows()

    def counts(self) -> list[tuple[Fraction, int]]:
        """Return the exact counts by limit. Private."""
        slices = PrivateSlices(self.counted.table.opened)
        try:
            return self.counted.counts(slices, None)
        finally:
            slices.forget()
            self.counted.table.opened.forget_rows()  # else those of all tables are held at once

    def rehearse(self) -> None:
        """Count over no row."""
        self.counted.load()
        slices = PrivateSlices(self.empty.table.opened)
        try:
            self.empty.ask_of_no_rows(slices, [None])
        finally:
            slices.forget()


@dataclass(frozen=True)
class OwnedTable:
    """A suite on one table of the set: it counts the units that own a violating row.

    Attributes
    ----------
    opened, empty : Table
        The table, and one of its schema without rows.
    unit : str
        The column whose values own the rows, as the table spells it.
    wheres : mapping
        The conditions of its lines and limits, bound, by their texts.
    """

    suite: Suite
    limits: tuple[CheckedLimit, ...]
    opened: Table
    empty: Table
    unit: str
    wheres: Mapping[str | None, WherePredicate | None]

    reach = 1

    @property
    def single(self) -> list[bool]:
        """By line, whether it is a rule on single rows."""
        return [
            line.rule is not None and line.rule.is_single_tuple and line.statistic == "violations"
            for line in self.suite.lines
        ]

    @property
    def moves(self) -> list[int]:
        """By line, 1: by so many one unit changes how many units violate."""
        return [1] * len(self.suite.lines)

    @property
    def share_rows(self) -> list[tuple[Hashable, int] | None]:
        """By limit, which units a share is of; one unit is one of them at most."""
        found = [tuple(_of(self.suite.lines[each.line], each.limit)) for each in self.limits]
        return [(of, 1) if each.tested.rate else None for each, of in zip(self.limits, found, strict=True)]

    @property
    def owner_type(self) -> str:
        """The type of the unit's column."""
        return self.opened.schema[self.unit].declared_type

    def broken(self, lines: Sequence[int]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Return who breaks some lines with any row. Private."""
        return self._broken(self.opened, lines)

    def _broken(self, table: Table, lines: Sequence[int]) -> Iterator[tuple[int, pa.RecordBatch]]:
        places = RulePlaces(each.constraint for each in table.constraints)
        rules = [table.constraints[places.of(self.suite.lines[line])] for line in lines]
        return table.broken_by_owner(None, rules, self.unit, "any")

    def counts(self) -> list[tuple[Fraction, int]]:
        """Return by limit how many units violate, and how many a share is of. Private."""
        return self._counts(self.opened)

    def rehearse(self) -> None:
        """Count over no row: what fails for public reasons fails here."""
        self._counts(self.empty)
        single = [line for line, is_single in enumerate(self.single) if is_single]
        for _ in self._broken(self.empty, single):
            pass

    def _counts(self, table: Table) -> list[tuple[Fraction, int]]:
        places = RulePlaces(each.constraint for each in table.constraints)
        asked: dict[object, OwnerQuestion] = {}
        for each in self.limits:
            line = self.suite.lines[each.line]
            asked["violates", each.line] = (
                self.wheres[line.where] if line.rule is None else table.constraints[places.of(line)]
            )
            for place, where in _of(line, each.limit).items():
                asked[place] = self.wheres[where]
        found = dict(zip(asked, table.count_owners(self.unit, [*asked.values()]), strict=True))
        return [
            (
                Fraction(found["violates", each.line]),
                sum(found[place] for place in _of(self.suite.lines[each.line], each.limit)),
            )
            for each in self.limits
        ]


def owned_table(suite: Suite, opened: Table, empty: Table, unit: str) -> OwnedTable:
    """Return a suite that counts the units of a table. Reads no row.

    Sensitivity
    -----------
    A unit with all its rows changes how many units violate, and how many have a row, by 0 or 1 (`dpdb.engine.owners`;
    of keys those who repeat a value and disjoint pairs who share one, `dpdb.engine.owners`):
    f - p n by -p to 1.
    """
    for line in suite.lines:
        if any(limit.used for limit in line.limits):
            raise ParameterError(
                f"check {line.name!r}: units are counted here, whatever number of rows they have; leave out 'used "
                "rows', or count rows with max_rows (--max-rows)"
            )
        if line.statistic == DISTINCT_VALUES:
            raise ParameterError(
                f"check {line.name!r}: units are counted here, and a unit may have any number of values; count those "
                "of some rows of each with max_rows (--max-rows)"
            )
    limits = tuple(
        CheckedLimit.of(line, place, limit, as_tested(line, limit, 1, Fraction(1), halves=False))
        for place, line in enumerate(suite.lines)
        for limit in line.limits
    )
    wheres: dict[str | None, WherePredicate | None] = {None: None}
    for line in suite.lines:
        counted = [line.where] if line.rule is None else []
        for where in [*counted, *(text for limit in line.limits for text in _of(line, limit).values())]:
            if where not in wheres:
                wheres[where] = None if where is None else opened.selected(where)
    return OwnedTable(suite, limits, opened, empty, unit_column(unit, opened.schema), wheres)


def _of(line: SuiteLine, limit: Limit) -> dict[object, str | None]:
    """Return the conditions of the units that a limit is a share of, by keys; a unit needs one row that meets one."""
    if limit.unit == "share":
        return {"all": None}
    if limit.unit == "share of non-null" and line.rule is not None:
        known = known_rows(line.rule)
        return {("known", known): known}
    return {("selected", line.where): line.where} if limit.unit == "share of selected" else {}


class CountedSet:
    """The suites of all tables as one for a run, as `CountedSuite` is that of one table.

    Parameters
    ----------
    tables : sequence of (str, Suite, RowsUsed or OwnedTable)
        By name, in the order in which the checks are tested and shown.
    protects : str
        What neighbouring sets of tables differ by, in words.
    """

    def __init__(self, tables: Sequence[tuple[str, Suite, RowsUsed | OwnedTable]], protects: str) -> None:
        self.protects = protects
        self._tables = [counted for _, _, counted in tables]
        named = Counter(line.name.casefold() for _, suite, _ in tables for line in suite.lines)
        lines: list[SuiteLine] = []
        limits: list[CheckedLimit] = []
        for name, suite, counted in tables:
            first = len(lines)
            lines += [_of_set(line, name, named, counted) for line in suite.lines]
            for each in counted.limits:
                line = lines[first + each.line]
                tested = replace(each.tested, name=line.name)
                limits.append(CheckedLimit.of(line, first + each.line, each.limit, tested, each.population))
        self.suite, self.limits = Suite(tuple(lines)), tuple(limits)

    others: tuple[str, ...] = ()
    """None: no table is compared with another one."""

    also_charged: Sequence[str] = ()
    """None: one ledger counts for the unit in all tables."""

    def rehearse(self, where: WherePredicate | None) -> None:
        """Count over no row of any table."""
        _refuse_slices(where)
        for table in self._tables:
            table.rehearse()

    def ask_of_no_rows(self, slices: PrivateSlices, predicates: Sequence[WherePredicate | None]) -> None:
        """Ask nothing more: the rehearsal of each table has."""

    def load(self) -> None:
        """Load nothing more: the rehearsal has."""

    @cached_property
    def row_local(self) -> RowLocal:
        """The lines with rules on single rows, of all tables: units own rows in any of them."""
        single = [is_single for table in self._tables for is_single in table.single]
        reach = max(table.reach for table in self._tables)
        if not all(is_known_by_text(table.owner_type) for table in self._tables):
            return RowLocal()
        return row_local_lines(self.limits, single, reach=reach, owned=True)

    @property
    def moves(self) -> list[int]:
        """By line, how much one unit changes its count by at most."""
        return [each for table in self._tables for each in table.moves]

    @property
    def share_rows(self) -> list[tuple[Hashable, int] | None]:
        """By limit, which rows or units of which table a share is of, and how many of them one unit has at most."""
        return [
            None if each is None else ((place, each[0]), each[1])
            for place, table in enumerate(self._tables)
            for each in table.share_rows
        ]

    def broken(
        self, slices: PrivateSlices, predicates: Sequence[WherePredicate | None], cells: Sequence[Cell]
    ) -> CappedSums:
        """Scan the tables for what units break of some lines together: the sum is over all tables. Private."""
        del slices, predicates
        lines = [line for _, line in cells]
        owners, places = self.owners(lines)
        found = owners.counts([places[line] for line in lines])
        return CappedSums(found.tops, found.counts)

    def owners(self, lines: Sequence[int]) -> tuple[OwnersBroken, dict[int, int]]:
        """Return who breaks some lines, and by line the place of its statistic; table by table. Private."""
        owners, first = OwnersBroken(), 0
        places: dict[int, int] = {}
        for table in self._tables:
            own = [line for line in lines if first <= line < first + len(table.single)]
            if own:
                for at, batch in table.broken([line - first for line in own]):
                    owners.add(batch, len(places) + at)
            places |= {line: len(places) + at for at, line in enumerate(own)}
            first += len(table.single)
        return owners, places

    def counts(self, slices: PrivateSlices, where: WherePredicate | None) -> list[tuple[Fraction, int]]:
        """Return of each limit the exact count; each table is read once. Private."""
        del slices
        _refuse_slices(where)
        return [count for table in self._tables for count in table.counts()]


def _refuse_slices(where: WherePredicate | None) -> None:
    if where is not None:
        raise ParameterError("a suite over a set of tables has no slices")


def _of_set(line: SuiteLine, table: str, named: Counter[str], counted: RowsUsed | OwnedTable) -> SuiteLine:
    """Return a line as one of the set: with its table before a name that another table's check has, too."""
    name = f"{table}.{line.name}" if named[line.name.casefold()] > 1 else line.name
    return replace(
        line, name=name, statistic=cast(Statistic, UNITS) if isinstance(counted, OwnedTable) else line.statistic
    )

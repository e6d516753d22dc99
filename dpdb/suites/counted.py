"""The counts of a suite's checks, and their exact numbers in a slice: chosen from rules and schema alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, cast

from dpdb.constraints import DECISION_BITS, DISTINCT_VALUES, ROW_COUNT, VIOLATIONS, DenialConstraint, Limit, known_rows
from dpdb.engine import (
    BoundConstraint,
    OwnersBroken,
    RuleStatistic,
    WherePredicate,
    load_counting,
    why_no_decisions,
)
from dpdb.errors import ParameterError, PredicateError, UnknownColumnError
from dpdb.predicates import TRUE, Node, all_of
from dpdb.release import PrivateSlices, PublicTable, load_kernels
from dpdb.suites.mechanism.capped import CappedSums, Cell
from dpdb.suites.mechanism.plan import Tested
from dpdb.suites.numbers import RowLocal
from dpdb.suites.suite import Suite, SuiteLine

if TYPE_CHECKING:
    import pyarrow as pa

    from dpdb.engine import StatisticKind
    from dpdb.suites.compared import ComparedLine


@dataclass(frozen=True)
class CheckedLimit:
    """One limit of one line: what is tested.

    Attributes
    ----------
    line : int
        Place of the line in the suite.
    name : str
        Of the line; with the severity where the line has two limits. No other limit of the suite has it.
    population : str or None
        The rows that are counted, in words; None for all rows, and for units.
    rows : int or None
        Of how new rows are: how many there are at least whenever the table is fresh, if the line says so.
    """

    line: int
    limit: Limit
    name: str
    tested: Tested
    population: str | None = None
    rows: int | None = None

    @classmethod
    def of(
        cls, line: SuiteLine, place: int, limit: Limit, tested: Tested, population: str | None = None
    ) -> CheckedLimit:
        """Return a limit of the line at a place of the suite."""
        alike = sum(each.severity == limit.severity for each in line.limits)
        said = limit.severity if alike == 1 else f"{limit.severity} {limit.direction}"
        name = line.name if len(line.limits) == 1 else f"{line.name} ({said})"
        return cls(place, limit, name, tested, population, None if line.fresh is None else line.fresh.rows)


@dataclass(frozen=True)
class _Counted:
    """How one line is counted.

    Attributes
    ----------
    position : int or None
        Of its rule among the table's constraints; None for `row_count`.
    statistic : RuleStatistic or None
        The closed form; None for `row_count`, for comparisons, and where only the fractional cover is known.
    rows : WherePredicate or None
        Of `row_count`, the rows that it counts.
    known : WherePredicate or None
        Of a share of non-null rows, those rows.
    selected : WherePredicate or None
        Of a share of the rows that the rule selects, those rows.
    """

    position: int | None
    statistic: RuleStatistic | None
    rows: WherePredicate | None
    known: WherePredicate | None
    selected: WherePredicate | None = None

    @property
    def is_single(self) -> bool:
        """Whether the statistic is the rows that violate a rule on single rows."""
        return self.statistic is not None and self.statistic.kind == "violations" and self.statistic.form is None

    @property
    def is_cover(self) -> bool:
        """Whether the statistic is the fractional vertex cover, in halves."""
        return self.position is not None and self.statistic is None


@dataclass(frozen=True)
class CountedSuite:
    """A suite on a table.

    Attributes
    ----------
    limits : tuple of CheckedLimit
        In the order of the file; of a line with two limits both, as written.
    compared : mapping of int to ComparedLine
        What lines compare with other tables, by their places.
    """

    suite: Suite
    limits: tuple[CheckedLimit, ...]
    table: PublicTable
    _lines: tuple[_Counted, ...]
    compared: Mapping[int, ComparedLine] = field(default_factory=dict)

    @property
    def others(self) -> tuple[str, ...]:
        """The other tables that its lines compare with theirs, as they call them, each once."""
        names = {each.name.casefold(): each.name for each in self.compared.values()}
        return tuple(names.values())

    @property
    def also_charged(self) -> list[str]:
        """The other private tables whose accounts pay for it, too, as its lines call them."""
        children = self.table.unit.children
        names = [
            *([] if children is None else children.parents),
            *(each.name for each in self.compared.values() if each.pays),
        ]
        return [*{name.casefold(): name for name in names}.values()]

    @property
    def needs_graph(self) -> bool:
        """Whether a fractional cover is counted, for which the rows in conflict are read."""
        return any(counted.is_cover for counted in self._lines)

    @property
    def brings_rows(self) -> bool:
        """Whether rows of another engine's table come here: for a cover, or a closed form that needs them."""
        closed = [counted.statistic for counted in self._lines if counted.statistic is not None]
        return self.needs_graph or not all(each.by_aggregates for each in closed)

    @property
    def protects(self) -> str:
        """The table's unit, in words; and those of tables that it is compared with."""
        paid = [each for each in self.compared.values() if each.pays]
        beside = {each.name.casefold(): f"{each.unit.words} of {each.name}" for each in paid}
        return ", or ".join([self.table.unit.words, *beside.values()])

    @cached_property
    def row_local(self) -> RowLocal:
        """The lines whose statistic is a sum over units of what the unit's own rows break: rules on single rows.

        Units are rows, or own rows by a column whose values have one text each. Where a unit has rows that nothing
        tells apart, or a row of another table decides over several, what a unit breaks is not known, and none is.
        """
        unit = self.table.unit
        if unit.children is not None or (unit.column is None and unit.rows > 1):
            return RowLocal()
        if unit.column is not None and not is_known_by_text(self.owner_type):
            return RowLocal()
        return row_local_lines(self.limits, self.single, reach=unit.rows, owned=unit.column is not None)

    @property
    def moves(self) -> list[int]:
        """By line, how many rows (or bits) one unit changes its count by at most; see `counted_suite`."""
        return [
            self.table.unit.rows * _most_moved(line) if line.other is None else self.compared[place].reach
            for place, line in enumerate(self.suite.lines)
        ]

    @property
    def share_rows(self) -> list[tuple[Hashable, int] | None]:
        """By limit, which rows a share is of, and how many of them one unit has at most; None if it is no share."""
        return [
            None if not each.tested.rate else (tuple(map(_key, self._rows(each, None))), self.table.unit.rows)
            for each in self.limits
        ]

    def broken(
        self, slices: PrivateSlices, predicates: Sequence[WherePredicate | None], cells: Sequence[Cell]
    ) -> CappedSums:
        """Scan the slices for what rows, or the owners of rows, break of some lines together. Private."""
        unit = self.table.unit.column
        if unit is None:
            [key] = {key for key, _ in cells}
            found = slices.broken(predicates[key], [self._rule(line) for _, line in cells])
            return CappedSums(found.tops, found.counts)
        owners, first = OwnersBroken(), 0
        for key, mine in groupby(cells, key=lambda cell: cell[0]):
            lines = [line for _, line in mine]
            for place, batch in self.by_owner(slices, predicates[key], lines):
                owners.add(batch, first + place)
            first += len(lines)
        found = owners.counts(range(len(cells)))
        return CappedSums(found.tops, found.counts)

    def by_owner(
        self, slices: PrivateSlices, where: WherePredicate | None, lines: Sequence[int]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Return who breaks some lines, by how many of his rows. Private."""
        assert self.table.unit.column is not None, "units own rows"
        return slices.broken_by_owner(where, [self._rule(line) for line in lines], self.table.unit.column, "rows")

    @property
    def single(self) -> list[bool]:
        """By line, whether it is a rule on single rows."""
        return [counted.is_single for counted in self._lines]

    @property
    def owner_type(self) -> str:
        """The type of the unit's column."""
        return self.table.opened.schema[self.table.unit.column or ""].declared_type

    def _rule(self, line: int) -> BoundConstraint:
        position = self._lines[line].position
        assert position is not None, "a row-local line has a rule"
        return self.table.bound[position]

    def rehearse(self, where: WherePredicate | None) -> None:
        """Count the rows of its limits over none."""
        self.table.opened.rehearse(self.counted_rows(where), counts=True)

    def ask_of_no_rows(self, slices: PrivateSlices, predicates: Sequence[WherePredicate | None]) -> None:
        """Ask what `counts` will ask, of a table without rows: all of the first slice, the predicates of the others."""
        first = predicates[0]
        if len(predicates) > 1:
            slices.counts(predicates)
        for compared in self._comparisons:
            compared.tables.rehearse("left", slices)
        replace(self, compared={}).counts(slices, first)
        for counted in self._lines:
            if counted.is_cover:
                slices.statistics(first, counted.position).rehearse(["twice_fractional_cover"])
        if local := {*self.row_local.lines, *self.row_local.only_above}:
            self.broken(slices, predicates, [(0, line) for line in sorted(local)])

    def ask_beside(self, name: str, slices: PrivateSlices) -> None:
        """Ask what `counts` will ask of another table, of one without rows."""
        for compared in self._comparisons:
            if compared.name.casefold() == name.casefold():
                compared.tables.rehearse("right", slices)

    @property
    def _comparisons(self) -> list[ComparedLine]:
        """Those that are made, each once."""
        return [*{id(each): each for each in self.compared.values()}.values()]

    def load(self) -> None:
        """Load the kernels of its statistics. Reads no row."""
        bound = self.table.bound
        for counted in self._lines:
            rules = [] if counted.position is None else [bound[counted.position]]
            if counted.is_cover:
                load_kernels(rules, ["twice_fractional_cover"], lists_edges=self.table.opened.lists_edges)
            elif rules:
                load_counting(rules)

    def counted_rows(self, where: WherePredicate | None) -> list[WherePredicate | None]:
        """Return what rows are counted in a slice, for `row_count` and for shares: each once."""
        asked = {_key(predicate): predicate for each in self.limits for predicate in self._rows(each, where)}
        return [*asked.values()]

    def counts(self, slices: PrivateSlices, where: WherePredicate | None) -> list[tuple[Fraction, int]]:
        """Return of each limit the exact count in a slice, and the rows that a share is of (0: no share). Private."""
        closed = [counted.statistic for counted in self._lines if counted.statistic is not None]
        exact = iter(slices.exact(where, closed))
        asked = self.counted_rows(where)
        rows = dict(zip(map(_key, asked), slices.counts(asked) if asked else (), strict=True))
        keys = {id(each): each.counts(slices) for each in self._comparisons}
        violations: list[Fraction | None] = []
        for place, (line, counted) in enumerate(zip(self.suite.lines, self._lines, strict=True)):
            if line.other is not None:
                of_keys = keys[id(self.compared[place])] if self.compared else {}  # else no row is there
                violations.append(Fraction(of_keys.get(line.statistic, 0)))
            elif counted.position is None:
                violations.append(None)
            elif counted.statistic is not None:
                violations.append(Fraction(next(exact), counted.statistic.parts))
            else:
                statistics = slices.statistics(where, counted.position)
                cover = Fraction(statistics.twice_fractional_cover().value, 2)
                violations.append(statistics.self_conflicts + cover)
        found: list[tuple[Fraction, int]] = []
        for each in self.limits:
            count, of_rows = violations[each.line], [rows[_key(one)] for one in self._rows(each, where)]
            found.append((Fraction(of_rows[0]), 0) if count is None else (count, sum(of_rows)))
        return found

    def _rows(self, each: CheckedLimit, where: WherePredicate | None) -> list[WherePredicate | None]:
        """Return the rows that a limit counts in a slice, or that it is a share of; none for other limits."""
        counted = self._lines[each.line]
        if self.suite.lines[each.line].other is not None:
            return []
        if counted.position is None:
            return [_among(where, counted.rows)]
        of = {
            "rows": [],
            "share": [where],
            "share of non-null": [_among(where, counted.known)],
            "share of selected": [_among(where, counted.selected)],
        }
        return of[each.limit.unit]


_BLURRED = ("FLOAT", "DOUBLE", "INTERVAL", "TIME WITH TIME ZONE")


def is_known_by_text(declared_type: str) -> bool:
    """Return whether equal values of a type have one text: owners are told apart by it over slices and tables."""
    return declared_type not in _BLURRED


_LARGEST_SHARE = Fraction(1, 2)


def row_local_lines(limits: Sequence[CheckedLimit], single: Sequence[bool], *, reach: int, owned: bool) -> RowLocal:
    """Return the lines with rules on single rows that have a limit above; `single` says which rules these are.

    Those with a limit of rows are first: records of versions that knew no others number them so. Lines that allow more
    than a half are not among them: where many rows may break a check, k grows for all that a number is drawn of.
    """
    above = [(test, each) for test, each in enumerate(limits) if single[each.line] and each.limit.direction == "above"]
    of_rows = [each.line for _, each in above if each.limit.unit == "rows"]
    small = [each.line for _, each in above if each.limit.unit != "rows" and each.limit.amount <= _LARGEST_SHARE]
    tests: dict[int, list[int]] = {line: [] for line in (*of_rows, *small)}
    for test, each in above:
        if each.line in tests:
            tests[each.line].append(test)
    below = {each.line for each in limits if each.limit.direction == "below"}
    only_above = tuple(sorted({each.line for _, each in above} - below))
    return RowLocal(tuple(tests), tuple(map(tuple, tests.values())), reach, owned, only_above)


class RulePlaces:
    """Where a table has the rules of lines, which may write parents and their columns in letters of another case."""

    def __init__(self, constraints: Iterable[DenialConstraint]) -> None:
        self._as_written = {each: place for place, each in enumerate(constraints)}

    @cached_property
    def _canonical(self) -> dict[DenialConstraint, int]:
        return {each.canonical(): place for each, place in self._as_written.items()}

    def of(self, line: SuiteLine) -> int:
        """Return the place of a line's rule."""
        place = self.find(line)
        if place is None:
            raise ParameterError(
                f"check {line.name!r}: its rule is none of the table's constraints; "
                "open the table with the suite's rules, as dpdb.check does"
            )
        return place

    def find(self, line: SuiteLine) -> int | None:
        """Return the place of a line's rule; None if the table does not have it."""
        assert line.rule is not None, "it is a line with a rule"
        place = self._as_written.get(line.rule)
        if place is None:
            place = self._canonical.get(line.rule.canonical())
        if place is None and line.rule.inclusions:
            from dpdb.engine import folded_parents  # most suites have no parents

            wanted = folded_parents(line.rule).canonical()
            like = [place for each, place in self._canonical.items() if folded_parents(each).canonical() == wanted]
            place = like[0] if len(like) == 1 else None
        return place


def counted_suite(table: PublicTable, suite: Suite, compared: Mapping[int, ComparedLine] | None = None) -> CountedSuite:
    """Return a suite on a table whose constraints have all its rules. Reads no row.

    Parameters
    ----------
    compared
        What lines compare with other tables, by their places; `dpdb.suites.compared` has its sensitivity.

    Sensitivity
    -----------
    One row changes the fewest rows to delete (exact or the fractional cover), `row_count`, distinct and duplicate
    values by 0 or 1, rows in duplicates by 0 to 2, decision bits by 0 to one bit, which counts as a row; f - p n, for a
    share p of n rows, by -p to (that) - p if no row is counted in f that is not counted in n, else by -p to (that). A
    unit of k rows: k times as much. So it is beside private parents: what is read of a table and of one without a unit
    (`dpdb.release.privacy_unit`), or of two that differ in a row of either table (`dpdb.release.limited_children`,
    whose d is k here), are the ends of a path of at most k steps of one row each, and a transcript loses at each step
    at most what it loses by one row.

    Raises
    ------
    ParameterError
        If a rule is none of the table's constraints, or a limit is about something that the rule does not count.
    """
    bound, unit, found = table.bound, table.unit, compared or {}
    population = unit.population
    places = RulePlaces(rule.constraint for rule in bound)
    lines = tuple(_counted(table, bound, line, places) for line in suite.lines)
    alone = next(
        (line for place, line in enumerate(suite.lines) if line.other is not None and place not in found), None
    )
    if alone is not None:
        raise ParameterError(f"check {alone.name!r} compares two tables, and here is one")
    limits = [
        CheckedLimit.of(line, place, limit, _tested(line, limit, unit.rows, halves=counted.is_cover), population)
        if place not in found
        else CheckedLimit.of(line, place, limit, found[place].tested(line, limit))
        for place, (line, counted) in enumerate(zip(suite.lines, lines, strict=True))
        for limit in line.limits
    ]
    return CountedSuite(suite, tuple(limits), table, lines, found)


def refuse_unsaid(suite: Suite, limits: Iterable[CheckedLimit]) -> None:
    """Refuse a limit that reads as if it were of all rows of the table, where a unit's limit leaves some out.

    Raises
    ------
    ParameterError
        A limit of `row_count` or distinct values, or a share, does not say that it is of the rows used; the message has
        its words.
    """
    for each in limits:
        line = suite.lines[each.line]
        statistic = line.statistic
        counts = statistic in (ROW_COUNT, DISTINCT_VALUES)
        if each.population is None or each.limit.used or (not counts and each.limit.unit == "rows"):
            continue
        if line.fresh is not None and each.limit.amount == 1:  # a used row that is new is a new row of the table
            continue
        raise ParameterError(
            f"check {each.name!r}: {each.limit.written(statistic)!r} reads as if it were of all rows, and what is "
            f"counted is {each.population}; write {replace(each.limit, used=True).written(statistic)!r}, with a number "
            "for these rows"
        )


def refuse_same_names(names: Iterable[str]) -> None:
    """Raise `ParameterError` if a ledger could not tell two tests apart."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ParameterError(
                f"two checks would be called {name!r}, as a line with two limits and a slice are; name one otherwise"
            )
        seen.add(name)


def _counted(table: PublicTable, bound: Sequence[BoundConstraint], line: SuiteLine, places: RulePlaces) -> _Counted:
    opened = table.opened
    if line.other is not None:
        return _Counted(None, None, None, None)
    if line.rule is None or line.statistic == "row_count":
        assert line.where is not None or line.fresh is None, "a suite of how new rows are is one of a moment"
        return _Counted(None, None, None if line.where is None else _where(table, line), None)
    position = places.of(line)
    kind = cast("StatisticKind", line.statistic)  # checks of the columns and of keys are apart
    statistic = opened.exact_statistic([bound[position]], kind, reversed_go=True)
    if line.statistic == DECISION_BITS:
        _refuse_bits(table, line, position, has_bits=statistic is not None)
    if statistic is None and line.statistic != "violations":
        raise ParameterError(f"check {line.name!r}: only a key has {line.statistic}")
    known = None
    if any(limit.unit == "share of non-null" for limit in line.limits):
        known = opened.where(known_rows(line.rule))
    return _Counted(position, statistic, None, known, None if line.where is None else _where(table, line))


def _refuse_bits(table: PublicTable, line: SuiteLine, position: int, *, has_bits: bool) -> None:
    """Refuse bits where the rule has none, or where one row of another table changes many rows of this one."""
    if table.unit.children is not None and table.unit.children.links:
        raise ParameterError(
            f"check {line.name!r}: bits do not go with single rows as units beside a private parent; protect the key "
            "with all its rows: --unit and --max-rows"
        )
    if not has_bits:
        why = why_no_decisions([table.bound[position]], table.opened.schema)
        raise ParameterError(f"check {line.name!r}: its rule has no decision bits: {why}")


def _where(table: PublicTable, line: SuiteLine) -> WherePredicate:
    try:
        return (table.opened.where if line.rule is None else table.opened.selected)(str(line.where))
    except (PredicateError, UnknownColumnError) as error:
        raise type(error)(f"check {line.name!r}: {error}") from None


def limits_without_table(suite: Suite) -> tuple[list[CheckedLimit], RowLocal]:
    """Return what is tested where a row is the unit and every rule has a closed form, before a table is known."""
    limits = [
        CheckedLimit.of(line, place, limit, _tested(line, limit, 1, halves=False))
        for place, line in enumerate(suite.lines)
        for limit in line.limits
    ]
    single = [
        line.rule is not None and line.rule.is_single_tuple and line.statistic == VIOLATIONS for line in suite.lines
    ]
    return limits, row_local_lines(limits, single, reach=1, owned=False)


def _tested(line: SuiteLine, limit: Limit, unit: int, *, halves: bool) -> Tested:
    if line.other is not None:
        from dpdb.suites.compared import tested_keys  # few suites compare tables

        return tested_keys(line, limit, unit)
    high = Fraction(_most_moved(line))
    if limit.unit == "share" or (limit.unit != "rows" and _counts_known_rows_only(line)):
        high -= limit.amount
    return as_tested(line, limit, unit, high, halves=halves)


def _most_moved(line: SuiteLine) -> int:
    """Return how many rows (or bits) one row changes the count of a line by at most."""
    return 2 if line.statistic == "rows in duplicates" else 1


def as_tested(line: SuiteLine, limit: Limit, unit: int, high: Fraction, *, halves: bool) -> Tested:
    """Return what is tested of a limit.

    Parameters
    ----------
    unit
        Of how many rows a unit is; each changes the statistic by 0 to `high`, less the share if the limit is one.
    high
        The most that one row changes.
    halves
        Whether the statistic moves by half rows.
    """
    share = None if limit.unit == "rows" else limit.amount
    return Tested(
        low=-unit * (share or Fraction(0)),
        high=unit * high,
        direction=limit.direction,
        limit=limit.amount if share is None else Fraction(0),
        severity=limit.severity,
        rate=share,
        halves=halves,
        bits=line.statistic == DECISION_BITS,
        name=line.name,
    )


def _counts_known_rows_only(line: SuiteLine) -> bool:
    """Whether a row that is counted has a value in every column of the rule: it compares them, and computes nothing."""
    return line.rule is not None and line.rule.is_single_tuple and not line.rule.computed


def _key(predicate: WherePredicate | None) -> Node:
    return TRUE if predicate is None else predicate.tree


def _among(where: WherePredicate | None, rows: WherePredicate | None) -> WherePredicate | None:
    if where is None or rows is None:
        return rows or where
    return WherePredicate(f"({where.text}) AND ({rows.text})", all_of([where.tree, rows.tree]))

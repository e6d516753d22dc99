"""Suites as values, read from files and texts: checks with their limits, in the order of a file."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from dpdb.constraints import (
    ColumnNames,
    ComparedWith,
    ConstraintLine,
    DenialConstraint,
    Freshness,
    Limit,
    Statistic,
    WrittenLines,
    condition_with_members,
    load_lines,
    shortened,
    written_lines,
)
from dpdb.errors import ConstraintSyntaxError, ParameterError, PredicateError, UnknownColumnError
from dpdb.predicates import refuse_unknown_parts
from dpdb.suites.schema_checks import SchemaCheck


@dataclass(frozen=True)
class SuiteLine:
    """One check: a rule, or the number of rows, with its limits.

    Attributes
    ----------
    name : str
        As the file names it, else the text of the rule. No other line of the suite has it in any case.
    rule : DenialConstraint or None
        None for `row_count`.
    where : str or None
        The rows that `row_count` counts, as SQL; None for all rows, and of freshness until it is of a moment. Of a
        rule, which has its own condition, the rows that a limit is a share of; None without such a limit. Of a
        comparison the keys, with this table's names.
    statistic : str
        What the limits are about: `violations` (the fewest rows to delete), `row_count`, `duplicate values` or
        `rows in duplicates` (of a key), `decision bits`, or keys of two tables (`dpdb.constraints.OF_KEYS`).
    limits : tuple of Limit
        One or two; of two, one warns and one fails, in the order written.
    text : str
        The rule as it is written, without name and limits.
    number : int
        The number of the line in its file or text, from 1.
    fresh : Freshness or None
        How new the rows are that it counts, if it says so.
    other : ComparedWith or None
        The table that it compares its own with, if it does.
    """

    name: str
    rule: DenialConstraint | None
    where: str | None
    statistic: Statistic
    limits: tuple[Limit, ...]
    text: str = field(compare=False)
    number: int = field(compare=False)
    fresh: Freshness | None = None
    other: ComparedWith | None = None

    @property
    def identity(self) -> str:
        """The text that identifies the check, however it is written: name, rule, statistic and limits.

        A kept suite goes on when `of used rows` is added: a ledger is bound to its unit, so it holds anyway.
        """
        tested = str(self.rule) if self.rule is not None else f"row_count WHERE {self.where or 'TRUE'}"
        tested = tested if self.fresh is None else str(self.fresh)  # whenever it runs: a kept suite goes on
        tested = tested if self.other is None else f"{self.other} WHERE {self.where or 'TRUE'}"
        return "\n".join([self.name, tested, *(limit.identity(self.statistic) for limit in self.limits)])


@dataclass(frozen=True)
class Suite:
    """The checks of a suite file, in its order; those of the columns, which read no row, stand by themselves."""

    lines: tuple[SuiteLine, ...]
    schema: tuple[SchemaCheck, ...] = ()

    @property
    def rules(self) -> tuple[DenialConstraint, ...] | None:
        """The rules of its lines, as the constraints of the table; None if it counts rows only."""
        return tuple(line.rule for line in self.lines if line.rule is not None) or None

    @property
    def needs_now(self) -> bool:
        """Whether a check is of how new rows are: then each run has a moment."""
        return any(line.fresh is not None for line in self.lines)

    def at(self, now: datetime.datetime, types: Mapping[str, str]) -> Suite:
        """Return the suite of a moment: what is fresh then is a comparison with a literal.

        Parameters
        ----------
        now
            With its zone.

        Raises
        ------
        UnknownColumnError
            If the table does not have a column.
        ParameterError
            If a column has neither dates nor moments.
        """
        return replace(self, lines=tuple(_line_at(line, now, types) for line in self.lines))

    @property
    def digest(self) -> str:
        """The SHA-256 of the checks: equal for suites with the same names, rules and limits in the same order."""
        return hashlib.sha256("\n\n".join(line.identity for line in self.lines).encode()).hexdigest()


SuiteLike: TypeAlias = str | os.PathLike[str] | WrittenLines

ANY_DAY = datetime.date(2000, 1, 1)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def load_suite(
    source: SuiteLike, columns: Sequence[str] | None = None, *, date: datetime.date | str | None = None
) -> Suite:
    """Return the checks of a suite file, in its order.

    Parameters
    ----------
    source
        The path of an existing file, or a text: one constraint or `row_count` per line, with limits at its end. Or
        either, as `written_lines` has read it.
    columns
        The table's columns, to resolve names against; None takes names as they are written.
    date
        What `{date}` stands for, as a date or as YYYY-MM-DD.

    Raises
    ------
    ConstraintSyntaxError
        If a line is no check, or two have one name.
    UnknownColumnError
        If a name cannot be resolved.
    """
    day = day_of(date)
    written = source if isinstance(source, WrittenLines) else written_lines(source)
    lines = load_lines(written, columns, day)
    if not lines:
        raise ParameterError("no checks given: expected a file, or a text with at least one line")
    try:
        checks = tuple(_checks(lines, day))
        return Suite(
            tuple(check for check in checks if isinstance(check, SuiteLine)),
            tuple(check for check in checks if isinstance(check, SchemaCheck)),
        )
    except ConstraintSyntaxError as error:
        raise error if written.path is None else ConstraintSyntaxError(f"{written.path}: {error}") from None


def _line_at(line: SuiteLine, now: datetime.datetime, types: Mapping[str, str]) -> SuiteLine:
    if line.fresh is None:
        return line
    name = ColumnNames([*types]).find(line.fresh.column)
    if name is None:
        raise UnknownColumnError(f"check {line.name!r}: {ColumnNames([*types]).problem(line.fresh.column)}")
    try:
        return replace(line, where=replace(line.fresh, column=name).condition(types[name], now))
    except ParameterError as error:
        raise ParameterError(f"check {line.name!r}: {error}") from None


def moment_of(given: datetime.datetime | str | None) -> datetime.datetime:
    """Return a moment in UTC, of whole seconds: the one given, with its zone (`2026-11-28T07:00:00Z`), or that of now.

    Raises
    ------
    ParameterError
        If it is none, or has no zone.
    """
    if given is None:
        return datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    found = given
    if isinstance(given, str) and given.isascii():
        with contextlib.suppress(ValueError):
            found = datetime.datetime.fromisoformat(given)
    if not isinstance(found, datetime.datetime) or found.tzinfo is None or found.microsecond:
        raise ParameterError(
            f"now: {shortened(str(given))} is no moment in whole seconds with its zone, such as 2026-11-28T07:00:00Z"
        )
    try:
        return found.astimezone(datetime.UTC)
    except OverflowError:
        raise ParameterError(f"now: {shortened(str(given))} is outside the calendar in UTC") from None


def moment_text(now: datetime.datetime) -> str:
    """Return a moment in UTC as it is recorded and shown: `2026-11-28T07:00:00Z`."""
    return f"{now.astimezone(datetime.UTC).replace(tzinfo=None).isoformat()}Z"


def needs_day(written: WrittenLines) -> bool:
    """Return whether a suite is about a date: with one it can be read, without one not.

    Raises
    ------
    DpdbError
        As `load_suite`, if it cannot be read with one either.
    """
    try:
        load_suite(written)
    except ConstraintSyntaxError as error:
        try:
            load_suite(written, date=ANY_DAY)
        except ConstraintSyntaxError:
            raise error from None
        return True
    return False


def day_of(given: datetime.date | str | None) -> datetime.date | None:
    """Return a day, or None for none; refuse what is neither a date nor YYYY-MM-DD."""
    if given is None or (isinstance(given, datetime.date) and not isinstance(given, datetime.datetime)):
        return given
    try:
        if isinstance(given, str) and _DAY.fullmatch(given):
            return datetime.date.fromisoformat(given)
    except ValueError:
        pass
    raise ParameterError(f"date: {shortened(str(given))} is no date (YYYY-MM-DD)")


def _checks(lines: Sequence[ConstraintLine], day: datetime.date | None) -> Iterator[SuiteLine | SchemaCheck]:
    first: dict[str, int] = {}
    for line in lines:
        for check in _checks_of(line, day):
            key = check.name if line.name is None else check.name.casefold()
            if key in first:
                expected = f"a name that no other check has, such as that of line {first[key]}"
                raise line.cursor.source.syntax_error(0, expected, shortened(check.name))
            first[key] = check.number
            yield check


def _checks_of(line: ConstraintLine, day: datetime.date | None) -> Iterator[SuiteLine | SchemaCheck]:
    """Return the check of a line, or one for each of its rules: `zip -> city, state` has two."""
    limits = line.limits or (Limit("fail", "above", Fraction(0)),)
    number = line.cursor.source.line
    if line.schema is not None:
        yield SchemaCheck(line.name or line.text, line.schema, limits[0].severity, line.text, number)
        return
    where = _condition(line, day) if line.where is not None or not line.constraints else None
    if not line.constraints:
        fresh = None if line.fresh is None else replace(line.fresh, where=where)
        where = where if fresh is None else None
        name = line.name or (line.text if line.other is None else f"{line.text}: {line.statistic}")
        yield SuiteLine(name, None, where, line.statistic, limits, line.text, number, fresh, line.other)
    for rule in line.constraints:
        text = line.text if len(line.constraints) == 1 else _undated(rule.text or str(rule), line, day)
        name = line.name or text
        if line.name is not None and len(line.constraints) > 1:
            name = f"{line.name} ({text})"
        yield SuiteLine(name, rule, where, line.statistic, limits, text, number)


def _undated(text: str, line: ConstraintLine, day: datetime.date | None) -> str:
    """Return the text of one of several rules, by which a check is known on every day, with `{date}` for the day."""
    if day is None or "{date}" not in line.text:
        return text
    return re.sub(rf"(?<!')\b{day.isoformat()}\b(?!')", "{date}", text)


def _condition(line: ConstraintLine, day: datetime.date | None) -> str | None:
    """Return the condition of `row_count` or freshness, once it is one that releases accept."""
    where = line.where
    if where is None:
        if day is None and line.cursor.has_date:
            raise line.cursor.source.syntax_error(0, "a date given for {date}", shortened(line.text))
        return None
    try:
        found = condition_with_members(where) if line.constraints else None
        text = where if found is None else found.sql({member: member.written() for member in found.members})
        refuse_unknown_parts(text, is_condition=True)
    except PredicateError as error:
        said = str(error).splitlines()[0].removeprefix("where: ")
        raise line.cursor.source.syntax_error(0, f"a condition after WHERE ({said})", shortened(where)) from None
    return where

"""One line of a constraints file or suite: a rule, or `row_count`, with a name before it and limits at its end.

Limits of checks look like `zip -> city  warn above 0, fail above 0.1%`. They are the longest list of limits at the end,
whatever stands before it: only words outside quotes count, so a column that is called `fail above 3` needs quotes
there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

from dpdb.constraints.column_ref import ComparedWith, Freshness, SchemaLine
from dpdb.constraints.denial import DenialConstraint
from dpdb.constraints.shape import is_key, never_null
from dpdb.constraints.text.cursor import CLOSING, OPENING, Cursor
from dpdb.constraints.text.lexer import Kind, Source, Token
from dpdb.constraints.text.parser import parse_from, take_name
from dpdb.errors import ConstraintSyntaxError, ParameterError, UnknownColumnError


@dataclass(frozen=True)
class ConstraintLine:
    """What a line says.

    Attributes
    ----------
    constraints : tuple of DenialConstraint
        Its rules, each with its own text; none for `row_count` and lines about the columns.
    where : str or None
        The condition of `row_count` or freshness, as SQL; so of a rule with a limit that is a share of the rows it
        selects.
    limits : tuple of Limit
        As written, empty without limits.
    schema : SchemaLine or None
        What it says of the columns, if it is about those; then it has no rules.
    fresh : Freshness or None
        How new the rows are that it counts, if it says so; then it has no rules, and counts rows.
    other : ComparedWith or None
        The table that it compares its own with, if it does; then it has no rules, and counts keys.
    """

    cursor: Cursor
    constraints: tuple[DenialConstraint, ...]
    name: str | None
    where: str | None
    statistic: Statistic
    limits: tuple[Limit, ...]
    text: str
    schema: SchemaLine | None = None
    fresh: Freshness | None = None
    other: ComparedWith | None = None

    @property
    def counts(self) -> str | None:
        """The word with which it counts something that no rule is about; None if it is a rule, or of the columns."""
        if self.fresh is not None:
            return "freshness"
        if self.other is not None:
            return "COMPARE"
        return {ROW_COUNT: ROW_COUNT, DISTINCT_VALUES: "distinct_count"}.get(self.statistic)


def read_line(cursor: Cursor, day: date | None = None) -> ConstraintLine:
    """Read a line from a cursor at its beginning.

    Parameters
    ----------
    day
        What `{date}` stands for; without one only the WHERE of `row_count` may have it, which then is not read.

    Raises
    ------
    ConstraintSyntaxError
        If the line is neither a rule nor `row_count`, or its limits are not possible.
    UnknownColumnError
        If a name cannot be resolved.
    """
    rule, written = cut_limits(cursor)
    if rule.at(Kind.END):
        raise rule.error("a rule before its limits")
    try:
        return _read(cursor, rule, written, day)
    except (ConstraintSyntaxError, UnknownColumnError):
        problem = limit_expected(rule)
        if problem is None:
            raise
        raise problem from None


def without_comment(line: str) -> str:
    """Return a line of a constraints file without the comment or semicolon at its end: limits may stand behind it.

    Raises
    ------
    ConstraintSyntaxError
        If it has a character that is no part of any line, or a quote that is not closed.
    """
    return Cursor(Source(line), None).without_end


def _read(cursor: Cursor, rule: Cursor, written: WrittenLimits, day: date | None) -> ConstraintLine:
    start = rule.position
    name = take_name(rule)
    counts_rows = rule.at_word("row_count") and (rule.at(Kind.END, ahead=1) or rule.at_word("where", ahead=1))
    text = rule.written(rule.position, len(rule.tokens) - 1)
    if counts_rows:
        rule.take()
        _refuse_limits_of_rows(cursor, written)
        return ConstraintLine(cursor, (), name, _where(rule, day), ROW_COUNT, written.limits, text)
    if _at_schema(rule):
        from dpdb.constraints.text.schema_line import schema_line  # few files have such lines

        said = schema_line(rule)
        _refuse_limits_of_schema(cursor, written)
        return ConstraintLine(cursor, (), name, None, SCHEMA, written.limits, text, said)
    if rule.at_word("freshness", "distinct_count") and rule.at(Kind.LPAREN, ahead=1):
        return (_fresh if rule.at_word("freshness") else _distinct_count)(cursor, rule, written, name, day)
    if rule.at_word("compare") and rule.at_column(ahead=1):
        return _comparison(cursor, rule, written, name, day)
    rule.position = start
    filled = rule.with_tokens(_filled(rule, day))
    constraints = parse_from(filled)
    _refuse_limits_of_rules(cursor, written, constraints)
    where = _selected(cursor, rule, written, day)
    return ConstraintLine(cursor, constraints, name, where, written.statistic, written.limits, text)


def _selected(cursor: Cursor, rule: Cursor, written: WrittenLimits, day: date | None) -> str | None:
    """Return the WHERE of a rule whose limit is a share of the rows that it selects; None for other limits."""
    token = next((t for t, limit in zip(written.tokens, written.limits, strict=True) if limit.unit == _SELECTED), None)
    if token is None:
        return None
    depth, place = 0, None
    for number, each in enumerate(rule.tokens):
        depth += (each.kind in OPENING) - (each.kind in CLOSING)
        if depth == 0 and each.is_word("where"):
            place = number
    if place is None:
        raise cursor.error("a rule with WHERE, as the percentage is of the rows that it selects", token)
    rule.position = place
    return _where(rule, day)


def _at_schema(cursor: Cursor) -> bool:
    """Return whether a line is about the columns, which no rule is that begins so."""
    names = 3 if cursor.at_word("no", ahead=2) else 2
    return cursor.at_word("schema") and cursor.at_word("has", "is", ahead=1) and cursor.at(Kind.LPAREN, ahead=names)


def _refuse_limits_of_schema(cursor: Cursor, written: WrittenLimits) -> None:
    for token, limit in zip(written.tokens, written.limits, strict=True):
        if len(written.limits) > 1 or limit.direction == "below" or limit.amount or written.statistic != VIOLATIONS:
            raise cursor.error("'warn above 0' or no limit, as the columns are right or not", token)


def _refuse_limits_of_rows(cursor: Cursor, written: WrittenLimits) -> None:
    if not written.limits:
        raise cursor.error("a limit after row_count, such as 'fail below 1000'", cursor.tokens[-1])
    for token, limit in zip(written.tokens, written.limits, strict=True):
        if limit.unit != "rows" or written.statistic != VIOLATIONS:
            raise cursor.error("a number of rows as the limit of row_count", token)


def _fresh(cursor: Cursor, rule: Cursor, written: WrittenLimits, name: str | None, day: date | None) -> ConstraintLine:
    """Take `freshness(a) < 2 days`, maybe with WHERE: of the number of rows, by default at least one."""
    from dpdb.constraints.text.count_line import freshness_line  # few files have such lines

    text = rule.written(rule.position, len(rule.tokens) - 1)
    fresh = freshness_line(rule)
    limits = written.limits or (Limit("fail", "below", Fraction(1)),)
    _refuse_limits_of_freshness(cursor, written)
    return ConstraintLine(cursor, (), name, _where(rule, day), ROW_COUNT, limits, text, fresh=fresh)


def _distinct_count(
    cursor: Cursor, rule: Cursor, written: WrittenLimits, name: str | None, day: date | None
) -> ConstraintLine:
    """Take `distinct_count(a)`, maybe with WHERE and `within [4, 10]`: of a key that is no rule here."""
    from dpdb.constraints.text.count_line import as_key, take_within  # few files have such lines

    within = take_within(rule)
    limits = written.limits
    if within is not None:
        rule = rule.up_to(within.place)
        if limits:
            raise cursor.error(
                f"'within [{within.fewest}, {within.most}]' or other limits, not both", written.tokens[0]
            )
        sides: tuple[tuple[Literal["below", "above"], int], ...] = (("below", within.fewest), ("above", within.most))
        limits = tuple(Limit(within.severity, side, Fraction(end)) for side, end in sides if side == "above" or end > 0)
    if not limits:
        raise cursor.error("a limit after distinct_count, such as 'within [40, 60]'", cursor.tokens[-1])
    for token, limit in zip(written.tokens, written.limits, strict=True):
        if limit.unit != "rows" or written.statistic not in (VIOLATIONS, DISTINCT_VALUES):
            raise cursor.error("a number of values as the limit of distinct_count", token)
    text = rule.written(rule.position, len(rule.tokens) - 1)
    constraints = parse_from(as_key(rule.with_tokens(_filled(rule, day))))
    return ConstraintLine(cursor, constraints, name, None, DISTINCT_VALUES, limits, text)


def _comparison(
    cursor: Cursor, rule: Cursor, written: WrittenLimits, name: str | None, day: date | None
) -> ConstraintLine:
    """Take `COMPARE replica BY id`, maybe with COLUMNS and WHERE: of numbers of keys."""
    from dpdb.constraints.text.compare_line import comparison_line  # few files have such lines

    text = rule.written(rule.position, len(rule.tokens) - 1)
    other = comparison_line(rule)
    if not written.limits:
        raise cursor.error(
            f"a limit after COMPARE, such as 'fail above 0 {KEYS_THAT_DIFFER}' or 'fail above 0 {KEYS_MISSING_RIGHT}'",
            cursor.tokens[-1],
        )
    for token, limit in zip(written.tokens, written.limits, strict=True):
        if written.statistic not in OF_KEYS or limit.used or limit.direction == "below":
            raise cursor.error(f"'above' and a number of {', '.join(OF_KEYS[:2])} or {OF_KEYS[2]} after COMPARE", token)
    return ConstraintLine(cursor, (), name, _where(rule, day), written.statistic, written.limits, text, other=other)


def _refuse_limits_of_freshness(cursor: Cursor, written: WrittenLimits) -> None:
    for token, limit in zip(written.tokens, written.limits, strict=True):
        if limit.unit != "rows" or written.statistic != VIOLATIONS or limit.direction == "above" or not limit.amount:
            raise cursor.error("'fail below' or 'warn below' and a number of rows from 1 on, or no limit", token)


def _refuse_limits_of_rules(cursor: Cursor, written: WrittenLimits, constraints: tuple[DenialConstraint, ...]) -> None:
    for token, limit in zip(written.tokens, written.limits, strict=True):
        if limit.direction == "below":
            raise cursor.error("'above' in the limit of a rule (row_count has 'below', too)", token)
        if written.statistic == DISTINCT_VALUES:
            raise cursor.error("distinct_count(..) before a number of distinct values", token)
        if written.statistic in OF_KEYS:
            raise cursor.error("COMPARE and another table before a number of such keys", token)
        of_keys = written.statistic in (DUPLICATE_VALUES, ROWS_IN_DUPLICATES)
        if of_keys and not all(map(is_key, constraints)):
            kind = "duplicate values" if written.statistic == DUPLICATE_VALUES else "rows in duplicates"
            raise cursor.error(f"a key such as UNIQUE(a), of which alone {kind} are counted", token)
        if limit.unit == "share of non-null" and any(never_null(constraint) for constraint in constraints):
            raise cursor.error("a percentage of all rows, as the rows that violate the rule are NULL", token)


def _places_of_date(cursor: Cursor) -> list[int]:
    """Return where `{date}` stands and is no list of columns, as it is beside an arrow."""
    tokens = cursor.tokens
    return [
        place
        for place in range(len(tokens) - 2)
        if tokens[place].kind is Kind.LBRACE
        and tokens[place + 1].kind is Kind.NAME
        and tokens[place + 1].text == "date"
        and tokens[place + 2].kind is Kind.RBRACE
        and tokens[place + 3].kind is not Kind.ARROW
        and (place == 0 or tokens[place - 1].kind is not Kind.ARROW)
    ]


def _filled(cursor: Cursor, day: date | None) -> list[Token]:
    """Return the tokens with a date for each `{date}`."""
    tokens = list(cursor.tokens)
    for place in reversed(_places_of_date(cursor)):
        start, end = tokens[place], tokens[place + 2]
        if day is None:
            raise cursor.error("a date given for {date}", start)
        tokens[place : place + 3] = [Token(Kind.DATE, day.isoformat(), start.offset, end.end - start.offset)]
    return tokens


def _where(cursor: Cursor, day: date | None) -> str | None:
    """Return the condition after WHERE as it is written, with literals for `{date}`; None where no date is given."""
    if cursor.at(Kind.END):
        return None
    cursor.take()
    if cursor.at(Kind.END):
        raise cursor.error("a condition")
    tokens, text, at = cursor.tokens, cursor.source.text, cursor.peek().offset
    parts: list[str] = []
    for place in _places_of_date(cursor):
        if day is None:
            return None
        parts += [text[at : tokens[place].offset], f"DATE '{day.isoformat()}'"]
        at = tokens[place + 2].end
    return "".join([*parts, text[at : tokens[-2].end]])


Statistic: TypeAlias = Literal[
    "violations",
    "row_count",
    "distinct values",
    "duplicate values",
    "rows in duplicates",
    "decision bits",
    "schema",
    "keys missing left",
    "keys missing right",
    "keys that differ",
]

VIOLATIONS: Statistic = "violations"
ROW_COUNT: Statistic = "row_count"
DISTINCT_VALUES: Statistic = "distinct values"
DUPLICATE_VALUES: Statistic = "duplicate values"
ROWS_IN_DUPLICATES: Statistic = "rows in duplicates"
DECISION_BITS: Statistic = "decision bits"
SCHEMA: Statistic = "schema"
KEYS_MISSING_LEFT: Statistic = "keys missing left"
KEYS_MISSING_RIGHT: Statistic = "keys missing right"
KEYS_THAT_DIFFER: Statistic = "keys that differ"

OF_KEYS: tuple[Statistic, ...] = (KEYS_MISSING_LEFT, KEYS_MISSING_RIGHT, KEYS_THAT_DIFFER)
"""What two tables are compared by: the table of the suite is the left one."""

MOST_ROWS = 10**15
_FINEST_SHARE = 10**6  # a percentage has at most four decimals

_SEVERITIES, _DIRECTIONS = ("warn", "fail"), ("above", "below")
_MOST_LIMITS = len(_SEVERITIES) * len(_DIRECTIONS)
_NO_SEVERITIES = ("fails", "warns", "error", "errors", "warning")
_NO_DIRECTIONS = ("over", "under", "when", "if", "at", "more", "less")  # that other tools have
_FORMS = (
    "limits at the end of the line, such as 'warn above 0, fail above 0.1%', 'fail above 20 rows', 'fail above 1% of "
    "non-null', 'fail above 3 duplicate values', 'fail above 5 rows in duplicates' or 'fail above 20 bits', with "
    "numbers like 1000 or 0.5"
)
_NUMBER = re.compile(r"[0-9]{1,40}(\.[0-9]{1,40})?")

_Unit = Literal["rows", "share", "share of non-null", "share of selected"]
_UNITS: dict[str, tuple[_Unit, Statistic]] = {
    "": ("rows", VIOLATIONS),
    "row": ("rows", VIOLATIONS),
    "rows": ("rows", VIOLATIONS),
    "distinct values": ("rows", DISTINCT_VALUES),
    "duplicate value": ("rows", DUPLICATE_VALUES),
    "duplicate values": ("rows", DUPLICATE_VALUES),
    "rows in duplicates": ("rows", ROWS_IN_DUPLICATES),
    "bit": ("rows", DECISION_BITS),
    "bits": ("rows", DECISION_BITS),
    "%": ("share", VIOLATIONS),
    "% duplicate values": ("share", DUPLICATE_VALUES),
    "% in duplicates": ("share", ROWS_IN_DUPLICATES),
    "% of non - null": ("share of non-null", VIOLATIONS),
    "% of non - null duplicate values": ("share of non-null", DUPLICATE_VALUES),
    "% of non - null in duplicates": ("share of non-null", ROWS_IN_DUPLICATES),
    "% of selected": ("share of selected", VIOLATIONS),
    **{words: ("rows", words) for words in OF_KEYS},
}
_OF_VALUES = (DISTINCT_VALUES, DUPLICATE_VALUES, ROWS_IN_DUPLICATES, *OF_KEYS)
_SELECTED = "share of selected"
_USED = ("of used rows", "used rows")  # the second one after `% of non-null` and `% of selected`
_USED_UNITS = {
    f"{unit} {_USED[unit.endswith(('null', 'selected'))]}".strip(): meaning for unit, meaning in _UNITS.items()
}
_MOST_TOKENS = 3 + max(len(unit.split()) for unit in _USED_UNITS)


@dataclass(frozen=True, slots=True)
class Limit:
    """A check warns or fails if its statistic is above (or below) an amount.

    Parameters
    ----------
    severity, direction
        What happens, and on which side of the amount.
    amount
        A whole number of rows up to 10^15, or a share from 0 to 1 with at most six decimals.
    unit
        What `amount` is: rows, a share of all rows, of the rows in which no column of the rule is NULL, or of the rows
        that the rule's WHERE selects.
    used
        Whether it says that it is of the rows used, as it must where a unit's limit leaves some rows of the table out.
    """

    severity: Literal["warn", "fail"]
    direction: Literal["above", "below"]
    amount: Fraction
    unit: _Unit = "rows"
    used: bool = False

    def __post_init__(self) -> None:
        if self.unit == "rows":
            if not 0 <= self.amount <= MOST_ROWS or self.amount.denominator != 1:
                raise ParameterError("a whole number of rows from 0 to 10^15")
        elif not 0 <= self.amount <= 1:
            raise ParameterError("a percentage from 0% to 100%")
        elif (self.amount * _FINEST_SHARE).denominator != 1:
            raise ParameterError("a percentage with at most four decimals")

    def __str__(self) -> str:
        return self.written(VIOLATIONS)

    def identity(self, statistic: Statistic = VIOLATIONS) -> str:
        """Return the text by which suites and tests are known: without saying that it is of the rows used."""
        return replace(self, used=False).written(statistic)

    def written(self, statistic: Statistic) -> str:
        """Return the limit as a suite file has it, for a check of a statistic."""
        text = f"{self.severity} {self.direction} {self._amount(statistic)}"
        return f"{text} {_USED[text.endswith(('null', 'selected'))]}" if self.used else text

    def _amount(self, statistic: Statistic) -> str:
        if self.unit == "rows":
            words = {DECISION_BITS: "bits"} | {each: each for each in _OF_VALUES}
            return f"{int(self.amount)} {words.get(statistic, '')}".rstrip()
        share = f"{Decimal(int(self.amount * _FINEST_SHARE)).scaleb(-4).normalize():f}%"
        counted = {DUPLICATE_VALUES: " duplicate values", ROWS_IN_DUPLICATES: " in duplicates"}.get(statistic, "")
        return f"{share}{self.unit.removeprefix('share')}{counted}"


class WrittenLimits(NamedTuple):
    """The limits of a line with the statistic that they are about, and the first token of each."""

    limits: tuple[Limit, ...] = ()
    statistic: Statistic = VIOLATIONS
    tokens: tuple[Token, ...] = ()


def cut_limits(cursor: Cursor) -> tuple[Cursor, WrittenLimits]:
    """Return a cursor whose text ends before the limits of a line, and the limits.

    Raises
    ------
    ConstraintSyntaxError
        If an amount is not possible, two limits have one severity or different statistics, or the line fails before it
        warns.
    """
    found = _places(cursor)
    if not found:
        return cursor, WrittenLimits()
    tokens, places = cursor.tokens, [start for start, _ in found]
    read = [_limit(cursor, start, end) for start, end in found[: _MOST_LIMITS + 1]]
    if len(read) > _MOST_LIMITS:
        raise cursor.error("at most one warn and one fail, on each side", tokens[places[_MOST_LIMITS]])
    sides: set[tuple[str, str]] = set()
    for place, (limit, statistic) in zip(places, read, strict=False):
        if (limit.severity, limit.direction) in sides:
            raise cursor.error("at most one warn and one fail", tokens[place])
        sides.add((limit.severity, limit.direction))
        if statistic != read[0][1]:
            raise cursor.error(f"both limits of a line about {read[0][1]}", tokens[place])
    limits = tuple(limit for limit, _ in read)
    _refuse_late_warning(cursor, limits, places)
    return cursor.up_to(places[0]), WrittenLimits(limits, read[0][1], tuple(tokens[place] for place in places))


def of_used_rows(limits: str) -> str:
    """Return the limits of a line so that those of `row_count` and shares say that they are of the rows used.

    Parameters
    ----------
    limits
        As a suite has them; what stands before them decides whether a number of rows is one of `row_count`.

    Examples
    --------
    >>> of_used_rows("row_count  fail below 5"), of_used_rows("a -> b  warn above 0, fail above 1% of non-null")
    ('row_count  fail below 5 of used rows', 'a -> b  warn above 0, fail above 1% of non-null used rows')
    """
    rest, written = cut_limits(Cursor(Source(limits), None))
    if not written.limits:
        return limits
    counts_rows = rest.at_word("row_count", "freshness", "distinct_count")
    said = [
        replace(limit, used=counts_rows or limit.unit != "rows").written(written.statistic) for limit in written.limits
    ]
    return limits[: written.tokens[0].offset] + ", ".join(said)


def _refuse_late_warning(cursor: Cursor, limits: tuple[Limit, ...], places: list[int]) -> None:
    """Refuse `warn above 5, fail above 2`: what is above 5 has failed before. Other units cannot be compared."""
    for side in _DIRECTIONS:
        of_side = [each for each in zip(limits, places, strict=True) if each[0].direction == side]
        _refuse_late_warning_of_side(cursor, {limit.severity: (limit, place) for limit, place in of_side})


def _refuse_late_warning_of_side(cursor: Cursor, by_severity: dict[str, tuple[Limit, int]]) -> None:
    if len(by_severity) < len(_SEVERITIES):
        return
    (warn, place), (fail, _) = by_severity["warn"], by_severity["fail"]
    if warn.unit != fail.unit:
        return
    if warn.amount > fail.amount if warn.direction == "above" else warn.amount < fail.amount:
        side = "at most" if warn.direction == "above" else "at least"
        number = f"a warning before the failure, {side} the number of '{fail}'"
        raise cursor.error(number, cursor.tokens[place + 2])


def limit_expected(cursor: Cursor) -> ConstraintSyntaxError | None:
    """Return the error of a line that is no rule because something like a limit is none: `fail above lots`."""
    depth = 0
    tokens = cursor.tokens
    for place, token in enumerate(tokens):
        depth += (token.kind in OPENING) - (token.kind in CLOSING)
        after_dot = place > 0 and tokens[place - 1].kind is Kind.DOT
        if depth > 0 or after_dot or not token.is_word(*_SEVERITIES, *_NO_SEVERITIES):
            continue
        if tokens[place + 1].is_word(*_DIRECTIONS, *_NO_DIRECTIONS):
            return cursor.error(_FORMS, token)
    return None


def _places(cursor: Cursor) -> list[tuple[int, int]]:
    """Return where the limits at the end begin and end, read backwards: linear in the text's length."""
    tokens = cursor.tokens
    end = len(tokens) - 1
    if end > 0 and tokens[end - 1].kind is Kind.SEMICOLON:
        end -= 1
    places: list[tuple[int, int]] = []
    while (start := _start(tokens, end)) is not None:
        places.append((start, end))
        if start == 0 or tokens[start - 1].kind is not Kind.COMMA:
            break
        end = start - 1
    return places[::-1]


def _start(tokens: Sequence[Token], end: int) -> int | None:
    """Return where the limit begins that ends before a place; None if there is none."""
    for start in range(end - 3, max(end - _MOST_TOKENS, 0) - 1, -1):
        words = tokens[start : start + 3]
        if (
            words[0].is_word(*_SEVERITIES)
            and words[1].is_word(*_DIRECTIONS)
            and words[2].kind is Kind.NUMBER
            and _unit_of(tokens[start + 3 : end]) is not None
        ):
            return start
    return None


def _unit_of(tokens: Sequence[Token]) -> tuple[_Unit, Statistic, bool] | None:
    """Return unit and statistic of a limit, and whether it is of the rows used; None for other words."""
    words = " ".join(_words(tokens))
    for units, used in ((_UNITS, False), (_USED_UNITS, True)):
        if words in units:
            return (*units[words], used)
    return None


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    """Return the words of a unit; a text in quotes is no word of it."""
    for token in tokens:
        yield token.text.lower() if token.kind in {Kind.NAME, Kind.ARITHMETIC} else f"{token.kind}"


def _limit(cursor: Cursor, place: int, end: int) -> tuple[Limit, Statistic]:
    severity, direction, number = cursor.tokens[place : place + 3]
    found = _unit_of(cursor.tokens[place + 3 : end])
    assert found is not None, "a limit was found here by its unit"
    unit, statistic, used = found
    if number.text[0] in "+-":
        raise cursor.error("a number from 0 on, without a sign", number)
    if not _NUMBER.fullmatch(number.text):
        raise cursor.error("a number written in at most 40 digits", number)
    amount = Fraction(number.text) / (1 if unit == "rows" else 100)
    try:
        limit = Limit(
            "warn" if severity.is_word("warn") else "fail",
            "above" if direction.is_word("above") else "below",
            amount,
            unit,
            used,
        )
    except ParameterError as error:
        raise cursor.error(str(error), number) from None
    return limit, statistic

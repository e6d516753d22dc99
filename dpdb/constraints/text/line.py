"""One line of a constraints file or suite: a rule, or `row_count`, with a name before it and limits at its end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from dpdb.constraints.denial import DenialConstraint
from dpdb.constraints.shape import is_key, never_null
from dpdb.constraints.text.cursor import CLOSING, OPENING, Cursor
from dpdb.constraints.text.lexer import Kind, Token
from dpdb.constraints.text.limits import (
    DUPLICATE_VALUES,
    ROW_COUNT,
    VIOLATIONS,
    Limit,
    Statistic,
    WrittenLimits,
    cut_limits,
    limit_expected,
)
from dpdb.constraints.text.parser import parse_from, take_name
from dpdb.constraints.text.source import Source
from dpdb.errors import ConstraintSyntaxError, UnknownColumnError

__all__ = ["ConstraintLine", "read_line", "without_comment"]


@dataclass(frozen=True)
class ConstraintLine:
    """What a line says.

    Attributes
    ----------
    cursor : Cursor
        The line's text, for messages.
    constraints : tuple of DenialConstraint
        Its rules, each with its own text; none for `row_count`.
    name : str or None
        Its name, if it has one.
    where : str or None
        The condition of `row_count`, as SQL; so of a rule with a limit that is a share of the rows it selects.
    statistic : str
    limits : tuple of Limit
        As written, empty without limits.
    text : str
        What stands between name and limits.
    """

    cursor: Cursor
    constraints: tuple[DenialConstraint, ...]
    name: str | None
    where: str | None
    statistic: Statistic
    limits: tuple[Limit, ...]
    text: str


def read_line(cursor: Cursor, day: date | None = None) -> ConstraintLine:
    """Read a line from a cursor at its beginning.

    Parameters
    ----------
    cursor
        Of the whole line.
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
    rule.position = start
    filled = rule.with_tokens(_filled(rule, day))
    constraints = parse_from(filled)
    _refuse_limits_of_rules(cursor, written, constraints)
    where = _selected(cursor, rule, written, day)
    return ConstraintLine(cursor, constraints, name, where, written.statistic, written.limits, text)


def _selected(cursor: Cursor, rule: Cursor, written: WrittenLimits, day: date | None) -> str | None:
    """Return the WHERE of a rule whose limit is a share of the rows that it selects; None for other limits."""
    token = next((t for t, limit in zip(written.tokens, written.limits, strict=True) if _of_selected(limit)), None)
    if token is None:
        return None
    depth, place = 0, None
    for number, each in enumerate(rule.tokens):
        depth += (each.kind in OPENING) - (each.kind in CLOSING)
        if depth == 0 and each.kind is Kind.NAME and each.text.lower() == "where":
            place = number
    if place is None:
        raise cursor.error("a rule with WHERE, as the percentage is of the rows that it selects", token)
    rule.position = place
    return _where(rule, day)


def _of_selected(limit: Limit) -> bool:
    return limit.unit == "share of selected"


def _refuse_limits_of_rows(cursor: Cursor, written: WrittenLimits) -> None:
    if not written.limits:
        raise cursor.error("a limit after row_count, such as 'fail below 1000'", cursor.tokens[-1])
    for token, limit in zip(written.tokens, written.limits, strict=True):
        if limit.unit != "rows" or written.statistic != VIOLATIONS:
            raise cursor.error("a number of rows as the limit of row_count", token)


def _refuse_limits_of_rules(cursor: Cursor, written: WrittenLimits, constraints: tuple[DenialConstraint, ...]) -> None:
    for token, limit in zip(written.tokens, written.limits, strict=True):
        if limit.direction == "below":
            raise cursor.error("'above' in the limit of a rule (row_count has 'below', too)", token)
        if written.statistic != VIOLATIONS and not all(map(is_key, constraints)):
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

"""`freshness(updated_at) < 2 days`, `distinct_count(code) within [4, 9]`: lines of a suite that count."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, NamedTuple

from dpdb.constraints.column_ref import Freshness, zone_named
from dpdb.constraints.text.cursor import Cursor
from dpdb.constraints.text.lexer import Kind, Token
from dpdb.errors import ParameterError

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_LONGEST = 10**11  # seconds: some 3,000 years
_MOST_ROWS = 10**15


def freshness_line(cursor: Cursor) -> Freshness:
    """Take a line up to its WHERE or end.

    Raises
    ------
    ConstraintSyntaxError
        If it says something else.
    UnknownColumnError
        If there is no such column.
    """
    cursor.take()
    cursor.take()
    column, zone = cursor.column(), None
    if cursor.accept(Kind.COMMA):
        token = cursor.expect(Kind.TEXT, "a time zone in quotes, such as 'Europe/Berlin'")
        zone = token.content
        try:
            zone_named(zone)
        except ParameterError as error:
            raise cursor.error(f"a time zone ({error})", token) from None
    cursor.expect(Kind.RPAREN, "')' or a time zone")
    sign = cursor.expect(Kind.OPERATOR, "'<' and an age, such as freshness(updated_at) < 2 days")
    if sign.text not in ("<", "<=", "\u2264"):
        raise cursor.error("'<' or '<=': rows that are younger are fresh", sign)
    age = _age(cursor)
    rows = _whole(cursor, "a number of rows, such as WITH 200 ROWS") if cursor.accept_words("with") else None
    if rows is not None and not (cursor.accept_words("rows") or cursor.accept_words("row")):
        raise cursor.error("ROWS")
    if not (cursor.at(Kind.END) or cursor.at_word("where")):
        raise cursor.error("WITH 200 ROWS, WHERE, limits such as 'warn below 1', or the end of the line")
    return Freshness(column, age, inclusive=sign.text != "<", zone=zone, rows=rows)


def _age(cursor: Cursor) -> timedelta:
    token = cursor.peek()
    number = _whole(cursor, "a whole number and a unit, such as 2 days")
    unit = cursor.peek()
    name = unit.text.lower().removesuffix("s")
    if unit.kind is not Kind.NAME or name not in _UNITS:
        raise cursor.error("seconds, minutes, hours, days or weeks")
    cursor.take()
    seconds = number * _UNITS[name]
    if not 0 < seconds <= _LONGEST:
        raise cursor.error("an age above 0 and below 3,000 years", token)
    return timedelta(seconds=seconds)


def _whole(cursor: Cursor, expected: str) -> int:
    token = cursor.expect(Kind.NUMBER, expected)
    if not token.text.isdecimal() or not token.text.isascii() or len(token.text) > 15:
        raise cursor.error(expected, token)
    return int(token.text)


def as_key(cursor: Cursor) -> Cursor:
    """Return a cursor that reads `distinct_count(a)` as the key whose values are counted: `UNIQUE(a)`."""
    tokens, place = list(cursor.tokens), cursor.position
    first = tokens[place]
    tokens[place] = Token(Kind.NAME, "UNIQUE", first.offset, len(first.text))
    return cursor.with_tokens(tokens)


class Within(NamedTuple):
    """`within [fewest, most]` at the end of a line: where it begins, and what the line does beyond."""

    place: int
    severity: Literal["warn", "fail"]
    fewest: int
    most: int


def take_within(cursor: Cursor) -> Within | None:
    """Return the range at the end of a line; None if it has none.

    Raises
    ------
    ConstraintSyntaxError
        If it is no range of whole numbers.
    """
    tokens = cursor.tokens
    place = max((at for at in range(len(tokens)) if tokens[at].is_word("within")), default=None)
    if place is None or tokens[place + 1].kind is not Kind.LBRACKET:
        return None
    part = cursor.with_tokens(tokens)
    part.position = place + 2
    fewest = _whole(part, "a whole number, such as within [40, 60]")
    part.expect(Kind.COMMA, "','")
    last = part.peek()
    most = _whole(part, "a whole number, such as within [40, 60]")
    part.expect(Kind.RBRACKET, "']'")
    part.accept(Kind.SEMICOLON)
    part.expect(Kind.END, "the end of the line")
    if most < fewest or most > _MOST_ROWS:
        raise cursor.error(f"a number from {fewest} to 10^15", last)
    severity: Literal["warn", "fail"] = "warn" if tokens[place - 1].is_word("warn") else "fail"
    return Within(place - tokens[place - 1].is_word("warn", "fail"), severity, fewest, most)
